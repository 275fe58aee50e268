//! A verb: computes the days and the scores that follow from imported facts of the past, such as those of the demo data.

use database::Work;
use merchants::Standing;
use primitives::{MerchantId, Timestamp};

use crate::evidence::{ACCOUNT_DELIVERED_MAX, STEPS_PER_DAY};
use crate::follow::first_complete_day;
use crate::gather::{gather, one};
use crate::recompute::Scored;
use crate::roll_up::refresh_days;
use crate::table;
use crate::table::score::NewScore;
use crate::{
    AgentDay, Basis, Cause, Computation, Day, Epoch, Evidence, MethodologyVersion, TrustError,
    score,
};

/// Computes the rows of days of a store from its facts, then a score of the current epoch and one of each day before, back to
/// `since`, and sets the standing, all in a platform transaction. A score that exists stays as it is, and the standing with that
/// of the current epoch. Nobody is told, because nothing happened now. If the current epoch began before `since`, there is no
/// score.
///
/// Of the past only the facts are known: its scores are computed by methodology 2.0 with the catalog and the policies of now, and
/// have no hash.
pub async fn score_past(
    work: &mut Work,
    merchant: MerchantId,
    since: Timestamp,
    in_force: MethodologyVersion,
) -> Result<(), TrustError> {
    let now = work.now();
    table::rollup::lock_tally(work, merchant).await?;
    refresh_days(work, merchant, (first_complete_day(now), Day::of(now))).await?;
    let current = Epoch::of(now);
    let epochs = daily_epochs(current, since);
    let Some(oldest) = epochs.last().copied() else { return Ok(()) };
    for partition in table::score::missing_partitions(work.sql(), oldest, current).await? {
        table::score::create_partition(work, partition).await?;
    }
    let gathered = one(gather(work.sql(), &[merchant], current).await?)?.named();
    let days = (oldest.first_day(), current.last_day());
    let days = table::rollup::stored_days(work.sql(), merchant, days).await?;
    let known = Evidence { days, ..gathered.evidence.clone() };
    let past: Vec<Computation> = epochs.iter().skip(1).map(|it| past_score(&known, *it)).collect();
    let new: Vec<NewScore<'_>> = past.iter().map(|it| NewScore::of(merchant, it)).collect();
    table::score::append(work, &new).await?;
    let mut newest = Scored::of(gathered, Cause::Demo, in_force)?;
    newest.computation.computed_at = now;
    if table::score::append(work, &[NewScore::from(&newest)]).await?.is_empty() {
        return Ok(());
    }
    let (score, provisional) = (newest.computation.trust_score(), newest.computation.provisional);
    let standing = Standing { score, provisional, computed_at: now };
    Ok(merchants::set_standing(work, merchant, &standing).await?)
}

/// Returns the current epoch and those a whole number of days before it, none of which began before a time; the newest first.
fn daily_epochs(current: Epoch, since: Timestamp) -> Vec<Epoch> {
    let epochs = (0..).map(|days| Epoch(current.0 - days * STEPS_PER_DAY));
    epochs.take_while(|epoch| epoch.as_of() >= since).collect()
}

/// Returns the score at an epoch of the past, from what is known now.
fn past_score(known: &Evidence, epoch: Epoch) -> Computation {
    let later = delivered_until(&known.days, known.epoch) - delivered_until(&known.days, epoch);
    let delivered_total = known.delivered_total - later;
    let computed = score(&Evidence { epoch, delivered_total, ..known.clone() });
    let figures = computed.figures.iter();
    Computation {
        epoch,
        revision: 0,
        computed_at: epoch.as_of(),
        methodology: MethodologyVersion::V20,
        score: computed.score,
        provisional: computed.provisional,
        basis: Basis::Demo,
        cause: Cause::Demo,
        components: computed.values(),
        figures: figures.filter_map(|(component, it)| Some((*component, (*it)?))).collect(),
        shadow: None,
        evidence_hash: None,
    }
}

/// Returns how many orders were delivered until the end of the last day that counts at an epoch, at most so many of each
/// account as count.
fn delivered_until(days: &[AgentDay], epoch: Epoch) -> i64 {
    let accounts = days.chunk_by(|one, next| one.account == next.account);
    let delivered = accounts.map(|days| {
        let until = days.iter().filter(|row| row.day <= epoch.last_day());
        let orders: i64 = until.map(|row| i64::from(row.counts.delivered)).sum();
        orders.min(ACCOUNT_DELIVERED_MAX)
    });
    delivered.sum()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use crate::{AccountRef, DayCounts};

    #[test]
    fn a_day_has_one_score_and_none_is_before_the_first() {
        let current = Epoch(83_090);
        let since = |days: u64| current.as_of().minus(Duration::from_hours(24 * days));
        assert_eq!(daily_epochs(current, since(2)), [0, 4, 8].map(|it| Epoch(current.0 - it)));
        let late = since(1).plus(Duration::from_secs(1));
        assert_eq!(daily_epochs(current, late), [current]);
        assert_eq!(daily_epochs(current, current.end()), []);
    }

    #[test]
    fn orders_that_were_delivered_later_do_not_count() {
        let epoch = Epoch(83_090);
        let row = |account: u128, day: Day, delivered| AgentDay {
            day,
            account: AccountRef(Uuid::from_u128(account)),
            counts: DayCounts { delivered, ..DayCounts::default() },
        };
        let (last, next) = (epoch.last_day(), Day(epoch.last_day().0 + 1));
        let mut known = Evidence { epoch: Epoch(epoch.0 + 40), ..Evidence::default() };
        known.state.products = 1;
        // Of the first account five count, of the second two on the first day and five on both.
        known.days = vec![row(1, last, 9), row(2, last, 2), row(2, next, 7), row(3, next, 1)];
        assert_eq!(
            (delivered_until(&known.days, epoch), delivered_until(&known.days, known.epoch)),
            (7, 11)
        );
        known.delivered_total = 23;
        assert!(past_score(&known, epoch).provisional);
        assert!(!past_score(&known, Epoch(epoch.0 + 4)).provisional);
    }
}
