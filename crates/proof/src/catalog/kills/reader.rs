//! Somebody who looks at the catalog all the time, each time in one snapshot.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::{Connection, PgConnection};
use tokio::task::JoinHandle;

use crate::catalog::kills::version::Version;
use crate::report::{Failure, ensure};

/// What was seen in all.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) looks: usize,
    pub(crate) updating: usize,
}

/// The versions that were ever sent, by the hash of their feed.
type Versions = Arc<Mutex<HashMap<Vec<u8>, BTreeMap<String, i64>>>>;

pub(crate) struct Reader {
    versions: Versions,
    stop: Arc<AtomicBool>,
    task: JoinHandle<Result<Seen, Failure>>,
}

impl Reader {
    pub(crate) fn start(url: &str, known: Vec<Version>) -> Self {
        let versions: Versions = Arc::default();
        let stop = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(look_on(url.to_owned(), Arc::clone(&versions), Arc::clone(&stop)));
        let reader = Self { versions, stop, task };
        for version in known {
            reader.expect(&version);
        }
        reader
    }

    /// A version is about to be sent.
    pub(crate) fn expect(&self, version: &Version) {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.insert(version.hash(), version.products());
    }

    /// Looks once more and says what was seen.
    pub(crate) async fn stop(self) -> Result<Seen, Failure> {
        self.stop.store(true, Ordering::SeqCst);
        self.task.await?
    }
}

async fn look_on(url: String, versions: Versions, stop: Arc<AtomicBool>) -> Result<Seen, Failure> {
    let mut seen = Seen::default();
    let mut connection = None;
    loop {
        let last = stop.load(Ordering::SeqCst);
        if connection.is_none() {
            connection = PgConnection::connect(&url).await.ok();
        }
        let looked = match &mut connection {
            Some(sql) => look(sql).await,
            None => Err(sqlx::Error::PoolClosed),
        };
        match looked {
            Ok(sight) => {
                seen.looks += 1;
                seen.updating += usize::from(sight.updating);
                judge(&sight, &versions)?;
                if last {
                    return Ok(seen);
                }
            }
            // PostgreSQL was killed: another connection, another look.
            Err(_) => connection = None,
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// The catalog at one moment.
struct Sight {
    /// The feed it is complete by.
    complete: Option<Vec<u8>>,
    /// The feed that is being applied.
    applied: Option<Vec<u8>>,
    updating: bool,
    listed: BTreeMap<String, i64>,
}

const STORE: &str = "(SELECT merchant_id FROM platform.store_slug WHERE slug = 'orto-lucido')";

async fn look(sql: &mut PgConnection) -> sqlx::Result<Sight> {
    let mut snapshot = sql.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let hash = |condition: &str, order: &str| {
        sqlx::AssertSqlSafe(format!(
            "SELECT content_hash FROM catalog_run WHERE merchant_id = {STORE} AND {condition}
             ORDER BY {order} DESC LIMIT 1"
        ))
    };
    let complete = sqlx::query_scalar(hash("complete", "finished_at"));
    let complete: Option<Vec<u8>> = complete.fetch_optional(&mut *snapshot).await?;
    // As `catalog::catalog_state` defines a partial catalog.
    let since = format!(
        "applied_at > (SELECT max(finished_at) FROM catalog_run WHERE merchant_id = {STORE} AND complete)
         AND NOT complete"
    );
    let applied = sqlx::query_scalar(hash(&since, "applied_at"));
    let applied: Option<Vec<u8>> = applied.fetch_optional(&mut *snapshot).await?;
    let listed = sqlx::AssertSqlSafe(format!(
        "SELECT external_id, price_minor FROM product WHERE merchant_id = {STORE} AND retired_at IS NULL"
    ));
    let listed: Vec<(String, i64)> = sqlx::query_as(listed).fetch_all(&mut *snapshot).await?;
    snapshot.commit().await?;
    let updating = applied.is_some();
    Ok(Sight { complete, applied, updating, listed: listed.into_iter().collect() })
}

/// A catalog that nobody is changing is exactly what the last complete feed says. One on its way is
/// made of old and new products only, and nothing old is gone before everything new is there.
fn judge(sight: &Sight, versions: &Versions) -> Result<(), Failure> {
    let versions = versions.lock().unwrap_or_else(PoisonError::into_inner);
    let known = |hash: &Option<Vec<u8>>| hash.as_ref().and_then(|hash| versions.get(hash));
    let old = known(&sight.complete).ok_or("complete by a feed nobody sent")?;
    let Some(new) = known(&sight.applied) else {
        return ensure(sight.listed == *old, || difference(&sight.listed, old));
    };
    for (id, price) in &sight.listed {
        if old.get(id) != Some(price) && new.get(id) != Some(price) {
            return Err(format!("{id} costs {price}, which neither feed says").into());
        }
    }
    let gone = old.keys().any(|id| !new.contains_key(id) && !sight.listed.contains_key(id));
    let all_new = new.iter().all(|(id, price)| sight.listed.get(id) == Some(price));
    if gone && !all_new {
        return Err("something was retired before everything new was there".into());
    }
    match old.keys().find(|id| new.contains_key(*id) && !sight.listed.contains_key(*id)) {
        Some(id) => Err(format!("{id} is in both feeds and not in the catalog").into()),
        None => Ok(()),
    }
}

fn difference(listed: &BTreeMap<String, i64>, feed: &BTreeMap<String, i64>) -> String {
    let missing = feed.keys().filter(|id| !listed.contains_key(*id)).count();
    let extra = listed.keys().filter(|id| !feed.contains_key(*id)).count();
    let other = feed.iter().filter(|(id, price)| listed.get(*id).is_some_and(|it| it != *price));
    format!(
        "the catalog counts as complete and is not: {missing} missing, {extra} too many, {} with another price",
        other.count()
    )
}
