//! A catalog of any size, made from a seed: words by Zipf's law, merchants of Zipf sizes, prices, stock
//! and trust. Each product is made by itself, without those before it, so that any part can be checked.

mod dice;
mod load;
mod merchants;
mod product;
mod queries;
mod words;

pub(crate) use load::load;
pub(crate) use merchants::Merchant;
pub(crate) use product::{Product, external_id};
pub(crate) use queries::{Class, LIMIT, Query, kind_name, queries};

use dice::{Dice, Weighted};
use merchants::merchants;
use words::{Place, Words};

/// What everything follows from, unless somebody asks for another world.
pub(crate) const SEED: u64 = 42;

/// A catalog. It holds words and merchants; products are made when they are asked for.
pub(crate) struct World {
    /// How many products there are.
    pub(crate) size: u32,
    seed: u64,
    words: Words,
    places: Vec<Place>,
    brands: Vec<String>,
    brand_draw: Weighted,
    /// The merchants, in the order of their products and their numbers.
    pub(crate) merchants: Vec<Merchant>,
}

/// What dice are thrown for. Each kind of thing has its own, so that one more throw for the one does
/// not change the other.
#[derive(Clone, Copy)]
enum Kind {
    Place = 1,
    Merchant,
    Product,
    ProductId,
    MerchantId,
    CategoryId,
    Query,
}

impl World {
    /// The world of a size and a seed.
    pub(crate) fn new(size: u32, seed: u64) -> Self {
        let words = Words::new();
        let places = words::places(seed, &words);
        let merchants = merchants(seed, size, places.len());
        let brands = words::brands();
        let brand_draw = Weighted::zipf(brands.len(), 10.0);
        Self { size, seed, words, places, brands, brand_draw, merchants }
    }

    fn dice(&self, kind: Kind, number: u64) -> Dice {
        Dice::of(self.seed, kind as u64, number)
    }

    /// The merchant of a product.
    pub(crate) fn merchant_of(&self, product: u32) -> &Merchant {
        let behind = self.merchants.partition_point(|merchant| merchant.first <= product);
        &self.merchants[behind.saturating_sub(1)]
    }

    /// In how many products each word of the vocabulary stands, by its rank. Of a very large world only
    /// every so-many-th product is looked at.
    pub(crate) fn frequencies(&self) -> Vec<u32> {
        const LOOKED_AT: u32 = 1_000_000;
        let stride = self.size.div_ceil(LOOKED_AT).max(1);
        let count = |offset: u32| {
            let mut frequencies = vec![0_u32; self.words.len()];
            let mut seen_in = vec![u32::MAX; self.words.len()];
            let step = usize::try_from(stride * 2).unwrap_or(2);
            for number in (offset * stride..self.size).step_by(step) {
                for rank in self.product(number).ranks() {
                    if seen_in[rank] != number {
                        seen_in[rank] = number;
                        frequencies[rank] += stride;
                    }
                }
            }
            frequencies
        };
        let (mut even, odd) = std::thread::scope(|scope| {
            let odd = scope.spawn(|| count(1));
            let even = count(0);
            (even, odd.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        for (sum, part) in even.iter_mut().zip(odd) {
            *sum += part;
        }
        even
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_the_same_whenever_it_is_made() {
        let (one, other) = (World::new(2_000, 7), World::new(2_000, 7));
        let late = one.product(1_999);
        let _ = other.product(3);
        assert_eq!(other.product(1_999), late);
        assert_ne!(World::new(2_000, 8).product(1_999), late);
    }

    #[test]
    fn merchants_share_out_all_products() {
        for size in [100, 10_000, 123_457] {
            let world = World::new(size, SEED);
            let count: u32 = world.merchants.iter().map(|merchant| merchant.count).sum();
            assert_eq!(count, size);
            assert!(world.merchants.iter().all(|merchant| merchant.count > 0));
            for number in [0, 1, size / 2, size - 1] {
                let merchant = world.merchant_of(number);
                assert!((merchant.first..merchant.first + merchant.count).contains(&number));
            }
            assert!(world.merchants.iter().any(|merchant| merchant.trust < 0.2));
        }
    }

    #[test]
    fn words_are_as_frequent_as_in_real_catalogs() {
        let world = World::new(10_000, SEED);
        let mut frequencies = world.frequencies();
        frequencies.sort_unstable_by(|left, right| right.cmp(left));
        assert!((3_500..8_000).contains(&frequencies[0]), "{}", frequencies[0]);
        let common = frequencies.iter().filter(|count| **count >= 800).count();
        assert!((20..120).contains(&common), "{common} common words");
        let rare = frequencies.iter().filter(|count| (2..=20).contains(*count)).count();
        assert!(rare > 10_000, "{rare} rare words");
    }

    #[test]
    fn products_are_ordinary() {
        let world = World::new(10_000, SEED);
        let mut in_stock = 0_u32;
        for number in 0..1_000 {
            let product = world.product(number * 10);
            let words = product.name.split(' ').count();
            assert!((5..=9).contains(&words), "{}", product.name);
            let words = product.description.split(' ').count();
            assert!((25..=70).contains(&words), "{}", product.description);
            let record = world.record(&product).len();
            assert!((400..1_400).contains(&record), "{record} bytes");
            in_stock += u32::from(product.in_stock);
        }
        assert!((800..900).contains(&in_stock), "{in_stock} in stock");
    }
}
