//! The files that the threads of an index have written since it was opened. Their checksums are computed on the way.
//!
//! A merge replaces segments by a large one at once, and every version from then on contains it: changes would wait until
//! its files are uploaded, and in every replica until they are downloaded. So a merge uploads its large files itself, before
//! it ends. Versions without the merged segment list them as upcoming, and replicas download them. The merge waits for an
//! estimated time of download, because the writer does not know its replicas.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::manifest::{ManifestFile, ShardId};
use crate::object_storage::ObjectStorage;

/// How long a merge waits for a version that lists its file.
const LISTED_MAX: Duration = Duration::from_secs(3);
/// Bytes that a replica downloads and verifies in a second, at least.
const DOWNLOAD_RATE: u64 = 32 << 20;
/// How long a merge waits for the download of a file at most.
const DOWNLOAD_MAX: Duration = Duration::from_mins(2);
/// Time until a replica finds a new version.
const POLL: Duration = Duration::from_millis(300);

/// What is known of a written file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileState {
    /// It is in the working copy only, or being uploaded.
    Written,
    /// It is in object storage.
    Uploaded,
    /// A version lists it as upcoming.
    Listed,
    /// A version contains it.
    Published,
}

#[derive(Debug)]
struct WrittenFile {
    file: ManifestFile,
    state: FileState,
}

#[derive(Debug, Default)]
struct Inner {
    by_name: HashMap<String, WrittenFile>,
    /// Replicas have a version. While a shard is filled for the first time, nothing waits for a merge.
    is_serving: bool,
    is_closed: bool,
}

/// The written files. Cheap to clone.
#[derive(Clone)]
pub(super) struct WrittenFiles {
    shard_id: ShardId,
    objects: ObjectStorage,
    /// The threads of an index are not those of the runtime.
    runtime: Handle,
    /// Merges upload files of at least this size.
    large_bytes: u64,
    inner: Arc<(Mutex<Inner>, Condvar)>,
}

impl fmt::Debug for WrittenFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "WrittenFiles({:?})", self.shard_id)
    }
}

impl WrittenFiles {
    /// Must be called within a runtime, which uploads.
    pub(super) fn new(shard_id: ShardId, objects: ObjectStorage, large_bytes: u64) -> Self {
        let runtime = Handle::current();
        Self { shard_id, objects, runtime, large_bytes, inner: Arc::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a file and its state.
    pub(super) fn get(&self, name: &str) -> Option<(ManifestFile, FileState)> {
        self.inner().by_name.get(name).map(|written| (written.file.clone(), written.state))
    }

    /// The file is deleted, or its object is missing.
    pub(super) fn remove(&self, name: &str) {
        self.inner().by_name.remove(name);
    }

    /// Returns the files in object storage that no version contains yet.
    pub(super) fn upcoming(&self) -> Vec<ManifestFile> {
        let inner = self.inner();
        let files = inner.by_name.values();
        let upcoming =
            files.filter(|it| matches!(it.state, FileState::Uploaded | FileState::Listed));
        let mut upcoming: Vec<ManifestFile> = upcoming.map(|it| it.file.clone()).collect();
        upcoming.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        upcoming
    }

    /// Returns whether a merge waits for a version that lists its file.
    pub(super) fn is_unlisted(&self) -> bool {
        self.inner().by_name.values().any(|written| written.state == FileState::Uploaded)
    }

    /// Replicas have a version of the shard.
    pub(super) fn serve(&self) {
        self.inner().is_serving = true;
    }

    /// Returns whether an object is of a file that the next versions may contain.
    pub(super) fn needs(&self, key: &str) -> bool {
        let inner = self.inner();
        inner.by_name.values().any(|it| it.state != FileState::Published && it.file.key == key)
    }

    /// A version is published that contains files and lists others.
    pub(super) fn publish(&self, files: &[ManifestFile], upcoming: &[ManifestFile]) {
        let mut inner = self.inner();
        inner.is_serving = true;
        for (files, state) in [(upcoming, FileState::Listed), (files, FileState::Published)] {
            for file in files {
                if let Some(written) = inner.by_name.get_mut(&file.name) {
                    written.state = state;
                }
            }
        }
        self.inner.1.notify_all();
    }

    /// Ends all waiting: the working copy is about to be dropped.
    pub(super) fn close(&self) {
        self.inner().is_closed = true;
        self.inner.1.notify_all();
    }

    /// Records a complete file. A large file of a merge is uploaded, and replicas get time to download it. If the upload fails,
    /// the publication uploads it. Blocks; not for threads of the runtime.
    pub(super) fn finish(&self, path: &Path, (sha256, bytes): (String, u64), is_merge: bool) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
        let key = self.shard_id.file_key(&sha256);
        let file = ManifestFile { name: name.to_owned(), key, bytes, sha256 };
        let mut inner = self.inner();
        let written = WrittenFile { file: file.clone(), state: FileState::Written };
        // Before it is uploaded, so that garbage collection keeps the object.
        inner.by_name.insert(file.name.clone(), written);
        let is_early =
            is_merge && bytes >= self.large_bytes && inner.is_serving && !inner.is_closed;
        drop(inner);
        if is_early {
            let outcome = self.upload_early(&file, path);
            metrics::counter!("souk_search_merged_files_total", "outcome" => outcome).increment(1);
        }
    }

    /// Uploads a file of a merge, and waits until a version lists it and for as long as replicas need to download it. Returns
    /// the outcome for the metric.
    fn upload_early(&self, file: &ManifestFile, path: &Path) -> &'static str {
        if let Err(error) = self.runtime.block_on(self.objects.put_file(&file.key, path)) {
            tracing::warn!(%error, shard_id = ?self.shard_id, "uploading a merged file failed; the next publication uploads it");
            return "failed";
        }
        // Unless the index has deleted it meanwhile.
        if let Some(written) = self.inner().by_name.get_mut(&file.name) {
            written.state = FileState::Uploaded;
        }
        self.wait(LISTED_MAX, |inner| {
            let written = inner.by_name.get(&file.name);
            written.is_some_and(|written| written.state == FileState::Uploaded)
        });
        if self.get(&file.name).is_none_or(|(_, state)| state != FileState::Listed) {
            return "unlisted";
        }
        let download = Duration::from_millis(file.bytes.saturating_mul(1_000) / DOWNLOAD_RATE);
        self.wait(POLL + download.min(DOWNLOAD_MAX), |_| true);
        "listed"
    }

    /// Waits while a condition holds, for a limited time or until closed.
    fn wait(&self, limit: Duration, mut condition: impl FnMut(&Inner) -> bool) {
        let until = Instant::now() + limit;
        let mut inner = self.inner();
        while !inner.is_closed && condition(&inner) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let woken = self.inner.1.wait_timeout(inner, left);
            inner = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARD: ShardId = ShardId { generation: 1, shard: 0 };

    /// Returns written files with a directory for objects, and the path of a file in it.
    fn written() -> (WrittenFiles, std::path::PathBuf) {
        let name = format!("souk-written-{}-{:?}", std::process::id(), std::thread::current().id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("segment.idx");
        std::fs::write(&path, b"merged").unwrap();
        let objects = ObjectStorage::open(&directory.join("objects").to_string_lossy()).unwrap();
        (WrittenFiles::new(SHARD, objects, 6), path)
    }

    fn checksum() -> (String, u64) {
        (crate::checksum::of_bytes(b"merged"), 6)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_large_file_of_a_merge_is_listed_before_the_merge_ends() {
        let (files, path) = written();
        files.serve();
        let merge = std::thread::spawn({
            let (files, path) = (files.clone(), path.clone());
            move || files.finish(&path, checksum(), true)
        });
        while !files.is_unlisted() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let upcoming = files.upcoming();
        assert_eq!(upcoming[0].name, "segment.idx");
        assert!(files.objects.matches(&upcoming[0].key, &checksum().0, 6).await.unwrap());
        assert!(!merge.is_finished());
        files.publish(&[], &upcoming);
        assert!(!files.is_unlisted());
        assert!(!merge.is_finished(), "replicas get time to download it");
        tokio::task::spawn_blocking(|| merge.join().unwrap()).await.unwrap();
        assert_eq!(files.get("segment.idx").unwrap().1, FileState::Listed);
        files.publish(&upcoming, &[]);
        assert!(files.upcoming().is_empty());
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn other_files_are_left_to_the_publication() {
        let (files, path) = written();
        let state = async |bytes: u64, is_merge: bool| {
            let (files, path) = (files.clone(), path.clone());
            let finished = tokio::task::spawn_blocking(move || {
                files.finish(&path, (checksum().0, bytes), is_merge);
                files.get("segment.idx").unwrap().1
            });
            finished.await.unwrap()
        };
        assert_eq!(state(6, true).await, FileState::Written, "before the first version");
        files.serve();
        assert_eq!(state(5, true).await, FileState::Written, "a small file");
        assert_eq!(state(6, false).await, FileState::Written, "not of a merge");
        assert!(files.upcoming().is_empty());
        assert!(files.needs(&SHARD.file_key(&checksum().0)));
        files.close();
        assert_eq!(state(6, true).await, FileState::Written, "the working copy is dropped");
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}
