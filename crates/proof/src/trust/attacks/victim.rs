//! Stores that are attacked: small, medium and large ones whose buyers come at random, a poor one, stores that stand exactly on
//! the edge of a band, where the smallest loss is visible, and a new one whose score is provisional.

use primitives::Timestamp;
use rand::RngExt;
use rand::rngs::StdRng;
use trust::{AccountRef, AgentDay, Day, DayCounts, Epoch, Evidence, PolicyFigures, StateFigures};
use uuid::Uuid;

use super::BEGIN;

/// Days before the attack of which facts exist: all that count at its begin.
const DAYS_BEFORE: i32 = 95;
/// Days after the begin: the attack, and the time until its last day has left the window.
const DAYS_AFTER: i32 = 190;
/// Listed products: so many that a score is set almost exactly by the complete ones.
const PRODUCTS: i64 = 1_000_000;
/// Delivered orders of stores whose score is not provisional.
const ESTABLISHED: i64 = 100;
/// Numbers of the accounts of honest buyers begin here; those of attackers are smaller.
const FIRST_BUYER: u128 = 1 << 64;

/// A store without an attack.
pub(super) struct Victim {
    pub(super) name: &'static str,
    pub(super) state: StateFigures,
    /// Sorted by account and day.
    pub(super) days: Vec<AgentDay>,
    /// Orders delivered before the attack.
    pub(super) delivered_total: i64,
}

impl Victim {
    /// Returns all stores.
    pub(super) fn all(rng: &mut StdRng) -> Vec<Self> {
        vec![
            Self::random(rng, "small", 0.1, 0.95),
            Self::random(rng, "medium", 0.7, 0.95),
            Self::random(rng, "large", 8.0, 0.95),
            Self::random(rng, "poor", 0.7, 0.5),
            Self::steady("at 0.70", 0.70, false),
            Self::steady("at 0.85", 0.85, true),
            Self::without_sales("at 0.20", 0.20),
            Self::new_store("new"),
        ]
    }

    /// A store with this many buyers a day on average, of whom this share is served well.
    fn random(rng: &mut StdRng, name: &'static str, a_day: f64, share_good: f64) -> Self {
        let (mut days, mut buyers) = (Vec::new(), FIRST_BUYER);
        for day in BEGIN.0 - DAYS_BEFORE..BEGIN.0 + DAYS_AFTER {
            let mut left = a_day;
            while left > 0.0 {
                if rng.random_bool(left.min(1.0)) {
                    days.push(row(buyers, day, bought(rng, share_good)));
                    buyers += 1;
                }
                left -= 1.0;
            }
        }
        let state = state(PRODUCTS * 9 / 10, true, true);
        Self { name, state, days, delivered_total: ESTABLISHED }
    }

    /// A store that sells the same every day, with a score just not below this one.
    fn steady(name: &'static str, score: f64, is_consistent: bool) -> Self {
        let counts = DayCounts {
            started: 4,
            completed: 3,
            lasting: 3,
            kept: 3,
            orders: 3,
            in_stock: 3,
            on_time: 2,
            late: 1,
            delivered: 3,
            price_equal: 3,
            ..DayCounts::default()
        };
        let first = BEGIN.0 - DAYS_BEFORE;
        let days = (first..BEGIN.0 + DAYS_AFTER).zip(FIRST_BUYER..);
        let days = days.map(|(day, buyer)| row(buyer, day, counts)).collect();
        let state = state(0, is_consistent, true);
        Self { name, state, days, delivered_total: ESTABLISHED }.with_score(score)
    }

    /// A store of which nobody has bought, with a score just not below this one.
    fn without_sales(name: &'static str, score: f64) -> Self {
        let mut state = state(0, false, false);
        state.policies = PolicyFigures::default();
        Self { name, state, days: Vec::new(), delivered_total: ESTABLISHED }.with_score(score)
    }

    /// A store without a defect that has delivered nothing: its score is provisional.
    fn new_store(name: &'static str) -> Self {
        Self { name, state: state(PRODUCTS, true, true), days: Vec::new(), delivered_total: 0 }
    }

    /// Finds the least number of complete products with which the score is not below this one.
    fn with_score(mut self, score: f64) -> Self {
        let (mut low, mut high) = (0, PRODUCTS);
        while low < high {
            let middle = low + (high - low) / 2;
            self.state.complete = middle;
            let found = trust::score(&self.evidence()).score;
            if found.is_some_and(|found| found >= score) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        self.state.complete = high;
        self
    }

    /// Returns the evidence at the begin of the attack.
    pub(super) fn evidence(&self) -> Evidence {
        let (state, days) = (self.state.clone(), self.days.clone());
        let delivered_total = self.delivered_total;
        Evidence { epoch: begin(), state, days, delivered_total, ..Evidence::default() }
    }
}

/// Returns the epoch in which the attack begins.
pub(super) fn begin() -> Epoch {
    Epoch::of(BEGIN.start())
}

/// Returns a row of an account by its number.
pub(super) fn row(account: u128, day: i32, counts: DayCounts) -> AgentDay {
    AgentDay { day: Day(day), account: AccountRef(Uuid::from_u128(account)), counts }
}

fn state(complete: i64, is_consistent: bool, is_fresh: bool) -> StateFigures {
    let is_stated = is_consistent;
    StateFigures {
        products: PRODUCTS,
        complete,
        consistent: if is_consistent { PRODUCTS } else { 0 },
        // Later than every epoch: always fresh.
        synced_at: is_fresh.then(|| Timestamp::from_unix_micros(i64::MAX)),
        policies: PolicyFigures { returns: is_stated, shipping: is_stated, privacy: is_stated },
        ..StateFigures::default()
    }
}

/// Returns the day of a buyer who buys once, and may start checkouts that come to nothing.
fn bought(rng: &mut StdRng, share_good: f64) -> DayCounts {
    let mut good = || u32::from(rng.random_bool(share_good));
    let (kept, on_time, price_equal, undisputed, at_once) =
        (good(), good(), good(), good(), good());
    DayCounts {
        started: 2 - at_once,
        completed: 1,
        lasting: 1,
        kept,
        orders: 1,
        in_stock: kept,
        out_of_stock: 1 - kept,
        on_time: on_time * kept,
        late: 1 - on_time * kept,
        delivered: kept,
        price_equal,
        price_different: 1 - price_equal,
        // Of what went wrong, one in two is disputed and decided for the buyer.
        disputes_lost: (1 - undisputed) * (1 - kept),
        amount_minor: 20_00,
    }
}
