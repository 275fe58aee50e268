//! A store imports many products that match a query as well as those of other stores. Searches across stores still show
//! the others; pages of any size show every product once.

use std::collections::{BTreeSet, HashMap};

use catalog::ProductDraft;
use serde_json::{Value, json};
use testkit::TestDatabase;

use super::{LARGE, create_stores, product, put, slug};
use crate::http::Client;
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::search::{Deployment, post_search};

/// Stores beside the large one.
const OTHERS: u128 = 9;
/// Products of each of them.
const PRODUCTS: usize = 12;
/// Results of one store in each ten (docs/contract/search.md#store-diversity).
const OF_STORE_MAX: usize = 3;
/// Results that are arranged.
const FIRST: usize = 100;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let size: usize = trial.by_tier(400, 5_000);
    let test = TestDatabase::new().await;
    let deployment = Deployment::new(&test.url(), "diversity").await?;
    create_stores(&deployment.database, OTHERS + 1).await;
    for store in 0..=OTHERS {
        let count = if store == LARGE { size } else { PRODUCTS };
        let drafts: Vec<ProductDraft> = (0..count)
            .map(|number| product(&format!("vase-{number}"), "Zorb vase", 1_000))
            .collect();
        for drafts in drafts.chunks(500) {
            put(&deployment.database, store, drafts).await?;
        }
    }
    let _writer = deployment.writer()?;
    let reader = deployment.ready_reader("reader").await?;
    let replica = deployment.replica("compare")?;
    deployment.compare(&replica).await?;
    deployment.compare_reader(reader.port).await?;
    let mut client = Client::new(reader.port);
    let total = size + usize::try_from(OTHERS)? * PRODUCTS;

    for sort in ["relevance", "trust"] {
        let all = pages(&mut client, &json!({ "query": "zorb vase", "sort": sort, "limit": 100 }))
            .await?;
        ensure_complete(&all, total)?;
        let most = most_of_ten(&all[..FIRST.min(all.len())]);
        ensure(most == OF_STORE_MAX, || format!("by {sort}, a store has {most} of ten results"))?;
        // Pages of another size continue where the page before ended.
        let other =
            pages(&mut client, &json!({ "query": "zorb vase", "sort": sort, "limit": 7 })).await?;
        ensure(ids(&other) == ids(&all), || {
            format!("by {sort}, the order depends on the page size")
        })?;
    }
    let by_price =
        pages(&mut client, &json!({ "query": "zorb vase", "sort": "price_asc", "limit": 100 }))
            .await?;
    ensure_complete(&by_price, total)?;
    let body = json!({ "query": "zorb vase", "merchants": [slug(LARGE)], "limit": 100 });
    let named = pages(&mut client, &body).await?;
    ensure_complete(&named, size)?;
    Ok(format!(
        "a store with {} of {} equal products has {OF_STORE_MAX} of each ten of the first {FIRST} results, by relevance and \
         by trust; pages of 7 and of 100 show each product once, in the same order; by price and in the named store \
         nothing is moved",
        grouped(size),
        grouped(total),
    ))
}

/// Returns all results of a search, page by page.
async fn pages(client: &mut Client, body: &Value) -> Result<Vec<Value>, Failure> {
    let (mut all, mut body) = (Vec::new(), body.clone());
    loop {
        let found = post_search(client, &body).await?;
        all.extend(found["data"].as_array().into_iter().flatten().cloned());
        match found["meta"]["next_cursor"].as_str() {
            Some(cursor) => body["cursor"] = json!(cursor),
            None => return Ok(all),
        }
    }
}

fn ids(results: &[Value]) -> Vec<&str> {
    results.iter().filter_map(|result| result["id"].as_str()).collect()
}

/// Fails unless each product is a result once.
fn ensure_complete(results: &[Value], total: usize) -> Result<(), Failure> {
    let distinct: BTreeSet<&str> = ids(results).into_iter().collect();
    ensure(results.len() == total && distinct.len() == total, || {
        format!("{} results, {} distinct, of {total} products", results.len(), distinct.len())
    })
}

/// Returns the most results of one store in any ten.
fn most_of_ten(results: &[Value]) -> usize {
    let most = results.chunks(10).map(|ten| {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for result in ten {
            *counts.entry(result["merchant"]["slug"].as_str().unwrap_or_default()).or_default() +=
                1;
        }
        counts.into_values().max().unwrap_or(0)
    });
    most.max().unwrap_or(0)
}
