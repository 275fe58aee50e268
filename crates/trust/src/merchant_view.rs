//! The trust score of a store for its merchant: what each component costs, what is behind it, and what an improvement gives
//! (docs/contract/merchant-api.md#trust).

mod read;
mod record;

use std::collections::BTreeMap;

use database::Reading;
use merchants::{Band, Store};

pub use read::FailingProducts;
pub use record::{
    ComponentEvidence, DimensionLoss, Improvement, MerchantComponent, MerchantScore, NextLabel,
};

use crate::component::units::{UNITS_FULL, UNITS_MIN};
use crate::evidence::PolicyFigures;
use crate::methodology::thresholds;
use crate::reason::{Reason, reasons_v41, remedy, rounded};
use crate::v41::score_v41;
use crate::{
    Component, Computation, Computed, Epoch, Evidence, MethodologyVersion, TrustError, score,
};
use read::Found;

/// The trust score of a store with its components.
#[derive(Debug, Clone)]
pub struct MerchantTrust {
    pub score: MerchantScore,
    /// All components, those that cost most points first.
    pub components: Vec<MerchantComponent>,
    /// Products that lower components.
    pub products: BTreeMap<Component, FailingProducts>,
}

/// Returns the trust score of a store with what is behind it and what would raise it; with products that lower it, if the
/// caller may see them.
pub async fn merchant_trust(
    reading: &Reading,
    store: &Store,
    includes_products: bool,
) -> Result<MerchantTrust, TrustError> {
    let (merchant, local_now) = (store.merchant, Epoch::of(reading.local_now()));
    let found: Found = reading
        .run(async |sql| Found::read(sql, merchant, local_now, includes_products).await)
        .await?;
    // A large store has millions of rows to sum.
    let store = store.clone();
    let computed = tokio::task::spawn_blocking(move || MerchantTrust::of(&store, found.named()));
    computed.await.map_err(|error| TrustError::Defect(error.to_string()))
}

impl MerchantTrust {
    fn of(store: &Store, found: Found) -> Self {
        let Found { newest, evidence, expected, mut orders, checkouts, products, .. } = found;
        let mut checkouts = BTreeMap::from([(Component::PriceAccuracy, checkouts)]);
        let newest = newest.as_ref();
        let computed = newest.map_or_else(|| score(&evidence), Computation::computed);
        let component = |component: &Component| MerchantComponent {
            orders: orders.remove(component).unwrap_or_default(),
            checkouts: checkouts.remove(component).unwrap_or_default(),
            ..MerchantComponent::of(*component, &computed, &evidence)
        };
        let mut components: Vec<MerchantComponent> = Component::ALL.iter().map(component).collect();
        components.sort_by(|one, other| other.points_lost.total_cmp(&one.points_lost));
        Self { score: MerchantScore::of(store, newest, evidence, expected), components, products }
    }
}

impl MerchantScore {
    /// Returns the score in force. `expected` has no rows of days: they are those of `evidence`.
    fn of(
        store: &Store,
        newest: Option<&Computation>,
        evidence: Evidence,
        expected: Evidence,
    ) -> Self {
        let standing = store.standing;
        let methodology = newest.map_or(MethodologyVersion::V20, |newest| newest.methodology);
        let dimensions = match methodology {
            MethodologyVersion::V20 => Vec::new(),
            MethodologyVersion::V41 => reasons_v41(&score_v41(&evidence)),
        };
        let delivered_orders = evidence.delivered_total;
        let expected = Evidence { days: evidence.days, ..expected };
        let expected_score = match methodology {
            MethodologyVersion::V20 => score(&expected).score,
            MethodologyVersion::V41 => score_v41(&expected).trust_score(),
        };
        // Nobody is told in which minute of the epoch.
        let next_computation_at = expected.epoch.end();
        Self {
            merchant_slug: store.slug.to_string(),
            score: standing.score,
            label: standing.band(),
            provisional: standing.provisional,
            delivered_orders,
            agent_checkout: store.allows_agent_checkout(),
            suspended: standing.is_suspended(),
            ends: standing.suspension_end(next_computation_at),
            next_label: standing.score.and_then(NextLabel::above),
            methodology_version: methodology.as_str(),
            computed_at: standing.computed_at,
            epoch: newest.map(|newest| newest.epoch),
            revision: newest.map(|newest| newest.revision),
            basis: newest.map(|newest| newest.basis),
            cause: newest.map(|newest| newest.cause),
            next_computation_at,
            expected_score,
            expected_label: expected_score.map(Band::of),
            dimensions: dimensions.into_iter().map(DimensionLoss::from).collect(),
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
    /// Returns a component without what lowers it.
    fn of(component: Component, computed: &Computed, evidence: &Evidence) -> Self {
        let figure = computed.figures.get(&component).copied().flatten();
        let data = ComponentEvidence::of(component, computed, evidence);
        let points_lost = computed.points_lost(component);
        let improvement = Improvement::of(component, computed, data.bad);
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
            improvement: improvement.filter(|_| points_lost > 0.0),
            orders: Vec::new(),
            checkouts: Vec::new(),
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

impl Improvement {
    /// Returns what the value 1 of a component gives; `None` without a score. `bad` is the number of things to improve.
    fn of(component: Component, computed: &Computed, bad: u64) -> Option<Self> {
        let new_score = computed.score_with_full(component)?;
        // Facts of the past cannot be improved one by one.
        let each =
            u32::try_from(bad).ok().filter(|bad| *bad > 0 && !component.is_counted_in_units());
        Some(Self {
            remedy: remedy(component),
            new_score,
            label: Band::of(new_score),
            points_each: each.map(|bad| computed.points_lost(component) / f64::from(bad)),
        })
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{AccountRef, AgentDay, Day, DayCounts};

    /// A store with ten products of which five are complete, one of three policies, and orders of some accounts.
    pub(super) fn evidence() -> Evidence {
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
        MerchantComponent::of(component, &computed, &evidence)
    }

    #[test]
    fn an_improvement_gives_what_the_component_costs() {
        let computed = score(&evidence());
        let now = computed.score.unwrap();
        for name in Component::ALL {
            let shown = component(*name);
            let Some(improvement) = &shown.improvement else {
                assert!(shown.points_lost.abs() < 1e-9, "{name}");
                continue;
            };
            let gain = improvement.new_score - now;
            assert!((gain - shown.points_lost).abs() < 0.000_1, "{name}: {shown:?}");
            assert_eq!(improvement.label, Band::of(improvement.new_score));
        }
    }

    #[test]
    fn products_and_policies_are_improved_one_by_one_and_orders_are_not() {
        let complete = component(Component::CatalogCompleteness);
        let each = complete.improvement.unwrap().points_each.unwrap();
        assert!((each * 5.0 - complete.points_lost).abs() < 0.000_1);
        assert_eq!((complete.evidence.good, complete.evidence.bad), (5, 5));
        let policies = component(Component::PolicyCoverage);
        let missing = ["policies.shipping_days_max", "policies.privacy_url"];
        assert_eq!(policies.evidence.missing_settings, missing);
        assert!(policies.improvement.unwrap().points_each.is_some());
        let stock = component(Component::AvailabilityAccuracy);
        assert!(stock.applicable && stock.confidence.is_some_and(|confidence| confidence < 1.0));
        assert_eq!((stock.evidence.good, stock.evidence.bad), (36, 12));
        assert!(stock.effective_weight > 0.0);
        assert!(stock.improvement.unwrap().points_each.is_none());
    }

    #[test]
    fn a_component_that_does_not_apply_shows_how_much_data_there_is() {
        let mut few = evidence();
        few.days.truncate(3);
        let computed = score(&few);
        let stock = MerchantComponent::of(Component::AvailabilityAccuracy, &computed, &few);
        assert!(!stock.applicable && stock.score.is_none() && stock.improvement.is_none());
        assert_eq!((stock.evidence.units, stock.evidence.units_min), (Some(3.0), Some(5.0)));
        assert_eq!(stock.evidence.accounts, Some(3));
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
