//! The readers: three that use the outbox cursor, and one that reads by position alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use database::{Database, Reading, Work};
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::Value;
use sqlx::{Connection, PgConnection};

use crate::foundation::outbox::SharedState;
use crate::foundation::outbox::write::EventPayload;
use crate::report::Failure;

const PAUSE: Duration = Duration::from_millis(5);
/// How long a reader that has read everything waits for events that should not exist.
const EXTRA_MAX: Duration = Duration::from_millis(300);
/// How long a reader waits for events that are still missing.
const MISSING_MAX: Duration = Duration::from_secs(15);

/// Follows the outbox with a named cursor, once `start` events are committed.
pub(crate) async fn follow(
    database: Database,
    shared: Arc<SharedState>,
    mut rng: StdRng,
    name: &'static str,
    start: u64,
) -> Result<(&'static str, Vec<EventPayload>), Failure> {
    while shared.committed.load(Ordering::SeqCst) < start {
        tokio::time::sleep(PAUSE).await;
    }
    let reading = Reading::for_platform(&database);
    let mut seen = Vec::new();
    let mut idle = IdleTimer::default();
    while idle.lasts(&shared, seen.len()) {
        let from = jobs::cursor(&reading, name).await?;
        let batch = jobs::read_events(&reading, &from, rng.random_range(1..=50)).await?;
        if batch.next != from {
            let mut work = Work::for_platform(&database).await?;
            jobs::advance(&mut work, name, &from, &batch.next).await?;
            work.commit().await?;
        }
        if batch.events.is_empty() {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        idle = IdleTimer::default();
        for event in batch.events {
            seen.push(serde_json::from_value(event.payload)?);
        }
    }
    Ok((name, seen))
}

/// Reads from the highest position it has seen. It misses events, so it does not wait for all of
/// them.
pub(crate) async fn by_position(
    url: String,
    shared: Arc<SharedState>,
) -> Result<Vec<EventPayload>, Failure> {
    let mut sql = PgConnection::connect(&url).await?;
    let (mut seen, mut last) = (Vec::new(), 0_i64);
    let mut idle = IdleTimer::default();
    while idle.lasts(&shared, usize::MAX) {
        let select =
            "SELECT position, payload FROM outbox WHERE position > $1 ORDER BY position LIMIT 50";
        let events: Vec<(i64, Value)> =
            sqlx::query_as(select).bind(last).fetch_all(&mut sql).await?;
        if events.is_empty() {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        idle = IdleTimer::default();
        for (position, payload) in events {
            last = position;
            seen.push(serde_json::from_value(payload)?);
        }
    }
    Ok(seen)
}

/// How long a reader has found nothing since the writers finished.
#[derive(Default)]
struct IdleTimer(Option<Instant>);

impl IdleTimer {
    fn lasts(&mut self, shared: &SharedState, seen: usize) -> bool {
        if !shared.writers_are_done.load(Ordering::SeqCst) {
            return true;
        }
        let has_all =
            u64::try_from(seen).is_ok_and(|seen| seen >= shared.committed.load(Ordering::SeqCst));
        let limit = if has_all { EXTRA_MAX } else { MISSING_MAX };
        self.0.get_or_insert_with(Instant::now).elapsed() < limit
    }
}
