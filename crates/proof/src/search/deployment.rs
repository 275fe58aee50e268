//! Writers and readers of the index in separate processes, with one database and one object store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use database::{Clock, Database, RandomSource, Settings};
use search::{Comparison, ObjectStorage, Replica, ReplicaSettings};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::http::{Client, Delivery};
use crate::report::{Failure, ensure};
use crate::souk::{Souk, stable_port};

pub(crate) const SEARCH: &str = "/api/v1/search";
/// Number of index shards.
pub(crate) const SHARDS: usize = 3;
/// Lease of a writer: how long the shards of a killed writer stay claimed.
const LEASE_SECONDS: u64 = 2;
/// How long any awaited state may take; generous, because the machine is under load.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(90);

/// A database, an object store, and the directories of writers and readers. The files are removed when
/// dropped.
pub(crate) struct Deployment {
    pub(crate) url: String,
    /// The connection pool of the check itself.
    pub(crate) database: Database,
    root: PathBuf,
}

impl Deployment {
    pub(crate) async fn new(url: &str, name: &str) -> Result<Self, Failure> {
        let root =
            std::env::temp_dir().join(format!("souk-proof-search-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&root)?;
        let settings = Settings {
            url: url.to_owned(),
            connections_max: 8,
            acquire_timeout: Duration::from_secs(3),
            cell: "cell-1".parse()?,
            clock: Clock::system(),
            random_source: RandomSource::system(),
        };
        let database = Database::connect_lazy(settings)?;
        database.refresh_directory().await?;
        Ok(Self { url: url.to_owned(), database, root })
    }

    pub(crate) fn path(&self, part: &str) -> PathBuf {
        self.root.join(part)
    }

    fn settings(&self, directory: &str) -> Vec<(&'static str, String)> {
        let path = |part: &str| self.path(part).to_string_lossy().into_owned();
        vec![
            ("SOUK_SEARCH_OBJECTS", path("objects")),
            ("SOUK_SEARCH_DIRECTORY", path(directory)),
            ("SOUK_SEARCH_SHARDS", SHARDS.to_string()),
            ("SOUK_SEARCH_LEASE_SECONDS", LEASE_SECONDS.to_string()),
        ]
    }

    /// Starts a writer.
    pub(crate) fn writer(&self) -> Result<Souk, Failure> {
        Souk::index(&self.url, &self.settings("writers"))
    }

    /// Starts a writer that builds an index of one shard, so that all stores share it.
    pub(crate) fn writer_of_one_shard(&self) -> Result<Souk, Failure> {
        let mut settings = self.settings("writers");
        settings.push(("SOUK_SEARCH_SHARDS", String::from("1")));
        Souk::index(&self.url, &settings)
    }

    /// Starts a writer with a private listener at its port, and with its log in a file.
    pub(crate) fn logging_writer(&self, log: &Path) -> Result<Souk, Failure> {
        Souk::index_logging(&self.url, &self.settings("writers"), log)
    }

    /// Starts a writer whose PostgreSQL sessions have its name in the setting `souk.writer`.
    pub(crate) fn named_writer(&self, name: &str) -> Result<Souk, Failure> {
        let url = format!("{}?options=-c%20souk.writer%3D{name}", self.url);
        Souk::index(&url, &self.settings("writers"))
    }

    /// Starts a reader on the given port with its files in `directory`.
    pub(crate) fn reader(&self, port: u16, directory: &str) -> Result<Souk, Failure> {
        Souk::serve_on(&self.url, port, &self.settings(directory))
    }

    /// Starts a reader and waits until it is ready.
    pub(crate) async fn ready_reader(&self, directory: &str) -> Result<Souk, Failure> {
        let reader = self.reader(stable_port()?, directory)?;
        wait_ready(reader.port).await?;
        Ok(reader)
    }

    /// Starts a replica of the index in this process, for comparison.
    pub(crate) fn replica(&self, directory: &str) -> Result<Replica, Failure> {
        let objects = ObjectStorage::open(&self.path("objects").to_string_lossy())?;
        let settings = ReplicaSettings::new(self.path(directory), objects);
        Ok(Replica::start(self.database.clone(), settings))
    }

    /// Opens a connection that row-level security does not restrict.
    pub(crate) async fn sql(&self) -> Result<PgConnection, Failure> {
        Ok(PgConnection::connect(&self.url).await?)
    }

    /// Waits until the replica reports that it contains everything committed before the call, then
    /// compares every product with PostgreSQL. Returns the comparison and the time waited.
    pub(crate) async fn compare(
        &self,
        replica: &Replica,
    ) -> Result<(Comparison, Duration), Failure> {
        let since = Instant::now();
        while replica.status().is_none_or(|status| status.age() >= since.elapsed()) {
            ensure(since.elapsed() < TIMEOUT, || {
                format!("the index did not catch up: {:?}", replica.status())
            })?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let took = since.elapsed();
        let comparison = search::compare(&self.database, replica).await?;
        ensure(comparison.is_equal(), || format!("the index differs: {comparison:?}"))?;
        ensure(comparison.products > 0, || String::from("there are no products to compare"))?;
        Ok((comparison, took))
    }

    /// Waits until the products that a reader returns to anonymous callers equal those in PostgreSQL, and
    /// returns their number.
    pub(crate) async fn compare_reader(&self, port: u16) -> Result<usize, Failure> {
        let since = Instant::now();
        loop {
            let (expected, (found, duplicates)) = (self.listed().await?, all_products(port).await?);
            if expected == found && duplicates == 0 {
                return Ok(found.len());
            }
            // While the reader catches up, one page may be of an older state than the next.
            ensure(since.elapsed() < TIMEOUT, || {
                format!("{}; {duplicates} returned twice", difference(&expected, &found))
            })?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Returns what anonymous callers may find: products of active stores that have a score and are not
    /// suspended.
    async fn listed(&self) -> Result<Products, Failure> {
        let rows: Vec<(uuid::Uuid, String, i64, String)> = sqlx::query_as(
            "SELECT product_id, product.name, price_minor, product.currency
             FROM product JOIN store USING (merchant_id) JOIN standing USING (merchant_id)
             WHERE retired_at IS NULL AND active AND score >= 0.2
               AND product.currency IN ('EUR', 'USD', 'USDC')",
        )
        .fetch_all(&mut self.sql().await?)
        .await?;
        let product = |(id, name, price, currency): (uuid::Uuid, String, i64, String)| {
            (id.simple().to_string(), (name, if currency == "USDC" { 0 } else { price }))
        };
        Ok(rows.into_iter().map(product).collect())
    }
}

impl Drop for Deployment {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// Name and price of each product, by its id.
pub(crate) type Products = BTreeMap<String, (String, i64)>;

/// Returns all products that a reader finds, page by page, and the number of duplicates.
pub(crate) async fn all_products(port: u16) -> Result<(Products, usize), Failure> {
    let mut client = Client::new(port);
    let (mut found, mut duplicates, mut cursor) = (Products::new(), 0, None);
    loop {
        let response = post_search(&mut client, &json!({ "limit": 100, "cursor": cursor })).await?;
        for record in response["data"].as_array().into_iter().flatten() {
            let text = |field: &str| record[field].as_str().unwrap_or_default();
            let id = text("id").rsplit('_').next().unwrap_or_default().replace('-', "");
            let cents = (record["price"].as_f64().unwrap_or(0.0) * 100.0).round();
            #[expect(clippy::cast_possible_truncation, reason = "prices are small")]
            let cents = if text("currency") == "USDC" { 0 } else { cents as i64 };
            let known = found.insert(id, (text("name").to_owned(), cents));
            duplicates += usize::from(known.is_some());
        }
        cursor = response["meta"]["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return Ok((found, duplicates));
        }
    }
}

fn difference(expected: &Products, found: &Products) -> String {
    let missing = expected.keys().filter(|id| !found.contains_key(*id)).count();
    let extra = found.keys().filter(|id| !expected.contains_key(*id)).count();
    let other = found.iter().filter(|(id, it)| expected.get(*id).is_some_and(|known| known != *it));
    let example =
        other.clone().next().map(|(id, it)| format!("{id} is {it:?}, expected {:?}", expected[id]));
    format!(
        "a reader returns {} products: {missing} missing, {extra} extra, {} different {}",
        found.len(),
        other.count(),
        example.unwrap_or_default()
    )
}

/// Sends a search; any response other than 200 is an error.
pub(crate) async fn post_search(client: &mut Client, body: &Value) -> Result<Value, Failure> {
    match client.post(SEARCH, &body.to_string()).await {
        Delivery::Answered { status: 200, body } => Ok(serde_json::from_str(&body)?),
        other => Err(format!("the search {body} failed: {other:?}").into()),
    }
}

/// Returns whether a reader is ready.
pub(crate) async fn is_ready(client: &mut Client) -> bool {
    let response = tokio::time::timeout(Duration::from_secs(1), client.get("/health/ready")).await;
    matches!(response, Ok(Delivery::Answered { status: 200, .. }))
}

pub(crate) async fn wait_ready(port: u16) -> Result<(), Failure> {
    let since = Instant::now();
    while !is_ready(&mut Client::new(port)).await {
        ensure(since.elapsed() < TIMEOUT, || {
            format!("the reader at port {port} was not ready within {TIMEOUT:?}")
        })?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Returns the value of a counter of a reader, summed over all labels.
pub(crate) async fn metric(port: u16, name: &str) -> u64 {
    let Delivery::Answered { status: 200, body } =
        Client::for_operators(port).get("/metrics").await
    else {
        return 0;
    };
    let is_it = |line: &&str| line.split([' ', '{']).next() == Some(name);
    body.lines().filter(is_it).filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// Returns all files below a directory.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            paths.extend(files(&path));
        } else {
            paths.push(path);
        }
    }
    paths
}
