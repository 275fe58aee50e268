//! `transaction-id-reuse`: after a crash PostgreSQL reassigns the ids of transactions of which nothing
//! had reached the disk. An outbox reader whose cursor stayed in memory across the crash must not
//! treat the events of the new transactions as already read.
//!
//! Some transactions get an id and are rolled back; the reader polls and finds nothing; PostgreSQL is
//! restarted before it has written anything of them. Events published afterwards carry the same ids
//! and must be read once. The check fails if no id was reassigned, because it would then prove nothing.

use database::{Database, RandomSource, Reading, Work};
use jobs::{Cursor, NewEvent};
use primitives::{Id, MerchantId};
use serde_json::json;
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::engines::Engines;
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::command;
use crate::worker::open;

/// Number of transactions rolled back before each crash, and of events published after it.
const ROLLED_BACK: u32 = 5;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let crashes = trial.by_tier(2, 10);
    let engines = Engines::start()?;
    command(&engines.database_url, &["migrate"])?;
    engines.delay_wal_writes().await?;
    let database = open(engines.database_url.clone(), 2, RandomSource::system())?;
    let mut reader =
        Reader { reading: Reading::for_platform(&database), cursor: Cursor::default() };
    let (mut published, mut reassigned) = (0, 0);
    for crash in 1..=crashes {
        trial.progress(|| format!("crash {crash} of {crashes}"));
        publish(&database, published).await?;
        reader.expect(&[published]).await?;
        published += 1;
        let rolled_back =
            roll_back(&mut PgConnection::connect(&engines.database_url).await?).await?;
        reader.expect(&[]).await?;
        engines.restart_immediately().await?;
        let numbers: Vec<u32> = (published..published + ROLLED_BACK).collect();
        for number in &numbers {
            publish(&database, *number).await?;
        }
        published += ROLLED_BACK;
        reader.expect(&numbers).await?;
        reassigned += events_with_ids(&engines.database_url, &rolled_back).await?;
    }
    ensure(reassigned > 0, || {
        String::from("no transaction id was reassigned, so the check proves nothing")
    })?;
    Ok(format!(
        "{crashes} crashes with a reader cursor in memory: {reassigned} of {published} events have a \
         transaction id that was already assigned before the crash; each was read once"
    ))
}

struct Reader {
    reading: Reading,
    cursor: Cursor,
}

impl Reader {
    /// Reads all new events and fails unless they are exactly these.
    async fn expect(&mut self, numbers: &[u32]) -> Result<(), Failure> {
        let mut seen = Vec::new();
        loop {
            let batch = jobs::read_events(&self.reading, &self.cursor, 2).await?;
            self.cursor = batch.next;
            if batch.events.is_empty() {
                break;
            }
            seen.extend(batch.events.into_iter().filter_map(|event| event.payload.as_u64()));
        }
        let wanted: Vec<u64> = numbers.iter().copied().map(u64::from).collect();
        ensure(seen == wanted, || format!("read {seen:?}, published {wanted:?}"))
    }
}

async fn publish(database: &Database, number: u32) -> Result<(), Failure> {
    let mut work = Work::for_platform(database).await?;
    let event = NewEvent {
        merchant: MerchantId::from_random(1),
        topic: "tested",
        subject: Uuid::nil(),
        payload: json!(number),
    };
    jobs::publish(&mut work, &[event]).await?;
    work.commit().await?;
    Ok(())
}

/// Rolls back transactions that have got an id, and returns the ids.
async fn roll_back(sql: &mut PgConnection) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::new();
    for _ in 0..ROLLED_BACK {
        let mut transaction = sql.begin().await?;
        let select = sqlx::query_scalar("SELECT pg_current_xact_id()::text");
        ids.push(select.fetch_one(&mut *transaction).await?);
        transaction.rollback().await?;
    }
    Ok(ids)
}

/// Counts the events that carry one of these transaction ids.
async fn events_with_ids(url: &str, ids: &[String]) -> Result<i64, Failure> {
    let mut sql = PgConnection::connect(url).await?;
    let count =
        sqlx::query_scalar("SELECT count(*) FROM outbox WHERE transaction::text = ANY ($1)");
    Ok(count.bind(ids).fetch_one(&mut sql).await?)
}
