//! A checked product that is about to be written.

use std::hash::{Hash, Hasher};

use primitives::{FeedRunId, ProductId, Timestamp, VariantId};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{CategoryPath, FieldError, ProductFacts, Review, VariantFacts};

/// A checked product with its category, variants and reviews.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// Id of the product if it is created; `None`: a random one.
    pub id: Option<ProductId>,
    /// Missing categories are created.
    pub category: CategoryPath,
    pub facts: ProductFacts,
    /// Variants, each with its id if it is created; `None`: a random one.
    pub variants: Vec<(Option<VariantId>, VariantFacts)>,
    pub reviews: Vec<Review>,
    /// What was left out of the product, for the report of its import.
    pub warnings: Vec<FieldError>,
}

impl Incoming {
    /// Returns how many rows writing the product may touch, for the limit of a transaction.
    #[must_use]
    pub fn rows(&self) -> usize {
        1 + self.variants.len() + self.reviews.len()
    }

    /// Returns a hash of the whole product, by which an unchanged product is recognized without comparing or locking.
    pub(crate) fn fingerprint(&self) -> Uuid {
        let mut hasher = Sha(Sha256::new());
        self.facts.hash(&mut hasher);
        self.category.hash(&mut hasher);
        for (_, variant) in &self.variants {
            variant.hash(&mut hasher);
        }
        self.reviews.hash(&mut hasher);
        let digest = hasher.0.finalize();
        let (first, _) = digest.split_at(16);
        Uuid::from_slice(first).unwrap_or_default()
    }
}

/// Source of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An API call of the merchant, always newer than any feed.
    Push,
    /// A feed. Products that were pushed after `received_at` are newer.
    FeedRun {
        run: FeedRunId,
        /// When the upload of the feed was complete.
        received_at: Timestamp,
    },
}

impl Origin {
    /// Whether a product that was pushed at this time is newer than the source.
    pub(crate) fn is_older_than(self, pushed_at: Option<Timestamp>) -> bool {
        match self {
            Self::Push => false,
            Self::FeedRun { received_at, .. } => {
                pushed_at.is_some_and(|pushed| pushed > received_at)
            }
        }
    }

    /// Returns the feed run, if the source is one.
    pub(crate) fn run(self) -> Option<FeedRunId> {
        match self {
            Self::Push => None,
            Self::FeedRun { run, .. } => Some(run),
        }
    }
}

/// A hasher whose result is the same in every process.
struct Sha(Sha256);

impl Hasher for Sha {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}
