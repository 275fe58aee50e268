//! (i) After a crash PostgreSQL hands out the ids of transactions again of which nothing had reached
//! the disk. A reader of the outbox that kept its cursor in memory over the crash must not take what
//! they tell for seen.
//!
//! Some transactions take an id and are undone; the reader looks, and finds nothing; the engine is
//! killed before it has written anything of them. What is told then carries those very ids, and must
//! be read once. The check insists that the ids did come again: else it would show nothing.

use database::{Database, Dice, Reading, Work};
use jobs::{Cursor, NewEvent};
use primitives::{Id, MerchantId};
use serde_json::json;
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use crate::engines::Engines;
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::command;
use crate::worker::open;

/// Transactions that are undone before each crash, and told after it.
const UNDONE: u32 = 5;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let crashes = trial.by_tier(2, 10);
    let engines = Engines::start()?;
    command(&engines.database_url, &["migrate"])?;
    engines.write_late().await?;
    let database = open(engines.database_url.clone(), 2, Dice::real())?;
    let mut reader =
        Reader { reading: Reading::for_platform(&database), cursor: Cursor::default() };
    let (mut told, mut again) = (0, 0);
    for crash in 1..=crashes {
        trial.progress(|| format!("crash {crash} of {crashes}"));
        tell(&database, told).await?;
        reader.expect(&[told]).await?;
        told += 1;
        let undone = undo(&mut PgConnection::connect(&engines.database_url).await?).await?;
        reader.expect(&[]).await?;
        engines.restart_immediately().await?;
        let numbers: Vec<u32> = (told..told + UNDONE).collect();
        for number in &numbers {
            tell(&database, *number).await?;
        }
        told += UNDONE;
        reader.expect(&numbers).await?;
        again += told_by(&engines.database_url, &undone).await?;
    }
    ensure(again > 0, || String::from("no id came again: this shows nothing"))?;
    Ok(format!(
        "{crashes} crashes under a reader that kept its place: of {told} events {again} were told by \
         transactions whose ids had been given out before the crash, each was read once"
    ))
}

struct Reader {
    reading: Reading,
    cursor: Cursor,
}

impl Reader {
    /// Reads on, and finds just these.
    async fn expect(&mut self, numbers: &[u32]) -> Result<(), Failure> {
        let mut seen = Vec::new();
        loop {
            let batch = jobs::follow(&self.reading, &self.cursor, 2).await?;
            self.cursor = batch.next;
            if batch.events.is_empty() {
                break;
            }
            seen.extend(batch.events.into_iter().filter_map(|event| event.payload.as_u64()));
        }
        let wanted: Vec<u64> = numbers.iter().copied().map(u64::from).collect();
        ensure(seen == wanted, || format!("read {seen:?}, told {wanted:?}"))
    }
}

async fn tell(database: &Database, number: u32) -> Result<(), Failure> {
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

/// Transactions that take an id and are undone; the ids.
async fn undo(sql: &mut PgConnection) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::new();
    for _ in 0..UNDONE {
        let mut transaction = sql.begin().await?;
        let select = sqlx::query_scalar("SELECT pg_current_xact_id()::text");
        ids.push(select.fetch_one(&mut *transaction).await?);
        transaction.rollback().await?;
    }
    Ok(ids)
}

/// How many events carry one of these ids.
async fn told_by(url: &str, ids: &[String]) -> Result<i64, Failure> {
    let mut sql = PgConnection::connect(url).await?;
    let count =
        sqlx::query_scalar("SELECT count(*) FROM outbox WHERE transaction::text = ANY ($1)");
    Ok(count.bind(ids).fetch_one(&mut sql).await?)
}
