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
