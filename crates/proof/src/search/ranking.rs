//! Relevance of the search results, and the contribution of each ranking factor.

use std::time::Duration;

use merchants::StoreCache;
use search::{CallerKind, Search, SearchArguments, SearchSettings, Tuning};
use serde_json::Value;
use testkit::TestDatabase;

use super::relevance::{self, Hit, Query, Relevance};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::table_print::Table;

/// Minimum nDCG@10: the last measured value, rounded down. It may be raised.
const NDCG_MIN: f64 = 0.91;

/// Evaluates the graded queries on the demo stores, with all ranking factors and without each.
pub(super) async fn prove(_: Trial) -> Verdict {
    // On a separate thread, because the compiler cannot prove that this future is `Send`.
    let runtime = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || runtime.block_on(evaluate())).await?
}

async fn evaluate() -> Verdict {
    let test = TestDatabase::new().await;
    demo::seed(test.database(), &demo::world(), |_| {}).await?;
    let stores = StoreCache::new(test.database().clone(), Duration::from_mins(1));
    let settings = SearchSettings { budget: None, ..SearchSettings::new("http://souk.test") };
    let search = Search::in_memory(test.database(), stores, 3, settings).await?;
    let queries = relevance::queries()?;
    let full = measured(&search, &queries).await?;
    full.table().print();
    for scored in full.worst(12) {
        println!("worst: {} {:.3}", scored.id, scored.ndcg);
    }
    let mut table = Table::new(&["without", "nDCG@10", "contribution"]);
    for (name, tuning) in without_each() {
        let reduced = measured(&search.with_tuning(tuning, None), &queries).await?.overall();
        let contribution = format!("{:+.3}", full.overall() - reduced);
        table.add(vec![name.to_owned(), format!("{reduced:.3}"), contribution]);
    }
    table.print();
    ensure(full.overall() >= NDCG_MIN, || {
        format!("nDCG@10 is {:.3}, below the minimum {NDCG_MIN}", full.overall())
    })?;
    Ok(format!("nDCG@10 {:.3} over {} queries (minimum {NDCG_MIN})", full.overall(), queries.len()))
}

/// Returns the tuning without each ranking factor in turn.
fn without_each() -> [(&'static str, Tuning); 10] {
    let all = Tuning::default();
    [
        ("stems", Tuning { stems: false, ..all }),
        ("corrections", Tuning { typos: false, ..all }),
        ("partial matches", Tuning { relax: false, ..all }),
        ("exact names first", Tuning { exact_first: false, ..all }),
        ("weight of name and brand", Tuning { title_boost: 0.0, ..all }),
        ("trust", Tuning { trust: false, ..all }),
        ("stock", Tuning { stock_lift: 0.0, ..all }),
        ("freshness", Tuning { fresh_lift: 0.0, ..all }),
        ("diversity of stores", Tuning { diversity: false, ..all }),
        ("stock and freshness", Tuning { stock_lift: 0.0, fresh_lift: 0.0, ..all }),
    ]
}

async fn measured(search: &Search, queries: &[Query]) -> Result<Relevance, Failure> {
    relevance::measure(queries, async |query| hits(search, query).await).await
}

async fn hits(search: &Search, query: &Query) -> Result<Vec<Hit>, Failure> {
    let level = query.verification_level.as_ref();
    let level = level.map(|level| serde_json::from_value(Value::String(level.clone())));
    let arguments = SearchArguments {
        query: Some(query.words.clone()),
        category: query.category.clone(),
        brand: query.brand.clone(),
        min_price: query.min_price,
        max_price: query.max_price,
        currency: query.currency.clone(),
        in_stock_only: Some(query.in_stock_only),
        min_trust: query.min_trust,
        verification_level: level.transpose()?,
        merchants: Some(query.merchants.clone()).filter(|merchants| !merchants.is_empty()),
        limit: Some(10),
        ..SearchArguments::default()
    };
    let found = search.find(arguments.query()?, CallerKind::Anonymous).await?;
    let mut hits = Vec::with_capacity(found.records.len());
    for record in &found.records {
        let record: Value = serde_json::from_str(record)?;
        let text = |pointer: &str| record.pointer(pointer).and_then(Value::as_str);
        let hit = text("/merchant/slug").zip(text("/sku")).ok_or("a record has no store or SKU")?;
        hits.push((hit.0.to_owned(), hit.1.to_owned()));
    }
    Ok(hits)
}
