//! Computes all rows of a store again, or compares them with the facts.

use std::collections::{BTreeMap, BTreeSet};

use database::{Database, Reading, Work};
use primitives::{MerchantId, Timestamp};

use crate::follow::{ROLL_UP_DELAY, first_complete_day};
use crate::roll_up::refresh_day;
use crate::table::rollup;
use crate::{AccountRef, AgentDay, Day, DayCounts, TrustError};

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
    /// Delivered orders: the stored number and the counted one, if they differ.
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
/// about four months. Rows of earlier days remain.
pub async fn rebuild(database: &Database, merchant: MerchantId) -> Result<Rebuilt, TrustError> {
    let (since, days) = days(database, merchant).await?;
    let mut rebuilt = Rebuilt { days: days.len(), changed: 0 };
    for day in days {
        let mut work = Work::for_platform(database).await?;
        rollup::lock_tally(&mut work, merchant).await?;
        if refresh_day(&mut work, merchant, day).await? {
            rebuilt.changed += 1;
        }
        work.commit().await?;
    }
    let mut work = Work::for_platform(database).await?;
    rollup::lock_tally(&mut work, merchant).await?;
    let delivered = rollup::count_delivered(work.sql(), merchant, since).await?;
    rollup::set_delivered(&mut work, merchant, delivered.counted).await?;
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
            let before = sql.now().await?.plus(ROLL_UP_DELAY);
            Ok(rollup::waiting_days(sql, merchant, before).await?.into_iter().collect())
        })
        .await?;
    days.retain(|day| !waiting.contains(day));
    let mut differences = Differences { days: days.len(), ..Differences::default() };
    for day in days {
        let (stored, computed): (Vec<AgentDay>, Vec<AgentDay>) = reading
            .run(async |sql| -> Result<_, TrustError> {
                let now: Timestamp = sql.now().await?;
                let stored = rollup::stored_days(sql, merchant, (day, day)).await?;
                Ok((stored, rollup::facts_of_day(sql, merchant, day, now).await?))
            })
            .await?;
        differences.rows.extend(compare(day, &stored, &computed));
    }
    let delivered = reading
        .run(async |sql| -> Result<_, TrustError> {
            Ok(rollup::count_delivered(sql, merchant, since).await?)
        })
        .await?;
    let is_different = delivered.stored != delivered.counted;
    differences.delivered = is_different.then_some((delivered.stored, delivered.counted));
    Ok(differences)
}

/// Returns the first day whose facts are complete, and the days since then that have facts or rows.
async fn days(database: &Database, merchant: MerchantId) -> Result<(Day, Vec<Day>), TrustError> {
    Reading::for_platform(database)
        .run(async |sql| -> Result<_, TrustError> {
            let now = sql.now().await?;
            let since = first_complete_day(now);
            Ok((since, rollup::days_with_facts(sql, merchant, since, now).await?))
        })
        .await
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
