//! Rows of days, collected as they are read: bounded by their number, and without accounts that cannot count.

use std::collections::HashMap;

use primitives::MerchantId;

use crate::{AgentDay, DayCounts};

/// Rows of stores, which are added in the order of store, account and day.
///
/// An account that only started checkouts is left out: without a purchase none of its days has any weight
/// (docs/decisions/0034-units-of-trust.md), and accounts are free.
#[derive(Debug, Default)]
pub(crate) struct CollectedDays {
    of_store: HashMap<MerchantId, Vec<AgentDay>>,
    /// The store of the row that was added last.
    last: Option<MerchantId>,
    /// Rows of the account of that row.
    account: Vec<AgentDay>,
    /// Rows that were added, also those that are left out.
    added: usize,
}

impl CollectedDays {
    /// Returns the store that may have more rows than were added, if at most `limit` were read.
    pub(crate) fn incomplete(&self, limit: usize) -> Option<MerchantId> {
        self.last.filter(|_| self.added >= limit)
    }

    /// Returns the rows by store, those of each ordered by account and day.
    pub(crate) fn into_stores(mut self) -> HashMap<MerchantId, Vec<AgentDay>> {
        self.end_account();
        self.of_store
    }

    fn add(&mut self, merchant: MerchantId, row: AgentDay) {
        let is_next = self.account.first().is_some_and(|first| first.account != row.account);
        if is_next || self.last != Some(merchant) {
            self.end_account();
        }
        self.last = Some(merchant);
        self.account.push(row);
        self.added += 1;
    }

    /// Keeps the rows of the account that was read last, if it can count.
    fn end_account(&mut self) {
        let can_count = self.account.iter().any(|row| !is_only_started(&row.counts));
        match self.last.filter(|_| can_count) {
            Some(merchant) => {
                self.of_store.entry(merchant).or_default().append(&mut self.account);
            }
            None => self.account.clear(),
        }
    }
}

impl Extend<(MerchantId, AgentDay)> for CollectedDays {
    fn extend<I: IntoIterator<Item = (MerchantId, AgentDay)>>(&mut self, rows: I) {
        for (merchant, row) in rows {
            self.add(merchant, row);
        }
    }
}

/// Whether checkouts were started on a day, and nothing else happened.
fn is_only_started(counts: &DayCounts) -> bool {
    DayCounts { started: 0, ..*counts } == DayCounts::default()
}

#[cfg(test)]
mod tests {
    use primitives::Id;
    use uuid::Uuid;

    use super::*;
    use crate::{AccountRef, Day, Epoch, Evidence, score, score_v41};

    fn row(account: u128, day: i32, started: u32, completed: u32) -> AgentDay {
        let counts = DayCounts {
            started,
            completed,
            lasting: completed,
            kept: completed,
            orders: completed,
            ..DayCounts::default()
        };
        AgentDay { day: Day(day), account: AccountRef(Uuid::from_u128(account)), counts }
    }

    fn store(number: u128) -> MerchantId {
        MerchantId::from_random(number)
    }

    #[test]
    fn accounts_that_only_started_checkouts_are_left_out() {
        let mut collected = CollectedDays::default();
        let buyer = [row(2, 5, 1, 0), row(2, 6, 1, 1)];
        let visitors = [row(1, 5, 9, 0), row(1, 6, 9, 0), row(3, 5, 1, 0)];
        collected.extend([visitors[0], visitors[1], buyer[0]].map(|row| (store(1), row)));
        collected.extend([buyer[1], visitors[2]].map(|row| (store(1), row)));
        // The same account at another store.
        collected.extend([(store(2), row(3, 7, 1, 1)), (store(3), row(3, 7, 1, 0))]);
        let days = collected.into_stores();
        assert_eq!(days.get(&store(1)).map(Vec::as_slice), Some(&buyer[..]));
        assert_eq!(days.get(&store(2)).map(Vec::len), Some(1));
        assert!(!days.contains_key(&store(3)));
    }

    #[test]
    fn what_is_left_out_changes_no_score() {
        let mut evidence = Evidence { epoch: Epoch(83_090), ..Evidence::default() };
        evidence.state.products = 1;
        let days = (0_i32..40).flat_map(|day| {
            (0_u32..20).map(move |account| row(account.into(), 20_690 + day, 3, account % 3))
        });
        evidence.days = days.collect();
        evidence.days.sort_unstable_by_key(|row| (row.account, row.day));
        let mut collected = CollectedDays::default();
        collected.extend(evidence.days.iter().map(|row| (store(1), *row)));
        let kept = collected.into_stores().remove(&store(1)).unwrap();
        assert_eq!(kept.len(), evidence.days.len() * 13 / 20);
        let smaller = Evidence { days: kept, ..evidence.clone() };
        assert_eq!(score(&smaller).score, score(&evidence).score);
        assert_eq!(score(&smaller).values(), score(&evidence).values());
        assert_eq!(score_v41(&smaller), score_v41(&evidence));
    }

    #[test]
    fn a_store_may_have_more_rows_than_were_read() {
        let mut collected = CollectedDays::default();
        assert_eq!(collected.incomplete(1), None);
        collected.extend([(store(1), row(1, 5, 1, 1)), (store(2), row(1, 5, 1, 0))]);
        assert_eq!(collected.incomplete(3), None);
        assert_eq!(collected.incomplete(2), Some(store(2)), "rows that are left out were read");
    }
}
