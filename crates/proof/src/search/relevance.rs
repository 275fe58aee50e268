//! How well answers meet what buyers mean: a graded set of queries over the demo world, and the
//! normalised discounted cumulative gain of the first ten hits (nDCG@10).

use std::collections::{BTreeMap, BTreeSet};

use demo::{Store, World};
use serde::Deserialize;

use crate::report::{Failure, ensure};
use crate::table_print::Table;

/// Written by hand, before anything was tuned.
const SET: &str = include_str!("../../relevance/queries.toml");

/// As many hits as are judged.
const DEPTH: usize = 10;

/// A product by its store's slug and its SKU.
pub(crate) type Hit = (String, String);

/// What one kind of query tries.
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
    /// A slip of the finger or the ear.
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

    /// As the table shows it.
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

/// A query with its filters (decisions §3) and what it deserves.
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

/// What one product is worth to whoever asked; products without a judgement are worth nothing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Judgement {
    pub(crate) store: String,
    pub(crate) sku: String,
    /// 3 is exactly what is meant, 2 is good, 1 is acceptable.
    pub(crate) grade: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    query: Vec<Query>,
}

/// The graded set. Fails if it names something that the demo world does not have.
pub(crate) fn queries() -> Result<Vec<Query>, Failure> {
    let queries = parse(SET)?;
    let world = demo::world();
    let mut ids = BTreeSet::new();
    for query in &queries {
        ensure(ids.insert(&query.id), || format!("{} is there twice", query.id))?;
        check(query, &world).map_err(|why| format!("{}: {why}", query.id))?;
    }
    Ok(queries)
}

fn parse(text: &str) -> Result<Vec<Query>, Failure> {
    let set: Set = toml::from_str(text)?;
    Ok(set.query)
}

/// Every judgement is about another product, and about one that can be found.
fn check(query: &Query, world: &World) -> Result<(), Failure> {
    ensure(!query.judgements.is_empty(), || String::from("nothing is relevant"))?;
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

/// Closed, unscored and suspended stores are in no answer (decisions §4).
fn is_listed(store: &Store) -> bool {
    store.active && store.trust_score.is_some_and(|score| score >= 0.20)
}

/// The gain of the first ten hits, each discounted by its place, as a share of the best there could
/// be. A hit that comes again gains nothing.
pub(crate) fn ndcg_at_10(ranking: &[Hit], judgements: &[Judgement]) -> f64 {
    let mut worth: BTreeMap<(&str, &str), u8> = judgements
        .iter()
        .map(|judged| ((judged.store.as_str(), judged.sku.as_str()), judged.grade))
        .collect();
    let mut ideal: Vec<u8> = worth.values().copied().collect();
    ideal.sort_unstable_by(|left, right| right.cmp(left));
    let found = ranking.iter().take(DEPTH);
    let found = found.map(|(store, sku)| worth.remove(&(store.as_str(), sku.as_str())));
    let gain = discounted_gain(found.map(Option::unwrap_or_default));
    let best = discounted_gain(ideal.into_iter().take(DEPTH));
    if best > 0.0 { gain / best } else { 0.0 }
}

/// `(2^grade - 1) / log2(place + 1)`, places counted from one, added up.
fn discounted_gain(grades: impl Iterator<Item = u8>) -> f64 {
    let places = (1_u32..).map(f64::from);
    let gain = |(grade, place): (u8, f64)| (f64::from(grade).exp2() - 1.0) / (place + 1.0).log2();
    grades.zip(places).map(gain).sum()
}

/// How one query was answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scored {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) ndcg: f64,
}

/// How a whole set was answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Relevance {
    pub(crate) scored: Vec<Scored>,
}

/// Asks every query, one after another; `answer` gives the hits, the best first.
pub(crate) async fn measure(
    queries: &[Query],
    mut answer: impl AsyncFnMut(&Query) -> Result<Vec<Hit>, Failure>,
) -> Result<Relevance, Failure> {
    let mut scored = Vec::with_capacity(queries.len());
    for query in queries {
        let hits = answer(query).await?;
        let ndcg = ndcg_at_10(&hits, &query.judgements);
        scored.push(Scored { id: query.id.clone(), kind: query.kind, ndcg });
    }
    Ok(Relevance { scored })
}

impl Relevance {
    /// The mean over all queries.
    pub(crate) fn overall(&self) -> f64 {
        mean(self.scored.iter().map(|scored| scored.ndcg))
    }

    /// The number of queries of a kind and the mean over them.
    pub(crate) fn of(&self, kind: Kind) -> (usize, f64) {
        let scores = self.scored.iter().filter(|scored| scored.kind == kind);
        (scores.clone().count(), mean(scores.map(|scored| scored.ndcg)))
    }

    /// The queries answered worst, the worst first: where to look next.
    pub(crate) fn worst(&self, count: usize) -> Vec<&Scored> {
        let mut scored: Vec<&Scored> = self.scored.iter().collect();
        scored.sort_by(|left, right| left.ndcg.total_cmp(&right.ndcg));
        scored.truncate(count);
        scored
    }

    /// A row for each kind that was asked, and one for all.
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

/// Nothing has the mean zero: a set that was not asked is not answered well.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

#[cfg(test)]
mod tests;
