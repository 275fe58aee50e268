//! Searches for a serial order of the operations in which the model gives the observed state.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::execute::{Execution, name};
use super::observe::{Observed, VisibleProduct};
use crate::catalog::model::{
    CatalogModel, Operation, OperationResult, PriceEntry, Product, VariantRef,
};

/// The part of an operation that concerns one product, with its result.
#[derive(Debug, Clone)]
struct Part {
    /// Index of the operation in the history.
    index: usize,
    operation: Operation,
    result: OperationResult,
}

/// The serial orders in which the model gives the observed state of one product.
#[derive(Default)]
pub(super) struct SerialOrders {
    /// The states in which these orders may end. There can be more than one, because some values cannot
    /// be observed, such as the offer of a retired product.
    pub(super) states: Vec<CatalogModel>,
    orders: BTreeSet<Vec<usize>>,
}

impl SerialOrders {
    /// Returns whether an order of all operations gives the observed state of this product.
    pub(super) fn allows(&self, order: &[usize]) -> bool {
        let parts: BTreeSet<usize> = self.orders.iter().flatten().copied().collect();
        let order: Vec<usize> =
            order.iter().copied().filter(|index| parts.contains(index)).collect();
        self.orders.contains(&order)
    }
}

/// Returns the orders in which no operation precedes one that ended before it began.
pub(super) fn possible_orders(executions: &[Execution]) -> Vec<Vec<usize>> {
    let mut orders = orders(executions.len());
    orders.retain(|order| is_possible(order, executions));
    orders
}

fn is_possible(order: &[usize], executions: &[Execution]) -> bool {
    let in_order: Vec<&Execution> =
        order.iter().filter_map(|index| executions.get(*index)).collect();
    in_order.iter().enumerate().all(|(at, earlier)| {
        let later = in_order.get(at + 1..).unwrap_or_default();
        later.iter().all(|later| later.ended > earlier.began)
    })
}

/// Replays the operations on a product in every possible order.
pub(super) fn find_serial_orders(
    states: &[CatalogModel],
    product: usize,
    operations: &[Operation],
    executions: &[Execution],
    observed: &Observed,
) -> SerialOrders {
    let part = |(index, (operation, execution)): (usize, (&Operation, &Execution))| {
        let (operation, result) = operation.part(&execution.result, product)?;
        Some(Part { index, operation, result })
    };
    let parts: Vec<Part> = operations.iter().zip(executions).enumerate().filter_map(part).collect();
    let mut found = SerialOrders::default();
    for order in orders(parts.len()) {
        let parts: Vec<&Part> = order.iter().filter_map(|at| parts.get(*at)).collect();
        let order: Vec<usize> = parts.iter().map(|part| part.index).collect();
        if !is_possible(&order, executions) {
            continue;
        }
        for state in states {
            if let Some(after) = replay(state, product, &parts, observed) {
                found.orders.insert(order.clone());
                if !found.states.contains(&after) {
                    found.states.push(after);
                }
            }
        }
    }
    found
}

/// Returns all permutations of `0..count`.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for item in 0..count {
        let longer = |order: &Vec<usize>| {
            let order = order.clone();
            (0..=order.len()).map(move |at| {
                let mut order = order.clone();
                order.insert(at, item);
                order
            })
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    orders
}

/// Applies the parts in this order and returns the model's state, or `None` if it differs from what was
/// observed.
fn replay(
    state: &CatalogModel,
    product: usize,
    parts: &[&Part],
    observed: &Observed,
) -> Option<CatalogModel> {
    let mut state = state.clone();
    let (mut prices, mut events) = (Vec::new(), Vec::new());
    for part in parts {
        let effect = state.apply(&part.operation);
        if effect.result != part.result {
            return None;
        }
        prices.extend(effect.prices.into_iter().map(|(_, entry)| entry));
        events.extend(effect.events.into_iter().map(|(_, topic)| (part.index, topic.to_owned())));
    }
    let observed_events = observed.events.get(&product).map(Vec::as_slice).unwrap_or_default();
    if events != observed_events {
        return None;
    }
    let observed_prices = observed.prices.get(&product).map(Vec::as_slice).unwrap_or_default();
    let ids = match_new_variants(&prices, observed_prices)?;
    state.resolve_new_variants(&ids)?;
    let agrees = match (state.products.get(&product), observed.products.get(&product)) {
        (Some(expected), Some(actual)) => expected.matches(actual.as_ref()),
        (expected, actual) => expected.is_none() && actual.is_none(),
    };
    agrees.then_some(state)
}

/// Compares the price entries and maps the model's new variants to the stored ones; `None` if they differ.
fn match_new_variants(
    expected: &[PriceEntry<VariantRef>],
    actual: &[PriceEntry<Uuid>],
) -> Option<BTreeMap<VariantRef, Uuid>> {
    let mut ids = BTreeMap::new();
    let mut assigned = BTreeSet::new();
    let mut same_variant = |expected: VariantRef, actual: Uuid| match expected {
        VariantRef::Stored(id) => id == actual,
        VariantRef::New(_) => match ids.get(&expected) {
            Some(id) => *id == actual,
            None => ids.insert(expected, actual).is_none() && assigned.insert(actual),
        },
    };
    let mut same_entry = |(expected, actual): (&PriceEntry<VariantRef>, &PriceEntry<Uuid>)| {
        let same = (expected.price, expected.list_price, expected.currency)
            == (actual.price, actual.list_price, actual.currency);
        same && match (expected.variant, actual.variant) {
            (None, None) => true,
            (Some(expected), Some(actual)) => same_variant(expected, actual),
            _ => false,
        }
    };
    let same = expected.len() == actual.len() && expected.iter().zip(actual).all(&mut same_entry);
    same.then_some(ids)
}

impl CatalogModel {
    /// Replaces new variants by the stored ones. Each has a price entry, so each is in `ids`.
    fn resolve_new_variants(&mut self, ids: &BTreeMap<VariantRef, Uuid>) -> Option<()> {
        for variant in self.products.values_mut().flat_map(|product| &mut product.variants) {
            if let VariantRef::New(_) = variant.reference {
                variant.reference = VariantRef::Stored(*ids.get(&variant.reference)?);
            }
        }
        self.new_variants = 0;
        Some(())
    }
}

impl Product {
    /// Returns whether agents see this product as `visible`.
    fn matches(&self, visible: Option<&VisibleProduct>) -> bool {
        let Some(visible) = visible else { return !self.listed };
        let variants = self.variants.iter().zip(&visible.variants).all(|(expected, actual)| {
            let (id, sku, visible_name, offer) = actual;
            expected.reference == VariantRef::Stored(*id)
                && expected.sku == sku
                && name(self.label) == *visible_name
                && expected.offer == *offer
        });
        self.listed
            && name(self.label) == visible.name
            && format!("kitchen/section-{}", self.category) == visible.category
            && self.currency == visible.currency
            && self.offer == visible.offer
            && self.variants.len() == visible.variants.len()
            && variants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_permutation_is_returned_once() {
        let orders: BTreeSet<Vec<usize>> = orders(4).into_iter().collect();
        assert_eq!(orders.len(), 24);
    }
}
