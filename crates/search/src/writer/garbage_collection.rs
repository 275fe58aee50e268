//! Garbage collection: deletes unreferenced objects after a grace period, because a reader may still be downloading
//! them.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use database::Database;

use super::WriterSettings;
use super::written_files::WrittenFiles;
use crate::manifest::{Manifest, ShardId};
use crate::object_storage::ObjectStorage;
use crate::{IndexError, generation};

/// Maximum interval between two collections.
const INTERVAL_MAX: Duration = Duration::from_secs(30);

/// Returns the interval between two collections.
pub(super) fn interval(settings: &WriterSettings) -> Duration {
    INTERVAL_MAX.min(settings.gc_grace_period / 2)
}

/// The unreferenced objects of a shard, with the time at which each was first found unreferenced. The grace period
/// starts then, not when the object was created: a large old segment may have been replaced a second ago.
#[derive(Debug, Default)]
pub(super) struct UnreferencedObjects(HashMap<String, Instant>);

impl UnreferencedObjects {
    /// Deletes objects that have been unreferenced for the grace period. Merges upload meanwhile what the next
    /// versions contain.
    pub(super) async fn collect(
        &mut self,
        objects: &ObjectStorage,
        shard_id: ShardId,
        current: (&str, &Manifest),
        written: &WrittenFiles,
        grace_period: Duration,
    ) -> Result<(), IndexError> {
        let (sha256, manifest) = current;
        let mut referenced: HashSet<&str> =
            manifest.files.iter().map(|file| file.key.as_str()).collect();
        let manifest_key = shard_id.manifest_key(sha256);
        referenced.insert(&manifest_key);
        let mut found = objects.list(&shard_id.prefix()).await?;
        found.retain(|name| !referenced.contains(name.as_str()));
        self.0.retain(|name, _| found.contains(name));
        for name in found {
            if written.needs(&name) {
                self.0.remove(&name);
                continue;
            }
            let since = self.0.entry(name.clone()).or_insert_with(Instant::now);
            if since.elapsed() >= grace_period {
                objects.delete(&name).await?;
                self.0.remove(&name);
            }
        }
        Ok(())
    }
}

/// Deletes expired generations: objects, rows, cursors and working copies.
pub(super) async fn delete_generations(
    database: &Database,
    settings: &WriterSettings,
    directory: &Path,
    in_use: &[i32],
) -> Result<(), IndexError> {
    for (number, shards) in generation::expired(database, settings.gc_grace_period).await? {
        for name in settings.objects.list(&ShardId::generation_prefix(number)).await? {
            settings.objects.delete(&name).await?;
        }
        generation::delete(database, number, shards).await?;
        tracing::info!(generation = number, "deleted a retired search index");
    }
    let prefixes: Vec<String> =
        in_use.iter().map(|number| ShardId::generation_prefix(*number)).collect();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let is_in_use = entry
            .file_name()
            .to_str()
            .is_some_and(|name| prefixes.iter().any(|other| other == name));
        if !is_in_use && entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checksum;

    const SHARD: ShardId = ShardId { generation: 1, shard: 0 };

    #[tokio::test(flavor = "multi_thread")]
    async fn what_a_merge_has_uploaded_is_kept_until_the_index_deletes_it() {
        let directory = std::env::temp_dir().join(format!("souk-garbage-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("segment.idx");
        std::fs::write(&path, b"merged").unwrap();
        let objects = ObjectStorage::open(&directory.join("objects").to_string_lossy()).unwrap();
        let written = WrittenFiles::new(SHARD, objects.clone(), 1);
        written.serve();
        let sha256 = checksum::of_bytes(b"merged");
        let key = SHARD.file_key(&sha256);
        let merge = std::thread::spawn({
            let written = written.clone();
            move || written.finish(&path, (sha256, 6), true)
        });
        while !written.is_unlisted() {
            assert!(!merge.is_finished(), "the upload failed");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let manifest = Manifest::empty(SHARD);
        let mut unreferenced = UnreferencedObjects::default();
        let mut is_kept = async |grace_period: Duration| {
            let current = ("", &manifest);
            let collected =
                unreferenced.collect(&objects, SHARD, current, &written, grace_period).await;
            collected.unwrap();
            objects.exists(&key).await.unwrap()
        };
        assert!(is_kept(Duration::ZERO).await, "no version lists it yet");
        written.publish(&[], &written.upcoming());
        assert!(is_kept(Duration::ZERO).await, "a version lists it");
        written.remove("segment.idx");
        assert!(is_kept(Duration::from_hours(1)).await, "its grace period starts");
        assert!(!is_kept(Duration::ZERO).await, "its grace period has ended");
        tokio::task::spawn_blocking(|| merge.join().unwrap()).await.unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
