//! A job: computes scores outside of the schedule, of stores that were marked: because days that their score counted have
//! changed, or because they have their first products.
//!
//! A correction is another revision in the current epoch. It has the days of now, and the state of the store of the score that it
//! corrects: nobody chooses the moment at which its catalog is looked at by changing a fact.

use std::time::Duration;

use database::{Database, DatabaseError, Reading, Snapshot, Work};
use jobs::{JobError, Sweep, SweepRow};
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::gather::{Unnamed, gather, one, state_at};
use crate::recompute::{ATTEMPTS_MAX, Scored, append_after, compute_score};
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
        for _ in 0..ATTEMPTS_MAX {
            let Some(due) = Due::read(&database, row.merchant).await? else { return Ok(()) };
            if due.settle(&database, in_force).await? {
                return Ok(());
            }
        }
        Err(TrustError::Busy.into())
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

/// A store that was marked and is due, as of one moment.
struct Due {
    merchant: MerchantId,
    mark: Uuid,
    action: Action,
}

/// What follows from a mark.
enum Action {
    /// There is nothing to correct.
    Nothing,
    /// It is not known yet.
    Wait,
    Score(Box<NextScore>),
}

/// The evidence of a score that may have to be computed.
struct NextScore {
    store: Unnamed,
    cause: Cause,
    /// The newest revision of the current epoch.
    former: Option<i32>,
    /// The hash of the evidence of the score that is corrected: equal evidence has an equal score.
    former_hash: Option<Vec<u8>>,
}

impl Due {
    /// Reads what has to be done; `None` if the store is not due any more.
    async fn read(database: &Database, merchant: MerchantId) -> Result<Option<Self>, TrustError> {
        let reading = Reading::for_platform(database);
        reading
            .run(async |sql| {
                let now = sql.now().await?;
                let mark = table::recomputation::due_mark(sql, merchant, now).await?;
                let Some(mark) = mark else { return Ok(None) };
                let action = action(sql, merchant, now).await?;
                Ok(Some(Self { merchant, mark, action }))
            })
            .await
    }

    /// Does what has to be done, and removes the mark. The score is computed before anything is locked. Returns `false`, and has
    /// done nothing, if another score was appended since the evidence was read.
    async fn settle(
        self,
        database: &Database,
        in_force: MethodologyVersion,
    ) -> Result<bool, TrustError> {
        let Self { merchant, mark, action } = self;
        let (is_known, next) = match action {
            Action::Nothing => (true, None),
            Action::Wait => (false, None),
            Action::Score(next) => (true, next.compute(in_force).await?),
        };
        let mut work = Work::for_platform(database).await?;
        let again_at = work.now().plus(DELAY);
        let is_marked = if is_known {
            table::recomputation::settle(&mut work, merchant, mark, again_at).await?
        } else {
            table::recomputation::postpone(&mut work, merchant, again_at).await?
        };
        let is_done = match next {
            Some((former, scored)) if is_marked => {
                append_after(&mut work, former, scored).await?.is_some()
            }
            // If it is not marked any more, another run has computed the score.
            _ => true,
        };
        if is_done {
            work.commit().await?;
        } else {
            work.rollback().await?;
        }
        Ok(is_done)
    }
}

impl NextScore {
    /// Computes the score, and returns it with the revision that it follows; `None` if nothing has changed.
    async fn compute(
        self,
        in_force: MethodologyVersion,
    ) -> Result<Option<(Option<i32>, Scored)>, TrustError> {
        let Self { store, cause, former, former_hash } = self;
        let scored = compute_score(store, cause, in_force).await?;
        let is_equal = former_hash.is_some() && scored.computation.evidence_hash == former_hash;
        Ok((!is_equal).then_some((former, scored)))
    }
}

/// Returns what has to be done for a store that was marked.
async fn action(
    sql: &mut PgConnection,
    merchant: MerchantId,
    now: Timestamp,
) -> Result<Action, TrustError> {
    let current = Epoch::of(now);
    if !table::epoch::is_scorable(sql, merchant).await? {
        return Ok(Action::Nothing);
    }
    if !table::backfill::backfill(sql).await?.is_complete {
        return Ok(Action::Wait);
    }
    let former = table::score::newest_revision(sql, merchant, current).await?;
    let has_products = state_at(sql, merchant, current).await?.state.products > 0;
    if has_products && !table::score::was_scored(sql, merchant).await? {
        let store = one(gather(sql, &[merchant], current).await?)?;
        let (cause, former_hash) = (Cause::Requested, None);
        return Ok(Action::Score(Box::new(NextScore { store, cause, former, former_hash })));
    }
    let Some(corrected) = table::detail::of_epoch(sql, merchant, current).await? else {
        // Without a score of this epoch the schedule computes one from the days of now, unless it has just read the former ones.
        let is_being_computed = is_being_computed(sql, merchant, now).await?;
        return Ok(if is_being_computed { Action::Wait } else { Action::Nothing });
    };
    if corrected.revision >= CORRECTED_REVISIONS_MAX {
        return Ok(Action::Nothing);
    }
    let ScoredState { state, evidence_hash: former_hash, .. } = corrected;
    let state = state.into_evidence(current);
    let store = one(gather(sql, &[merchant], current).await?)?;
    let store = store.with_evidence(|Evidence { days, delivered_total, .. }| Evidence {
        days,
        delivered_total,
        ..state
    });
    let cause = Cause::Correction;
    Ok(Action::Score(Box::new(NextScore { store, cause, former, former_hash })))
}

/// Whether the schedule may be computing the score of a store in the current epoch: its slot is due and not done.
async fn is_being_computed(
    sql: &mut PgConnection,
    merchant: MerchantId,
    now: Timestamp,
) -> Result<bool, TrustError> {
    let current = Epoch::of(now);
    let open = table::epoch::open(sql, current, current).await?;
    let may_be = open.first().is_some_and(|open| {
        let position = open.order.position_of(merchant.uuid());
        let is_due = slot_at(position) < due_slots(current, now);
        is_due && open.position.is_none_or(|done| done < position)
    });
    Ok(may_be)
}
