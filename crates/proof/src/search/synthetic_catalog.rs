//! A synthetic catalog of any size, generated from a seed: words and merchant sizes by Zipf's law, prices,
//! stock and trust. Each product is generated independently of all others, so that any part can be checked.

mod load;
mod merchants;
mod product;
mod queries;
mod random;
mod vocabulary;

pub(crate) use load::load;
pub(crate) use merchants::Merchant;
pub(crate) use product::{Product, external_id};
pub(crate) use queries::{Class, LIMIT, Query, kind_name, queries};

use merchants::merchants;
use random::{SplitMix64, WeightedIndex};
use vocabulary::{Category, Vocabulary};

/// The seed of all benchmarks.
pub(crate) const SEED: u64 = 42;

/// A synthetic catalog. It stores the vocabulary and the merchants; products are generated on demand.
pub(crate) struct SyntheticCatalog {
    /// Number of products.
    pub(crate) size: u32,
    seed: u64,
    vocabulary: Vocabulary,
    categories: Vec<Category>,
    brands: Vec<String>,
    brand_weights: WeightedIndex,
    /// The merchants, ordered by index and by their first product.
    pub(crate) merchants: Vec<Merchant>,
}

/// A stream of random numbers. Each kind of object has its own, so that one more number for one kind does not
/// change the others.
#[derive(Clone, Copy)]
enum Stream {
    Category = 1,
    Merchant,
    Product,
    ProductId,
    MerchantId,
    CategoryId,
    Query,
}

impl SyntheticCatalog {
    /// Creates the catalog of a size and a seed.
    pub(crate) fn new(size: u32, seed: u64) -> Self {
        let vocabulary = Vocabulary::new();
        let categories = vocabulary::categories(seed, &vocabulary);
        let merchants = merchants(seed, size, categories.len());
        let brands = vocabulary::brands();
        let brand_weights = WeightedIndex::zipf(brands.len(), 10.0);
        Self { size, seed, vocabulary, categories, brands, brand_weights, merchants }
    }

    fn rng(&self, stream: Stream, number: u64) -> SplitMix64 {
        SplitMix64::new(self.seed, stream as u64, number)
    }

    /// Returns the merchant of the product with this number.
    pub(crate) fn merchant_of(&self, product: u32) -> &Merchant {
        let after = self.merchants.partition_point(|merchant| merchant.first <= product);
        &self.merchants[after.saturating_sub(1)]
    }

    /// Returns the number of products that contain each word of the vocabulary, by its rank. A very large
    /// catalog is sampled.
    pub(crate) fn frequencies(&self) -> Vec<u32> {
        const SAMPLE_SIZE: u32 = 1_000_000;
        let stride = self.size.div_ceil(SAMPLE_SIZE).max(1);
        let count = |offset: u32| {
            let mut frequencies = vec![0_u32; self.vocabulary.len()];
            let mut seen_in = vec![u32::MAX; self.vocabulary.len()];
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
    fn a_product_does_not_depend_on_the_order_of_generation() {
        let (one, other) = (SyntheticCatalog::new(2_000, 7), SyntheticCatalog::new(2_000, 7));
        let late = one.product(1_999);
        let _ = other.product(3);
        assert_eq!(other.product(1_999), late);
        assert_ne!(SyntheticCatalog::new(2_000, 8).product(1_999), late);
    }

    #[test]
    fn every_product_belongs_to_exactly_one_merchant() {
        for size in [100, 10_000, 123_457] {
            let catalog = SyntheticCatalog::new(size, SEED);
            let count: u32 = catalog.merchants.iter().map(|merchant| merchant.count).sum();
            assert_eq!(count, size);
            assert!(catalog.merchants.iter().all(|merchant| merchant.count > 0));
            for number in [0, 1, size / 2, size - 1] {
                let merchant = catalog.merchant_of(number);
                assert!((merchant.first..merchant.first + merchant.count).contains(&number));
            }
            assert!(catalog.merchants.iter().any(|merchant| merchant.trust < 0.2));
        }
    }

    #[test]
    fn word_frequencies_follow_zipf() {
        let catalog = SyntheticCatalog::new(10_000, SEED);
        let mut frequencies = catalog.frequencies();
        frequencies.sort_unstable_by(|left, right| right.cmp(left));
        assert!((3_500..8_000).contains(&frequencies[0]), "{}", frequencies[0]);
        let common = frequencies.iter().filter(|count| **count >= 800).count();
        assert!((20..120).contains(&common), "{common} common words");
        let rare = frequencies.iter().filter(|count| (2..=20).contains(*count)).count();
        assert!(rare > 10_000, "{rare} rare words");
    }

    #[test]
    fn products_have_realistic_sizes() {
        let catalog = SyntheticCatalog::new(10_000, SEED);
        let mut in_stock = 0_u32;
        for number in 0..1_000 {
            let product = catalog.product(number * 10);
            let words = product.name.split(' ').count();
            assert!((5..=9).contains(&words), "{}", product.name);
            let words = product.description.split(' ').count();
            assert!((25..=70).contains(&words), "{}", product.description);
            let record = catalog.record(&product).len();
            assert!((400..1_400).contains(&record), "{record} bytes");
            in_stock += u32::from(product.in_stock);
        }
        assert!((800..900).contains(&in_stock), "{in_stock} in stock");
    }
}
