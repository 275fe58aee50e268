//! Looks for an order of the operations in which the model comes to what is there.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::act::{Acted, name};
use super::seen::{Seen, Shown};
use crate::catalog::model::{Answer, Identity, Line, Operation, Product, World};

/// What one operation did to one product.
#[derive(Debug, Clone)]
struct Part {
    /// Of which operation.
    index: usize,
    operation: Operation,
    answer: Answer,
}

/// The orders that explain what happened to one product.
#[derive(Default)]
pub(super) struct Explained {
    /// What the product may be by now. What nobody sees, such as the inside of a retired product, may
    /// leave more than one possibility open.
    pub(super) worlds: Vec<World>,
    orders: BTreeSet<Vec<usize>>,
}

impl Explained {
    /// Whether an order of all operations explains what happened to this product.
    pub(super) fn holds_in(&self, order: &[usize]) -> bool {
        let parts: BTreeSet<usize> = self.orders.iter().flatten().copied().collect();
        let order: Vec<usize> =
            order.iter().copied().filter(|index| parts.contains(index)).collect();
        self.orders.contains(&order)
    }
}

/// The orders in which no operation comes before one that had ended when it began.
pub(super) fn possible_orders(acted: &[Acted]) -> Vec<Vec<usize>> {
    let mut orders = orders(acted.len());
    orders.retain(|order| is_possible(order, acted));
    orders
}

fn is_possible(order: &[usize], acted: &[Acted]) -> bool {
    let in_order: Vec<&Acted> = order.iter().filter_map(|index| acted.get(*index)).collect();
    in_order.iter().enumerate().all(|(at, earlier)| {
        let later = in_order.get(at + 1..).unwrap_or_default();
        later.iter().all(|later| later.ended > earlier.began)
    })
}

/// Tries every possible order of what was done to a product.
pub(super) fn explain(
    worlds: &[World],
    product: usize,
    operations: &[Operation],
    acted: &[Acted],
    seen: &Seen,
) -> Explained {
    let part = |(index, (operation, acted)): (usize, (&Operation, &Acted))| {
        let (operation, answer) = operation.part(&acted.answer, product)?;
        Some(Part { index, operation, answer })
    };
    let parts: Vec<Part> = operations.iter().zip(acted).enumerate().filter_map(part).collect();
    let mut explained = Explained::default();
    for order in orders(parts.len()) {
        let parts: Vec<&Part> = order.iter().filter_map(|at| parts.get(*at)).collect();
        let order: Vec<usize> = parts.iter().map(|part| part.index).collect();
        if !is_possible(&order, acted) {
            continue;
        }
        for world in worlds {
            if let Some(after) = replay(world, product, &parts, seen) {
                explained.orders.insert(order.clone());
                if !explained.worlds.contains(&after) {
                    explained.worlds.push(after);
                }
            }
        }
    }
    explained
}

/// Every order of so many things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for thing in 0..count {
        let longer = |order: &Vec<usize>| {
            let order = order.clone();
            (0..=order.len()).map(move |at| {
                let mut order = order.clone();
                order.insert(at, thing);
                order
            })
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    orders
}

/// What the world is after these parts in this order, if it comes to what was seen.
fn replay(world: &World, product: usize, parts: &[&Part], seen: &Seen) -> Option<World> {
    let mut world = world.clone();
    let (mut lines, mut told) = (Vec::new(), Vec::new());
    for part in parts {
        let effect = world.apply(&part.operation);
        if effect.answer != part.answer {
            return None;
        }
        lines.extend(effect.lines.into_iter().map(|(_, line)| line));
        told.extend(effect.told.into_iter().map(|(_, topic)| (part.index, topic.to_owned())));
    }
    let seen_told = seen.told.get(&product).map(Vec::as_slice).unwrap_or_default();
    if told != seen_told {
        return None;
    }
    let seen_lines = seen.lines.get(&product).map(Vec::as_slice).unwrap_or_default();
    let names = name_fresh(&lines, seen_lines)?;
    world.settle(&names)?;
    let agrees = match (world.products.get(&product), seen.products.get(&product)) {
        (Some(ours), Some(theirs)) => ours.is(theirs.as_ref()),
        (ours, theirs) => ours.is_none() && theirs.is_none(),
    };
    agrees.then_some(world)
}

/// Compares the lines, and learns from them which of the model's new variants is which.
fn name_fresh(ours: &[Line<Identity>], theirs: &[Line<Uuid>]) -> Option<BTreeMap<Identity, Uuid>> {
    let mut names = BTreeMap::new();
    let mut taken = BTreeSet::new();
    let mut same_variant = |ours: Identity, theirs: Uuid| match ours {
        Identity::Known(id) => id == theirs,
        Identity::Fresh(_) => match names.get(&ours) {
            Some(name) => *name == theirs,
            None => names.insert(ours, theirs).is_none() && taken.insert(theirs),
        },
    };
    let mut same_line = |(ours, theirs): (&Line<Identity>, &Line<Uuid>)| {
        let same = (ours.price, ours.list_price, ours.currency)
            == (theirs.price, theirs.list_price, theirs.currency);
        same && match (ours.variant, theirs.variant) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => same_variant(ours, theirs),
            _ => false,
        }
    };
    let same = ours.len() == theirs.len() && ours.iter().zip(theirs).all(&mut same_line);
    same.then_some(names)
}

impl World {
    /// Gives the new variants the names they turned out to have. Each has a line, so each has a name.
    fn settle(&mut self, names: &BTreeMap<Identity, Uuid>) -> Option<()> {
        for variant in self.products.values_mut().flat_map(|product| &mut product.variants) {
            if let Identity::Fresh(_) = variant.identity {
                variant.identity = Identity::Known(*names.get(&variant.identity)?);
            }
        }
        self.fresh = 0;
        Some(())
    }
}

impl Product {
    /// Whether this is what agents see.
    fn is(&self, shown: Option<&Shown>) -> bool {
        let Some(shown) = shown else { return !self.listed };
        let variants = self.variants.iter().zip(&shown.variants).all(|(ours, theirs)| {
            let (id, sku, name_shown, offer) = theirs;
            ours.identity == Identity::Known(*id)
                && ours.sku == sku
                && name(self.label) == *name_shown
                && ours.offer == *offer
        });
        self.listed
            && name(self.label) == shown.name
            && format!("kitchen/shelf-{}", self.shelf) == shown.category
            && self.currency == shown.currency
            && self.offer == shown.offer
            && self.variants.len() == shown.variants.len()
            && variants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_comes_up_once() {
        let orders: BTreeSet<Vec<usize>> = orders(4).into_iter().collect();
        assert_eq!(orders.len(), 24);
    }
}
