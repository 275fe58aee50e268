//! How good the order of results is, and what each part of it is worth.

use std::time::Duration;

use merchants::StoreCache;
use search::{CallerKind, Search, SearchArguments, SearchSettings, Tuning};
use serde_json::Value;
use testkit::TestDatabase;

use super::relevance::{self, Hit, Query, Relevance};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::table_print::Table;

/// What the order reached when it was last looked at, rounded down. It may rise.
const FLOOR: f64 = 0.91;

/// The graded set over the demo world, as it is and with each part switched off.
pub(super) async fn prove(_: Trial) -> Verdict {
    // On a thread of its own: the compiler cannot tell that this may move between threads.
    let here = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || here.block_on(judge())).await?
}

async fn judge() -> Verdict {
    let test = TestDatabase::new().await;
    demo::seed(test.database(), &demo::world(), |_| {}).await?;
    let stores = StoreCache::new(test.database().clone(), Duration::from_mins(1));
    let settings = SearchSettings { budget: None, ..SearchSettings::new("http://souk.test") };
    let search = Search::of_everything(test.database(), stores, 3, settings).await?;
    let queries = relevance::queries()?;
    let whole = measured(&search, &queries).await?;
    whole.table().print();
    for scored in whole.worst(12) {
        println!("worst: {} {:.3}", scored.id, scored.ndcg);
    }
    let mut table = Table::new(&["without", "nDCG@10", "worth"]);
    for (name, tuning) in without_each() {
        let less = measured(&search.with(tuning, None), &queries).await?.overall();
        let worth = format!("{:+.3}", whole.overall() - less);
        table.add(vec![name.to_owned(), format!("{less:.3}"), worth]);
    }
    table.print();
    ensure(whole.overall() >= FLOOR, || {
        format!("nDCG@10 is {:.3}, below {FLOOR}", whole.overall())
    })?;
    Ok(format!("nDCG@10 {:.3} over {} queries, at least {FLOOR}", whole.overall(), queries.len()))
}

/// The order with one part switched off, each in turn.
fn without_each() -> [(&'static str, Tuning); 9] {
    let whole = Tuning::default();
    [
        ("stems", Tuning { stems: false, ..whole }),
        ("corrections", Tuning { typos: false, ..whole }),
        ("some of the words", Tuning { relax: false, ..whole }),
        ("exact names first", Tuning { exact_first: false, ..whole }),
        ("weight of name and brand", Tuning { title_boost: 0.0, ..whole }),
        ("trust", Tuning { trust: false, ..whole }),
        ("stock", Tuning { stock_lift: 0.0, ..whole }),
        ("freshness", Tuning { fresh_lift: 0.0, ..whole }),
        ("stock and freshness", Tuning { stock_lift: 0.0, fresh_lift: 0.0, ..whole }),
    ]
}

async fn measured(search: &Search, queries: &[Query]) -> Result<Relevance, Failure> {
    relevance::measure(queries, async |query| answer(search, query).await).await
}

async fn answer(search: &Search, query: &Query) -> Result<Vec<Hit>, Failure> {
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
        let hit =
            text("/merchant/slug").zip(text("/sku")).ok_or("a record without store or sku")?;
        hits.push((hit.0.to_owned(), hit.1.to_owned()));
    }
    Ok(hits)
}
