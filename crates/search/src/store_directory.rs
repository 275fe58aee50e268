//! The stores, in memory and by number: what ranking and records need of them at the moment of a
//! search. A new score, a suspension or another promise comes by the outbox within a second and
//! rewrites no document. Whoever searches refuses once nobody has confirmed this for a minute.

mod keeper;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use merchants::{Standing, Store};
use primitives::{MerchantId, StoreSlug};

use crate::document::StoreText;

pub(crate) use keeper::RosterKeeper;

/// What ranking reads of a store for each document.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hot {
    /// The trust score; 0 for a store without one. What it is compared with is narrowed the same way.
    pub(crate) score: f32,
    /// What relevance is multiplied by: half of it is the store's for being listed at all.
    pub(crate) factor: f32,
    /// Lower groups come first on the sort by relevance.
    pub(crate) group: u8,
}

impl Hot {
    /// Agents may check out.
    pub(crate) const OPEN: u8 = 0;
    /// CAUTION and below: listed last.
    pub(crate) const LAST: u8 = 1;
    /// Nobody has scored it yet.
    pub(crate) const UNSCORED: u8 = 2;
    /// Never shown: inactive, suspended, or of a number nobody has.
    pub(crate) const HIDDEN: u8 = 255;

    const NOBODY: Self = Self { score: 0.0, factor: 0.0, group: Self::HIDDEN };

    fn of(active: bool, standing: &Standing) -> Self {
        if !active || standing.is_suspended() {
            return Self::NOBODY;
        }
        let group = match standing.score {
            Some(_) if standing.takes_checkout() => Self::OPEN,
            Some(_) => Self::LAST,
            None => Self::UNSCORED,
        };
        let ranking_score = standing.ranking_score().unwrap_or(0.0);
        let score = narrow(standing.score.unwrap_or(0.0));
        Self { score, factor: narrow(0.5 + 0.5 * ranking_score), group }
    }
}

/// A score as the roster holds it.
#[expect(clippy::cast_possible_truncation, reason = "a score has no more than a few digits")]
pub(crate) fn narrow(score: f64) -> f32 {
    score as f32
}

/// A store, and what it puts into the records of its products.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) store: Arc<Store>,
    pub(crate) text: StoreText,
}

/// All stores, as they were at a moment.
#[derive(Debug)]
pub(crate) struct Roster {
    stores: Arc<Stores>,
    /// Everything committed before this is in it; none if nothing was ever read.
    confirmed: Option<Instant>,
}

impl Roster {
    /// Older than this, a suspension may have been missed: searches are refused.
    pub(crate) const STALE_AFTER: Duration = Duration::from_mins(1);

    /// These stores, confirmed now.
    pub(crate) fn of(stores: Vec<Store>) -> Self {
        Self { stores: Arc::new(Stores::of(stores)), confirmed: Some(Instant::now()) }
    }

    /// Nothing was read yet.
    fn unread() -> Self {
        Self { stores: Arc::default(), confirmed: None }
    }

    /// How old it is.
    pub(crate) fn age(&self) -> Duration {
        self.confirmed.map_or(Duration::MAX, |confirmed| confirmed.elapsed())
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.age() > Self::STALE_AFTER
    }

    /// What ranking needs of one store.
    pub(crate) fn hot_of(&self, number: u32) -> Hot {
        let hot = usize::try_from(number).ok().and_then(|place| self.stores.hot.get(place));
        hot.copied().unwrap_or(Hot::NOBODY)
    }

    /// The store of a number, whatever its state.
    pub(crate) fn store(&self, number: u32) -> Option<&Member> {
        self.stores.member(number)
    }

    /// The store of a slug, whatever its state.
    pub(crate) fn by_slug(&self, slug: &StoreSlug) -> Option<&Member> {
        self.stores.by_slug.get(slug).and_then(|number| self.stores.member(*number))
    }

    /// The store of a merchant, whatever its state.
    #[cfg(test)]
    pub(crate) fn by_merchant(&self, merchant: MerchantId) -> Option<&Member> {
        self.stores.by_merchant.get(&merchant).and_then(|number| self.stores.member(*number))
    }
}

/// The stores themselves. A copy shares what does not differ.
#[derive(Debug, Clone, Default)]
struct Stores {
    hot: Vec<Hot>,
    members: Vec<Option<Arc<Member>>>,
    by_slug: Arc<HashMap<StoreSlug, u32>>,
    by_merchant: Arc<HashMap<MerchantId, u32>>,
}

impl Stores {
    fn of(stores: Vec<Store>) -> Self {
        let mut all = Self::default();
        for store in stores {
            all.put(store);
        }
        all
    }

    fn member(&self, number: u32) -> Option<&Member> {
        self.members.get(usize::try_from(number).ok()?)?.as_deref()
    }

    /// Takes a store in, in place of what was known of it.
    fn put(&mut self, store: Store) {
        let number = store.number;
        if self.by_slug.get(&store.slug) != Some(&number) {
            self.remove(store.merchant);
        }
        let Ok(place) = usize::try_from(number) else { return };
        if self.members.len() <= place {
            self.members.resize(place + 1, None);
            self.hot.resize(place + 1, Hot::NOBODY);
        }
        let store = Arc::new(store);
        let Some(text) = StoreText::new(Arc::clone(&store)) else {
            // A store that cannot be written down is not shown either.
            self.remove(store.merchant);
            return;
        };
        self.hot[place] = Hot::of(store.active, &store.standing);
        if self.by_slug.get(&store.slug) != Some(&number) {
            Arc::make_mut(&mut self.by_slug).insert(store.slug.clone(), number);
        }
        if self.by_merchant.get(&store.merchant) != Some(&number) {
            Arc::make_mut(&mut self.by_merchant).insert(store.merchant, number);
        }
        self.members[place] = Some(Arc::new(Member { store, text }));
    }

    /// Forgets what is known of a merchant's store.
    fn remove(&mut self, merchant: MerchantId) {
        let Some(number) = self.by_merchant.get(&merchant).copied() else { return };
        let Ok(place) = usize::try_from(number) else { return };
        let Some(member) = self.members.get_mut(place).and_then(Option::take) else { return };
        self.hot[place] = Hot::NOBODY;
        if self.by_slug.get(&member.store.slug) == Some(&number) {
            Arc::make_mut(&mut self.by_slug).remove(&member.store.slug);
        }
    }
}
