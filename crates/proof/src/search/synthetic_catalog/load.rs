//! Loads a synthetic catalog into PostgreSQL with `COPY`, bypassing the catalog crate, so that no events are
//! published.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _, stdout};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{Merchant, Product, Stream, SyntheticCatalog};
use crate::report::{Failure, grouped};

/// Number of connections that copy concurrently.
const LOADERS: u32 = 2;
/// Products per chunk.
const CHUNK: u32 = 1_000;
/// The same for all stores.
const JOINED_AT: &str = "2024-11-01T00:00:00Z";
const CHANGED_AT: &str = "2026-11-01T00:00:00Z";
const PRODUCTS: &str = "COPY product (merchant_id, product_id, external_id, category_id, sku, name,
    description, brand, gtin, url, condition, price_minor, currency, list_price_minor, stock_status,
    stock_quantity, attributes, images, listed_at, updated_at) FROM STDIN";

/// Loads the catalog into a migrated database and returns the time it took. Connects as a superuser, because it
/// writes rows of all stores and disables foreign keys and row-level security.
pub(crate) async fn load(
    database_url: &str,
    catalog: &Arc<SyntheticCatalog>,
) -> Result<Duration, Failure> {
    let since = Instant::now();
    let mut sql = connect(database_url).await?;
    load_merchants(&mut sql, catalog).await?;
    let indexes = drop_indexes(&mut sql).await?;
    let done = Arc::new(AtomicU32::new(0));
    let mut loaders = tokio::task::JoinSet::new();
    for part in 0..LOADERS {
        let (url, catalog, done) =
            (database_url.to_owned(), Arc::clone(catalog), Arc::clone(&done));
        loaders.spawn(async move { load_part(&url, &catalog, part, &done).await });
    }
    let all = grouped(catalog.size);
    while !loaders.is_empty() {
        let ended = tokio::time::timeout(Duration::from_millis(500), loaders.join_next()).await;
        if let Ok(Some(ended)) = ended {
            ended??;
        }
        print_progress(|| {
            format!("{} of {all} products loaded", grouped(done.load(Ordering::Relaxed)))
        });
    }
    print_progress(|| String::from("creating indexes"));
    create_indexes(database_url, indexes).await?;
    for table in ["store", "platform.store_slug", "standing", "category", "product"] {
        let statement = AssertSqlSafe(format!("VACUUM ANALYZE {table}"));
        sqlx::raw_sql(statement).execute(&mut sql).await?;
    }
    sql.close().await?;
    print_progress(String::new);
    Ok(since.elapsed())
}

/// Prints progress on a line that is overwritten. Prints nothing if standard output is not a terminal.
fn print_progress(text: impl FnOnce() -> String) {
    if stdout().is_terminal() {
        print!("\r\x1b[2K{}", text());
        // Failing to print progress does not fail the load.
        let _ = stdout().flush();
    }
}

async fn connect(database_url: &str) -> Result<PgConnection, Failure> {
    let mut sql = PgConnection::connect(database_url).await?;
    for setting in [
        "SET synchronous_commit = off",
        "SET session_replication_role = replica",
        "SET maintenance_work_mem = '512MB'",
    ] {
        sqlx::raw_sql(setting).execute(&mut sql).await?;
    }
    Ok(sql)
}

/// Drops the non-unique indexes, which are recreated after the load, and returns their definitions.
async fn drop_indexes(sql: &mut PgConnection) -> Result<Vec<String>, Failure> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
         WHERE indrelid = 'product'::regclass AND NOT indisunique ORDER BY 1",
    )
    .fetch_all(&mut *sql)
    .await?;
    let mut definitions = Vec::new();
    for (name, definition) in rows {
        let statement = AssertSqlSafe(format!("DROP INDEX {name}"));
        sqlx::raw_sql(statement).execute(&mut *sql).await?;
        definitions.push(definition);
    }
    Ok(definitions)
}

async fn create_indexes(database_url: &str, definitions: Vec<String>) -> Result<(), Failure> {
    let mut tasks = tokio::task::JoinSet::new();
    let half = definitions.len().div_ceil(2).max(1);
    for part in definitions.chunks(half) {
        let (url, part) = (database_url.to_owned(), part.to_vec());
        tasks.spawn(async move {
            let mut sql = connect(&url).await?;
            for definition in part {
                sqlx::raw_sql(AssertSqlSafe(definition)).execute(&mut sql).await?;
            }
            Ok::<_, Failure>(())
        });
    }
    while let Some(created) = tasks.join_next().await {
        created??;
    }
    Ok(())
}

async fn copy(sql: &mut PgConnection, statement: &str, rows: String) -> Result<(), Failure> {
    let mut copy = sql.copy_in_raw(statement).await?;
    copy.send(rows.into_bytes()).await?;
    copy.finish().await?;
    Ok(())
}

async fn load_merchants(sql: &mut PgConnection, catalog: &SyntheticCatalog) -> Result<(), Failure> {
    let (mut slugs, mut stores) = (String::new(), String::new());
    let (mut standings, mut categories) = (String::new(), String::new());
    for merchant in &catalog.merchants {
        let Merchant { id, slug, currency, trust, count, .. } = merchant;
        let country = if *currency == "EUR" { "DE" } else { "US" };
        let departments = catalog.departments(merchant).join(",");
        writeln!(slugs, "{slug}\t{id}")?;
        writeln!(
            stores,
            "{id}\t{slug}\t{slug}\t{slug} Ltd\tWe sell things.\thttps://{slug}.example\tapi\tt\t\
             {country}\t{currency}\t{{en}}\t{{{country}}}\thelp@{slug}.example\t{JOINED_AT}\t\
             {CHANGED_AT}\t{{{departments}}}\t{count}\t{CHANGED_AT}"
        )?;
        writeln!(standings, "{id}\t{trust}\tf\t{CHANGED_AT}")?;
        catalog.write_categories(&mut categories, merchant)?;
    }
    copy(sql, "COPY platform.store_slug (slug, merchant_id) FROM STDIN", slugs).await?;
    let statement =
        "COPY store (merchant_id, slug, name, legal_name, description, website_url, platform,
        active, country, currency, languages, ships_to, support_email, member_since, last_sync_at,
        departments, product_count, updated_at) FROM STDIN";
    copy(sql, statement, stores).await?;
    let statement = "COPY standing (merchant_id, score, provisional, computed_at) FROM STDIN";
    copy(sql, statement, standings).await?;
    let statement = "COPY category (merchant_id, category_id, parent_id, path, name) FROM STDIN";
    copy(sql, statement, categories).await
}

/// Loads the part of one loader. A separate thread generates rows while others are being sent.
async fn load_part(
    database_url: &str,
    catalog: &Arc<SyntheticCatalog>,
    part: u32,
    done: &AtomicU32,
) -> Result<(), Failure> {
    let at =
        |part: u32| u32::try_from(u64::from(catalog.size) * u64::from(part) / u64::from(LOADERS));
    let (mut first, end) = (at(part)?, at(part + 1)?);
    let (sender, mut receiver) = mpsc::channel::<Result<String, std::fmt::Error>>(8);
    let generator = Arc::clone(catalog);
    std::thread::spawn(move || {
        while first < end {
            let until = first.saturating_add(CHUNK).min(end);
            // The receiver was dropped: the copy has failed and returns the error.
            if sender.blocking_send(generator.rows(first..until)).is_err() {
                return;
            }
            first = until;
        }
    });
    let mut sql = connect(database_url).await?;
    let mut copy = sql.copy_in_raw(PRODUCTS).await?;
    while let Some(rows) = receiver.recv().await {
        let rows = rows?;
        let count = rows.bytes().filter(|byte| *byte == b'\n').count();
        copy.send(rows.into_bytes()).await?;
        done.fetch_add(u32::try_from(count)?, Ordering::Relaxed);
    }
    copy.finish().await?;
    sql.close().await?;
    Ok(())
}

impl SyntheticCatalog {
    /// Returns products as rows for `COPY`.
    pub(crate) fn rows(&self, numbers: Range<u32>) -> Result<String, std::fmt::Error> {
        let mut text = String::with_capacity(1_024_000);
        for number in numbers {
            self.write_row(&mut text, &self.product(number))?;
        }
        Ok(text)
    }

    fn write_row(&self, text: &mut String, product: &Product) -> std::fmt::Result {
        let merchant = self.merchant_for(product);
        let external_id = product.external_id();
        let (listed_at, updated_at) = product.timestamps();
        writeln!(
            text,
            "{}\t{}\t{external_id}\t{}\t{external_id}\t{}\t{}\t{}\t{}\t{}\tnew\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t\
             {listed_at}\t{updated_at}",
            merchant.id,
            product.id,
            self.category_id(merchant, product.category),
            product.name,
            product.description,
            product.brand,
            product.gtin.as_deref().unwrap_or("\\N"),
            self.url(product),
            product.price_minor,
            product.currency,
            product.list_price_minor.map_or_else(|| String::from("\\N"), |price| price.to_string()),
            if product.in_stock { "in_stock" } else { "out_of_stock" },
            product.quantity,
            Self::attributes(product),
            self.images(product),
        )
    }

    fn departments(&self, merchant: &Merchant) -> Vec<String> {
        let category = |category: &usize| self.categories[*category].department.clone();
        let mut departments: Vec<String> = merchant.categories.iter().map(category).collect();
        departments.sort_unstable();
        departments.dedup();
        departments
    }

    /// Returns the id of a category in a store.
    pub(crate) fn category_id(&self, merchant: &Merchant, category: usize) -> Uuid {
        let category = u64::try_from(category).unwrap_or(0);
        self.rng(Stream::CategoryId, u64::from(merchant.index) << 32 | category).id()
    }

    /// Writes the departments and their categories.
    fn write_categories(&self, text: &mut String, merchant: &Merchant) -> std::fmt::Result {
        /// Above all indexes of categories.
        const DEPARTMENTS_FROM: usize = 1_000_000;
        for department in self.departments(merchant) {
            let of = |category: &&usize| self.categories[**category].department == department;
            let categories: Vec<&usize> = merchant.categories.iter().filter(of).collect();
            let Some(first) = categories.first() else { continue };
            let parent = self.category_id(merchant, DEPARTMENTS_FROM + **first);
            let name = &self.categories[**first].department_name;
            writeln!(text, "{}\t{parent}\t\\N\t{department}\t{name}", merchant.id)?;
            for category in categories {
                let id = self.category_id(merchant, *category);
                let category = &self.categories[*category];
                let (path, name) = (&category.path, &category.name);
                writeln!(text, "{}\t{id}\t{parent}\t{path}\t{name}", merchant.id)?;
            }
        }
        Ok(())
    }
}
