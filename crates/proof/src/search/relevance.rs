//! Relevance of search results: a graded set of queries on the demo stores, and the normalized discounted
//! cumulative gain of the first ten hits (nDCG@10).

use std::collections::{BTreeMap, BTreeSet};

use demo::{Store, World};
use serde::Deserialize;

use crate::report::{Failure, ensure};
use crate::table_print::Table;

/// The graded set, written by hand before the ranking was tuned.
const SET: &str = include_str!("../../relevance/queries.toml");

/// Number of hits that are scored.
const DEPTH: usize = 10;

/// A product by its store's slug and its SKU.
pub(crate) type Hit = (String, String);

/// A kind of query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The name of a product.
    Exact,
    /// A SKU or a GTIN.
    ExactNumber,
    /// One word for many products.
    Broad,
    /// Several words that belong together.
    MultiWord,
    /// A typing or spelling error.
    Misspelt,
    InflectedEn,
    InflectedDe,
    InflectedFr,
    InflectedEs,
    InflectedIt,
    /// Words and filters.
    Filtered,
    /// Words within one store.
    InStore,
    /// Typed without accents and umlauts.
    Accentless,
}

impl Kind {
    pub(crate) const ALL: [Self; 13] = [
        Self::Exact,
        Self::ExactNumber,
        Self::Broad,
        Self::MultiWord,
        Self::Misspelt,
        Self::InflectedEn,
        Self::InflectedDe,
        Self::InflectedFr,
        Self::InflectedEs,
        Self::InflectedIt,
        Self::Filtered,
        Self::InStore,
        Self::Accentless,
    ];

    /// Returns the label in the table.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::ExactNumber => "exact number",
            Self::Broad => "broad",
            Self::MultiWord => "multi-word",
            Self::Misspelt => "misspelt",
            Self::InflectedEn => "inflected, English",
            Self::InflectedDe => "inflected, German",
            Self::InflectedFr => "inflected, French",
            Self::InflectedEs => "inflected, Spanish",
            Self::InflectedIt => "inflected, Italian",
            Self::Filtered => "filtered",
            Self::InStore => "in one store",
            Self::Accentless => "without accents",
        }
    }
}

/// A query with its filters (docs/contract/search.md#search-filters) and its relevance judgements.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Query {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    #[serde(rename = "query")]
    pub(crate) words: String,
    pub(crate) category: Option<String>,
    pub(crate) brand: Option<String>,
    pub(crate) min_price: Option<f64>,
    pub(crate) max_price: Option<f64>,
    pub(crate) currency: Option<String>,
    #[serde(default)]
    pub(crate) in_stock_only: bool,
    pub(crate) min_trust: Option<f64>,
    pub(crate) verification_level: Option<String>,
    #[serde(default)]
    pub(crate) merchants: Vec<String>,
    pub(crate) judgements: Vec<Judgement>,
}

/// The relevance of a product for a query. Products without a judgement have grade 0.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Judgement {
    pub(crate) store: String,
    pub(crate) sku: String,
    /// 3: exactly what was searched for, 2: good, 1: acceptable.
    pub(crate) grade: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    query: Vec<Query>,
}

/// Returns the graded set. Fails if it refers to a store or product that the demo data does not have.
pub(crate) fn queries() -> Result<Vec<Query>, Failure> {
    let queries = parse(SET)?;
    let world = demo::world();
    let mut ids = BTreeSet::new();
    for query in &queries {
        ensure(ids.insert(&query.id), || format!("the query id {} is not unique", query.id))?;
        check(query, &world).map_err(|why| format!("{}: {why}", query.id))?;
    }
    Ok(queries)
}

fn parse(text: &str) -> Result<Vec<Query>, Failure> {
    let set: Set = toml::from_str(text)?;
    Ok(set.query)
}

/// Verifies that the judgements of a query refer to distinct products that can be found.
fn check(query: &Query, world: &World) -> Result<(), Failure> {
    ensure(!query.judgements.is_empty(), || String::from("the query has no judgements"))?;
    let mut judged = BTreeSet::new();
    for Judgement { store: slug, sku, grade } in &query.judgements {
        ensure((1..=3).contains(grade), || format!("{sku} has grade {grade}"))?;
        ensure(judged.insert((slug, sku)), || format!("{slug}/{sku} is judged twice"))?;
        let store = world.store(slug).ok_or_else(|| format!("there is no store {slug}"))?;
        ensure(is_listed(store), || format!("{slug} is not in the index"))?;
        let known = store.products.iter().any(|product| product.sku == *sku);
        ensure(known, || format!("{slug} has no {sku}"))?;
    }
    Ok(())
}

/// Returns whether a store is searchable: active, scored and not suspended (docs/contract/search.md#ranking).
fn is_listed(store: &Store) -> bool {
    store.active && store.trust_score.is_some_and(|score| score >= 0.20)
}

/// Returns the discounted gain of the first ten hits divided by the maximum possible gain. A duplicate hit
/// adds no gain.
pub(crate) fn ndcg_at_10(ranking: &[Hit], judgements: &[Judgement]) -> f64 {
    let mut grades: BTreeMap<(&str, &str), u8> = judgements
        .iter()
        .map(|judged| ((judged.store.as_str(), judged.sku.as_str()), judged.grade))
        .collect();
    let mut ideal: Vec<u8> = grades.values().copied().collect();
    ideal.sort_unstable_by(|left, right| right.cmp(left));
    let found = ranking.iter().take(DEPTH);
    let found = found.map(|(store, sku)| grades.remove(&(store.as_str(), sku.as_str())));
    let gain = discounted_gain(found.map(Option::unwrap_or_default));
    let best = discounted_gain(ideal.into_iter().take(DEPTH));
    if best > 0.0 { gain / best } else { 0.0 }
}

/// Returns the sum of `(2^grade - 1) / log2(rank + 1)`; ranks start at one.
fn discounted_gain(grades: impl Iterator<Item = u8>) -> f64 {
    let ranks = (1_u32..).map(f64::from);
    let gain = |(grade, rank): (u8, f64)| (f64::from(grade).exp2() - 1.0) / (rank + 1.0).log2();
    grades.zip(ranks).map(gain).sum()
}

/// The score of one query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scored {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) ndcg: f64,
}

/// The scores of a set of queries.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Relevance {
    pub(crate) scored: Vec<Scored>,
}

/// Runs every query in turn; `search` returns the hits, best first.
pub(crate) async fn measure(
    queries: &[Query],
    mut search: impl AsyncFnMut(&Query) -> Result<Vec<Hit>, Failure>,
) -> Result<Relevance, Failure> {
    let mut scored = Vec::with_capacity(queries.len());
    for query in queries {
        let hits = search(query).await?;
        let ndcg = ndcg_at_10(&hits, &query.judgements);
        scored.push(Scored { id: query.id.clone(), kind: query.kind, ndcg });
    }
    Ok(Relevance { scored })
}

impl Relevance {
    /// Returns the mean over all queries.
    pub(crate) fn overall(&self) -> f64 {
        mean(self.scored.iter().map(|scored| scored.ndcg))
    }

    /// Returns the number of queries of a kind and their mean.
    pub(crate) fn of(&self, kind: Kind) -> (usize, f64) {
        let scores = self.scored.iter().filter(|scored| scored.kind == kind);
        (scores.clone().count(), mean(scores.map(|scored| scored.ndcg)))
    }

    /// Returns the queries with the lowest scores, lowest first.
    pub(crate) fn worst(&self, count: usize) -> Vec<&Scored> {
        let mut scored: Vec<&Scored> = self.scored.iter().collect();
        scored.sort_by(|left, right| left.ndcg.total_cmp(&right.ndcg));
        scored.truncate(count);
        scored
    }

    /// Returns a table with a row for each kind that occurs and one for all queries.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new(&["kind", "queries", "nDCG@10"]);
        let mut add = |name: &str, count: usize, mean: f64| {
            table.add(vec![name.to_owned(), count.to_string(), format!("{mean:.3}")]);
        };
        for kind in Kind::ALL {
            let (count, mean) = self.of(kind);
            if count > 0 {
                add(kind.name(), count, mean);
            }
        }
        add("all", self.scored.len(), self.overall());
        table
    }
}

/// Returns the mean; 0 for no values, so that an empty set does not pass.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

#[cfg(test)]
mod tests;
