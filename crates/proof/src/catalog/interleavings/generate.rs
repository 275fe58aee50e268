//! Random operations, dealt from so few values that they often repeat and often collide.

use catalog::StockStatus;
use primitives::Currency;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};

use crate::catalog::model::{Change, Draft, OfferDraft, Operation, Revision, Source};

/// Products a table has.
pub(super) const PRODUCTS: usize = 12;
/// From here on, products may have variants.
const FIRST_WITH_VARIANTS: usize = 5;
const SKUS: [&str; 3] = ["S", "M", "L"];
const PRICES: [i64; 3] = [800, 1_000, 1_200];

/// The operations of one history: they collide on one to four products.
pub(super) fn history(dice: &mut StdRng, shelf: u32) -> Vec<Operation> {
    let wanted = *[1, 1, 1, 2, 2, 2, 3, 4].choose(dice).unwrap_or(&1);
    let mut all: Vec<usize> = (0..PRODUCTS).collect();
    all.shuffle(dice);
    let products = all.get(..wanted).unwrap_or_default();
    (0..dice.random_range(2..=4)).map(|_| operation(dice, products, shelf)).collect()
}

fn operation(dice: &mut StdRng, products: &[usize], shelf: u32) -> Operation {
    match dice.random_range(0..10) {
        0..=3 => {
            let drafts = some(dice, products);
            let drafts =
                drafts.into_iter().map(|product| (product, draft(dice, product, shelf))).collect();
            Operation::Put { source: source(dice), drafts }
        }
        4..=7 => {
            let revisions = dice.random_range(1..=3);
            Operation::Revise((0..revisions).map(|_| revision(dice, products)).collect())
        }
        _ => Operation::Retire { products: some(dice, products), source: source(dice) },
    }
}

/// Some of them, at least one, in any order.
fn some(dice: &mut StdRng, products: &[usize]) -> Vec<usize> {
    let mut some = products.to_vec();
    some.shuffle(dice);
    some.truncate(dice.random_range(1..=products.len()));
    some
}

fn source(dice: &mut StdRng) -> Source {
    match dice.random_range(0..6) {
        0 => Source::OldFeed,
        1 => Source::NewFeed,
        _ => Source::Push,
    }
}

fn draft(dice: &mut StdRng, product: usize, shelf: u32) -> Draft {
    let mut variants = Vec::new();
    if product >= FIRST_WITH_VARIANTS {
        let mut skus = SKUS;
        skus.shuffle(dice);
        let count = dice.random_range(0..=SKUS.len());
        variants.extend(skus.into_iter().take(count).map(|sku| (sku, offer(dice))));
    }
    Draft {
        label: dice.random_range(0..2),
        shelf: shelf + dice.random_range(0..2),
        currency: if dice.random_range(0..8) == 0 { Currency::USD } else { Currency::EUR },
        offer: offer(dice),
        variants,
    }
}

fn offer(dice: &mut StdRng) -> OfferDraft {
    let (quantity, stock) = stock(dice);
    OfferDraft { price: price(dice), list_price: list_price(dice), stock, quantity }
}

fn price(dice: &mut StdRng) -> i64 {
    PRICES.choose(dice).copied().unwrap_or(0)
}

fn list_price(dice: &mut StdRng) -> Option<i64> {
    // Sometimes not higher than the price, and then it is none.
    [None, None, Some(1_000), Some(1_500)].choose(dice).copied().flatten()
}

fn stock(dice: &mut StdRng) -> (Option<i32>, Option<StockStatus>) {
    let quantity = [None, Some(0), Some(3), Some(20)].choose(dice).copied().flatten();
    let status = [None, None, None, Some(StockStatus::Preorder), Some(StockStatus::Discontinued)];
    (quantity, status.choose(dice).copied().flatten())
}

fn revision(dice: &mut StdRng, products: &[usize]) -> Revision {
    let product = products.choose(dice).copied().unwrap_or(0);
    let by_variant = product >= FIRST_WITH_VARIANTS && dice.random_range(0..3) > 0;
    let sku = by_variant.then(|| SKUS.choose(dice).copied()).flatten();
    let change = if dice.random() {
        let meant = [None, None, Some(Currency::EUR)].choose(dice).copied().flatten();
        Change::Price { price: price(dice), list_price: list_price(dice), meant }
    } else {
        let (quantity, stock) = stock(dice);
        Change::Stock { quantity, stock }
    };
    Revision { product, sku, change }
}
