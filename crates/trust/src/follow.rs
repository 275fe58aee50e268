//! A job: reads from the outbox which orders and checkouts changed, and marks the days that have facts of them; and which stores
//! have their first products, whose first score is computed soon.
//!
//! An event says only that a day is stale. Its rows are computed from the facts, so that neither the order nor the repetition of
//! events matters.

use std::collections::BTreeSet;
use std::time::Duration;

use database::{Database, Reading, Work};
use jobs::{Event, Job, JobContext, JobError, Outcome, Scheduled, Sweep};
use primitives::{CheckoutId, Id, MerchantId, OrderId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::evidence::{STEPS_PER_DAY, WINDOW_DAYS};
use crate::schedule::LATE_EPOCHS_MAX;
use crate::{Day, Epoch, RollUpDays, TrustError, correct, table};

/// Position in the outbox.
const CURSOR: &str = "trust.rollups";
const ORDER_CHANGED: &str = "order.changed";
const CHECKOUT_CHANGED: &str = "checkout.changed";
const PAYMENT_REPORTED: &str = "payment.reported";
/// The figures of a catalog have products for the first time, or again.
const CATALOG_FILLED: &str = "catalog.filled";
/// Events about facts and figures.
const TOPICS: [&str; 4] = [ORDER_CHANGED, CHECKOUT_CHANGED, PAYMENT_REPORTED, CATALOG_FILLED];
/// Events per transaction.
const EVENTS: i64 = 500;
/// Transactions of a run.
const BATCHES_MAX: usize = 100;
/// Time between a mark and the computation of the day: a day of a busy store is computed once in this time, not for every event.
/// A day does not count before it has ended.
pub const ROLL_UP_DELAY: Duration = Duration::from_secs(10);
/// Time until a day that has not ended is computed again, if it was marked while it was computed: a store that sells all the time
/// is not counted all the time.
pub(crate) const BUSY_DAY_DELAY: Duration = Duration::from_mins(10);
/// How long a day is waited for that is due.
const UNFINISHED_MAX: Duration = Duration::from_mins(10);
/// Days before today whose facts are complete. Events of checkouts are kept for 120 days (docs/retention.md); the margin is for
/// transactions around midnight.
pub const COMPLETE_DAYS: i32 = 118;

// What late epochs count is complete, with the days in which it enters and leaves the window.
const _: () = assert!(WINDOW_DAYS + LATE_EPOCHS_MAX / STEPS_PER_DAY + 3 < COMPLETE_DAYS as i64);

/// Returns the first day whose rows can be computed from the facts. Rows of earlier days remain as they are.
pub(crate) fn first_complete_day(now: Timestamp) -> Day {
    Day(Day::of(now).0.saturating_sub(COMPLETE_DAYS))
}

/// Marks the days whose facts changed. Scheduled every second.
#[derive(Debug, Serialize, Deserialize)]
pub struct FollowFacts {}

impl Scheduled for FollowFacts {
    fn for_epoch(_: jobs::Epoch) -> Self {
        Self {}
    }
}

impl Job for FollowFacts {
    const NAME: &'static str = "trust.follow";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        let reading = Reading::for_platform(context.database());
        for _ in 0..BATCHES_MAX {
            let cursor = jobs::cursor(&reading, CURSOR).await?;
            let batch = jobs::read_topics(&reading, &cursor, &TOPICS, EVENTS).await?;
            if batch.next == cursor {
                return Ok(Outcome::DONE);
            }
            let mut work = context.work_for_platform().await?;
            mark(&mut work, &batch.events).await?;
            // Also without events, so that the outbox retains none of other topics for this cursor.
            jobs::advance(&mut work, CURSOR, &cursor, &batch.next).await?;
            if batch.events.is_empty() {
                return context.finish(work).await;
            }
            context.advance(work).await?;
        }
        Ok(Outcome::DONE)
    }
}

/// Returns whether what happened until some time ago is counted: the outbox is read, and no day has waited for as long. One day that
/// cannot be counted delays no score of other stores: a day that a run failed to compute, or that is due for longer than
/// [`UNFINISHED_MAX`], is left out. It is tried again, and a score of the current epoch is corrected then. After an outage many days
/// are due for long: they have as much time since a worker saw the current epoch first.
pub(crate) async fn is_counted(
    database: &Database,
    behind_max: Duration,
) -> Result<bool, TrustError> {
    let reading = Reading::for_platform(database);
    let cursor = jobs::cursor(&reading, CURSOR).await?;
    let unread = jobs::read_topics(&reading, &cursor, &TOPICS, 1).await?;
    let (now, waiting_seconds) = reading
        .run(async |sql| -> Result<_, TrustError> {
            let now = sql.now().await?;
            let opened_at = table::epoch::opened_at(sql, Epoch::of(now)).await?;
            let had_time = opened_at.is_some_and(|at| now.since(at) >= UNFINISHED_MAX);
            let due_after = had_time.then(|| now.minus(UNFINISHED_MAX));
            let sweep = RollUpDays::NAME;
            let waiting_seconds =
                table::rollup::oldest_untried_seconds(sql, now, due_after, sweep).await?;
            Ok((now, waiting_seconds))
        })
        .await?;
    let is_read = unread.events.iter().all(|event| now.since(event.at) <= behind_max);
    Ok(is_read && waiting_seconds <= behind_max.as_secs_f64())
}

/// Marks the days that have facts of the orders and checkouts of these events, and stores with their first products.
async fn mark(work: &mut Work, events: &[Event]) -> Result<(), JobError> {
    // Stores before days, as who computes a day marks them.
    let (_, filled): (_, Vec<MerchantId>) = subjects(events, |topic| topic == CATALOG_FILLED);
    if !filled.is_empty() {
        correct::mark(work, &filled).await?;
    }
    let (since, due_at) = (first_complete_day(work.now()), work.now().plus(ROLL_UP_DELAY));
    let (merchants, orders): (Vec<MerchantId>, Vec<OrderId>) =
        subjects(events, |topic| topic == ORDER_CHANGED);
    if !orders.is_empty() {
        table::rollup::mark_orders(work, &merchants, &orders, since, due_at).await?;
    }
    let (merchants, checkouts): (Vec<MerchantId>, Vec<CheckoutId>) =
        subjects(events, |topic| [CHECKOUT_CHANGED, PAYMENT_REPORTED].contains(&topic));
    if !checkouts.is_empty() {
        table::rollup::mark_checkouts(work, &merchants, &checkouts, since, due_at).await?;
    }
    Ok(())
}

/// Returns the subjects of events of some topics, each once and with its merchant.
fn subjects<I: Id>(events: &[Event], is_of: fn(&str) -> bool) -> (Vec<MerchantId>, Vec<I>) {
    let chosen = events.iter().filter(|event| is_of(&event.topic));
    let distinct: BTreeSet<_> = chosen.map(|event| (event.merchant, event.subject)).collect();
    distinct.into_iter().map(|(merchant, subject)| (merchant, I::from_uuid(subject))).unzip()
}
