//! A reader that polls the catalog, each time in one database snapshot.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::{Connection, PgConnection};
use tokio::task::JoinHandle;

use crate::catalog::kills::version::Version;
use crate::report::{Failure, ensure};

/// Numbers of snapshots read.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Observations {
    pub(crate) snapshots: usize,
    /// Snapshots taken while a feed was being applied.
    pub(crate) updating: usize,
}

/// The products of each version sent, by the hash of its feed.
type Versions = Arc<Mutex<HashMap<Vec<u8>, BTreeMap<String, i64>>>>;

pub(crate) struct Reader {
    versions: Versions,
    stop: Arc<AtomicBool>,
    task: JoinHandle<Result<Observations, Failure>>,
}

impl Reader {
    pub(crate) fn start(url: &str, known: Vec<Version>) -> Self {
        let versions: Versions = Arc::default();
        let stop = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(poll(url.to_owned(), Arc::clone(&versions), Arc::clone(&stop)));
        let reader = Self { versions, stop, task };
        for version in known {
            reader.register(&version);
        }
        reader
    }

    /// Registers a version that is about to be sent.
    pub(crate) fn register(&self, version: &Version) {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.insert(version.hash(), version.products());
    }

    /// Reads one more snapshot and returns the totals.
    pub(crate) async fn stop(self) -> Result<Observations, Failure> {
        self.stop.store(true, Ordering::SeqCst);
        self.task.await?
    }
}

async fn poll(
    url: String,
    versions: Versions,
    stop: Arc<AtomicBool>,
) -> Result<Observations, Failure> {
    let mut observations = Observations::default();
    let mut connection = None;
    loop {
        let last = stop.load(Ordering::SeqCst);
        if connection.is_none() {
            connection = PgConnection::connect(&url).await.ok();
        }
        let result = match &mut connection {
            Some(sql) => read_snapshot(sql).await,
            None => Err(sqlx::Error::PoolClosed),
        };
        match result {
            Ok(snapshot) => {
                observations.snapshots += 1;
                observations.updating += usize::from(snapshot.updating);
                verify(&snapshot, &versions)?;
                if last {
                    return Ok(observations);
                }
            }
            // PostgreSQL was killed: reconnect and retry.
            Err(_) => connection = None,
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// The catalog in one database snapshot.
struct Snapshot {
    /// Hash of the last feed that was applied completely.
    complete: Option<Vec<u8>>,
    /// Hash of the feed that is being applied.
    applied: Option<Vec<u8>>,
    updating: bool,
    listed: BTreeMap<String, i64>,
}

const STORE: &str = "(SELECT merchant_id FROM platform.store_slug WHERE slug = 'orto-lucido')";

async fn read_snapshot(sql: &mut PgConnection) -> sqlx::Result<Snapshot> {
    let mut transaction = sql.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let hash = |condition: &str, order: &str| {
        sqlx::AssertSqlSafe(format!(
            "SELECT content_hash FROM catalog_run WHERE merchant_id = {STORE} AND {condition}
             ORDER BY {order} DESC LIMIT 1"
        ))
    };
    let complete = sqlx::query_scalar(hash("complete", "finished_at"));
    let complete: Option<Vec<u8>> = complete.fetch_optional(&mut *transaction).await?;
    // As `catalog::catalog_state` defines a partial catalog.
    let since = format!(
        "applied_at > (SELECT max(finished_at) FROM catalog_run WHERE merchant_id = {STORE} AND complete)
         AND NOT complete"
    );
    let applied = sqlx::query_scalar(hash(&since, "applied_at"));
    let applied: Option<Vec<u8>> = applied.fetch_optional(&mut *transaction).await?;
    let listed = sqlx::AssertSqlSafe(format!(
        "SELECT external_id, price_minor FROM product WHERE merchant_id = {STORE} AND retired_at IS NULL"
    ));
    let listed: Vec<(String, i64)> = sqlx::query_as(listed).fetch_all(&mut *transaction).await?;
    transaction.commit().await?;
    let updating = applied.is_some();
    Ok(Snapshot { complete, applied, updating, listed: listed.into_iter().collect() })
}

/// Verifies a snapshot. A catalog that is not being updated equals the last complete feed. During an
/// update it holds only old and new products, and no old product is retired before all new ones exist.
fn verify(snapshot: &Snapshot, versions: &Versions) -> Result<(), Failure> {
    let versions = versions.lock().unwrap_or_else(PoisonError::into_inner);
    let known = |hash: &Option<Vec<u8>>| hash.as_ref().and_then(|hash| versions.get(hash));
    let old = known(&snapshot.complete).ok_or("the complete feed is unknown")?;
    let Some(new) = known(&snapshot.applied) else {
        return ensure(snapshot.listed == *old, || difference(&snapshot.listed, old));
    };
    for (id, price) in &snapshot.listed {
        if old.get(id) != Some(price) && new.get(id) != Some(price) {
            return Err(format!("the price {price} of {id} is in neither feed").into());
        }
    }
    let any_retired =
        old.keys().any(|id| !new.contains_key(id) && !snapshot.listed.contains_key(id));
    let all_new = new.iter().all(|(id, price)| snapshot.listed.get(id) == Some(price));
    if any_retired && !all_new {
        return Err("a product was retired before all new products existed".into());
    }
    match old.keys().find(|id| new.contains_key(*id) && !snapshot.listed.contains_key(*id)) {
        Some(id) => Err(format!("{id} is in both feeds and not in the catalog").into()),
        None => Ok(()),
    }
}

fn difference(listed: &BTreeMap<String, i64>, feed: &BTreeMap<String, i64>) -> String {
    let missing = feed.keys().filter(|id| !listed.contains_key(*id)).count();
    let extra = listed.keys().filter(|id| !feed.contains_key(*id)).count();
    let other = feed.iter().filter(|(id, price)| listed.get(*id).is_some_and(|it| it != *price));
    format!(
        "the catalog is reported as complete, but differs from the feed: {missing} missing, {extra} extra, {} with another price",
        other.count()
    )
}
