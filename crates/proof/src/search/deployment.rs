//! Writers and readers of the index as processes of their own, over one object store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use database::{Clock, Database, Dice, Settings};
use search::{Comparison, Objects, Replica, ReplicaSettings};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::http::{Client, Fate};
use crate::report::{Failure, ensure};
use crate::souk::{Souk, lasting_port};

pub(crate) const SEARCH: &str = "/api/v1/search";
/// Parts the index is cut into.
pub(crate) const SHARDS: usize = 3;
/// A writer that does not come back is missed after this.
const LEASE_SECONDS: u64 = 2;
/// How long anything may take to come true; machines that prove are busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// A database, an object store, and the directories of those who use them; removed when dropped.
pub(crate) struct House {
    pub(crate) url: String,
    /// The proof's own way in.
    pub(crate) database: Database,
    root: PathBuf,
}

impl House {
    pub(crate) async fn open(url: &str, name: &str) -> Result<Self, Failure> {
        let root = std::env::temp_dir().join(format!("souk-house-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&root)?;
        let settings = Settings {
            url: url.to_owned(),
            connections_max: 8,
            acquire_timeout: Duration::from_secs(3),
            cell: "cell-1".parse()?,
            clock: Clock::real(),
            dice: Dice::real(),
        };
        let database = Database::prepare(settings)?;
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

    /// Starts a writer that PostgreSQL knows by a name: the setting `souk.writer` of its sessions.
    pub(crate) fn writer_called(&self, name: &str) -> Result<Souk, Failure> {
        let url = format!("{}?options=-c%20souk.writer%3D{name}", self.url);
        Souk::index(&url, &self.settings("writers"))
    }

    /// Starts a reader on a port, with files in a directory.
    pub(crate) fn reader(&self, port: u16, directory: &str) -> Result<Souk, Failure> {
        Souk::serve_on(&self.url, port, &self.settings(directory))
    }

    /// Starts a reader and waits until it takes requests.
    pub(crate) async fn ready_reader(&self, directory: &str) -> Result<Souk, Failure> {
        let reader = self.reader(lasting_port()?, directory)?;
        wait_ready(reader.port).await?;
        Ok(reader)
    }

    /// A copy of the index in this process, to compare with.
    pub(crate) fn replica(&self, directory: &str) -> Result<Replica, Failure> {
        let objects = Objects::open(&self.path("objects").to_string_lossy())?;
        let settings = ReplicaSettings::new(self.path(directory), objects);
        Ok(Replica::start(self.database.clone(), settings))
    }

    /// A connection past all walls.
    pub(crate) async fn sql(&self) -> Result<PgConnection, Failure> {
        Ok(PgConnection::connect(&self.url).await?)
    }

    /// Waits until the index says that everything committed by now is in it, and takes it at its
    /// word: every product is compared at once.
    pub(crate) async fn compare(
        &self,
        replica: &Replica,
    ) -> Result<(Comparison, Duration), Failure> {
        let since = Instant::now();
        while replica.figures().is_none_or(|figures| figures.age() >= since.elapsed()) {
            ensure(since.elapsed() < PATIENCE, || {
                format!("the index did not catch up: {:?}", replica.figures())
            })?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let took = since.elapsed();
        let comparison = search::compare(&self.database, replica).await?;
        ensure(comparison.is_equal(), || format!("the index differs: {comparison:?}"))?;
        ensure(comparison.products > 0, || String::from("there was nothing to compare"))?;
        Ok((comparison, took))
    }

    /// Everything a reader shows to everybody, against PostgreSQL: waits until it is the same, and
    /// answers how many products that are.
    pub(crate) async fn compare_reader(&self, port: u16) -> Result<usize, Failure> {
        let since = Instant::now();
        loop {
            let (wanted, (shown, again)) = (self.listed().await?, shown(port).await?);
            if wanted == shown && again == 0 {
                return Ok(shown.len());
            }
            // Until the reader has come to rest, one page may be of an older state than the next.
            ensure(since.elapsed() < PATIENCE, || {
                format!("{}; {again} shown twice", difference(&wanted, &shown))
            })?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// What everybody may find: of active stores that have a score and are not suspended.
    async fn listed(&self) -> Result<Shelf, Failure> {
        let rows: Vec<(uuid::Uuid, String, i64, String)> = sqlx::query_as(
            "SELECT product_id, product.name, price_minor, product.currency
             FROM product JOIN store USING (merchant_id) JOIN standing USING (merchant_id)
             WHERE retired_at IS NULL AND active AND score >= 0.2
               AND product.currency IN ('EUR', 'USD', 'USDC')",
        )
        .fetch_all(&mut self.sql().await?)
        .await?;
        let line = |(id, name, price, currency): (uuid::Uuid, String, i64, String)| {
            (id.simple().to_string(), (name, if currency == "USDC" { 0 } else { price }))
        };
        Ok(rows.into_iter().map(line).collect())
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// Name and price of each product, by its id.
type Shelf = BTreeMap<String, (String, i64)>;

/// Everything that can be found, page by page, and how much of it came twice.
async fn shown(port: u16) -> Result<(Shelf, usize), Failure> {
    let mut client = Client::new(port);
    let (mut shown, mut again, mut cursor) = (Shelf::new(), 0, None);
    loop {
        let answer = ask(&mut client, &json!({ "limit": 100, "cursor": cursor })).await?;
        for record in answer["data"].as_array().into_iter().flatten() {
            let text = |field: &str| record[field].as_str().unwrap_or_default();
            let id = text("id").rsplit('_').next().unwrap_or_default().replace('-', "");
            let cents = (record["price"].as_f64().unwrap_or(0.0) * 100.0).round();
            #[expect(clippy::cast_possible_truncation, reason = "prices are small")]
            let cents = if text("currency") == "USDC" { 0 } else { cents as i64 };
            let known = shown.insert(id, (text("name").to_owned(), cents));
            again += usize::from(known.is_some());
        }
        cursor = answer["meta"]["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            return Ok((shown, again));
        }
    }
}

fn difference(wanted: &Shelf, shown: &Shelf) -> String {
    let missing = wanted.keys().filter(|id| !shown.contains_key(*id)).count();
    let extra = shown.keys().filter(|id| !wanted.contains_key(*id)).count();
    let other = shown.iter().filter(|(id, it)| wanted.get(*id).is_some_and(|known| known != *it));
    let example =
        other.clone().next().map(|(id, it)| format!("{id} is {it:?}, not {:?}", wanted[id]));
    format!(
        "a reader shows {} products: {missing} missing, {extra} too many, {} wrong {}",
        shown.len(),
        other.count(),
        example.unwrap_or_default()
    )
}

/// A search that has to be answered.
pub(crate) async fn ask(client: &mut Client, body: &Value) -> Result<Value, Failure> {
    match client.post(SEARCH, &body.to_string()).await {
        Fate::Answered { status: 200, body } => Ok(serde_json::from_str(&body)?),
        other => Err(format!("the search {body} met {other:?}").into()),
    }
}

/// Whether a reader takes requests.
pub(crate) async fn is_ready(client: &mut Client) -> bool {
    let asked = tokio::time::timeout(Duration::from_secs(1), client.get("/health/ready")).await;
    matches!(asked, Ok(Fate::Answered { status: 200, .. }))
}

pub(crate) async fn wait_ready(port: u16) -> Result<(), Failure> {
    let since = Instant::now();
    while !is_ready(&mut Client::new(port)).await {
        ensure(since.elapsed() < PATIENCE, || String::from("a reader was not ready in time"))?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// A count of a reader, over all its labels.
pub(crate) async fn metric(port: u16, name: &str) -> u64 {
    let Fate::Answered { status: 200, body } = Client::new(port).get("/metrics").await else {
        return 0;
    };
    let is_it = |line: &&str| line.split([' ', '{']).next() == Some(name);
    body.lines().filter(is_it).filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// All files below a directory.
pub(crate) fn files(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(below).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}
