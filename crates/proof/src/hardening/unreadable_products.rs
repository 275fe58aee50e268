//! `unreadable-products`: products that the writer of the search index cannot read, of seven kinds, among many. It indexes every
//! other product, goes on with later changes, and counts and logs the ones that it skipped; once they are mended, it indexes
//! them too.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use catalog::{ProductDraft, VariantDraft};
use serde_json::json;
use testkit::{StoreBuilder, TestDatabase};

use super::shop::call;
use crate::identity::metric;
use crate::report::{Failure, Tier, Trial, Verdict, ensure, grouped};
use crate::search::{Deployment, all_products};
use crate::souk::{Souk, store_key};

/// How a product is damaged: the table, the column and the value. The last one is a value of a newer version.
const DAMAGES: [(&str, &str, &str); 7] = [
    ("product", "attributes", "'[1]'"),
    ("product", "attributes", "'{\"a\": null}'"),
    ("product", "images", "'{}'"),
    ("product", "policies", "'7'"),
    ("product", "listed_at", "'infinity'"),
    ("variant", "options", "'[1]'"),
    ("product", "condition", "'vintage'"),
];
/// Mends all damages.
const MEND: &str =
    "UPDATE product SET attributes = '{}', images = '[]', policies = '{}', condition = 'new',
                        listed_at = least(listed_at, updated_at);
                    UPDATE variant SET options = '{}'";
/// Time until a change is found; skipped rows are tried again once a minute.
const TIMEOUT: Duration = Duration::from_mins(2);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let (stores, products, damaged) = trial.by_tier((8, 10, 7), (100, 50, 70));
    let test = TestDatabase::new().await;
    create(&test, stores, products).await?;
    let mut skipped = damage(&test, damaged, false).await?;
    let search = Deployment::new(&test.url(), "unreadable").await?;
    let log = search.path("log");
    let writer = search.logging_writer(&log)?;
    let reader = search.ready_reader("reader").await?;
    let case = Case { reader, writer, log, test };
    let since = Instant::now();
    let all = stores * products;
    let healthy = case.found(all - skipped.len()).await?;
    ensure(healthy.is_disjoint(&skipped), || String::from("a damaged product was found"))?;
    let took = since.elapsed();
    // Others are damaged after they were indexed. What the index has of them stays, and the writer goes on.
    let later = damage(&case.test, DAMAGES.len(), true).await?;
    case.change_prices(&later).await?;
    case.push_another().await?;
    case.found(all - skipped.len() + 1).await?;
    skipped.extend(later);
    case.counted(&skipped).await?;
    let mended = if trial.tier == Tier::Full {
        sqlx::raw_sql(MEND).execute(&mut case.test.raw().await).await?;
        case.found(all + 1).await?;
        "; mended, they are found"
    } else {
        ""
    };
    Ok(format!(
        "{} products of {stores} stores, {} of them damaged in {} ways: every other one found after {:.1} s, later changes too; \
         the skipped ones counted and logged{mended}",
        grouped(all),
        skipped.len(),
        DAMAGES.len(),
        took.as_secs_f64(),
    ))
}

async fn create(test: &TestDatabase, stores: usize, products: usize) -> Result<(), Failure> {
    for store in 0..stores {
        let slug = format!("store-{store}");
        let mut builder = StoreBuilder::new(&slug).score(0.9);
        for number in 0..products {
            let name = format!("{slug}-{number}");
            let variant = VariantDraft { sku: format!("{name}-v"), ..VariantDraft::default() };
            builder = builder.product(ProductDraft {
                variants: vec![variant],
                ..testkit::product_draft(&name, "10.00", 5)
            });
        }
        builder.build(test.database()).await;
    }
    let newer = "ALTER TABLE product DROP CONSTRAINT product_condition_check";
    sqlx::raw_sql(newer).execute(&mut test.raw().await).await?;
    Ok(())
}

/// Damages products of each kind in turn: the first of every store, or the last. Returns their ids.
async fn damage(
    test: &TestDatabase,
    count: usize,
    from_end: bool,
) -> Result<BTreeSet<String>, Failure> {
    let mut raw = test.raw().await;
    let order = if from_end { "DESC" } else { "ASC" };
    // One product of each store, then another one of each.
    let chosen = format!(
        "SELECT product_id::text FROM (SELECT product_id, merchant_id,
             row_number() OVER (PARTITION BY merchant_id ORDER BY external_id {order}) AS number FROM product) AS each
         ORDER BY number, merchant_id LIMIT $1"
    );
    let chosen: Vec<String> = sqlx::query_scalar(sqlx::AssertSqlSafe(chosen))
        .bind(i64::try_from(count)?)
        .fetch_all(&mut raw)
        .await?;
    for (number, product) in chosen.iter().enumerate() {
        let (table, column, value) = DAMAGES[number % DAMAGES.len()];
        let damage = format!("UPDATE {table} SET {column} = {value} WHERE product_id = $1::uuid");
        sqlx::query(sqlx::AssertSqlSafe(damage)).bind(product).execute(&mut raw).await?;
    }
    Ok(chosen.into_iter().map(|id| id.replace('-', "")).collect())
}

struct Case {
    reader: Souk,
    writer: Souk,
    log: std::path::PathBuf,
    test: TestDatabase,
}

impl Case {
    /// Waits until a search finds this many products, and returns their ids.
    async fn found(&self, expected: usize) -> Result<BTreeSet<String>, Failure> {
        let since = Instant::now();
        loop {
            // Until there is an index, searches fail.
            let found = all_products(self.reader.port).await.map(|(found, _)| found);
            match &found {
                Ok(found) if found.len() == expected => return Ok(found.keys().cloned().collect()),
                _ => {}
            }
            ensure(since.elapsed() < TIMEOUT, || {
                format!("not {expected} products are found: {:?}", found.map(|found| found.len()))
            })?;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Changes the prices of these products, so that the writer reads them again.
    async fn change_prices(&self, products: &BTreeSet<String>) -> Result<(), Failure> {
        let mut raw = self.test.raw().await;
        for product in products {
            let named = "SELECT slug, external_id FROM product JOIN platform.store_slug USING (merchant_id) WHERE product_id = $1::uuid";
            let (slug, id): (String, String) =
                sqlx::query_as(named).bind(product).fetch_one(&mut raw).await?;
            let key = store_key(&self.test.url(), &slug).await?;
            let item = json!({ "external_id": id, "sku": format!("{id}-v"), "price": "11.00" });
            let (path, body) = ("/merchant/prices", json!({ "items": [item] }));
            let (status, answer) = call(self.reader.port, &key, "PATCH", path, &body).await?;
            ensure(status == 200 && answer["data"]["failed"] == 0, || {
                format!("the price of {id}: {status} {answer}")
            })?;
        }
        Ok(())
    }

    /// Adds a product to a store with damaged ones.
    async fn push_another(&self) -> Result<(), Failure> {
        let key = store_key(&self.test.url(), "store-0").await?;
        let product = json!({ "external_id": "another", "name": "Another", "price": "1.00" });
        let path = "/merchant/products/another";
        let (status, answer) = call(self.reader.port, &key, "PUT", path, &product).await?;
        ensure(status == 200, || format!("a push: {status} {answer}"))
    }

    /// Fails unless exactly these products are skipped, counted and logged.
    async fn counted(&self, skipped: &BTreeSet<String>) -> Result<(), Failure> {
        let since = Instant::now();
        let recorded = "SELECT replace(product_id::text, '-', '') FROM platform.search_skipped";
        loop {
            let found: Vec<String> =
                sqlx::query_scalar(recorded).fetch_all(&mut self.test.raw().await).await?;
            let found: BTreeSet<String> = found.into_iter().collect();
            if found == *skipped {
                break;
            }
            ensure(since.elapsed() < TIMEOUT, || {
                format!(
                    "{} products are recorded as skipped, expected {}",
                    found.len(),
                    skipped.len()
                )
            })?;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        let expected = skipped.len() as f64;
        let gauge = metric(self.writer.port, "souk_search_skipped_rows").await?;
        let counter = metric(self.writer.port, "souk_catalog_unreadable_total").await?;
        ensure((gauge - expected).abs() < 0.5 && counter >= expected, || {
            format!(
                "souk_search_skipped_rows {gauge}, souk_catalog_unreadable_total {counter}, expected {expected}"
            )
        })?;
        let log = std::fs::read_to_string(&self.log)?;
        let is_logged = |id: &&String| log.contains(&format!("prod_{id}"));
        let unlogged = skipped.iter().filter(|id| !is_logged(id)).count();
        ensure(unlogged == 0, || format!("{unlogged} skipped products are not in the log: {log}"))
    }
}
