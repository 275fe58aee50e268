//! All stores in memory, by number: what ranking and records need of them at the time of a search. A new score,
//! a suspension or a changed policy arrives through the outbox within a second and rewrites no document. Searches
//! are refused once the directory has not been confirmed for a minute.

mod follower;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use merchants::{Standing, Store};
use primitives::{MerchantId, StoreSlug};

use crate::document::StoreFragment;
use crate::rank::trust_factor;

pub(crate) use follower::DirectoryFollower;

/// What ranking reads of a store for each document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankingInputs {
    /// Trust score; 0 for an unscored store. Values compared with it go through [`to_f32`] as well.
    pub(crate) score: f32,
    /// See [`trust_factor`].
    pub(crate) factor: f32,
    /// Rank group: lower groups come first in the order of relevance.
    pub(crate) group: u8,
}

impl RankingInputs {
    /// The store accepts agent checkout.
    pub(crate) const CHECKOUT_ALLOWED: u8 = 0;
    /// CAUTION and below: deprioritized.
    pub(crate) const DEPRIORITIZED: u8 = 1;
    /// The store has no score.
    pub(crate) const UNSCORED: u8 = 2;
    /// Never shown: inactive, suspended or unknown.
    pub(crate) const HIDDEN: u8 = 255;

    const HIDDEN_STORE: Self = Self { score: 0.0, factor: 0.0, group: Self::HIDDEN };

    fn of(is_listed: bool, standing: &Standing) -> Self {
        if !is_listed || standing.is_suspended() {
            return Self::HIDDEN_STORE;
        }
        let group = match standing.score {
            Some(_) if standing.allows_agent_checkout() => Self::CHECKOUT_ALLOWED,
            Some(_) => Self::DEPRIORITIZED,
            None => Self::UNSCORED,
        };
        let score = to_f32(standing.score.unwrap_or(0.0));
        Self { score, factor: to_f32(trust_factor(standing.ranking_score())), group }
    }

    /// Returns whether the store is visible and has a score.
    pub(crate) fn is_scored(self) -> bool {
        self.group < Self::UNSCORED
    }
}

/// Converts a score to the precision of the directory.
#[expect(clippy::cast_possible_truncation, reason = "a score has no more than a few digits")]
pub(crate) fn to_f32(score: f64) -> f32 {
    score as f32
}

/// A store with its part of the records of its products.
#[derive(Debug)]
pub(crate) struct DirectoryEntry {
    pub(crate) store: Arc<Store>,
    pub(crate) fragment: StoreFragment,
}

/// All stores at one time.
#[derive(Debug)]
pub(crate) struct StoreDirectory {
    stores: Arc<Stores>,
    /// Every change committed before this time is included; `None` before the first load.
    confirmed: Option<Instant>,
}

impl StoreDirectory {
    /// Maximum age: beyond it a suspension may be missing, so searches are refused.
    pub(crate) const STALE_AFTER: Duration = Duration::from_mins(1);

    /// Returns a directory of these stores, confirmed now.
    pub(crate) fn new(stores: Vec<Store>) -> Self {
        Self { stores: Arc::new(Stores::new(stores)), confirmed: Some(Instant::now()) }
    }

    /// Returns an empty directory that was never confirmed.
    fn never_loaded() -> Self {
        Self { stores: Arc::default(), confirmed: None }
    }

    /// Returns the time since the last confirmation.
    pub(crate) fn age(&self) -> Duration {
        self.confirmed.map_or(Duration::MAX, |confirmed| confirmed.elapsed())
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.age() > Self::STALE_AFTER
    }

    /// Returns the ranking inputs of a store.
    pub(crate) fn ranking_inputs(&self, number: u32) -> RankingInputs {
        let ranking = usize::try_from(number).ok().and_then(|index| self.stores.ranking.get(index));
        ranking.copied().unwrap_or(RankingInputs::HIDDEN_STORE)
    }

    /// Returns the store with this number, whatever its state.
    pub(crate) fn store(&self, number: u32) -> Option<&DirectoryEntry> {
        self.stores.entry(number)
    }

    /// Returns the store with this slug, whatever its state.
    pub(crate) fn by_slug(&self, slug: &StoreSlug) -> Option<&DirectoryEntry> {
        self.stores.by_slug.get(slug).and_then(|number| self.stores.entry(*number))
    }

    /// Returns the store of a merchant, whatever its state.
    #[cfg(test)]
    pub(crate) fn by_merchant(&self, merchant: MerchantId) -> Option<&DirectoryEntry> {
        self.stores.by_merchant.get(&merchant).and_then(|number| self.stores.entry(*number))
    }
}

/// The stores of a directory. A clone shares what does not differ.
#[derive(Debug, Clone, Default)]
struct Stores {
    /// By store number.
    ranking: Vec<RankingInputs>,
    /// By store number.
    entries: Vec<Option<Arc<DirectoryEntry>>>,
    by_slug: Arc<HashMap<StoreSlug, u32>>,
    by_merchant: Arc<HashMap<MerchantId, u32>>,
}

impl Stores {
    fn new(stores: Vec<Store>) -> Self {
        let mut all = Self::default();
        for store in stores {
            all.insert(store);
        }
        all
    }

    fn entry(&self, number: u32) -> Option<&DirectoryEntry> {
        self.entries.get(usize::try_from(number).ok()?)?.as_deref()
    }

    /// Inserts or replaces a store.
    fn insert(&mut self, store: Store) {
        let number = store.number;
        if self.by_slug.get(&store.slug) != Some(&number) {
            self.remove(store.merchant);
        }
        let Ok(index) = usize::try_from(number) else { return };
        if self.entries.len() <= index {
            self.entries.resize(index + 1, None);
            self.ranking.resize(index + 1, RankingInputs::HIDDEN_STORE);
        }
        let store = Arc::new(store);
        let Some(fragment) = StoreFragment::new(Arc::clone(&store)) else {
            // A store that cannot be serialized is hidden.
            self.remove(store.merchant);
            return;
        };
        self.ranking[index] = RankingInputs::of(store.is_listed(), &store.standing);
        if self.by_slug.get(&store.slug) != Some(&number) {
            Arc::make_mut(&mut self.by_slug).insert(store.slug.clone(), number);
        }
        if self.by_merchant.get(&store.merchant) != Some(&number) {
            Arc::make_mut(&mut self.by_merchant).insert(store.merchant, number);
        }
        self.entries[index] = Some(Arc::new(DirectoryEntry { store, fragment }));
    }

    /// Removes the store of a merchant.
    fn remove(&mut self, merchant: MerchantId) {
        let Some(number) = self.by_merchant.get(&merchant).copied() else { return };
        let Ok(index) = usize::try_from(number) else { return };
        let Some(entry) = self.entries.get_mut(index).and_then(Option::take) else { return };
        self.ranking[index] = RankingInputs::HIDDEN_STORE;
        if self.by_slug.get(&entry.store.slug) == Some(&number) {
            Arc::make_mut(&mut self.by_slug).remove(&entry.store.slug);
        }
    }
}
