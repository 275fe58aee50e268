//! Downloads of upcoming files, so that the version which contains them does not wait for them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::segment_cache::SegmentCache;
use crate::manifest::{Manifest, ShardId};

/// The downloads of upcoming files.
#[derive(Default)]
pub(super) struct Prefetch {
    downloads: JoinSet<()>,
    /// Checksums of the upcoming files of each shard: they are downloaded or were tried.
    known: HashMap<ShardId, HashSet<String>>,
}

impl Prefetch {
    /// Starts to download the upcoming files of a version. Each is tried once.
    pub(super) fn start(
        &mut self,
        cache: &Arc<SegmentCache>,
        shard_id: ShardId,
        manifest: &Manifest,
    ) {
        let known = self.known.entry(shard_id).or_default();
        known.retain(|sha256| manifest.upcoming.iter().any(|file| file.sha256 == *sha256));
        for file in &manifest.upcoming {
            if !known.insert(file.sha256.clone()) {
                continue;
            }
            let (cache, file) = (Arc::clone(cache), file.clone());
            self.downloads.spawn(async move {
                if let Err(error) = cache.download(file).await {
                    tracing::warn!(%error, ?shard_id, "downloading an upcoming file of the search index failed; it is downloaded with its version");
                }
            });
        }
    }

    /// Waits until a download has ended. Returns `None` if there is none.
    pub(super) async fn ended(&mut self) -> Option<()> {
        self.downloads.join_next().await.map(|_| ())
    }

    /// Returns whether nothing is downloaded.
    pub(super) fn is_idle(&self) -> bool {
        self.downloads.is_empty()
    }

    /// Forgets other shards than these.
    pub(super) fn retain(&mut self, is_open: impl Fn(ShardId) -> bool) {
        self.known.retain(|shard_id, _| is_open(*shard_id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum;
    use crate::manifest::ManifestFile;
    use crate::object_storage::ObjectStorage;

    const SHARD: ShardId = ShardId { generation: 1, shard: 0 };

    fn file(content: &[u8]) -> ManifestFile {
        let sha256 = checksum::of_bytes(content);
        let bytes = u64::try_from(content.len()).unwrap();
        ManifestFile { name: sha256.clone(), key: SHARD.file_key(&sha256), bytes, sha256 }
    }

    #[tokio::test]
    async fn an_upcoming_file_is_downloaded_and_one_that_is_missing_is_tried_once() {
        let directory = std::env::temp_dir().join(format!("souk-prefetch-{}", std::process::id()));
        let objects = ObjectStorage::open(&directory.join("objects").to_string_lossy()).unwrap();
        let cache = Arc::new(SegmentCache::open(&directory, objects.clone()).unwrap());
        let (uploaded, missing) = (file(b"uploaded"), file(b"missing"));
        objects.put(&uploaded.key, b"uploaded".to_vec()).await.unwrap();
        let upcoming = vec![uploaded.clone(), missing.clone()];
        let manifest = Manifest { upcoming, ..Manifest::empty(SHARD) };
        let is_local = |file: &ManifestFile| directory.join("files").join(&file.sha256).exists();
        let mut prefetch = Prefetch::default();
        prefetch.start(&cache, SHARD, &manifest);
        while prefetch.ended().await.is_some() {}
        assert!(is_local(&uploaded) && !is_local(&missing));
        objects.put(&missing.key, b"missing".to_vec()).await.unwrap();
        prefetch.start(&cache, SHARD, &manifest);
        assert!(prefetch.is_idle(), "each is tried once");
        cache.download(missing.clone()).await.unwrap();
        assert!(is_local(&missing), "its version downloads it");
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
