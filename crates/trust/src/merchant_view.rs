//! The trust score of a store for its merchant: what each component costs, what is behind it, and what mending it gives
//! (docs/contract/merchant-api.md#trust).

mod record;

use std::collections::BTreeMap;

use database::Reading;
use merchants::{Band, SUSPENSION_THRESHOLD, Store};
use primitives::{MerchantId, OrderId, Timestamp};
use sqlx::PgConnection;

pub use record::{
    ComponentEvidence, DimensionLoss, Mend, MerchantComponent, MerchantScore, NextLabel, Suspension,
};

use crate::component::units::{UNITS_FULL, UNITS_MIN};
use crate::evidence::PolicyFigures;
use crate::gather::{gather, newest_evidence, one};
use crate::methodology::thresholds;
use crate::reason::{Reason, SUSPENSION_ENDS, reasons_v41, remedy, rounded};
use crate::slots::{due_at, slot_of};
use crate::v41::score_v41;
use crate::{
    Component, Computation, Computed, Day, Epoch, Evidence, Fact, MethodologyVersion, TrustError,
    quarters, score, table,
};

/// Orders that are listed for a component.
const ORDERS_MAX: i64 = 20;

/// The trust score of a store with its components.
#[derive(Debug, Clone)]
pub struct MerchantTrust {
    pub score: MerchantScore,
    /// All components, the most expensive first.
    pub components: Vec<MerchantComponent>,
}

/// What is read for the view of a merchant.
struct Found {
    /// Of the newest score.
    evidence: Evidence,
    /// Of the next score, as far as it is known.
    expected: Evidence,
    orders: BTreeMap<Component, Vec<OrderId>>,
}

/// Returns the trust score of a store with what is behind it and what would raise it.
pub async fn merchant_trust(reading: &Reading, store: &Store) -> Result<MerchantTrust, TrustError> {
    let merchant = store.merchant;
    let newest = crate::latest(reading, merchant).await?;
    let found = reading
        .run(async |sql| -> Result<Found, TrustError> {
            let now = Epoch::of(sql.now().await?);
            let evidence = newest_evidence(sql, merchant, newest.as_ref(), now).await?.evidence;
            let next = match &newest {
                Some(newest) if newest.epoch >= now => newest.epoch.next(),
                _ => now,
            };
            let expected = one(gather(sql, &[merchant], next).await?)?.evidence;
            let orders = orders_to_mend(sql, merchant, &evidence).await?;
            Ok(Found { evidence, expected, orders })
        })
        .await?;
    Ok(MerchantTrust::of(store, newest.as_ref(), &found))
}

/// Returns the orders that lower components.
async fn orders_to_mend(
    sql: &mut PgConnection,
    merchant: MerchantId,
    evidence: &Evidence,
) -> Result<BTreeMap<Component, Vec<OrderId>>, TrustError> {
    let days = |fact| days_with(evidence, fact);
    let late = table::mend::late_orders(sql, merchant, &days(Fact::Late), ORDERS_MAX).await?;
    let short =
        table::mend::short_orders(sql, merchant, &days(Fact::OutOfStock), ORDERS_MAX).await?;
    let lost = days(Fact::DisputesLost);
    let disputed = table::mend::disputed_orders(sql, merchant, &lost, ORDERS_MAX).await?;
    Ok(BTreeMap::from([
        (Component::FulfillmentRate, late),
        (Component::AvailabilityAccuracy, short),
        (Component::DisputeRate, disputed),
    ]))
}

/// Returns the beginnings of the newest days that count and have such facts: as many days as a list of orders needs.
fn days_with(evidence: &Evidence, fact: Fact) -> Vec<Timestamp> {
    let mut counts: BTreeMap<Day, i64> = BTreeMap::new();
    for row in &evidence.days {
        let number = row.counts.of(fact);
        if number > 0 && quarters(row.day, evidence.epoch) > 0 {
            *counts.entry(row.day).or_default() += i64::from(number);
        }
    }
    let mut listed = 0;
    let needed = counts.into_iter().rev().take_while(|(_, number)| {
        let is_needed = listed < ORDERS_MAX;
        listed += number;
        is_needed
    });
    needed.map(|(day, _)| day.start()).collect()
}

impl MerchantTrust {
    fn of(store: &Store, newest: Option<&Computation>, found: &Found) -> Self {
        let computed = newest.map_or_else(|| score(&found.evidence), Computation::computed);
        let component = |component: &Component| {
            let orders = found.orders.get(component).cloned().unwrap_or_default();
            MerchantComponent::of(*component, &computed, &found.evidence, orders)
        };
        let mut components: Vec<MerchantComponent> = Component::ALL.iter().map(component).collect();
        components.sort_by(|one, other| other.points_lost.total_cmp(&one.points_lost));
        Self { score: MerchantScore::of(store, newest, found), components }
    }
}

impl MerchantScore {
    fn of(store: &Store, newest: Option<&Computation>, found: &Found) -> Self {
        let standing = store.standing;
        let methodology = newest.map_or(MethodologyVersion::V20, |newest| newest.methodology);
        let (expected_score, dimensions) = match methodology {
            MethodologyVersion::V20 => (score(&found.expected).score, Vec::new()),
            MethodologyVersion::V41 => {
                let reasons = reasons_v41(&score_v41(&found.evidence));
                let dimensions = reasons.into_iter().map(DimensionLoss::from).collect();
                (score_v41(&found.expected).trust_score(), dimensions)
            }
        };
        Self {
            merchant_slug: store.slug.to_string(),
            score: standing.score,
            label: standing.band(),
            provisional: standing.provisional,
            delivered_orders: found.evidence.delivered_total,
            agent_checkout: store.allows_agent_checkout(),
            suspended: standing.is_suspended(),
            suspension: standing.score.filter(|_| standing.is_suspended()).map(Suspension::of),
            next_label: standing.score.and_then(NextLabel::above),
            methodology_version: methodology.as_str(),
            computed_at: standing.computed_at,
            epoch: newest.map(|newest| newest.epoch),
            revision: newest.map(|newest| newest.revision),
            basis: newest.map(|newest| newest.basis),
            cause: newest.map(|newest| newest.cause),
            next_computation_at: due_at(found.expected.epoch, slot_of(store.merchant)),
            expected_score,
            expected_label: expected_score.map(Band::of),
            dimensions,
        }
    }
}

impl Suspension {
    fn of(score: f64) -> Self {
        Self {
            threshold: SUSPENSION_THRESHOLD,
            points_missing: rounded(SUSPENSION_THRESHOLD - score),
            ends: SUSPENSION_ENDS,
        }
    }
}

impl NextLabel {
    /// Returns the lowest label above that of a score.
    fn above(score: f64) -> Option<Self> {
        let higher = thresholds()
            .into_iter()
            .filter(|it| it.label != Band::Restricted && it.min_score > score);
        let next = higher.min_by(|one, other| one.min_score.total_cmp(&other.min_score))?;
        Some(Self {
            label: next.label,
            min_score: next.min_score,
            points_missing: rounded(next.min_score - score),
        })
    }
}

impl From<Reason> for DimensionLoss {
    fn from(reason: Reason) -> Self {
        let Reason { name: dimension, value, points_lost, remedy } = reason;
        Self { dimension, value, points_lost, remedy }
    }
}

impl MerchantComponent {
    fn of(
        component: Component,
        computed: &Computed,
        evidence: &Evidence,
        orders: Vec<OrderId>,
    ) -> Self {
        let figure = computed.figures.get(&component).copied().flatten();
        let data = ComponentEvidence::of(component, computed, evidence);
        let points_lost = computed.points_lost(component);
        let mend = Mend::of(component, computed, data.bad).filter(|_| points_lost > 0.0);
        Self {
            component,
            description: component.description(),
            source: component.source(),
            applicable: figure.is_some(),
            score: figure.map(|figure| figure.value),
            weight: component.weight(),
            effective_weight: rounded(computed.effective_weight(component)),
            confidence: figure.map(|figure| rounded(figure.confidence)),
            points_lost: rounded(points_lost),
            influenced_by: component.rule().influenced_by.to_vec(),
            evidence: data,
            mend,
            orders,
        }
    }
}

impl ComponentEvidence {
    fn of(component: Component, computed: &Computed, evidence: &Evidence) -> Self {
        let figure = computed.figures.get(&component).copied().flatten();
        let sample = figure.map_or_else(|| component.sample(evidence), |figure| figure.sample);
        let is_units = component.is_counted_in_units();
        Self {
            description: component.rule().evidence,
            measured: sample.measured.map(rounded),
            good: sample.good,
            bad: sample.bad,
            accounts: is_units.then_some(sample.accounts),
            units: is_units.then(|| rounded(sample.units)),
            units_min: is_units.then_some(UNITS_MIN),
            units_full: is_units.then_some(UNITS_FULL),
            missing_settings: match component {
                Component::PolicyCoverage => missing_settings(evidence.state.policies),
                _ => Vec::new(),
            },
        }
    }
}

/// Returns the settings of required policies that are not set.
fn missing_settings(policies: PolicyFigures) -> Vec<&'static str> {
    let PolicyFigures { returns, shipping, privacy } = policies;
    let settings = [
        ("policies.return_window_days", returns),
        ("policies.shipping_days_max", shipping),
        ("policies.privacy_url", privacy),
    ];
    settings.into_iter().filter(|(_, is_set)| !is_set).map(|(name, _)| name).collect()
}

impl Mend {
    /// Returns what the value 1 of a component gives; `None` without a score. `bad` is the number of things to mend.
    fn of(component: Component, computed: &Computed, bad: u64) -> Option<Self> {
        let score = computed.mended(component)?;
        // Facts of the past cannot be mended one by one.
        let each =
            u32::try_from(bad).ok().filter(|bad| *bad > 0 && !component.is_counted_in_units());
        Some(Self {
            remedy: remedy(component),
            score,
            label: Band::of(score),
            points_each: each.map(|bad| computed.points_lost(component) / f64::from(bad)),
        })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{AccountRef, AgentDay, DayCounts};

    /// A store with ten products of which five are complete, one of three policies, and orders of some accounts.
    fn evidence() -> Evidence {
        let mut evidence = Evidence { epoch: Epoch(83_090), ..Evidence::default() };
        evidence.state.products = 10;
        evidence.state.complete = 5;
        evidence.state.consistent = 10;
        evidence.state.policies.returns = true;
        let counts = DayCounts { in_stock: 3, out_of_stock: 1, late: 9, ..DayCounts::default() };
        let row = |account: u128, day| AgentDay {
            day: Day(day),
            account: AccountRef(Uuid::from_u128(account)),
            counts,
        };
        let rows = (0_u8..12).map(|number| row(number.into(), 20_700 + i32::from(number % 4)));
        evidence.days = rows.collect();
        evidence
    }

    fn component(component: Component) -> MerchantComponent {
        let (evidence, computed) = (evidence(), score(&evidence()));
        MerchantComponent::of(component, &computed, &evidence, Vec::new())
    }

    #[test]
    fn a_mend_gives_what_the_component_costs() {
        let computed = score(&evidence());
        let now = computed.score.unwrap();
        for name in Component::ALL {
            let shown = component(*name);
            let Some(mend) = &shown.mend else {
                assert!(shown.points_lost.abs() < 1e-9, "{name}");
                continue;
            };
            assert!((mend.score - now - shown.points_lost).abs() < 0.000_1, "{name}: {shown:?}");
            assert_eq!(mend.label, Band::of(mend.score));
        }
    }

    #[test]
    fn products_and_policies_are_mended_one_by_one_and_orders_are_not() {
        let complete = component(Component::CatalogCompleteness);
        let mend = complete.mend.unwrap();
        assert!((mend.points_each.unwrap() * 5.0 - complete.points_lost).abs() < 0.000_1);
        assert_eq!((complete.evidence.good, complete.evidence.bad), (5, 5));
        let policies = component(Component::PolicyCoverage);
        let missing = ["policies.shipping_days_max", "policies.privacy_url"];
        assert_eq!(policies.evidence.missing_settings, missing);
        assert!(policies.mend.unwrap().points_each.is_some());
        let stock = component(Component::AvailabilityAccuracy);
        assert!(stock.applicable && stock.confidence.is_some_and(|confidence| confidence < 1.0));
        assert_eq!((stock.evidence.good, stock.evidence.bad), (36, 12));
        assert!(stock.effective_weight > 0.0 && stock.mend.unwrap().points_each.is_none());
    }

    #[test]
    fn a_component_that_does_not_apply_shows_how_much_data_there_is() {
        let mut few = evidence();
        few.days.truncate(3);
        let computed = score(&few);
        let stock =
            MerchantComponent::of(Component::AvailabilityAccuracy, &computed, &few, Vec::new());
        assert!(!stock.applicable && stock.score.is_none() && stock.mend.is_none());
        assert_eq!((stock.evidence.units, stock.evidence.units_min), (Some(3.0), Some(5.0)));
        assert_eq!(stock.evidence.accounts, Some(3));
    }

    #[test]
    fn the_newest_days_with_a_fact_are_read_and_no_more_than_needed() {
        let days = |fact| days_with(&evidence(), fact);
        // 27 a day: the newest one has enough.
        assert_eq!(days(Fact::Late), [Day(20_703).start()]);
        let four = [20_703, 20_702, 20_701, 20_700].map(|day| Day(day).start());
        assert_eq!(days(Fact::OutOfStock), four);
        assert!(days(Fact::DisputesLost).is_empty());
        let later = Evidence { epoch: Epoch(90_000), ..evidence() };
        assert!(days_with(&later, Fact::Late).is_empty(), "those days no longer count");
    }

    #[test]
    fn the_next_label_is_the_lowest_one_above_the_score() {
        let next = |score| NextLabel::above(score).map(|next| (next.label, next.points_missing));
        assert_eq!(next(0.1), Some((Band::Caution, 0.4)));
        assert_eq!(next(0.5), Some((Band::Standard, 0.2)));
        assert_eq!(next(0.84), Some((Band::Verified, 0.01)));
        assert_eq!(next(0.95), None);
    }
}
