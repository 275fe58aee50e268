//! The writers: each transaction increments counters and publishes an event for each, or is rolled back.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use database::{Database, Work};
use jobs::NewEvent;
use primitives::{Id, MerchantId};
use rand::RngExt;
use rand::rngs::StdRng;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::foundation::outbox::SharedState;
use crate::report::Failure;

const KEYS: i32 = 20;

/// The payload of an event. `counted` is the key and its new count; `None` if the event belongs to
/// no counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct EventPayload {
    pub(crate) transaction: u64,
    pub(crate) number: usize,
    pub(crate) counted: Option<(i32, i64)>,
}

/// A transaction whose commit was acknowledged.
#[derive(Debug)]
pub(crate) struct CommittedTransaction {
    pub(crate) began: Instant,
    pub(crate) acknowledged: Instant,
    pub(crate) events: Vec<EventPayload>,
}

/// All transactions that the writers committed.
#[derive(Debug, Default)]
pub(crate) struct CommitLog {
    pub(crate) committed: Vec<CommittedTransaction>,
}

impl CommitLog {
    pub(crate) fn add(&mut self, part: Self) {
        self.committed.extend(part.committed);
    }

    pub(crate) fn events(&self) -> usize {
        self.committed.iter().map(|transaction| transaction.events.len()).sum()
    }
}

pub(crate) async fn make_counters(sql: &mut PgConnection) -> sqlx::Result<()> {
    let statements =
        "CREATE TABLE counter (key integer PRIMARY KEY, count bigint NOT NULL DEFAULT 0);
                      GRANT SELECT, UPDATE ON counter TO souk_platform";
    sqlx::raw_sql(statements).execute(&mut *sql).await?;
    let fill =
        sqlx::query("INSERT INTO counter (key) SELECT key FROM generate_series(1, $1) AS key");
    fill.bind(KEYS).execute(sql).await?;
    Ok(())
}

/// Writes until all writers together have committed enough events.
pub(crate) async fn write(
    database: Database,
    shared: Arc<SharedState>,
    mut rng: StdRng,
    wanted: u64,
) -> Result<CommitLog, Failure> {
    let mut log = CommitLog::default();
    while shared.committed.load(Ordering::SeqCst) < wanted {
        let number = shared.transaction.fetch_add(1, Ordering::SeqCst);
        let began = Instant::now();
        let mut work = Work::for_platform(&database).await?;
        let events = transact(&mut work, &mut rng, number).await?;
        if rng.random_ratio(1, 12) {
            work.rollback().await?;
            continue;
        }
        work.commit().await?;
        shared.committed.fetch_add(u64::try_from(events.len())?, Ordering::SeqCst);
        log.committed.push(CommittedTransaction { began, acknowledged: Instant::now(), events });
    }
    Ok(log)
}

/// Sometimes first publishes an event without a counter, which assigns the transaction id before the
/// row locks are taken; then increments one or two counters, always in the same order, and publishes
/// an event for each.
async fn transact(
    work: &mut Work,
    rng: &mut StdRng,
    transaction: u64,
) -> Result<Vec<EventPayload>, Failure> {
    let mut events = Vec::new();
    if rng.random_ratio(1, 3) {
        events.push(publish(work, transaction, events.len(), None).await?);
        random_delay(rng).await;
    }
    let first = rng.random_range(1..=KEYS);
    let second = rng.random_range(1..=KEYS);
    let keys =
        if rng.random_ratio(1, 4) && second > first { vec![first, second] } else { vec![first] };
    for key in keys {
        let count = count_up(work.sql(), key).await?;
        events.push(publish(work, transaction, events.len(), Some((key, count))).await?);
        random_delay(rng).await;
    }
    Ok(events)
}

/// Waits for up to 30 ms, sometimes 200 ms.
async fn random_delay(rng: &mut StdRng) {
    let millis = if rng.random_ratio(1, 50) { 200 } else { rng.random_range(0..=30) };
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

async fn count_up(sql: &mut PgConnection, key: i32) -> sqlx::Result<i64> {
    let update =
        sqlx::query_scalar("UPDATE counter SET count = count + 1 WHERE key = $1 RETURNING count");
    update.bind(key).fetch_one(sql).await
}

async fn publish(
    work: &mut Work,
    transaction: u64,
    number: usize,
    counted: Option<(i32, i64)>,
) -> Result<EventPayload, Failure> {
    let payload = EventPayload { transaction, number, counted };
    let event = NewEvent {
        merchant: MerchantId::from_uuid(Uuid::nil()),
        topic: "counter.changed",
        subject: Uuid::nil(),
        payload: serde_json::to_value(payload)?,
    };
    jobs::publish(work, &[event]).await?;
    Ok(payload)
}
