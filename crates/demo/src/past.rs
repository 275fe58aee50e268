//! Purchases of agents at the demo stores: when each was made, and how it ended. They follow from the store, its rates and
//! the number of the purchase alone, and purchases are counted since 1970: seeding later adds those that were made since.

use std::time::Duration;

use primitives::Timestamp;
use trust::Day;

use crate::agents::Agent;
use crate::hash::between;
use crate::world::{Purchases, Store};

/// Days back to which there are purchases: some more than a score counts.
const DAYS: i32 = 105;
const DAYS_PER_MONTH: u64 = 30;
const DAY_MINUTES: u16 = 24 * 60;
/// Time between two checkouts of an agent on a day.
const BETWEEN_CHECKOUTS: Duration = Duration::from_mins(25);

/// A purchase that is over: delivered or canceled, and without an open dispute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Purchase {
    pub(crate) number: u64,
    pub(crate) agent: Agent,
    /// When checkouts of the same day were started that were not completed.
    pub(crate) unfinished: Vec<Timestamp>,
    pub(crate) started_at: Timestamp,
    /// When it was paid, and the order placed.
    pub(crate) placed_at: Timestamp,
    /// Whether the store reported another amount than the approved one, before it reported that.
    pub(crate) is_overcharged: bool,
    pub(crate) confirmed_at: Timestamp,
    pub(crate) ending: Ending,
    pub(crate) dispute: Option<DisputeTimes>,
}

/// How an order ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The store canceled everything as out of stock.
    OutOfStock {
        canceled_at: Timestamp,
    },
    Delivered {
        processed_at: Timestamp,
        shipped_at: Timestamp,
        delivered_at: Timestamp,
    },
}

/// When a dispute was opened, answered by the store, and decided for the buyer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DisputeTimes {
    pub(crate) opened: Timestamp,
    pub(crate) answered: Timestamp,
    pub(crate) decided: Timestamp,
}

/// Time between the cause of a refund and the refund.
const REFUND_AFTER: Duration = Duration::from_hours(1);
/// Time between the decision of a dispute and its refund.
const DECIDED_REFUND_AFTER: Duration = Duration::from_hours(24);

impl Purchase {
    /// Returns when the order was canceled or delivered.
    pub(crate) fn settled_at(&self) -> Timestamp {
        match self.ending {
            Ending::OutOfStock { canceled_at } => canceled_at,
            Ending::Delivered { delivered_at, .. } => delivered_at,
        }
    }

    /// Returns when an amount was refunded, if one was.
    pub(crate) fn refunded_at(&self) -> Option<Timestamp> {
        match (&self.dispute, &self.ending) {
            (Some(dispute), _) => Some(dispute.decided.plus(DECIDED_REFUND_AFTER)),
            (None, Ending::OutOfStock { canceled_at }) => Some(canceled_at.plus(REFUND_AFTER)),
            (None, Ending::Delivered { .. }) => None,
        }
    }

    /// Returns when the last thing happened.
    pub(crate) fn ended_at(&self) -> Timestamp {
        self.refunded_at().unwrap_or_else(|| self.settled_at())
    }
}

/// Returns the purchases at a store that are over, the oldest first.
pub(crate) fn purchases(store: &Store, member_since: Timestamp, now: Timestamp) -> Vec<Purchase> {
    let Some(rates) = &store.purchases else { return Vec::new() };
    let quiet = Duration::from_hours(24) * rates.quiet_days;
    let times = member_since..=now.minus(quiet);
    let today = Day::of(now).0;
    let days = (today - DAYS..=today).map(Day);
    let numbered = days.flat_map(|day| numbers(day, rates).map(move |number| (day, number)));
    numbered
        .map(|(day, number)| Course { store, rates, day, number }.purchase())
        .filter(|it| times.contains(&it.started_at) && it.ended_at() <= now)
        .collect()
}

/// Returns the numbers of the purchases of a day.
fn numbers(day: Day, rates: &Purchases) -> std::ops::Range<u64> {
    let before = |day: i32| {
        let days = u64::try_from(day).unwrap_or_default();
        (days * u64::from(rates.per_month)).div_ceil(DAYS_PER_MONTH)
    };
    before(day.0)..before(day.0 + 1)
}

/// The course of one purchase.
struct Course<'a> {
    store: &'a Store,
    rates: &'a Purchases,
    day: Day,
    number: u64,
}

impl Course<'_> {
    fn purchase(&self) -> Purchase {
        let started_at = self.day.start().plus(self.minutes("start", 3 * 60, 21 * 60));
        let placed_at = started_at.plus(self.minutes("pay", 5, 20));
        let confirmed_at = placed_at.plus(self.minutes("confirm", 5, 120));
        let starts = (self.rates.unfinished + self.turn("unfinished", 83)) / 100;
        let before = |number: u32| started_at.minus(BETWEEN_CHECKOUTS * number);
        let mut purchase = Purchase {
            number: self.number,
            agent: Agent::of(self.store, self.number),
            unfinished: (1..=starts).rev().map(before).collect(),
            started_at,
            placed_at,
            is_overcharged: self.turn("overcharged", 67) < self.rates.overcharged,
            confirmed_at,
            ending: self.ending(placed_at, confirmed_at),
            dispute: None,
        };
        let is_disputed = self.turn("disputed", 71) < self.rates.disputed;
        purchase.dispute = is_disputed.then(|| self.dispute(purchase.settled_at()));
        purchase
    }

    fn ending(&self, placed_at: Timestamp, confirmed_at: Timestamp) -> Ending {
        if self.turn("short", 61) < self.rates.out_of_stock {
            let after = self.minutes("cancel", 10 * 60, 30 * 60);
            return Ending::OutOfStock { canceled_at: confirmed_at.plus(after) };
        }
        let shipped_at = placed_at.plus(self.minutes("ship", 15 * 60, 30 * 60));
        let policies = &self.store.policies;
        let promised = policies.shipping_days_min.zip(policies.shipping_days_max);
        let travel = match promised.map(|(min, max)| (minutes(min), minutes(max))) {
            None => self.minutes("deliver", 4 * DAY_MINUTES, 12 * DAY_MINUTES),
            Some((_, max)) if self.turn("late", 37) < self.rates.late => {
                Duration::from_mins(max.into()) + self.minutes("deliver", 10 * 60, 3 * DAY_MINUTES)
            }
            Some((min, max)) => self.minutes("deliver", min, max.saturating_sub(120)),
        };
        // Not before it was shipped, also if the store promises the next day.
        let soonest = shipped_at.plus(Duration::from_hours(6));
        Ending::Delivered {
            processed_at: confirmed_at.plus(self.minutes("process", 60, 600)),
            shipped_at,
            delivered_at: placed_at.plus(travel).max(soonest),
        }
    }

    fn dispute(&self, settled_at: Timestamp) -> DisputeTimes {
        let opened = settled_at.plus(self.minutes("open", DAY_MINUTES, 2 * DAY_MINUTES));
        DisputeTimes {
            opened,
            answered: opened.plus(self.minutes("answer", 60, DAY_MINUTES)),
            decided: opened.plus(self.minutes("decide", 3 * DAY_MINUTES, 8 * DAY_MINUTES)),
        }
    }

    /// Returns a duration that follows from the number of the purchase.
    fn minutes(&self, purpose: &str, low: u16, high: u16) -> Duration {
        let name = format!("{}/{}", self.store.slug, self.number);
        Duration::from_mins(between(&name, purpose, low, high).into())
    }

    /// Returns a number from 0 to 99: of a hundred purchases in a row each has another, because `step` has no factor in common
    /// with 100. A rate of three per hundred selects three of them.
    fn turn(&self, purpose: &str, step: u64) -> u32 {
        let first = u64::from(between(&self.store.slug, purpose, 0, 99));
        u32::try_from((self.number * step + first) % 100).unwrap_or_default()
    }
}

/// Returns days in minutes.
fn minutes(days: i32) -> u16 {
    u16::try_from(days).unwrap_or_default().saturating_mul(DAY_MINUTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::days_ago;

    fn shop(slug: &str) -> Store {
        crate::world().store(slug).cloned().unwrap()
    }

    fn all(store: &Store, now: Timestamp) -> Vec<Purchase> {
        purchases(store, days_ago(store.member_since_days_ago), now)
    }

    #[test]
    fn later_there_are_more_purchases_and_the_former_ones_are_the_same() {
        let store = shop("kivikiri");
        let now = days_ago(0);
        let before = all(&store, now);
        let after = all(&store, now.plus(Duration::from_hours(10 * 24)));
        let first = after[0].number;
        let kept = before.iter().filter(|it| it.number >= first);
        assert!(kept.clone().count() > 50);
        assert!(kept.clone().all(|it| after.contains(it)));
        assert!(after.len() > kept.count());
    }

    #[test]
    fn rates_are_shares_of_the_purchases() {
        let store = shop("spaak-en-zoon");
        let rates = store.purchases.clone().unwrap();
        let of = |number| Course { store: &store, rates: &rates, day: Day(20_000), number };
        let hundred: Vec<Purchase> = (700..800).map(|number| of(number).purchase()).collect();
        let count = |is: fn(&Purchase) -> bool| {
            u32::try_from(hundred.iter().filter(|it| is(it)).count()).unwrap()
        };
        assert_eq!(count(|it| matches!(it.ending, Ending::OutOfStock { .. })), rates.out_of_stock);
        assert_eq!(count(|it| it.is_overcharged), rates.overcharged);
        assert_eq!(count(|it| it.dispute.is_some()), rates.disputed);
        let unfinished: usize = hundred.iter().map(|it| it.unfinished.len()).sum();
        assert_eq!(u32::try_from(unfinished).unwrap(), rates.unfinished);
    }

    #[test]
    fn a_purchase_happens_in_its_order_and_its_checkouts_on_one_day() {
        let now = days_ago(0);
        for store in crate::world().stores {
            for it in all(&store, now) {
                let name = format!("{}/{}: {it:?}", store.slug, it.number);
                let first = it.unfinished.first().copied().unwrap_or(it.started_at);
                assert_eq!(Day::of(first), Day::of(it.placed_at), "{name}");
                let mut times = vec![it.started_at, it.placed_at, it.confirmed_at];
                if let Ending::Delivered { processed_at, shipped_at, .. } = it.ending {
                    times.extend([processed_at, shipped_at]);
                }
                times.push(it.settled_at());
                if let Some(dispute) = &it.dispute {
                    times.extend([dispute.opened, dispute.answered, dispute.decided]);
                }
                times.extend(it.refunded_at());
                assert!(times.is_sorted() && it.ended_at() <= now, "{name}");
            }
        }
    }
}
