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
