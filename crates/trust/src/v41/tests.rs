//! Merchants computed by hand: every tier on both sides of its edges, every cap, every level of data quality.
//!
//! R is the value of merchantReliabilityBase, D that of agenticReadiness, E that of agenticEvidence. Signals without data are
//! left out of a sum together with their weight.

mod assurance;
mod cold_start;
mod human_established;
mod insufficient_data;
mod published;
mod thin;
mod verified;

use uuid::Uuid;

use super::*;
use crate::evidence::{AccountRef, AgentDay, Day, DayCounts, Epoch, PolicyFigures, StateFigures};

/// 06:00 of day 20,800. The last day that counts is 20,799, the first of the window 20,710.
const EPOCH: Epoch = Epoch(4 * 20_800 + 1);
const LAST_DAY: i32 = 20_799;

/// A merchant, and what its score is.
struct Merchant {
    name: &'static str,
    evidence: Evidence,
    tier: Tier,
    weighted_sum: Option<f64>,
    score: Option<f64>,
}

fn merchant(
    name: &'static str,
    evidence: Evidence,
    tier: Tier,
    weighted_sum: f64,
    score: f64,
) -> Merchant {
    Merchant { name, evidence, tier, weighted_sum: Some(weighted_sum), score: Some(score) }
}

fn unscored(name: &'static str, evidence: Evidence) -> Merchant {
    let tier = Tier::InsufficientData;
    Merchant { name, evidence, tier, weighted_sum: None, score: None }
}

/// A store without orders: D = 100, and R = 100 from its catalog and its age.
fn store() -> Evidence {
    Evidence {
        epoch: EPOCH,
        state: StateFigures {
            products: 100,
            complete: 100,
            consistent: 100,
            synced_at: Some(EPOCH.as_of()),
            policies: PolicyFigures { returns: true, shipping: true, privacy: true },
            ..StateFigures::default()
        },
        v41: V41Figures {
            store_age_days: 365,
            currency_decimals: Some(2),
            setup: SetupFigures { shipping: true, checkout_page: true, webhook: true },
            is_identity_verified: true,
            ..V41Figures::default()
        },
        ..Evidence::default()
    }
}

/// The facts of an account that bought once and got what it bought, on time.
const BOUGHT: DayCounts = DayCounts {
    started: 1,
    completed: 1,
    lasting: 1,
    kept: 1,
    orders: 1,
    in_stock: 1,
    out_of_stock: 0,
    on_time: 1,
    late: 0,
    delivered: 1,
    price_equal: 0,
    price_different: 0,
    disputes_lost: 0,
    amount_minor: 50_000,
};

/// A change of evidence, for chains of them.
trait Change: Sized {
    fn change(self, change: impl FnOnce(&mut Evidence)) -> Evidence;

    fn agent_orders(self, orders: i64) -> Evidence {
        self.change(|evidence| evidence.delivered_total = orders)
    }

    fn human(self, fulfilled: i64, canceled: i64) -> Evidence {
        self.change(|evidence| evidence.v41.human = HumanOrders { fulfilled, canceled })
    }

    /// Adds one row with these counts for each account, `days_ago` days before the last day that counts.
    fn days(
        self,
        accounts: std::ops::RangeInclusive<u128>,
        days_ago: i32,
        counts: DayCounts,
    ) -> Evidence {
        let row = |account| AgentDay {
            day: Day(LAST_DAY - days_ago),
            account: AccountRef(Uuid::from_u128(account)),
            counts,
        };
        self.change(|evidence| evidence.days.extend(accounts.map(row)))
    }

    /// Lowers R and D. With purchases, R = (30 * 100 + 20 * 100 + 20 * 50 + 10 * 0) / 80 = 75; without, R =
    /// (20 * 50 + 10 * 0) / 30 = 33.3. D = (30 * 0 + 25 * 100 + 20 * 100) / 75 = 60.
    fn mixed(self) -> Evidence {
        self.change(|evidence| {
            (evidence.state.complete, evidence.state.consistent) = (20, 80);
            evidence.v41.store_age_days = 0;
            evidence.v41.setup = SetupFigures::default();
        })
    }
}

impl Change for Evidence {
    fn change(mut self, change: impl FnOnce(&mut Evidence)) -> Evidence {
        change(&mut self);
        self
    }
}

fn merchants() -> Vec<Merchant> {
    let groups = [
        cold_start::merchants(),
        human_established::merchants(),
        thin::merchants(),
        thin::degraded_merchants(),
        verified::merchants(),
        verified::levels(),
        assurance::merchants(),
        insufficient_data::merchants(),
    ];
    groups.into_iter().flatten().collect()
}

#[test]
fn at_least_thirty_merchants_have_the_score_computed_by_hand() {
    let merchants = merchants();
    assert!(merchants.len() >= 30, "{}", merchants.len());
    for Merchant { name, evidence, tier, weighted_sum, score } in merchants {
        let computed = score_v41(&evidence);
        assert_eq!(computed.tier, tier, "{name}: {computed:#?}");
        assert_eq!(computed.score, score, "{name}: {computed:#?}");
        assert_eq!(computed.cap, tier.cap(), "{name}");
        let difference = computed.weighted_sum.unwrap_or(0.0) - weighted_sum.unwrap_or(0.0);
        assert!(difference.abs() < 1e-9, "{name}: {computed:#?}");
        assert_eq!(computed.weighted_sum.is_some(), weighted_sum.is_some(), "{name}");
        assert_eq!(computed.base.is_some(), score.is_some(), "{name}");
        let weights: f64 = computed.dimensions.iter().map(|score| score.weight).sum();
        let expected = if score.is_some() { 1.0 } else { 0.0 };
        assert!((weights - expected).abs() < 1e-12, "{name}: {weights}");
    }
}

#[test]
fn every_tier_and_every_level_of_data_quality_occurs() {
    let scores: Vec<V41Score> = merchants().iter().map(|it| score_v41(&it.evidence)).collect();
    for tier in Tier::ALL {
        assert!(scores.iter().any(|score| score.tier == *tier), "{tier}");
    }
    for tier in Tier::ALL {
        let cap = tier.cap().map(f64::from);
        let is_reached = |score: &V41Score| score.tier == *tier && score.base == cap;
        assert!(scores.iter().any(is_reached), "the cap of {tier}");
    }
    for level in DataQuality::ALL {
        let mut signals =
            scores.iter().flat_map(|score| &score.dimensions).flat_map(|it| &it.signals);
        assert!(signals.any(|signal| signal.data_quality == *level), "{level}");
    }
}

#[test]
fn the_order_of_rows_does_not_change_a_score() {
    for Merchant { name, mut evidence, .. } in merchants() {
        let score = score_v41(&evidence);
        evidence.days.reverse();
        assert_eq!(score_v41(&evidence), score, "{name}");
    }
}

#[test]
fn a_score_and_its_evidence_round_trip_through_json() {
    for Merchant { name, evidence, .. } in merchants() {
        let score = score_v41(&evidence);
        let json = serde_json::to_string(&score).unwrap();
        let read: V41Score = serde_json::from_str(&json).unwrap();
        // Without the feature `float_roundtrip`, the last bit of long fractions may differ.
        let exact = |it: V41Score| (it.tier, it.cap, it.profile, it.external_assurance, it.score);
        assert_eq!(exact(read), exact(score), "{name}");
        let json = serde_json::to_string(&evidence.v41).unwrap();
        assert_eq!(serde_json::from_str::<V41Figures>(&json).unwrap(), evidence.v41, "{name}");
    }
}

#[test]
fn a_trust_score_is_a_hundredth_of_the_score() {
    let score = score_v41(&store());
    assert_eq!((score.score, score.trust_score()), (Some(65.0), Some(0.65)));
    let empty = score_v41(&Evidence::default());
    assert_eq!((empty.score, empty.trust_score()), (None, None));
}
