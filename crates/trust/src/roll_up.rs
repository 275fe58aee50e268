//! A job: computes the rows of stale days from the facts.

use std::collections::HashSet;
use std::time::Duration;

use database::{Database, DatabaseError, Reading, Snapshot, Work};
use jobs::{JobError, Sweep, SweepRow};
use primitives::MerchantId;
use tokio::time::Instant;
use uuid::Uuid;

use crate::follow::{BUSY_DAY_DELAY, ROLL_UP_DELAY, first_complete_day};
use crate::table::rollup::{self, StaleDay};
use crate::{AgentDay, Day, TrustError, correct};

/// How long each statement that counts facts of a day may take.
pub(crate) const COUNTING_MAX: Duration = Duration::from_mins(2);
/// How long a day waits for others of its store, which are counted one after another, and the pause between two tries. One that
/// waited in vain is due in the next run: a store whose days take long leaves other stores their turn.
const TURN_MAX: Duration = Duration::from_secs(1);
const TURN_PAUSE: Duration = Duration::from_millis(20);
/// How long a recount waits for a job that counts days of the same store, and the pause between two tries.
const RECOUNT_WAITS_MAX: Duration = Duration::from_mins(10);
const RECOUNT_PAUSE: Duration = Duration::from_millis(200);

/// Computes days that were marked. Scheduled every second.
#[derive(Debug)]
pub struct RollUpDays;

impl Sweep for RollUpDays {
    const NAME: &'static str = "trust.roll_up";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let now = sql.now().await?;
        Ok(rollup::find_due(sql, now, after, limit).await?)
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        let until = Instant::now() + TURN_MAX;
        loop {
            match CountedDay::read(&database, row.merchant, row.id).await? {
                Turn::Counted(counted) => {
                    counted.store(&database).await?;
                    return Ok(());
                }
                Turn::Busy if Instant::now() < until => tokio::time::sleep(TURN_PAUSE).await,
                Turn::Busy | Turn::NotDue => return Ok(()),
            }
        }
    }
}

/// What became of a day that should be counted.
enum Turn {
    Counted(CountedDay),
    /// It is not due any more.
    NotDue,
    /// Another run counts a day of this store.
    Busy,
}

/// A day that is due, as its facts are.
struct CountedDay {
    merchant: MerchantId,
    id: Uuid,
    stale: StaleDay,
    /// `None` if its facts are not complete any more.
    rows: Option<Vec<AgentDay>>,
}

impl CountedDay {
    /// Counts the facts of a day, while nothing is locked: those of a busy day take longer than a transaction that writes may.
    async fn read(
        database: &Database,
        merchant: MerchantId,
        id: Uuid,
    ) -> Result<Turn, DatabaseError> {
        let reading = Reading::for_platform(database);
        reading
            .run(async |sql| {
                let now = sql.now().await?;
                if !rollup::try_count_alone(sql, merchant).await? {
                    return Ok(Turn::Busy);
                }
                let Some(stale) = rollup::due_day(sql, merchant, id, now).await? else {
                    return Ok(Turn::NotDue);
                };
                let is_complete = stale.day >= first_complete_day(now);
                let rows = if is_complete {
                    database::set_statement_timeout(sql, COUNTING_MAX).await?;
                    Some(rollup::facts_of_day(sql, merchant, stale.day, now).await?)
                } else {
                    None
                };
                Ok(Turn::Counted(Self { merchant, id, stale, rows }))
            })
            .await
    }

    /// Stores the rows that differ, unless another run has counted the day since: its facts may be newer. Returns whether any row
    /// differed; `None` if another run has. If the day was marked again since it was read, older facts replace no newer ones for
    /// long: it remains due.
    async fn store(self, database: &Database) -> Result<Option<bool>, DatabaseError> {
        let Self { merchant, id, stale, rows } = self;
        let mut work = Work::for_platform(database).await?;
        rollup::lock_tally(&mut work, merchant).await?;
        let now = work.now();
        if rollup::due_day(work.sql(), merchant, id, now).await?.is_none() {
            work.rollback().await?;
            return Ok(None);
        }
        let is_changed = match &rows {
            Some(rows) => replace_rows(&mut work, merchant, (stale.day, stale.day), rows).await?,
            None => false,
        };
        if is_changed {
            correct::mark_changed(&mut work, merchant, stale.day).await?;
        }
        let next = rollup::next_promise(&mut work, merchant, stale.day).await?;
        // The day is computed again if it was marked since it was read: the facts behind that mark may not have been visible yet.
        let delay = if stale.day.end() > now { BUSY_DAY_DELAY } else { ROLL_UP_DELAY };
        rollup::settle(&mut work, merchant, stale, next, now.plus(delay)).await?;
        database::crash_point("trust.day_rolled_up");
        work.commit().await?;
        Ok(Some(is_changed))
    }
}

/// Counts the facts of a day again, as the job does for a day that was marked, and stores the rows that differ. Returns whether any did.
pub(crate) async fn recount_day(
    database: &Database,
    merchant: MerchantId,
    day: Day,
) -> Result<bool, TrustError> {
    let until = Instant::now() + RECOUNT_WAITS_MAX;
    while Instant::now() < until {
        let mut work = Work::for_platform(database).await?;
        let id = rollup::mark_day(&mut work, merchant, day).await?;
        work.commit().await?;
        if let Turn::Counted(counted) = CountedDay::read(database, merchant, id).await?
            && let Some(is_changed) = counted.store(database).await?
        {
            return Ok(is_changed);
        }
        // A job counts a day of this store.
        tokio::time::sleep(RECOUNT_PAUSE).await;
    }
    Err(TrustError::Busy)
}

/// Computes the rows from one day to another, both included, from the facts, and stores those that differ: for a store of few facts. The
/// tally of the store must be locked, so that no two transactions compute days of one store at the same time.
pub(crate) async fn refresh_days(
    work: &mut Work,
    merchant: MerchantId,
    days: (Day, Day),
) -> sqlx::Result<()> {
    let now = work.now();
    let computed = rollup::facts_of_days(work.sql(), merchant, days, now).await?;
    replace_rows(work, merchant, days, &computed).await?;
    Ok(())
}

/// Stores the rows of days that differ. Returns whether any did.
async fn replace_rows(
    work: &mut Work,
    merchant: MerchantId,
    days: (Day, Day),
    computed: &[AgentDay],
) -> sqlx::Result<bool> {
    let stored = rollup::stored_days(work.sql(), merchant, days).await?;
    if computed == stored {
        return Ok(false);
    }
    let obsolete: Vec<AgentDay> = without(&stored, computed).copied().collect();
    let new: Vec<AgentDay> = without(computed, &stored).copied().collect();
    rollup::delete_rows(work, merchant, &obsolete).await?;
    rollup::insert_rows(work, merchant, &new).await?;
    rollup::replace_delivered(work, merchant, &stored, computed).await?;
    Ok(true)
}

/// Returns the rows that are not among the others.
fn without<'row>(
    rows: &'row [AgentDay],
    others: &'row [AgentDay],
) -> impl Iterator<Item = &'row AgentDay> {
    let others: HashSet<&AgentDay> = others.iter().collect();
    rows.iter().filter(move |row| !others.contains(row))
}
