//! The last state of a replica, saved beside its files: with it a process can serve before it reaches the database.

use std::path::Path;

use primitives::Timestamp;
use serde::{Deserialize, Serialize};

use super::segment_cache;
use crate::IndexError;
use crate::manifest::ShardId;
use crate::schema::FORMAT;

const FILE_NAME: &str = "state.json";

/// A complete index at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedState {
    format: i32,
    pub(super) shards: Vec<SavedShard>,
}

/// A shard of a saved state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedShard {
    #[serde(rename = "place")]
    pub(super) shard_id: ShardId,
    pub(super) virtual_from: u16,
    pub(super) virtual_to: u16,
    pub(super) manifest: String,
    pub(super) caught_up_at: Timestamp,
}

impl SavedState {
    pub(super) fn new(shards: Vec<SavedShard>) -> Self {
        Self { format: FORMAT, shards }
    }

    /// Returns whether both have the same manifests; their age may differ.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        let manifests = |state: &Self| -> Vec<(ShardId, String)> {
            state.shards.iter().map(|shard| (shard.shard_id, shard.manifest.clone())).collect()
        };
        manifests(self) == manifests(other)
    }

    pub(super) fn save(&self, directory: &Path) -> Result<(), IndexError> {
        let bytes = serde_json::to_vec(self);
        let bytes = bytes.map_err(|error| IndexError::LocalFile(error.to_string()))?;
        Ok(segment_cache::write(&directory.join(FILE_NAME), &bytes)?)
    }

    /// Returns the saved state, if there is one of the current format.
    pub(super) fn load(directory: &Path) -> Option<Self> {
        let bytes = std::fs::read(directory.join(FILE_NAME)).ok()?;
        let saved: Self = serde_json::from_slice(&bytes).ok()?;
        (saved.format == FORMAT && !saved.shards.is_empty()).then_some(saved)
    }
}
