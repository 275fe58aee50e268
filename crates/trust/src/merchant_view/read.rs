//! Reads what the view of a merchant shows, as of one moment.

use std::collections::BTreeMap;

use catalog::{Defect, DefectiveProduct, QualityFigure};
use database::Snapshot;
use primitives::{CheckoutId, MerchantId, OrderId, Timestamp};
use sqlx::PgConnection;

use crate::computation::latest_at;
use crate::gather::{days_between, state_at};
use crate::pseudonym::pseudonymized;
use crate::{Component, Computation, Day, Epoch, Evidence, Fact, TrustError, quarters, table};

/// Orders, and checkouts, that are listed for a component.
const ORDERS_MAX: i64 = 20;
/// Products that are listed for a component.
const PRODUCTS_MAX: i64 = 20;
/// Size of a catalog above which products are counted, and not listed: finding them reads the whole catalog.
const CATALOG_MAX: i64 = 100_000;

/// What is read for the view of a merchant.
pub(super) struct Found {
    merchant: MerchantId,
    pub(super) newest: Option<Computation>,
    /// Of the newest score, or of now if that has none. The rows are also those of the next score: days that do not count at an
    /// epoch are ignored. Accounts have their ids until [`named`](Self::named).
    pub(super) evidence: Evidence,
    /// Of the next score, as far as it is known, without rows of days.
    pub(super) expected: Evidence,
    pub(super) orders: BTreeMap<Component, Vec<OrderId>>,
    /// Those with another price than quoted.
    pub(super) checkouts: Vec<CheckoutId>,
    pub(super) products: BTreeMap<Component, FailingProducts>,
}

/// Products that lower a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingProducts {
    /// Defects that lower the component, each with its number of products, the most frequent first.
    pub defects: Vec<(Defect, i64)>,
    /// The first products with the most frequent defect. Empty if the catalog is too large to look for them.
    pub failing: Vec<DefectiveProduct>,
}

impl Found {
    /// Reads everything; products only if they are to be shown. `local_now` is a hint.
    pub(super) async fn read(
        sql: &mut Snapshot,
        merchant: MerchantId,
        local_now: Epoch,
        includes_products: bool,
    ) -> Result<Self, TrustError> {
        let newest = latest_at(sql, merchant, local_now).await?;
        let now = Epoch::of(sql.now().await?);
        let next = match &newest {
            Some(newest) if newest.epoch >= now => newest.epoch.next(),
            _ => now,
        };
        let expected = state_at(sql, merchant, next).await?;
        let stored = match &newest {
            Some(newest) => table::detail::state_of(sql, merchant, newest).await?,
            None => None,
        };
        let mut evidence = match newest.as_ref().zip(stored) {
            Some((newest, state)) => state.into_evidence(newest.epoch),
            None => Evidence { epoch: now, ..expected.clone() },
        };
        let days = (evidence.epoch.first_day(), next.last_day());
        evidence.days = days_between(sql, merchant, days).await?;
        let orders = orders_that_lower(sql, merchant, &evidence).await?;
        let days = days_with(&evidence, Fact::PriceDifferent);
        let checkouts =
            table::adverse_orders::mispriced_checkouts(sql, merchant, &days, ORDERS_MAX).await?;
        let products = if includes_products {
            products_that_lower(sql, merchant).await?
        } else {
            BTreeMap::new()
        };
        Ok(Self { merchant, newest, evidence, expected, orders, checkouts, products })
    }

    /// Replaces accounts by their pseudonyms: scores add rows in their order.
    pub(super) fn named(mut self) -> Self {
        self.evidence.days = pseudonymized(self.merchant, self.evidence.days);
        self
    }
}

/// Returns the orders that lower components.
async fn orders_that_lower(
    sql: &mut PgConnection,
    merchant: MerchantId,
    evidence: &Evidence,
) -> Result<BTreeMap<Component, Vec<OrderId>>, TrustError> {
    let days = days_with(evidence, Fact::Late);
    let late = table::adverse_orders::late_orders(sql, merchant, &days, ORDERS_MAX).await?;
    let canceled =
        table::adverse_orders::merchant_fault_orders(sql, merchant, &days, ORDERS_MAX).await?;
    let days = days_with(evidence, Fact::OutOfStock);
    let out_of_stock =
        table::adverse_orders::out_of_stock_orders(sql, merchant, &days, ORDERS_MAX).await?;
    let days = days_with(evidence, Fact::DisputesLost);
    let disputed = table::adverse_orders::disputed_orders(sql, merchant, &days, ORDERS_MAX).await?;
    Ok(BTreeMap::from([
        (Component::AvailabilityAccuracy, out_of_stock),
        (Component::CheckoutSuccessRate, canceled.clone()),
        (Component::AgentSatisfactionRate, canceled),
        (Component::FulfillmentRate, late),
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

/// Returns the figure of the catalog that a component is.
const fn figure_of(component: Component) -> Option<QualityFigure> {
    match component {
        Component::CatalogCompleteness => Some(QualityFigure::Completeness),
        Component::DataConsistency => Some(QualityFigure::Consistency),
        _ => None,
    }
}

/// Returns the products that lower components.
async fn products_that_lower(
    sql: &mut Snapshot,
    merchant: MerchantId,
) -> Result<BTreeMap<Component, FailingProducts>, TrustError> {
    let mut products = BTreeMap::new();
    let Some(quality) = catalog::quality_in(sql, merchant).await? else { return Ok(products) };
    for component in Component::ALL {
        let Some(figure) = figure_of(*component) else { continue };
        let defects = quality.defects_lowering(figure);
        let Some((most, _)) = defects.first().copied() else { continue };
        let failing = if quality.products <= CATALOG_MAX {
            catalog::first_with_defect(sql, merchant, most, PRODUCTS_MAX).await?
        } else {
            Vec::new()
        };
        products.insert(*component, FailingProducts { defects, failing });
    }
    Ok(products)
}

#[cfg(test)]
mod tests {
    use super::super::tests::evidence;
    use super::*;

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
}
