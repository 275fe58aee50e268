//! What is searched for: eight classes of queries, in all stores and in one.

use serde_json::{Map, Value, json};

use super::{Dice, Kind, Product, World};

/// A class of queries. Frequencies are shares of all products, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// One word that few products have.
    Rare1,
    /// One word of the middle.
    Med1,
    /// One word that every tenth product has, or more.
    Common1,
    Common2,
    Common3,
    /// A rare, a middling and a common word of one product.
    Mixed3,
    /// Words of one product's name.
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

    /// The bands its words are taken from; none for those of names.
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

/// A search: all words, in one store or all, with filters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Query {
    pub(crate) class: Class,
    pub(crate) words: Vec<String>,
    /// The merchant's index and its store's slug.
    pub(crate) store: Option<(u32, String)>,
    pub(crate) max_price_minor: Option<i64>,
    pub(crate) in_stock_only: bool,
    /// A place, as its path.
    pub(crate) category: Option<String>,
}

/// How many are asked for.
pub(crate) const LIMIT: usize = 20;

impl Query {
    /// `common1/all`
    pub(crate) fn kind(&self) -> String {
        kind_name(self.class, self.store.is_some())
    }

    /// As `POST /api/v1/search` takes it.
    pub(crate) fn body(&self) -> String {
        let mut body = self.arguments();
        if let Some((_, slug)) = &self.store {
            body.insert(String::from("merchants"), json!([slug]));
        }
        Value::Object(body).to_string()
    }

    /// As `search_products` takes it, at the endpoint of the store.
    pub(crate) fn call(&self) -> String {
        let params = json!({ "name": "search_products", "arguments": self.arguments() });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
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

/// So many queries of each class and scope, well mixed. The same world and number: the same queries.
pub(crate) fn queries(world: &World, frequencies: &[u32], of_each: u32) -> Vec<Query> {
    let asker = Asker { world, frequencies };
    let mut queries = Vec::new();
    let mut number = 0;
    for _ in 0..of_each {
        for class in Class::ALL {
            for in_store in [false, true] {
                let mut dice = world.dice(Kind::Query, number);
                queries.push(asker.query(class, in_store, &mut dice));
                number += 1;
            }
        }
    }
    let mut dice = world.dice(Kind::Query, u64::MAX);
    for last in (1..queries.len()).rev() {
        queries.swap(last, dice.place(last + 1));
    }
    queries
}

struct Asker<'world> {
    world: &'world World,
    frequencies: &'world [u32],
}

impl Asker<'_> {
    fn query(&self, class: Class, in_store: bool, dice: &mut Dice) -> Query {
        let (product, words) = self.words(class, in_store, dice);
        let merchant = self.world.owner(&product);
        // Half of all queries filter; a quarter of those also name a place.
        let (filters, which) = (dice.happens(50), dice.below(3));
        let category = (filters && dice.happens(25)).then(|| self.world.place_path(&product));
        Query {
            class,
            words,
            store: in_store.then(|| (merchant.index, merchant.slug.clone())),
            max_price_minor: (filters && which != 0).then_some(product.price_minor * 3 / 2),
            in_stock_only: filters && which != 1,
            category: category.map(str::to_owned),
        }
    }

    /// Words of the class, and the product the rest of the query is about. In one store the words are
    /// those of one of its products, so that something is found.
    fn words(&self, class: Class, in_store: bool, dice: &mut Dice) -> (Product, Vec<String>) {
        const TRIES: u32 = 400;
        let mut product = self.visible(dice);
        for _ in 0..TRIES {
            let words = match class {
                Class::Title2 => of_name(&product, 2, dice),
                Class::Title3 => of_name(&product, 3, dice),
                Class::Mixed3 => self.of_product(&product, class.bands(), dice),
                _ if in_store => self.of_product(&product, class.bands(), dice),
                _ => self.of_vocabulary(class.bands(), dice),
            };
            if let Some(words) = words {
                return (product, words);
            }
            product = self.visible(dice);
        }
        // A very small world has no product with all of them.
        let words = self.of_vocabulary(class.bands(), dice).unwrap_or_default();
        (product, words)
    }

    /// A product of a store that may be found.
    fn visible(&self, dice: &mut Dice) -> Product {
        loop {
            let number = dice.below(self.world.size);
            if !self.world.merchant_of(number).is_suspended() {
                return self.world.product(number);
            }
        }
    }

    fn is_in(&self, rank: usize, (least, most): (u32, u32)) -> bool {
        let of = |millionths: u32| {
            u32::try_from(u64::from(millionths) * u64::from(self.world.size) / 1_000_000)
                .unwrap_or(u32::MAX)
        };
        // A word of one product only is a name.
        let least = of(least).max(2);
        (least..=of(most).max(least)).contains(&self.frequencies[rank])
    }

    /// One word of each band, from a product.
    fn of_product(
        &self,
        product: &Product,
        bands: &[(u32, u32)],
        dice: &mut Dice,
    ) -> Option<Vec<String>> {
        let mut chosen: Vec<usize> = Vec::new();
        for band in bands {
            let fits = |rank: &usize| self.is_in(*rank, *band) && !chosen.contains(rank);
            let fitting: Vec<usize> = product.ranks().filter(fits).collect();
            chosen.push(*fitting.get(dice.place(fitting.len()))?);
        }
        Some(chosen.into_iter().map(|rank| self.world.words.text(rank).to_owned()).collect())
    }

    /// One word of each band, from all words.
    fn of_vocabulary(&self, bands: &[(u32, u32)], dice: &mut Dice) -> Option<Vec<String>> {
        let mut chosen: Vec<usize> = Vec::new();
        for band in bands {
            let fits = |rank: &usize| self.is_in(*rank, *band) && !chosen.contains(rank);
            let fitting: Vec<usize> = (0..self.frequencies.len()).filter(fits).collect();
            chosen.push(*fitting.get(dice.place(fitting.len()))?);
        }
        Some(chosen.into_iter().map(|rank| self.world.words.text(rank).to_owned()).collect())
    }
}

/// Different words of a name, without the brand, in its order.
fn of_name(product: &Product, count: usize, dice: &mut Dice) -> Option<Vec<String>> {
    let mut words: Vec<String> =
        product.name.split(' ').skip(1).map(str::to_ascii_lowercase).collect();
    words.dedup();
    while words.len() > count {
        words.remove(dice.place(words.len()));
    }
    (words.len() == count).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::super::SEED;
    use super::*;

    #[test]
    fn queries_are_of_every_kind_and_always_the_same() {
        let world = World::new(10_000, SEED);
        let frequencies = world.frequencies();
        let asked = queries(&world, &frequencies, 10);
        assert_eq!(asked, queries(&world, &frequencies, 10));
        assert_eq!(asked.len(), 160);
        for query in &asked {
            let words = match query.class {
                Class::Rare1 | Class::Med1 | Class::Common1 => 1,
                Class::Common2 | Class::Title2 => 2,
                _ => 3,
            };
            assert_eq!(query.words.len(), words, "{query:?}");
        }
        let filtered =
            asked.iter().filter(|query| query.in_stock_only || query.max_price_minor.is_some());
        assert!((60..100).contains(&filtered.count()));
    }

    #[test]
    fn a_query_is_a_body() {
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
