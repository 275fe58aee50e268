//! Generates random operations from so few values that they often repeat and often conflict.

use catalog::StockStatus;
use primitives::Currency;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};

use crate::catalog::model::{Draft, OfferChange, OfferDraft, OfferUpdate, Operation, Source};

/// Number of products in a group.
pub(super) const PRODUCTS: usize = 12;
/// Number of the first product that may have variants.
const FIRST_WITH_VARIANTS: usize = 5;
const SKUS: [&str; 3] = ["S", "M", "L"];
const PRICES: [i64; 3] = [800, 1_000, 1_200];

/// Returns the operations of a history: they conflict on one to four products.
pub(super) fn history(rng: &mut StdRng, category: u32) -> Vec<Operation> {
    let product_count = *[1, 1, 1, 2, 2, 2, 3, 4].choose(rng).unwrap_or(&1);
    let mut all: Vec<usize> = (0..PRODUCTS).collect();
    all.shuffle(rng);
    let products = all.get(..product_count).unwrap_or_default();
    (0..rng.random_range(2..=4)).map(|_| operation(rng, products, category)).collect()
}

fn operation(rng: &mut StdRng, products: &[usize], category: u32) -> Operation {
    match rng.random_range(0..10) {
        0..=3 => {
            let drafts = some(rng, products);
            let drafts = drafts
                .into_iter()
                .map(|product| (product, draft(rng, product, category)))
                .collect();
            Operation::Put { source: source(rng), drafts }
        }
        4..=7 => {
            let updates = rng.random_range(1..=3);
            Operation::UpdateOffers((0..updates).map(|_| offer_update(rng, products)).collect())
        }
        _ => Operation::Retire { products: some(rng, products), source: source(rng) },
    }
}

/// Returns a random non-empty subset in random order.
fn some(rng: &mut StdRng, products: &[usize]) -> Vec<usize> {
    let mut some = products.to_vec();
    some.shuffle(rng);
    some.truncate(rng.random_range(1..=products.len()));
    some
}

fn source(rng: &mut StdRng) -> Source {
    match rng.random_range(0..6) {
        0 => Source::OldFeed,
        1 => Source::NewFeed,
        _ => Source::Push,
    }
}

fn draft(rng: &mut StdRng, product: usize, category: u32) -> Draft {
    let mut variants = Vec::new();
    if product >= FIRST_WITH_VARIANTS {
        let mut skus = SKUS;
        skus.shuffle(rng);
        let count = rng.random_range(0..=SKUS.len());
        variants.extend(skus.into_iter().take(count).map(|sku| (sku, offer(rng))));
    }
    Draft {
        label: rng.random_range(0..2),
        category: category + rng.random_range(0..2),
        currency: if rng.random_range(0..8) == 0 { Currency::USD } else { Currency::EUR },
        offer: offer(rng),
        variants,
    }
}

fn offer(rng: &mut StdRng) -> OfferDraft {
    let (quantity, stock) = stock(rng);
    OfferDraft { price: price(rng), list_price: list_price(rng), stock, quantity }
}

fn price(rng: &mut StdRng) -> i64 {
    PRICES.choose(rng).copied().unwrap_or(0)
}

fn list_price(rng: &mut StdRng) -> Option<i64> {
    // A list price that is not higher than the price is dropped.
    [None, None, Some(1_000), Some(1_500)].choose(rng).copied().flatten()
}

fn stock(rng: &mut StdRng) -> (Option<i32>, Option<StockStatus>) {
    let quantity = [None, Some(0), Some(3), Some(20)].choose(rng).copied().flatten();
    let status = [None, None, None, Some(StockStatus::Preorder), Some(StockStatus::Discontinued)];
    (quantity, status.choose(rng).copied().flatten())
}

fn offer_update(rng: &mut StdRng, products: &[usize]) -> OfferUpdate {
    let product = products.choose(rng).copied().unwrap_or(0);
    let by_variant = product >= FIRST_WITH_VARIANTS && rng.random_range(0..3) > 0;
    let sku = by_variant.then(|| SKUS.choose(rng).copied()).flatten();
    let change = if rng.random() {
        let currency = [None, None, Some(Currency::EUR)].choose(rng).copied().flatten();
        OfferChange::Price { price: price(rng), list_price: list_price(rng), currency }
    } else {
        let (quantity, stock) = stock(rng);
        OfferChange::Stock { quantity, stock }
    };
    OfferUpdate { product, sku, change }
}
