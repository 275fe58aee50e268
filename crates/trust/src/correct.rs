//! A job: computes scores outside of the schedule, of stores that were marked: because days that their score counted have
//! changed, or because they have their first products.
//!
//! A correction is another revision in the current epoch. It has the days of now, and the state of the store of the score that it
//! corrects: nobody chooses the moment at which its catalog is looked at by changing a fact.

use std::time::Duration;

use database::{Database, DatabaseError, Snapshot, Work};
use jobs::{JobError, Sweep, SweepRow};
use primitives::{MerchantId, Timestamp};

use crate::gather::{Gathered, evidence_hash, gather};
use crate::recompute::{Scored, recompute, record_one};
use crate::slots::{due_slots, slot_at};
use crate::table::detail::ScoredState;
use crate::{Cause, Day, Epoch, Evidence, MethodologyVersion, TrustError, table};

/// Time between a mark and the computation: changes of a store within it are one correction.
const DELAY: Duration = Duration::from_mins(1);
/// Revisions of an epoch from which none is corrected any more: a merchant that changes a fact each minute would fill the history,
/// which is kept for ever. The next epoch counts the days.
const CORRECTED_REVISIONS_MAX: i32 = 12;

/// Computes the scores of stores that were marked. Scheduled every few seconds.
#[derive(Debug)]
pub struct CorrectScores;

impl Sweep for CorrectScores {
    const NAME: &'static str = "trust.correct";
    /// The methodology in force.
    type Dependencies = MethodologyVersion;

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let now = sql.now().await?;
        Ok(table::recomputation::find_due(sql, now, after, limit).await?)
    }

    async fn process(
        database: Database,
        row: SweepRow,
        in_force: MethodologyVersion,
    ) -> Result<(), JobError> {
        let mut work = Work::for_platform(&database).await?;
        if !table::recomputation::take(&mut work, row.merchant).await? {
            return Ok(work.rollback().await?);
        }
        correct(&mut work, row.merchant, in_force).await?;
        Ok(work.commit().await?)
    }
}

/// Marks stores whose score is computed outside of the schedule.
pub(crate) async fn mark(work: &mut Work, stores: &[MerchantId]) -> sqlx::Result<()> {
    let due_at = work.now().plus(DELAY);
    table::recomputation::mark(work, stores, due_at).await
}

/// Marks a store of which a day has changed, if scores of the current epoch count the day.
pub(crate) async fn mark_changed(
    work: &mut Work,
    merchant: MerchantId,
    day: Day,
) -> sqlx::Result<()> {
    let current = Epoch::of(work.now());
    let is_counted = (current.first_day()..=current.last_day()).contains(&day);
    if is_counted { mark(work, &[merchant]).await } else { Ok(()) }
}

/// Computes the score of a store that was marked, if it has to be.
async fn correct(
    work: &mut Work,
    merchant: MerchantId,
    in_force: MethodologyVersion,
) -> Result<(), TrustError> {
    let (now, current) = (work.now(), Epoch::of(work.now()));
    let states = table::state::states(work.sql(), &[merchant.uuid()], current).await?;
    let scored = states.into_iter().find(|store| store.has_figures && !store.is_closed);
    let Some(store) = scored else { return Ok(()) };
    if !table::backfill::backfill(work.sql()).await?.is_complete {
        return Ok(mark(work, &[merchant]).await?);
    }
    let has_products = store.evidence.state.products > 0;
    if has_products && !table::score::was_scored(work.sql(), merchant).await? {
        recompute(work, merchant, Cause::Requested, in_force).await?;
        return Ok(());
    }
    if table::detail::of_epoch(work.sql(), merchant, current).await?.is_some() {
        return append_correction(work, merchant, in_force).await;
    }
    // Without a score of this epoch the schedule computes one from the days of now, unless it has just read the former ones.
    if is_being_computed(work, merchant, now).await? {
        mark(work, &[merchant]).await?;
    }
    Ok(())
}

/// Appends a revision of the score of the current epoch, if its days have changed.
async fn append_correction(
    work: &mut Work,
    merchant: MerchantId,
    in_force: MethodologyVersion,
) -> Result<(), TrustError> {
    let current = Epoch::of(work.now());
    // Before anything is read, so that no older evidence follows newer one.
    merchants::lock_standings(work, &[merchant]).await?;
    let corrected = table::detail::of_epoch(work.sql(), merchant, current).await?;
    let Some(corrected) = corrected.filter(|it| it.revision < CORRECTED_REVISIONS_MAX) else {
        return Ok(());
    };
    let Some(gathered) = gather(work.sql(), &[merchant], current).await?.pop() else {
        return Ok(());
    };
    let ScoredState { state, evidence_hash: former, .. } = corrected;
    let Evidence { days, delivered_total, .. } = gathered.evidence;
    let evidence = Evidence { days, delivered_total, ..state.into_evidence(current) };
    if former.is_some_and(|former| evidence_hash(&evidence).is_ok_and(|hash| hash == former)) {
        return Ok(());
    }
    let gathered = Gathered { evidence, ..gathered };
    record_one(work, Scored::of(gathered, Cause::Correction, in_force)?).await?;
    Ok(())
}

/// Whether the schedule may be computing the score of a store in the current epoch: its slot is due and not done.
async fn is_being_computed(
    work: &mut Work,
    merchant: MerchantId,
    now: Timestamp,
) -> Result<bool, TrustError> {
    let current = Epoch::of(now);
    let open = table::epoch::open(work.sql(), current, current).await?;
    let may_be = open.first().is_some_and(|open| {
        let position = open.order.position_of(merchant.uuid());
        let is_due = slot_at(position) < due_slots(current, now);
        is_due && open.position.is_none_or(|done| done < position)
    });
    Ok(may_be)
}
