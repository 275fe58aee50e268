//! Merchants: a few large ones and many small ones.

use uuid::Uuid;

use super::Stream;
use super::random::SplitMix64;

const MERCHANTS_MAX: u32 = 2_000;
const MERCHANTS_MIN: u32 = 20;
/// Average number of products of a merchant in catalogs too small for `MERCHANTS_MAX`.
const PRODUCTS_EACH: u32 = 500;
/// Flattens the head of the distribution: the largest of 2,000 merchants has one product in twenty.
const OFFSET: f64 = 2.0;

/// A merchant and its store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merchant {
    /// Starts at zero.
    pub(crate) index: u32,
    pub(crate) id: Uuid,
    pub(crate) slug: String,
    pub(crate) currency: &'static str,
    pub(crate) trust: f64,
    /// Number of its first product; its products are consecutive.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Indexes of the categories of its store.
    pub(crate) categories: Vec<usize>,
}

impl Merchant {
    /// Returns whether its products are hidden from search (docs/contract/search.md#suspended-excluded).
    pub(crate) fn is_suspended(&self) -> bool {
        self.trust < 0.2
    }

    /// Returns the number of its store in the database, where numbers are assigned in order, starting at one.
    pub(crate) fn store_number(&self) -> u32 {
        self.index + 1
    }
}

/// Returns all merchants.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a fraction of the size is below the size"
)]
pub(crate) fn merchants(seed: u64, size: u32, categories: usize) -> Vec<Merchant> {
    /// Decouples index and size. Prime and larger than the number of merchants.
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
        merchants.push(merchant(seed, index, first..end, categories));
        first = end;
    }
    merchants
}

fn merchant(seed: u64, index: u32, products: std::ops::Range<u32>, categories: usize) -> Merchant {
    let number = u64::from(index);
    let mut rng = SplitMix64::new(seed, Stream::Merchant as u64, number);
    let count = products.end - products.start;
    // Larger stores have more categories, at most twelve.
    let category_count = usize::try_from(1 + count.ilog2() / 2).unwrap_or(1).min(12);
    let mut chosen: Vec<usize> = (0..category_count).map(|_| rng.index(categories)).collect();
    chosen.sort_unstable();
    chosen.dedup();
    Merchant {
        index,
        id: SplitMix64::new(seed, Stream::MerchantId as u64, number).id(),
        slug: format!("store-{index:04}"),
        currency: if rng.chance(60) { "EUR" } else { "USD" },
        trust: trust(index, &mut rng),
        first: products.start,
        count,
        categories: chosen,
    }
}

/// Returns a trust score. It depends on the index, so that small catalogs have every band too: one merchant in
/// fifty is suspended, one in twelve is in the band CAUTION.
fn trust(index: u32, rng: &mut SplitMix64) -> f64 {
    let fraction = rng.fraction();
    let exact = match index {
        _ if index % 50 == 17 => 0.05 + 0.14 * fraction,
        _ if index % 12 == 5 => 0.5 + 0.19 * fraction,
        _ => 0.7 + 0.3 * fraction,
    };
    (exact * 10_000.0).round() / 10_000.0
}
