//! A product that passed the check and is about to be written.

use std::hash::{Hash, Hasher};

use primitives::{JobId, ProductId, Timestamp, VariantId};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{CategoryPath, NewProduct, NewVariant, Review};

/// A product with everything that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// The id it gets if it is new. Left out: a random one.
    pub id: Option<ProductId>,
    /// The way to it in the store's tree; places that do not exist yet are made.
    pub category: CategoryPath,
    /// What is known of it.
    pub facts: NewProduct,
    /// Its buyable forms, with the ids they get if they are new.
    pub variants: Vec<(Option<VariantId>, NewVariant)>,
    /// What buyers wrote.
    pub reviews: Vec<Review>,
}

impl Incoming {
    /// Rows that writing it may touch, for the limit of a work.
    #[must_use]
    pub fn rows(&self) -> usize {
        1 + self.variants.len() + self.reviews.len()
    }

    /// A hash of all of it: bringing in the same again is noticed by it, without comparing or locking.
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

/// Who brings something in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The merchant's own call: it is the newest there is.
    Push,
    /// A feed, as it was when it was received: what was pushed later is newer.
    Run {
        /// Which run.
        run: JobId,
        /// When the whole feed had come in.
        received_at: Timestamp,
    },
}

impl Origin {
    /// Whether something that was pushed then is newer than this.
    pub(crate) fn is_older_than(self, pushed_at: Option<Timestamp>) -> bool {
        match self {
            Self::Push => false,
            Self::Run { received_at, .. } => pushed_at.is_some_and(|pushed| pushed > received_at),
        }
    }

    /// The run, if it is one.
    pub(crate) fn run(self) -> Option<JobId> {
        match self {
            Self::Push => None,
            Self::Run { run, .. } => Some(run),
        }
    }
}

/// A hasher whose value does not depend on the process.
struct Sha(Sha256);

impl Hasher for Sha {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}
