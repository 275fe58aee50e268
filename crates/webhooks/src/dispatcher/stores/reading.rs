//! Which stores are to be read from the database, in which order and with how many others.

use std::time::Duration;

use primitives::{EndpointId, MerchantId, Timestamp};

use crate::dispatcher::stores::Stores;

/// When a store is read again that could not be read.
const UNREADABLE_PAUSE: Duration = Duration::from_mins(1);
/// For how many times as long as that read took, no other store of this kind is read again.
const UNREADABLE_REST: u32 = 4;

/// With which others a store is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ReadMode {
    /// With any.
    #[default]
    Together,
    /// With others, so many in all at most: a statement that read more failed.
    Few(usize),
    /// With none, from its `read_at` on, whatever wakes it: it could not be read.
    Unreadable,
}

impl Stores {
    /// Adds a store to those that are to be read, all of it, unless it could not be read.
    pub(in crate::dispatcher) fn mark_for_read(&mut self, merchant: MerchantId) {
        self.list(merchant, true);
    }

    pub(super) fn list(&mut self, merchant: MerchantId, all: bool) {
        let store = self.by_merchant.entry(merchant).or_default();
        if store.is_unreadable() {
            return;
        }
        store.reads_all |= all;
        self.add_to_list(merchant);
    }

    /// Adds a store to the list of those with which it is read.
    pub(super) fn add_to_list(&mut self, merchant: MerchantId) {
        let Some(store) = self.by_merchant.get_mut(&merchant) else { return };
        if !store.is_listed {
            store.is_listed = true;
            store.idle_since = None;
            match store.read_mode {
                ReadMode::Together => self.to_read.push_back(merchant),
                ReadMode::Few(count) => self.to_read_apart.push_back((merchant, count)),
                ReadMode::Unreadable => self.to_read_again.push_back(merchant),
            }
        }
    }

    /// Lets stores be read again, so many together at most.
    pub(in crate::dispatcher) fn read_with_few(&mut self, merchants: &[MerchantId], count: usize) {
        for merchant in merchants {
            self.by_merchant.entry(*merchant).or_default().read_mode = ReadMode::Few(count);
            self.mark_for_read(*merchant);
        }
    }

    /// Lets a store that could not be read, in the time that it `took`, be read again later, and not before. If there are many, it waits
    /// for its turn.
    pub(in crate::dispatcher) fn read_later(
        &mut self,
        merchant: MerchantId,
        took: Duration,
        now: Timestamp,
    ) {
        self.rests_until = Some(now.plus(took * (1 + UNREADABLE_REST)));
        let store = self.by_merchant.entry(merchant).or_default();
        (store.read_mode, store.read_at) = (ReadMode::Unreadable, Some(now.plus(UNREADABLE_PAUSE)));
        self.review(merchant, now);
    }

    /// Removes stores that are read together from their list, and returns them.
    pub(in crate::dispatcher) fn take_listed(
        &mut self,
        limit: usize,
        now: Timestamp,
    ) -> Vec<MerchantId> {
        let count = limit.min(self.to_read.len());
        let mut listed: Vec<MerchantId> = self.to_read.drain(..count).collect();
        listed.retain(|merchant| self.begin_read(*merchant, now));
        listed
    }

    /// Removes the first of the other stores from their list, with those behind it that are read with as many others, and returns
    /// them. If there is none, it is one that could not be read.
    pub(in crate::dispatcher) fn take_listed_apart(
        &mut self,
        limit: usize,
        now: Timestamp,
    ) -> Vec<MerchantId> {
        let Some((_, count)) = self.to_read_apart.front().copied() else {
            return self.take_unreadable(now).into_iter().collect();
        };
        let first = self.to_read_apart.iter().take(count.min(limit));
        let alike = first.take_while(|(_, its_count)| *its_count == count).count();
        let mut listed: Vec<MerchantId> =
            self.to_read_apart.drain(..alike).map(|(merchant, _)| merchant).collect();
        listed.retain(|merchant| self.begin_read(*merchant, now));
        listed
    }

    /// Removes the first store that could not be read from its list, and returns it, unless they rest.
    fn take_unreadable(&mut self, now: Timestamp) -> Option<MerchantId> {
        if self.rests_until.is_some_and(|until| now < until) {
            return None;
        }
        while let Some(merchant) = self.to_read_again.pop_front() {
            if self.begin_read(merchant, now) {
                return Some(merchant);
            }
        }
        None
    }

    /// Begins to read a store. Returns whether it was listed.
    fn begin_read(&mut self, merchant: MerchantId, now: Timestamp) -> bool {
        let store = self.by_merchant.get_mut(&merchant).filter(|store| store.is_listed);
        store.map(|store| store.begin_read(now)).is_some()
    }

    /// Returns the endpoints of stores that the read under way leaves out, because they are full.
    pub(in crate::dispatcher) fn skipped(&self, merchants: &[MerchantId]) -> Vec<EndpointId> {
        let stores = merchants.iter().filter_map(|merchant| self.by_merchant.get(merchant));
        let endpoints = stores.flat_map(|store| &store.endpoints);
        endpoints.filter(|(_, queue)| queue.is_skipped).map(|(endpoint, _)| *endpoint).collect()
    }

    /// Returns whether there are stores to be read now.
    pub(in crate::dispatcher) fn has_listed(&self) -> bool {
        !(self.to_read.is_empty() && self.to_read_apart.is_empty())
    }
}
