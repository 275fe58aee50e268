//! Scores computed by hand, and properties of every score.

mod hand_computed;
mod properties;

use std::time::Duration;

use primitives::Timestamp;
use uuid::Uuid;

use crate::evidence::{
    AccountRef, AgentDay, Day, DayCounts, Epoch, Evidence, LatencyBucket, PolicyFigures,
};

/// At this epoch, which begins at midnight, every day counts as a whole or not at all.
const EPOCH: Epoch = Epoch(4 * 20_800);
/// The newest day that counts at `EPOCH`, and the oldest.
const NEWEST: Day = Day(20_798);
const OLDEST: Day = Day(20_709);
/// A day in the middle of the window.
const MIDDLE: Day = Day(20_750);
/// The newest day that has matured as a whole at `EPOCH`. The next one begins to mature at the next epoch.
const NEWEST_MATURED: Day = Day(20_788);

/// Evidence in the making. It begins with a store without a defect, of which nobody has bought.
#[derive(Clone)]
struct Store(Evidence);

impl Store {
    fn new() -> Self {
        let mut evidence = Evidence { epoch: EPOCH, delivered_total: 20, ..Evidence::default() };
        evidence.state.products = 1_000_000;
        evidence.state.complete = 1_000_000;
        evidence.state.consistent = 1_000_000;
        evidence.state.synced_at = Some(EPOCH.as_of());
        evidence.state.policies = PolicyFigures { returns: true, shipping: true, privacy: true };
        Self(evidence)
    }

    /// Sets the epoch; the catalog was synchronized just before.
    fn at(mut self, epoch: i64) -> Self {
        self.0.epoch = Epoch(epoch);
        self.0.state.synced_at = Some(self.0.epoch.as_of());
        self
    }

    fn products(mut self, products: i64) -> Self {
        self.0.state.products = products;
        self
    }

    fn complete(mut self, products: i64) -> Self {
        self.0.state.complete = products;
        self
    }

    fn consistent(mut self, products: i64) -> Self {
        self.0.state.consistent = products;
        self
    }

    fn synced(mut self, at: Option<Timestamp>) -> Self {
        self.0.state.synced_at = at;
        self
    }

    fn synced_minutes_ago(self, minutes: u64) -> Self {
        let at = self.0.epoch.as_of().minus(Duration::from_mins(minutes));
        self.synced(Some(at))
    }

    fn policies(mut self, [returns, shipping, privacy]: [bool; 3]) -> Self {
        self.0.state.policies = PolicyFigures { returns, shipping, privacy };
        self
    }

    fn rated(mut self, products: i64, sum_hundredths: i64) -> Self {
        self.0.state.rated_products = products;
        self.0.state.rating_sum_hundredths = sum_hundredths;
        self
    }

    fn latency(mut self, buckets: &[(u32, u32)]) -> Self {
        let bucket = |&(up_to_ms, calls): &(u32, u32)| LatencyBucket { up_to_ms, calls };
        self.0.state.latency.buckets = buckets.iter().map(bucket).collect();
        self
    }

    fn delivered(mut self, orders: i64) -> Self {
        self.0.delivered_total = orders;
        self
    }

    /// Adds an account with these days.
    fn account(mut self, days: &[(Day, DayCounts)]) -> Self {
        let accounts = self.0.days.last().map_or(0, |last| last.account.0.as_u128());
        let account = AccountRef(Uuid::from_u128(accounts + 1));
        let row = |&(day, counts): &(Day, DayCounts)| AgentDay { day, account, counts };
        self.0.days.extend(days.iter().map(row));
        self
    }

    /// Adds accounts that have these facts on one day each.
    fn accounts(self, number: usize, counts: DayCounts) -> Self {
        self.accounts_on(MIDDLE, number, counts)
    }

    fn accounts_on(self, day: Day, number: usize, counts: DayCounts) -> Self {
        (0..number).fold(self, |store, _| store.account(&[(day, counts)]))
    }

    /// Adds accounts that have these facts on several consecutive days each.
    fn accounts_of_days(self, number: usize, days: i32, counts: DayCounts) -> Self {
        let days: Vec<_> = (0..days).map(|day| (Day(MIDDLE.0 + day), counts)).collect();
        (0..number).fold(self, |store, _| store.account(&days))
    }
}

fn prices(price_equal: u32, price_different: u32) -> DayCounts {
    DayCounts { price_equal, price_different, ..DayCounts::default() }
}

fn stock(in_stock: u32, out_of_stock: u32) -> DayCounts {
    DayCounts { in_stock, out_of_stock, ..DayCounts::default() }
}

/// Checkouts of which the account canceled none.
fn checkouts(started: u32, completed: u32, kept: u32) -> DayCounts {
    DayCounts { started, completed, lasting: completed, kept, ..DayCounts::default() }
}

fn deliveries(on_time: u32, late: u32) -> DayCounts {
    DayCounts { on_time, late, ..DayCounts::default() }
}

fn disputes(orders: u32, disputes_lost: u32) -> DayCounts {
    DayCounts { orders, disputes_lost, ..DayCounts::default() }
}
