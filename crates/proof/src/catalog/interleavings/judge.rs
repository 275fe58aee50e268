//! Looks for an order of the operations in which the model comes to what is there.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::act::name;
use super::seen::{Seen, Shown};
use crate::catalog::model::{Effect, Identity, Line, Operation, Product, World};

/// The orders that explain a history.
pub(super) struct Explained {
    /// What the catalog may be by now. What nobody sees, such as the inside of a retired product, may
    /// leave more than one possibility open.
    pub(super) worlds: Vec<World>,
    /// Whether the order in which they began is among them.
    pub(super) as_begun: bool,
}

/// Tries every order in which no operation comes before one that had ended when it began.
pub(super) fn explain(
    worlds: &[World],
    operations: &[Operation],
    before: impl Fn(usize, usize) -> bool,
    begun: &[usize],
    seen: &Seen,
) -> Explained {
    let mut explained = Explained { worlds: Vec::new(), as_begun: false };
    for order in orders(operations.len()) {
        let possible = order.iter().enumerate().all(|(at, later)| {
            let earlier = order.get(..at).unwrap_or_default();
            earlier.iter().all(|earlier| !before(*later, *earlier))
        });
        for world in worlds.iter().filter(|_| possible) {
            if let Some(after) = replay(world, operations, &order, seen) {
                explained.as_begun |= order == begun;
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

/// What the world is after the operations in this order, if it comes to what was seen.
fn replay(world: &World, operations: &[Operation], order: &[usize], seen: &Seen) -> Option<World> {
    let mut world = world.clone();
    let mut lines: BTreeMap<usize, Vec<Line<Identity>>> = BTreeMap::new();
    let mut told: BTreeMap<usize, Vec<(usize, String)>> = BTreeMap::new();
    for index in order {
        let Effect { answer, lines: new, told: events } = world.apply(operations.get(*index)?);
        if seen.answers.get(*index) != Some(&answer) {
            return None;
        }
        for (product, line) in new {
            lines.entry(product).or_default().push(line);
        }
        for (product, topic) in events {
            told.entry(product).or_default().push((*index, topic.to_owned()));
        }
    }
    let names = (told == seen.told).then(|| name_fresh(&lines, &seen.lines))??;
    world.settle(&names)?;
    let shown = |(product, shown): (&usize, &Option<Shown>)| {
        world.products.get(product).is_some_and(|product| product.is(shown.as_ref()))
    };
    seen.products.iter().all(shown).then_some(world)
}

/// Compares the lines, and learns from them which of the model's new variants is which.
fn name_fresh(
    ours: &BTreeMap<usize, Vec<Line<Identity>>>,
    theirs: &BTreeMap<usize, Vec<Line<Uuid>>>,
) -> Option<BTreeMap<Identity, Uuid>> {
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
    let same = ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|((product, ours), (other, theirs))| {
            product == other
                && ours.len() == theirs.len()
                && ours.iter().zip(theirs).all(&mut same_line)
        });
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
