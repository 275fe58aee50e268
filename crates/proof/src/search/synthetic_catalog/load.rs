//! The world in PostgreSQL: rows by `COPY`, past the catalog, so that nothing is announced.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _, stdout};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{Kind, Merchant, Product, World};
use crate::report::{Failure, grouped};

/// Connections that copy side by side.
const LOADERS: u32 = 2;
/// Products sent in one go.
const CHUNK: u32 = 1_000;
/// All stores joined on one day.
const JOINED_AT: &str = "2024-11-01T00:00:00Z";
const CHANGED_AT: &str = "2026-11-01T00:00:00Z";
const PRODUCTS: &str = "COPY product (merchant_id, product_id, external_id, category_id, sku, name,
    description, brand, gtin, url, condition, price_minor, currency, list_price_minor, stock_status,
    stock_quantity, attributes, images, listed_at, updated_at) FROM STDIN";

/// Puts the world into a migrated database; answers how long it took. The connection has to be the
/// superuser's: rows of all stores are written, and walls and foreign keys would look at each.
pub(crate) async fn load(database_url: &str, world: &Arc<World>) -> Result<Duration, Failure> {
    let since = Instant::now();
    let mut sql = connect(database_url).await?;
    load_merchants(&mut sql, world).await?;
    let indexes = drop_indexes(&mut sql).await?;
    let done = Arc::new(AtomicU32::new(0));
    let mut loaders = tokio::task::JoinSet::new();
    for part in 0..LOADERS {
        let (url, world, done) = (database_url.to_owned(), Arc::clone(world), Arc::clone(&done));
        loaders.spawn(async move { load_part(&url, &world, part, &done).await });
    }
    let all = grouped(world.size);
    while !loaders.is_empty() {
        let ended = tokio::time::timeout(Duration::from_millis(500), loaders.join_next()).await;
        if let Ok(Some(ended)) = ended {
            ended??;
        }
        show(|| format!("{} of {all} products loaded", grouped(done.load(Ordering::Relaxed))));
    }
    show(|| String::from("indexes are made"));
    make_indexes(database_url, indexes).await?;
    for table in ["store", "platform.store_slug", "standing", "category", "product"] {
        let statement = AssertSqlSafe(format!("VACUUM ANALYZE {table}"));
        sqlx::raw_sql(statement).execute(&mut sql).await?;
    }
    sql.close().await?;
    show(String::new);
    Ok(since.elapsed())
}

/// A line that is overwritten. Nothing, if nobody looks.
fn show(text: impl FnOnce() -> String) {
    if stdout().is_terminal() {
        print!("\r\x1b[2K{}", text());
        // A line that cannot be shown is no reason to stop.
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

/// Indexes that only make reading fast are made afterwards, all at once. Answers how.
async fn drop_indexes(sql: &mut PgConnection) -> Result<Vec<String>, Failure> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
         WHERE indrelid = 'product'::regclass AND NOT indisunique ORDER BY 1",
    )
    .fetch_all(&mut *sql)
    .await?;
    let mut makings = Vec::new();
    for (name, making) in rows {
        let statement = AssertSqlSafe(format!("DROP INDEX {name}"));
        sqlx::raw_sql(statement).execute(&mut *sql).await?;
        makings.push(making);
    }
    Ok(makings)
}

async fn make_indexes(database_url: &str, makings: Vec<String>) -> Result<(), Failure> {
    let mut makers = tokio::task::JoinSet::new();
    let half = makings.len().div_ceil(2).max(1);
    for part in makings.chunks(half) {
        let (url, part) = (database_url.to_owned(), part.to_vec());
        makers.spawn(async move {
            let mut sql = connect(&url).await?;
            for making in part {
                sqlx::raw_sql(AssertSqlSafe(making)).execute(&mut sql).await?;
            }
            Ok::<_, Failure>(())
        });
    }
    while let Some(made) = makers.join_next().await {
        made??;
    }
    Ok(())
}

async fn copy(sql: &mut PgConnection, statement: &str, rows: String) -> Result<(), Failure> {
    let mut copy = sql.copy_in_raw(statement).await?;
    copy.send(rows.into_bytes()).await?;
    copy.finish().await?;
    Ok(())
}

async fn load_merchants(sql: &mut PgConnection, world: &World) -> Result<(), Failure> {
    let (mut slugs, mut stores) = (String::new(), String::new());
    let (mut standings, mut categories) = (String::new(), String::new());
    for merchant in &world.merchants {
        let Merchant { id, slug, currency, trust, count, .. } = merchant;
        let country = if *currency == "EUR" { "DE" } else { "US" };
        let departments = world.departments(merchant).join(",");
        writeln!(slugs, "{slug}\t{id}")?;
        writeln!(
            stores,
            "{id}\t{slug}\t{slug}\t{slug} Ltd\tWe sell things.\thttps://{slug}.example\tapi\tt\t\
             {country}\t{currency}\t{{en}}\t{{{country}}}\thelp@{slug}.example\t{JOINED_AT}\t\
             {CHANGED_AT}\t{{{departments}}}\t{count}\t{CHANGED_AT}"
        )?;
        writeln!(standings, "{id}\t{trust}\tf\t{CHANGED_AT}")?;
        world.write_categories(&mut categories, merchant)?;
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

/// One loader's share. Rows are made in a thread of their own while others are on their way.
async fn load_part(
    database_url: &str,
    world: &Arc<World>,
    part: u32,
    done: &AtomicU32,
) -> Result<(), Failure> {
    let at =
        |part: u32| u32::try_from(u64::from(world.size) * u64::from(part) / u64::from(LOADERS));
    let (mut first, end) = (at(part)?, at(part + 1)?);
    let (sender, mut receiver) = mpsc::channel::<Result<String, std::fmt::Error>>(8);
    let maker = Arc::clone(world);
    std::thread::spawn(move || {
        while first < end {
            let until = first.saturating_add(CHUNK).min(end);
            // Nobody listens any more: the copy has failed and says so itself.
            if sender.blocking_send(maker.rows(first..until)).is_err() {
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

impl World {
    /// Products as `COPY` takes them.
    pub(crate) fn rows(&self, numbers: Range<u32>) -> Result<String, std::fmt::Error> {
        let mut text = String::with_capacity(1_024_000);
        for number in numbers {
            self.write_row(&mut text, &self.product(number))?;
        }
        Ok(text)
    }

    fn write_row(&self, text: &mut String, product: &Product) -> std::fmt::Result {
        let merchant = self.owner(product);
        let external_id = product.external_id();
        let (listed_at, updated_at) = product.moments();
        writeln!(
            text,
            "{}\t{}\t{external_id}\t{}\t{external_id}\t{}\t{}\t{}\t{}\t{}\tnew\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t\
             {listed_at}\t{updated_at}",
            merchant.id,
            product.id,
            self.category_id(merchant, product.place),
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
        let place = |place: &usize| self.places[*place].department.clone();
        let mut departments: Vec<String> = merchant.places.iter().map(place).collect();
        departments.sort_unstable();
        departments.dedup();
        departments
    }

    /// The id of a place in a store.
    pub(crate) fn category_id(&self, merchant: &Merchant, place: usize) -> Uuid {
        let place = u64::try_from(place).unwrap_or(0);
        self.dice(Kind::CategoryId, u64::from(merchant.index) << 32 | place).id()
    }

    /// The departments and the places in them.
    fn write_categories(&self, text: &mut String, merchant: &Merchant) -> std::fmt::Result {
        /// Behind all numbers of places.
        const DEPARTMENTS_FROM: usize = 1_000_000;
        for department in self.departments(merchant) {
            let of = |place: &&usize| self.places[**place].department == department;
            let places: Vec<&usize> = merchant.places.iter().filter(of).collect();
            let Some(first) = places.first() else { continue };
            let above = self.category_id(merchant, DEPARTMENTS_FROM + **first);
            let name = &self.places[**first].department_name;
            writeln!(text, "{}\t{above}\t\\N\t{department}\t{name}", merchant.id)?;
            for place in places {
                let id = self.category_id(merchant, *place);
                let place = &self.places[*place];
                let (path, name) = (&place.path, &place.name);
                writeln!(text, "{}\t{id}\t{above}\t{path}\t{name}", merchant.id)?;
            }
        }
        Ok(())
    }
}
