//! Generated queries: eight classes, each in all stores and within one.

use serde_json::{Map, Value, json};

use super::{Product, SplitMix64, Stream, SyntheticCatalog};

/// A class of queries, by the frequency of their words. Frequencies are fractions of all products, in
/// millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// One rare word.
    Rare1,
    /// One word of medium frequency.
    Med1,
    /// One word that about a tenth of all products or more contain.
    Common1,
    Common2,
    Common3,
    /// A rare, a medium and a common word of one product.
    Mixed3,
    /// Vocabulary of one product's name.
    Title2,
    Title3,
}

const RARE: (u32, u32) = (50, 2_000);
const MEDIUM: (u32, u32) = (5_000, 30_000);
const COMMON: (u32, u32) = (80_000, 1_000_000);

impl Class {
    pub(crate) const ALL: [Self; 8] = [
        Self::Rare1,
        Self::Med1,
        Self::Common1,
        Self::Common2,
        Self::Common3,
        Self::Mixed3,
        Self::Title2,
        Self::Title3,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Rare1 => "rare1",
            Self::Med1 => "med1",
            Self::Common1 => "common1",
            Self::Common2 => "common2",
            Self::Common3 => "common3",
            Self::Mixed3 => "mixed3",
            Self::Title2 => "title2",
            Self::Title3 => "title3",
        }
    }

    /// Returns the frequency band of each word; empty for words of names.
    fn bands(self) -> &'static [(u32, u32)] {
        match self {
            Self::Rare1 => &[RARE],
            Self::Med1 => &[MEDIUM],
            Self::Common1 => &[COMMON],
            Self::Common2 => &[COMMON, COMMON],
            Self::Common3 => &[COMMON, COMMON, COMMON],
            Self::Mixed3 => &[RARE, MEDIUM, COMMON],
            Self::Title2 | Self::Title3 => &[],
        }
    }
}

/// A search for all words, in all stores or within one, with filters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Query {
    pub(crate) class: Class,
    pub(crate) words: Vec<String>,
    /// Index of the merchant and slug of its store; `None` for all stores.
    pub(crate) store: Option<(u32, String)>,
    pub(crate) max_price_minor: Option<i64>,
    pub(crate) in_stock_only: bool,
    /// Path of the category.
    pub(crate) category: Option<String>,
}

/// Maximum number of hits.
pub(crate) const LIMIT: usize = 20;

impl Query {
    /// Returns the name of the kind, such as `common1/all`.
    pub(crate) fn kind(&self) -> String {
        kind_name(self.class, self.store.is_some())
    }

    /// Returns the body for `POST /api/v1/search`.
    pub(crate) fn body(&self) -> String {
        let mut body = self.arguments();
        if let Some((_, slug)) = &self.store {
            body.insert(String::from("merchants"), json!([slug]));
        }
        Value::Object(body).to_string()
    }

    /// Returns the JSON-RPC request for `search_products` at the MCP endpoint of the store.
    pub(crate) fn tool_call(&self) -> String {
        crate::http::tool_call("search_products", &self.arguments().into()).to_string()
    }

    fn arguments(&self) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert(String::from("query"), json!(self.words.join(" ")));
        if let Some(minor) = self.max_price_minor {
            let text = format!("{}.{:02}", minor / 100, minor % 100);
            let price = serde_json::from_str(&text).unwrap_or(Value::Null);
            body.insert(String::from("max_price"), price);
        }
        if self.in_stock_only {
            body.insert(String::from("in_stock_only"), json!(true));
        }
        if let Some(category) = &self.category {
            body.insert(String::from("category"), json!(category));
        }
        body.insert(String::from("limit"), json!(LIMIT));
        body
    }
}

pub(crate) fn kind_name(class: Class, in_store: bool) -> String {
    format!("{}/{}", class.name(), if in_store { "store" } else { "all" })
}

/// Returns `of_each` queries of each class and scope, shuffled. The queries depend only on the catalog and
/// `of_each`.
pub(crate) fn queries(catalog: &SyntheticCatalog, frequencies: &[u32], of_each: u32) -> Vec<Query> {
    let generator = QueryGenerator { catalog, frequencies };
    let mut queries = Vec::new();
    let mut number = 0;
    for _ in 0..of_each {
        for class in Class::ALL {
            for in_store in [false, true] {
                let mut rng = catalog.rng(Stream::Query, number);
                queries.push(generator.query(class, in_store, &mut rng));
                number += 1;
            }
        }
    }
    let mut rng = catalog.rng(Stream::Query, u64::MAX);
    for last in (1..queries.len()).rev() {
        queries.swap(last, rng.index(last + 1));
    }
    queries
}

struct QueryGenerator<'catalog> {
    catalog: &'catalog SyntheticCatalog,
    frequencies: &'catalog [u32],
}

impl QueryGenerator<'_> {
    fn query(&self, class: Class, in_store: bool, rng: &mut SplitMix64) -> Query {
        let (product, words) = self.words(class, in_store, rng);
        let merchant = self.catalog.merchant_for(&product);
        // Half of all queries have filters; a quarter of those also filter by category.
        let (filters, which) = (rng.chance(50), rng.below(3));
        let category = (filters && rng.chance(25)).then(|| self.catalog.category_path(&product));
        Query {
            class,
            words,
            store: in_store.then(|| (merchant.index, merchant.slug.clone())),
            max_price_minor: (filters && which != 0).then_some(product.price_minor * 3 / 2),
            in_stock_only: filters && which != 1,
            category: category.map(str::to_owned),
        }
    }

    /// Returns words of the class, and the product that determines the filters. Within one store the words are
    /// those of one of its products, so that there is at least one hit.
    fn words(&self, class: Class, in_store: bool, rng: &mut SplitMix64) -> (Product, Vec<String>) {
        const ATTEMPTS: u32 = 400;
        let mut product = self.visible_product(rng);
        for _ in 0..ATTEMPTS {
            let words = match class {
                Class::Title2 => words_of_name(&product, 2, rng),
                Class::Title3 => words_of_name(&product, 3, rng),
                Class::Mixed3 => self.words_of_product(&product, class.bands(), rng),
                _ if in_store => self.words_of_product(&product, class.bands(), rng),
                _ => self.words_of_vocabulary(class.bands(), rng),
            };
            if let Some(words) = words {
                return (product, words);
            }
            product = self.visible_product(rng);
        }
        // A very small catalog may have no product with all of them.
        let words = self.words_of_vocabulary(class.bands(), rng).unwrap_or_default();
        (product, words)
    }

    /// Returns a random product of a store that is not suspended.
    fn visible_product(&self, rng: &mut SplitMix64) -> Product {
        loop {
            let number = rng.below(self.catalog.size);
            if !self.catalog.merchant_of(number).is_suspended() {
                return self.catalog.product(number);
            }
        }
    }

    fn is_in(&self, rank: usize, (least, most): (u32, u32)) -> bool {
        let of = |millionths: u32| {
            u32::try_from(u64::from(millionths) * u64::from(self.catalog.size) / 1_000_000)
                .unwrap_or(u32::MAX)
        };
        // A word of only one product identifies that product.
        let least = of(least).max(2);
        (least..=of(most).max(least)).contains(&self.frequencies[rank])
    }

    /// Returns one word of each band from a product.
    fn words_of_product(
        &self,
        product: &Product,
        bands: &[(u32, u32)],
        rng: &mut SplitMix64,
    ) -> Option<Vec<String>> {
        let mut chosen: Vec<usize> = Vec::new();
        for band in bands {
            let matches = |rank: &usize| self.is_in(*rank, *band) && !chosen.contains(rank);
            let candidates: Vec<usize> = product.ranks().filter(matches).collect();
            chosen.push(*candidates.get(rng.index(candidates.len()))?);
        }
        Some(chosen.into_iter().map(|rank| self.catalog.vocabulary.text(rank).to_owned()).collect())
    }

    /// Returns one word of each band from the vocabulary.
    fn words_of_vocabulary(
        &self,
        bands: &[(u32, u32)],
        rng: &mut SplitMix64,
    ) -> Option<Vec<String>> {
        let mut chosen: Vec<usize> = Vec::new();
        for band in bands {
            let matches = |rank: &usize| self.is_in(*rank, *band) && !chosen.contains(rank);
            let candidates: Vec<usize> = (0..self.frequencies.len()).filter(matches).collect();
            chosen.push(*candidates.get(rng.index(candidates.len()))?);
        }
        Some(chosen.into_iter().map(|rank| self.catalog.vocabulary.text(rank).to_owned()).collect())
    }
}

/// Returns distinct words of a name, without the brand, in order.
fn words_of_name(product: &Product, count: usize, rng: &mut SplitMix64) -> Option<Vec<String>> {
    let mut words: Vec<String> =
        product.name.split(' ').skip(1).map(str::to_ascii_lowercase).collect();
    words.dedup();
    while words.len() > count {
        words.remove(rng.index(words.len()));
    }
    (words.len() == count).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::super::SEED;
    use super::*;

    #[test]
    fn queries_cover_every_kind_and_are_reproducible() {
        let catalog = SyntheticCatalog::new(10_000, SEED);
        let frequencies = catalog.frequencies();
        let generated = queries(&catalog, &frequencies, 10);
        assert_eq!(generated, queries(&catalog, &frequencies, 10));
        assert_eq!(generated.len(), 160);
        for query in &generated {
            let words = match query.class {
                Class::Rare1 | Class::Med1 | Class::Common1 => 1,
                Class::Common2 | Class::Title2 => 2,
                _ => 3,
            };
            assert_eq!(query.words.len(), words, "{query:?}");
        }
        let filtered =
            generated.iter().filter(|query| query.in_stock_only || query.max_price_minor.is_some());
        assert!((60..100).contains(&filtered.count()));
    }

    #[test]
    fn a_query_renders_as_a_request_body() {
        let query = Query {
            class: Class::Title2,
            words: vec![String::from("batin"), String::from("korel")],
            store: Some((3, String::from("store-0003"))),
            max_price_minor: Some(1_905),
            in_stock_only: true,
            category: None,
        };
        let body: Value = serde_json::from_str(&query.body()).unwrap();
        let expected = json!({
            "query": "batin korel", "merchants": ["store-0003"], "max_price": 19.05,
            "in_stock_only": true, "limit": 20
        });
        assert_eq!(body, expected);
    }
}
