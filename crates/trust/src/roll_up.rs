//! A job: computes the rows of stale days from the facts.

use std::collections::HashSet;

use database::{Database, DatabaseError, Snapshot, Work};
use jobs::{JobError, Sweep, SweepRow};
use primitives::MerchantId;

use crate::follow::{BUSY_DAY_DELAY, ROLL_UP_DELAY, first_complete_day};
use crate::table::rollup;
use crate::{AgentDay, Day, correct};

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
        let mut work = Work::for_platform(&database).await?;
        // A store with many days is counted by one at a time, and the others of the run count other stores meanwhile.
        if !rollup::try_lock_tally(&mut work, row.merchant).await? {
            return Ok(work.rollback().await?);
        }
        let Some(stale) = rollup::due_day(&mut work, row.merchant, row.id).await? else {
            return Ok(work.rollback().await?);
        };
        let now = work.now();
        if stale.day >= first_complete_day(now)
            && refresh_day(&mut work, row.merchant, stale.day).await?
        {
            correct::mark_changed(&mut work, row.merchant, stale.day).await?;
        }
        let next = rollup::next_promise(&mut work, row.merchant, stale.day).await?;
        // The day is computed again if it was marked since it was read: the facts behind that mark may not have been visible yet.
        let delay = if stale.day.end() > now { BUSY_DAY_DELAY } else { ROLL_UP_DELAY };
        rollup::settle(&mut work, row.merchant, stale, next, now.plus(delay)).await?;
        database::crash_point("trust.day_rolled_up");
        Ok(work.commit().await?)
    }
}

/// Computes the rows of a day from the facts, and stores those that differ. Returns whether any did. The tally of the store must
/// be locked, so that no two transactions compute days of one store at the same time.
pub(crate) async fn refresh_day(
    work: &mut Work,
    merchant: MerchantId,
    day: Day,
) -> sqlx::Result<bool> {
    refresh_days(work, merchant, (day, day)).await
}

/// Computes the rows from one day to another, both included, as [`refresh_day`] does for one: for a store of few facts.
pub(crate) async fn refresh_days(
    work: &mut Work,
    merchant: MerchantId,
    days: (Day, Day),
) -> sqlx::Result<bool> {
    let now = work.now();
    let computed = rollup::facts_of_days(work.sql(), merchant, days, now).await?;
    let stored = rollup::stored_days(work.sql(), merchant, days).await?;
    if computed == stored {
        return Ok(false);
    }
    let obsolete: Vec<AgentDay> = without(&stored, &computed).copied().collect();
    let new: Vec<AgentDay> = without(&computed, &stored).copied().collect();
    rollup::delete_rows(work, merchant, &obsolete).await?;
    rollup::insert_rows(work, merchant, &new).await?;
    rollup::replace_delivered(work, merchant, &stored, &computed).await?;
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
