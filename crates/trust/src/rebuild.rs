//! Computes all rows of a store again, or compares them with the facts.

use std::collections::{BTreeMap, BTreeSet};

use database::{Database, Reading, Work};
use primitives::{MerchantId, Timestamp};

use crate::follow::{BUSY_DAY_DELAY, first_complete_day};
use crate::pseudonym::pseudonym;
use crate::roll_up::{COUNTING_MAX, recount_day};
use crate::table::rollup::{self, Delivered};
use crate::{AccountRef, AgentDay, Day, DayCounts, TrustError, correct, table};

/// Days that are looked for facts by one statement.
const DAYS_MAX: i32 = 10;

/// What a rebuild did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Days that were computed.
    pub days: usize,
    /// Days whose rows differed and were replaced.
    pub changed: usize,
}

/// A row that is not what follows from the facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayDifference {
    pub day: Day,
    /// A pseudonym of the account.
    pub account: AccountRef,
    /// `None` if there is no row.
    pub stored: Option<DayCounts>,
    /// `None` if there are no facts.
    pub computed: Option<DayCounts>,
}

/// What of the evidence of a store is not what follows from the facts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// Days that were compared.
    pub days: usize,
    pub rows: Vec<DayDifference>,
    /// Delivered orders: the stored number and the counted one, if they or those of an account differ.
    pub delivered: Option<(i64, i64)>,
}

impl Differences {
    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.delivered.is_none()
    }
}

/// Computes the rows of a store from the facts, each day in a transaction of its own: all days whose facts are kept in full,
/// about four months. Rows of earlier days remain. If something that its score counts has changed, or if the facts could not be
/// counted before, the score is computed again by [`CorrectScores`](crate::CorrectScores).
pub async fn rebuild(database: &Database, merchant: MerchantId) -> Result<Rebuilt, TrustError> {
    let (since, days) = days(database, merchant).await?;
    let mut rebuilt = Rebuilt { days: days.len(), changed: 0 };
    for day in days {
        rebuilt.changed += usize::from(recount_day(database, merchant, day).await?);
    }
    let before = deliveries_before(database, merchant, since).await?;
    let mut work = Work::for_platform(database).await?;
    rollup::lock_tally(&mut work, merchant).await?;
    let delivered = rollup::count_delivered(work.sql(), merchant, since, before).await?;
    if !delivered.is_right() {
        rollup::set_delivered(&mut work, merchant, &delivered).await?;
    }
    let was_uncounted = table::failure::remove_counted(&mut work, merchant).await?;
    if was_uncounted || !delivered.is_right() {
        correct::mark(&mut work, &[merchant]).await?;
    }
    rollup::mark_promises(&mut work, merchant).await?;
    work.commit().await?;
    Ok(rebuilt)
}

/// Compares the rows of a store with the facts, for all days whose facts are kept in full. Days that wait to be computed are left
/// out; facts of the last seconds may appear as differences.
pub async fn check_days(
    database: &Database,
    merchant: MerchantId,
) -> Result<Differences, TrustError> {
    let (since, mut days) = days(database, merchant).await?;
    let reading = Reading::for_platform(database);
    let waiting: BTreeSet<Day> = reading
        .run(async |sql| -> Result<_, TrustError> {
            // A day that is busy waits the longest to be computed again.
            let before = sql.now().await?.plus(BUSY_DAY_DELAY);
            Ok(rollup::waiting_days(sql, merchant, before).await?.into_iter().collect())
        })
        .await?;
    days.retain(|day| !waiting.contains(day));
    let mut differences = Differences { days: days.len(), ..Differences::default() };
    for day in days {
        let (stored, computed): (Vec<AgentDay>, Vec<AgentDay>) = reading
            .run(async |sql| -> Result<_, TrustError> {
                let now: Timestamp = sql.now().await?;
                database::set_statement_timeout(sql, COUNTING_MAX).await?;
                let stored = rollup::stored_days(sql, merchant, (day, day)).await?;
                Ok((stored, rollup::facts_of_day(sql, merchant, day, now).await?))
            })
            .await?;
        let named =
            |it: DayDifference| DayDifference { account: pseudonym(merchant, it.account), ..it };
        differences.rows.extend(compare(day, &stored, &computed).into_iter().map(named));
    }
    let before = deliveries_before(database, merchant, since).await?;
    let delivered = reading
        .run(async |sql| -> Result<_, TrustError> {
            Ok(rollup::count_delivered(sql, merchant, since, before).await?)
        })
        .await?;
    differences.delivered = (!delivered.is_right()).then(|| delivered.totals());
    Ok(differences)
}

/// Returns the first day whose facts are complete, and the days since then that have facts or rows. They are looked for some days
/// at a time: a statement over all of them takes too long at a store that sells all the time.
async fn days(database: &Database, merchant: MerchantId) -> Result<(Day, Vec<Day>), TrustError> {
    let reading = Reading::for_platform(database);
    let now = reading.run(async |sql| -> Result<_, TrustError> { Ok(sql.now().await?) }).await?;
    let (since, today) = (first_complete_day(now), Day::of(now));
    let (mut days, mut first) = (Vec::new(), since);
    while first <= today {
        let last = Day(first.0 + DAYS_MAX - 1).min(today);
        let found = reading.run(async |sql| -> Result<_, TrustError> {
            Ok(rollup::days_with_facts(sql, merchant, (first, last), now).await?)
        });
        days.extend(found.await?);
        first = Day(last.0 + 1);
    }
    Ok((since, days))
}

/// Counts the orders of a store that were delivered before a day, a page in each transaction: a store may have any number.
async fn deliveries_before(
    database: &Database,
    merchant: MerchantId,
    day: Day,
) -> Result<Delivered, TrustError> {
    let reading = Reading::for_platform(database);
    let (mut delivered, mut after) = (Delivered::new(), None);
    loop {
        let mut sql = reading.open().await?;
        after =
            rollup::add_deliveries_before(&mut sql, merchant, day, after, &mut delivered).await?;
        sql.close().await?;
        if after.is_none() {
            return Ok(delivered);
        }
    }
}

fn compare(day: Day, stored: &[AgentDay], computed: &[AgentDay]) -> Vec<DayDifference> {
    let mut accounts: BTreeMap<AccountRef, (Option<DayCounts>, Option<DayCounts>)> =
        BTreeMap::new();
    for row in stored {
        accounts.entry(row.account).or_default().0 = Some(row.counts);
    }
    for row in computed {
        accounts.entry(row.account).or_default().1 = Some(row.counts);
    }
    let differing = accounts.into_iter().filter(|(_, (stored, computed))| stored != computed);
    differing
        .map(|(account, (stored, computed))| DayDifference { day, account, stored, computed })
        .collect()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn rows_that_are_missing_superfluous_or_wrong_are_differences() {
        let row = |account: u128, started| AgentDay {
            day: Day(7),
            account: AccountRef(Uuid::from_u128(account)),
            counts: DayCounts { started, ..DayCounts::default() },
        };
        let stored = [row(1, 1), row(2, 1), row(3, 1)];
        let computed = [row(1, 1), row(3, 2), row(4, 1)];
        let started = |counts: Option<DayCounts>| counts.map(|it| it.started);
        let found: Vec<_> = compare(Day(7), &stored, &computed)
            .iter()
            .map(|it| (it.account.0.as_u128(), started(it.stored), started(it.computed)))
            .collect();
        assert_eq!(found, [(2, Some(1), None), (3, Some(1), Some(2)), (4, None, Some(1))]);
        assert_eq!(compare(Day(7), &stored, &stored), []);
    }
}
