//! The readers: three as they should be, and one by position alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use database::{Database, Reading, Work};
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::Value;
use sqlx::{Connection, PgConnection};

use crate::foundation::outbox::Stage;
use crate::foundation::outbox::write::Said;
use crate::report::Failure;

const PAUSE: Duration = Duration::from_millis(5);
/// A reader that has read as much as was written waits so long for what should not be there, and one
/// that has not so long for the rest.
const QUIET: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(15);

/// Follows the outbox under a name, from the moment so many events are there.
pub(crate) async fn follow(
    database: Database,
    stage: Arc<Stage>,
    mut dice: StdRng,
    name: &'static str,
    start: u64,
) -> Result<(&'static str, Vec<Said>), Failure> {
    while stage.committed.load(Ordering::SeqCst) < start {
        tokio::time::sleep(PAUSE).await;
    }
    let reading = Reading::for_platform(&database);
    let mut seen = Vec::new();
    let mut patience = Patience::default();
    while patience.lasts(&stage, seen.len()) {
        let from = jobs::cursor(&reading, name).await?;
        let batch = jobs::follow(&reading, &from, dice.random_range(1..=50)).await?;
        if batch.next != from {
            let mut work = Work::for_platform(&database).await?;
            jobs::advance(&mut work, name, &from, &batch.next).await?;
            work.commit().await?;
        }
        if batch.events.is_empty() {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        patience = Patience::default();
        for event in batch.events {
            seen.push(serde_json::from_value(event.payload)?);
        }
    }
    Ok((name, seen))
}

/// Reads on from the highest position it has seen. It will not see everything, so it does not wait.
pub(crate) async fn by_position(url: String, stage: Arc<Stage>) -> Result<Vec<Said>, Failure> {
    let mut sql = PgConnection::connect(&url).await?;
    let (mut seen, mut last) = (Vec::new(), 0_i64);
    let mut patience = Patience::default();
    while patience.lasts(&stage, usize::MAX) {
        let select =
            "SELECT position, payload FROM outbox WHERE position > $1 ORDER BY position LIMIT 50";
        let events: Vec<(i64, Value)> =
            sqlx::query_as(select).bind(last).fetch_all(&mut sql).await?;
        if events.is_empty() {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        patience = Patience::default();
        for (position, payload) in events {
            last = position;
            seen.push(serde_json::from_value(payload)?);
        }
    }
    Ok(seen)
}

/// How long a reader has found nothing, counted from the writers' end.
#[derive(Default)]
struct Patience(Option<Instant>);

impl Patience {
    fn lasts(&mut self, stage: &Stage, seen: usize) -> bool {
        if !stage.writers_are_done.load(Ordering::SeqCst) {
            return true;
        }
        let has_all =
            u64::try_from(seen).is_ok_and(|seen| seen >= stage.committed.load(Ordering::SeqCst));
        let limit = if has_all { QUIET } else { PATIENCE };
        self.0.get_or_insert_with(Instant::now).elapsed() < limit
    }
}
