//! The last state a replica had, kept beside its files: with it a process that starts while the
//! database is away still answers.

use std::path::Path;

use primitives::Timestamp;
use serde::{Deserialize, Serialize};

use super::shelf;
use crate::IndexError;
use crate::manifest::Place;
use crate::schema::FORMAT;

const FILE_NAME: &str = "state.json";

/// A whole index at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    format: i32,
    pub(super) shards: Vec<KeptShard>,
}

/// A shard of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptShard {
    pub(super) place: Place,
    pub(super) virtual_from: u16,
    pub(super) virtual_to: u16,
    pub(super) manifest: String,
    pub(super) caught_up_at: Timestamp,
}

impl Kept {
    pub(super) fn new(shards: Vec<KeptShard>) -> Self {
        Self { format: FORMAT, shards }
    }

    /// Whether it is the same but for its age.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        let manifests = |kept: &Self| -> Vec<(Place, String)> {
            kept.shards.iter().map(|shard| (shard.place, shard.manifest.clone())).collect()
        };
        manifests(self) == manifests(other)
    }

    pub(super) fn save(&self, directory: &Path) -> Result<(), IndexError> {
        let bytes = serde_json::to_vec(self);
        let bytes = bytes.map_err(|error| IndexError::Local(error.to_string()))?;
        Ok(shelf::write(&directory.join(FILE_NAME), &bytes)?)
    }

    /// What was kept, if it can be used.
    pub(super) fn load(directory: &Path) -> Option<Self> {
        let bytes = std::fs::read(directory.join(FILE_NAME)).ok()?;
        let kept: Self = serde_json::from_slice(&bytes).ok()?;
        (kept.format == FORMAT && !kept.shards.is_empty()).then_some(kept)
    }
}
