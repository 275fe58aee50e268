//! Results of queries: which, in which order, and how they are counted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use catalog::StockStatus;
use merchants::Band;
use primitives::{Currency, PageRequest};
use search::{CallerKind, FacetValue, Filters, Matched, Query, SearchError, Sort, Source};
use serde_json::Value;

use crate::demo_world::{World, ids, records};

/// Queries with results in many stores, in several languages.
const WORDS: [&str; 12] = [
    "",
    "lamp",
    "coffee",
    "cup blue",
    "jacket",
    "candle",
    "wool",
    "cream",
    "black",
    "set",
    "a",
    "steel bottle",
];

const SORTS: [Sort; 5] =
    [Sort::Relevance, Sort::PriceAsc, Sort::PriceDesc, Sort::Newest, Sort::Trust];

fn score(record: &Value) -> f64 {
    record["merchant"]["trust_score"].as_f64().unwrap_or(-1.0)
}

#[tokio::test]
async fn suspended_and_unscored_stores_are_hidden() {
    let world = World::open().await;
    for words in WORDS {
        for sort in SORTS {
            let query = Query { sort, ..Query::of_words(words) };
            for record in world.find_all(&query).await {
                assert!(score(&record) >= 0.2, "{words}: {}", record["merchant"]["slug"]);
            }
        }
    }
    let named = |slug: &str| Query { stores: vec![slug.parse().unwrap()], ..Query::of_words("") };
    let unscored = world.find_all(&named("tuulikki-candles")).await;
    assert!(!unscored.is_empty(), "an unscored store is found if the query names it");
    let suspended = world.search.find(named("velvetine-outlet"), CallerKind::Anonymous).await;
    assert!(matches!(suspended, Err(SearchError::StoreSuspended(_))));
    let unknown = world.search.find(named("nobody-here"), CallerKind::Anonymous).await;
    assert!(matches!(unknown, Err(SearchError::StoreNotFound(_))));
}

#[tokio::test]
async fn stores_below_standard_come_last() {
    let world = World::open().await;
    for words in WORDS {
        let found = world.find_all(&Query::of_words(words)).await;
        let below: Vec<bool> = found.iter().map(|record| score(record) < 0.7).collect();
        assert!(below.is_sorted(), "{words}: a store below 0.70 comes before another");
        let query = Query { sort: Sort::Trust, ..Query::of_words(words) };
        let trust: Vec<f64> =
            world.find_all(&query).await.iter().map(|record| -score(record)).collect();
        assert!(trust.is_sorted(), "{words}: not sorted by trust");
    }
}

#[tokio::test]
async fn all_pages_are_ranked_at_one_time() {
    let world = World::open().await;
    let query = Query::of_words("");
    let all = ids(&world.find_all(&query).await);
    let mut read = Vec::new();
    let mut cursor = None;
    loop {
        let page = PageRequest::new(None, Some(37));
        let found = world.find(Query { cursor, page, ..query.clone() }).await;
        read.extend(ids(&records(&found)));
        cursor = found.next_cursor;
        if cursor.is_none() {
            break;
        }
        // New products lose more of their freshness than old ones.
        world.test.clock().advance(Duration::from_hours(24));
    }
    assert_eq!(read, all);
}

#[tokio::test]
async fn pages_never_repeat_or_skip_results() {
    let world = World::open().await;
    for words in WORDS {
        for sort in SORTS {
            let query = Query { sort, ..Query::of_words(words) };
            let all = ids(&world.find_all(&query).await);
            let distinct: BTreeSet<&String> = all.iter().collect();
            assert_eq!(distinct.len(), all.len(), "{words} {sort:?} repeats");
            let mut paged = Vec::new();
            for page in 1.. {
                let page = PageRequest::new(Some(page), Some(37));
                let found = world.find(Query { page, ..query.clone() }).await;
                assert_eq!(found.page.total, i64::try_from(all.len()).unwrap(), "{words} {sort:?}");
                let records = records(&found);
                if records.is_empty() {
                    break;
                }
                paged.extend(ids(&records));
            }
            assert_eq!(paged, all, "{words} {sort:?}: pages and cursors differ");
        }
    }
}

#[tokio::test]
async fn results_are_sorted() {
    let world = World::open().await;
    let price = |record: &Value| record["price"].as_f64().unwrap();
    let sorted = async |sort| world.find_all(&Query { sort, ..Query::of_words("cup") }).await;
    assert!(sorted(Sort::PriceAsc).await.iter().map(price).is_sorted());
    assert!(sorted(Sort::PriceDesc).await.iter().map(|record| -price(record)).is_sorted());
    let newest = sorted(Sort::Newest).await;
    let listed: Vec<&str> =
        newest.iter().map(|record| record["listed_at"].as_str().unwrap()).collect();
    let seconds: Vec<&str> = listed.iter().map(|text| &text[..19]).rev().collect();
    assert!(seconds.is_sorted());
}

/// Returns the ids of the records that pass a filter.
fn brute_force(all: &[Value], passes: impl Fn(&Value) -> bool) -> BTreeSet<String> {
    ids(&all.iter().filter(|record| passes(record)).cloned().collect::<Vec<_>>())
        .into_iter()
        .collect()
}

type Passes<'test> = Box<dyn Fn(&Value) -> bool + 'test>;

#[tokio::test]
async fn filters_return_what_matches() {
    let world = World::open().await;
    let all = world.find_all(&Query::of_words("")).await;
    assert!(all.len() > 800, "{}", all.len());
    let text = |record: &Value, field: &str| record[field].as_str().unwrap_or("").to_owned();
    let available = |record: &Value| {
        let status = text(record, "stock_status");
        status == StockStatus::InStock.as_str() || status == StockStatus::LowStock.as_str()
    };
    let price = |record: &Value| record["price"].as_f64().unwrap();
    let with = Filters::default;
    let cases: Vec<(Filters, Passes<'_>)> = vec![
        (Filters { in_stock_only: true, ..with() }, Box::new(available)),
        (
            Filters {
                price_micros_min: Some(20_000_000),
                price_micros_max: Some(49_990_000),
                ..with()
            },
            Box::new(move |record| (20.0..=49.99).contains(&price(record))),
        ),
        (
            Filters { currency: Some(Currency::USD), ..with() },
            Box::new(move |record| text(record, "currency") == "USD"),
        ),
        (Filters { trust_min: Some(0.87), ..with() }, Box::new(|record| score(record) >= 0.87)),
        (
            Filters { band_min: Some(Band::Verified), ..with() },
            Box::new(|record| score(record) >= 0.85),
        ),
        (
            Filters { category: Some(String::from("Beauty")), ..with() },
            Box::new(|record| record["category"]["path"].as_str().unwrap().starts_with("beauty")),
        ),
    ];
    for (filters, passes) in cases {
        let query = Query { filters: filters.clone(), ..Query::of_words("") };
        let found: BTreeSet<String> = ids(&world.find_all(&query).await).into_iter().collect();
        assert!(!found.is_empty() && found.len() < all.len(), "{filters:?} is not a useful test");
        assert_eq!(found, brute_force(&all, passes), "{filters:?}");
    }
}

#[tokio::test]
async fn facets_count_all_results() {
    let world = World::open().await;
    for words in ["", "cup", "lamp"] {
        let query = Query { facets: true, ..Query::of_words(words) };
        let facets = world.find(query.clone()).await.facets.unwrap();
        let all = world.find_all(&Query::of_words(words)).await;
        let counted = |value: &dyn Fn(&Value) -> String| {
            let mut counts: BTreeMap<String, i64> = BTreeMap::new();
            for record in &all {
                *counts.entry(value(record)).or_insert(0) += 1;
            }
            counts.remove("");
            let mut counts: Vec<FacetValue> =
                counts.into_iter().map(|(value, count)| FacetValue { value, count }).collect();
            counts.sort_by(|left, right| {
                right.count.cmp(&left.count).then(left.value.cmp(&right.value))
            });
            counts.truncate(20);
            counts
        };
        let of = |pointer: &'static str| {
            move |record: &Value| {
                record.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned()
            }
        };
        assert_eq!(facets.brand, counted(&of("/brand")), "{words}");
        assert_eq!(facets.category, counted(&of("/category/path")), "{words}");
        assert_eq!(facets.merchant, counted(&of("/merchant/slug")), "{words}");
        assert_eq!(
            facets.verification_level,
            counted(&of("/merchant/verification_level")),
            "{words}"
        );
        assert_eq!(facets.stock_status, counted(&of("/stock_status")), "{words}");
        assert_eq!(facets.condition, counted(&of("/condition")), "{words}");
        assert_eq!(facets.currency, counted(&of("/currency")), "{words}");
        let priced: i64 = facets.price.iter().map(|value| value.count).sum();
        assert_eq!(priced, i64::try_from(all.len()).unwrap(), "{words}");
    }
}

#[tokio::test]
async fn an_identifier_or_name_finds_its_product_first() {
    let world = World::open().await;
    let all = world.find_all(&Query::of_words("")).await;
    for record in all.iter().filter(|record| score(record) >= 0.7).step_by(29) {
        for field in ["gtin", "sku", "name"] {
            let Some(name) = record[field].as_str() else { continue };
            let slug = record["merchant"]["slug"].as_str().unwrap();
            let query = Query {
                stores: vec![slug.parse().unwrap()],
                ..Query::of_words(&format!(" {name} "))
            };
            let first = records(&world.find(query).await).into_iter().next();
            let first = first.unwrap_or_else(|| panic!("{field} {name} finds nothing"));
            assert_eq!(first[field], record[field], "{field} {name}");
        }
    }
}

#[tokio::test]
async fn spelling_is_corrected_and_reported() {
    let world = World::open().await;
    let found = world.find(Query::of_words("keramic latern")).await;
    assert_ne!(found.matched, Matched::AllWords);
    let found = world.find(Query::of_words("coffe")).await;
    assert!(found.page.total > 0);
    let nothing = world.find(Query::of_words("xqzzyvvk")).await;
    assert_eq!((nothing.page.total, nothing.matched), (0, Matched::AllWords));
}

#[tokio::test]
async fn totals_beyond_the_budget_are_marked_as_estimates() {
    let world = World::open().await;
    let exact = world.find(Query::of_words("")).await;
    assert_eq!(exact.page.total_is_estimate, None);
    let tuning = search::Tuning::default();
    let limited = World { search: world.search.with_tuning(tuning, Some(200)), test: world.test };
    let found = limited.find(Query::of_words("")).await;
    assert_eq!(found.page.total_is_estimate, Some(true));
    let rare = limited.find(Query::of_words("POUR-101")).await;
    assert_eq!(rare.page.total_is_estimate, None);
    let all = ids(&limited.find_all(&Query::of_words("")).await);
    let distinct: BTreeSet<&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len(), "pages of an estimate repeat");
}

#[tokio::test]
async fn deep_pages_and_foreign_cursors_are_rejected() {
    let world = World::open().await;
    let deep = Query { page: PageRequest::new(Some(200), Some(100)), ..Query::of_words("") };
    let deep = world.search.find(deep, CallerKind::Anonymous).await;
    assert!(matches!(deep, Err(SearchError::PageTooDeep)));
    let cursor = world.find(Query::of_words("cup")).await.next_cursor;
    let other = Query { cursor, ..Query::of_words("lamp") };
    let other = world.search.find(other, CallerKind::Anonymous).await;
    assert!(matches!(other, Err(SearchError::InvalidCursor)));
}

#[tokio::test]
async fn suggestions_have_results() {
    let world = World::open().await;
    let suggestions = world.search.suggest(String::from("cof"), Vec::new(), 5).await.unwrap();
    assert!(suggestions.iter().any(|text| text == "coffee"), "{suggestions:?}");
    for suggestion in &suggestions {
        assert!(world.find(Query::of_words(suggestion)).await.page.total > 0, "{suggestion}");
    }
    let more = world.search.suggest(String::from("steel b"), Vec::new(), 5).await.unwrap();
    assert!(more.iter().all(|text| text.starts_with("steel b")), "{more:?}");
    assert!(world.search.suggest(String::from("cup "), Vec::new(), 5).await.unwrap().is_empty());
}

#[tokio::test]
async fn similar_products_exclude_the_product_itself() {
    let world = World::open().await;
    let cup = records(&world.find(Query::of_words("cup")).await).remove(0);
    let id = cup["id"].as_str().unwrap();
    let query = Query { page: PageRequest::new(None, Some(10)), ..Query::of_words("") };
    let found = world.search.similar(id.parse().unwrap(), query.clone()).await.unwrap();
    let similar = records(&found);
    assert!(!similar.is_empty());
    assert!(!ids(&similar).contains(&id.to_owned()));
    // A product whose name shares no words with others has similar products in its category.
    let in_store = Query { stores: vec!["demo-store".parse().unwrap()], ..query.clone() };
    let first = "prod_076c313f7c63513c9eb9f8f3fff08813".parse().unwrap();
    let found = world.search.similar(first, in_store).await.unwrap();
    assert_eq!(records(&found).len(), 10);
    let unknown = "prod_00000000000000000000000000000001".parse().unwrap();
    let unknown = world.search.similar(unknown, query).await;
    assert!(matches!(unknown, Err(SearchError::ProductNotFound)));
}

#[tokio::test]
async fn similar_products_are_filtered_before_the_limit() {
    let world = World::open().await;
    let cup = records(&world.find(Query::of_words("cup")).await).remove(0);
    let id = cup["id"].as_str().unwrap().parse().unwrap();
    let price = |record: &Value| record["price"].as_f64().unwrap();
    let all = Query { page: PageRequest::new(None, Some(100)), ..Query::of_words("") };
    let all = records(&world.search.similar(id, all).await.unwrap());
    let mut prices: Vec<f64> = all.iter().map(price).collect();
    prices.sort_unstable_by(f64::total_cmp);
    let median = prices[prices.len() / 2];
    let limit = 5;
    assert!(all.iter().take(limit).any(|it| price(it) > median), "the first are not all cheap");
    let arguments = search::SearchArguments {
        max_price: Some(median),
        limit: Some(i64::try_from(limit).unwrap()),
        ..search::SearchArguments::default()
    };
    let found = world.search.similar(id, arguments.query().unwrap()).await.unwrap();
    let cheap = records(&found);
    assert_eq!(cheap.len(), limit);
    assert!(cheap.iter().all(|record| price(record) <= median), "{cheap:?}");
    assert!(found.page.total >= i64::try_from(limit).unwrap());
}

#[tokio::test]
async fn one_store_is_searched_in_the_database_while_the_index_is_unavailable() {
    let world = World::open().await;
    let database = world.test.database();
    let stores = merchants::StoreCache::new(database.clone(), std::time::Duration::ZERO);
    let settings = search::SearchSettings::new("http://souk.test");
    let without_index = search::Search::without_index(database.clone(), stores, settings);
    let query = Query { stores: vec!["demo-store".parse().unwrap()], ..Query::of_words("coffee") };
    let found = without_index.find(query.clone(), CallerKind::Anonymous).await.unwrap();
    assert_eq!(found.source, Source::Database);
    assert!(found.page.total > 0);
    let indexed = world.find(query).await;
    let (from_database, from_index) = (records(&found), records(&indexed));
    let same = from_index.iter().find(|record| record["id"] == from_database[0]["id"]);
    assert_eq!(same, Some(&from_database[0]), "the record is the same from both sources");
    let everywhere = without_index.find(Query::of_words("coffee"), CallerKind::Anonymous).await;
    assert!(matches!(everywhere, Err(SearchError::IndexUnavailable)));
}
