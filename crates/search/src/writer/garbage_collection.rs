//! What nobody needs any more is removed, after a while: a reader may be fetching it just now.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use database::Database;

use super::WriterSettings;
use crate::manifest::{Manifest, Place};
use crate::objects::Objects;
use crate::{IndexError, generation};

/// How often there is a look at what can go, at the longest.
const LOOK_MAX: Duration = Duration::from_secs(30);

/// How often there is a look at what can go.
pub(super) fn pause(settings: &WriterSettings) -> Duration {
    LOOK_MAX.min(settings.collect_after / 2)
}

/// The objects of a shard that nothing published names, and since when that is known. The time
/// counts from there and not from when they were made: a large old segment may have been given up a
/// second ago.
#[derive(Debug, Default)]
pub(super) struct Leftovers(HashMap<String, Instant>);

impl Leftovers {
    /// Removes what has not been named for so long.
    pub(super) async fn collect(
        &mut self,
        objects: &Objects,
        place: Place,
        current: (&str, &Manifest),
        kept: Duration,
    ) -> Result<(), IndexError> {
        let (sha256, manifest) = current;
        let mut named: HashSet<&str> =
            manifest.files.iter().map(|file| file.key.as_str()).collect();
        let manifest_key = place.manifest_key(sha256);
        named.insert(&manifest_key);
        let mut found = objects.list(&place.prefix()).await?;
        found.retain(|name| !named.contains(name.as_str()));
        self.0.retain(|name, _| found.contains(name));
        for name in found {
            let since = self.0.entry(name.clone()).or_insert_with(Instant::now);
            if since.elapsed() >= kept {
                objects.delete(&name).await?;
                self.0.remove(&name);
            }
        }
        Ok(())
    }
}

/// Removes generations that were retired a while ago: objects, rows, cursors and working copies.
pub(super) async fn generations(
    database: &Database,
    settings: &WriterSettings,
    directory: &Path,
    in_use: &[i32],
) -> Result<(), IndexError> {
    for (number, shards) in generation::outdated(database, settings.collect_after).await? {
        for name in settings.objects.list(&Place::generation_prefix(number)).await? {
            settings.objects.delete(&name).await?;
        }
        generation::forget(database, number, shards).await?;
        tracing::info!(generation = number, "a retired search index is removed");
    }
    let kept: Vec<String> = in_use.iter().map(|number| Place::generation_prefix(*number)).collect();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let is_kept = entry.file_name().to_str().is_some_and(|name| kept.iter().any(|k| k == name));
        if !is_kept && entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
