//! Merchants: a few large ones, many small ones.

use uuid::Uuid;

use super::Kind;
use super::dice::Dice;

const MERCHANTS_MAX: u32 = 2_000;
const MERCHANTS_MIN: u32 = 20;
/// In worlds that are too small for all merchants, each has about so many products.
const PRODUCTS_EACH: u32 = 500;
/// Flattens the beginning: the largest of 2,000 has one product in twenty.
const OFFSET: f64 = 2.0;

/// A merchant and its store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merchant {
    /// From zero. Its store gets the number after it.
    pub(crate) index: u32,
    pub(crate) id: Uuid,
    pub(crate) slug: String,
    pub(crate) currency: &'static str,
    /// The trust score.
    pub(crate) trust: f64,
    /// Its first product, and how many follow.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// The places of its store, by their numbers.
    pub(crate) places: Vec<usize>,
}

impl Merchant {
    /// Whether nothing of it may be found (spec §2.6).
    pub(crate) fn is_suspended(&self) -> bool {
        self.trust < 0.2
    }

    /// The number its store has in the database, where they are given out in order.
    pub(crate) fn store_number(&self) -> u32 {
        self.index + 1
    }
}

/// All merchants; their products lie side by side.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of the size is below the size"
)]
pub(crate) fn merchants(seed: u64, size: u32, places: usize) -> Vec<Merchant> {
    /// Numbers shall say nothing about sizes. It is prime and larger than any number of merchants.
    const SPREAD: u32 = 7_919;
    let count = (size / PRODUCTS_EACH).clamp(MERCHANTS_MIN, MERCHANTS_MAX);
    let weight = |index: u32| 1.0 / (f64::from(index * SPREAD % count) + 1.0 + OFFSET);
    let sum: f64 = (0..count).map(weight).sum();
    let mut merchants = Vec::new();
    let (mut first, mut weight_so_far) = (0, 0.0);
    for index in 0..count {
        weight_so_far += weight(index);
        let end = (f64::from(size) * weight_so_far / sum).round() as u32;
        let end = if index + 1 == count { size } else { end.min(size) };
        merchants.push(merchant(seed, index, first..end, places));
        first = end;
    }
    merchants
}

fn merchant(seed: u64, index: u32, products: std::ops::Range<u32>, places: usize) -> Merchant {
    let number = u64::from(index);
    let mut dice = Dice::of(seed, Kind::Merchant as u64, number);
    let count = products.end - products.start;
    // A larger store has more places, and none has more than a dozen.
    let wanted = usize::try_from(1 + count.ilog2() / 2).unwrap_or(1).min(12);
    let mut chosen: Vec<usize> = (0..wanted).map(|_| dice.place(places)).collect();
    chosen.sort_unstable();
    chosen.dedup();
    Merchant {
        index,
        id: Dice::of(seed, Kind::MerchantId as u64, number).id(),
        slug: format!("store-{index:04}"),
        currency: if dice.happens(60) { "EUR" } else { "USD" },
        trust: trust(index, &mut dice),
        first: products.start,
        count,
        places: chosen,
    }
}

/// By turns, so that small worlds have every kind as well: one in fifty is suspended, one in twelve
/// to be treated with caution.
fn trust(index: u32, dice: &mut Dice) -> f64 {
    let share = dice.share();
    let exact = match index {
        _ if index % 50 == 17 => 0.05 + 0.14 * share,
        _ if index % 12 == 5 => 0.5 + 0.19 * share,
        _ => 0.7 + 0.3 * share,
    };
    (exact * 10_000.0).round() / 10_000.0
}
