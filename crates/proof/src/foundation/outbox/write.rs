//! The writers: each transaction counts keys up and tells of it, or is undone.

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

use crate::foundation::outbox::Stage;
use crate::report::Failure;

const KEYS: i32 = 20;

/// What an event says. `key` and `count` are missing in those that are about nothing that is
/// written elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Said {
    pub(crate) transaction: u64,
    pub(crate) number: usize,
    pub(crate) counted: Option<(i32, i64)>,
}

/// A transaction whose commit was acknowledged.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) began: Instant,
    pub(crate) acknowledged: Instant,
    pub(crate) said: Vec<Said>,
}

/// Everything the writers did.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) committed: Vec<Committed>,
}

impl Told {
    pub(crate) fn add(&mut self, part: Self) {
        self.committed.extend(part.committed);
    }

    pub(crate) fn events(&self) -> usize {
        self.committed.iter().map(|transaction| transaction.said.len()).sum()
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

/// Writes until enough events are committed by all writers together.
pub(crate) async fn write(
    database: Database,
    stage: Arc<Stage>,
    mut dice: StdRng,
    wanted: u64,
) -> Result<Told, Failure> {
    let mut told = Told::default();
    while stage.committed.load(Ordering::SeqCst) < wanted {
        let number = stage.transaction.fetch_add(1, Ordering::SeqCst);
        let began = Instant::now();
        let mut work = Work::for_platform(&database).await?;
        let said = transact(&mut work, &mut dice, number).await?;
        if dice.random_ratio(1, 12) {
            work.abandon().await?;
            continue;
        }
        work.commit().await?;
        stage.committed.fetch_add(u64::try_from(said.len())?, Ordering::SeqCst);
        told.committed.push(Committed { began, acknowledged: Instant::now(), said });
    }
    Ok(told)
}

/// Perhaps tells of something else first, which gives the transaction its id before it waits for
/// the keys; then counts one key or two, always in the same order, and tells of each.
async fn transact(
    work: &mut Work,
    dice: &mut StdRng,
    transaction: u64,
) -> Result<Vec<Said>, Failure> {
    let mut said = Vec::new();
    if dice.random_ratio(1, 3) {
        said.push(tell(work, transaction, said.len(), None).await?);
        linger(dice).await;
    }
    let first = dice.random_range(1..=KEYS);
    let second = dice.random_range(1..=KEYS);
    let keys =
        if dice.random_ratio(1, 4) && second > first { vec![first, second] } else { vec![first] };
    for key in keys {
        let count = count_up(work.sql(), key).await?;
        said.push(tell(work, transaction, said.len(), Some((key, count))).await?);
        linger(dice).await;
    }
    Ok(said)
}

/// Up to 30 ms, now and then 200.
async fn linger(dice: &mut StdRng) {
    let millis = if dice.random_ratio(1, 50) { 200 } else { dice.random_range(0..=30) };
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

async fn count_up(sql: &mut PgConnection, key: i32) -> sqlx::Result<i64> {
    let update =
        sqlx::query_scalar("UPDATE counter SET count = count + 1 WHERE key = $1 RETURNING count");
    update.bind(key).fetch_one(sql).await
}

async fn tell(
    work: &mut Work,
    transaction: u64,
    number: usize,
    counted: Option<(i32, i64)>,
) -> Result<Said, Failure> {
    let said = Said { transaction, number, counted };
    let event = NewEvent {
        merchant: MerchantId::from_uuid(Uuid::nil()),
        topic: "counter.changed",
        subject: Uuid::nil(),
        payload: serde_json::to_value(said)?,
    };
    jobs::publish(work, &[event]).await?;
    Ok(said)
}
