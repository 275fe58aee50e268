//! Computes scores of stores in batches, and those that somebody requests.

use std::collections::VecDeque;
use std::time::Instant;

use database::{Database, Reading, Work};
use jobs::JobContext;
use merchants::{StoreError, Unavailability};
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::backfill::backfill;
use crate::effects::{self, Effects};
use crate::gather::{Gathered, Unnamed, evidence_hash, gather, gather_part, one};
use crate::reason::{Reason, reasons, reasons_v41};
use crate::schedule::ensure_partitions;
use crate::slots::StoreOrder;
use crate::table::detail::StoredState;
use crate::table::score::{Appended, NewScore};
use crate::v41::{V41Score, score_v41};
use crate::{
    Basis, Cause, Computation, Computed, Epoch, FailureStage, MethodologyVersion, Shadow,
    TrustError, failure, score, table,
};

/// Stores scored in one transaction.
const BATCH: i64 = 500;
/// Batches computed concurrently.
const CONCURRENCY: usize = 4;
/// Attempts to append a requested score while others do.
pub(crate) const ATTEMPTS_MAX: u32 = 5;
/// Batches of a requested run between two lines in the log.
const BATCHES_PER_LINE: u64 = 20;

/// Computes the score of a store again, as a new revision in the current epoch, in a platform transaction. A revision is
/// appended also if it equals the former one: it says that and when the score was computed again. Returns `NoFigures` for a
/// store whose catalog figures were never computed, `NotCounted` for one whose facts could not be counted, and `Suspended` for one
/// that an operator closed. [`recompute_store`](crate::recompute_store()) holds no transaction while it computes.
pub async fn recompute(
    work: &mut Work,
    merchant: MerchantId,
    cause: Cause,
    in_force: MethodologyVersion,
) -> Result<Computation, TrustError> {
    let epoch = Epoch::of(work.now());
    // Before the evidence is read, so that no older evidence follows newer one.
    merchants::lock_standings(work, &[merchant]).await?;
    require_scorable(work.sql(), merchant, epoch).await?;
    let gathered = one(gather(work.sql(), &[merchant], epoch).await?)?.named();
    record_one(work, Scored::of(gathered, cause, in_force)?).await
}

/// Returns an error if a store cannot be scored, by the rule of the schedule.
pub(crate) async fn require_scorable(
    sql: &mut PgConnection,
    merchant: MerchantId,
    epoch: Epoch,
) -> Result<(), TrustError> {
    if table::epoch::is_scorable(sql, merchant).await? {
        return Ok(());
    }
    let state = table::state::states(sql, &[merchant.uuid()], epoch).await?.pop();
    Err(match state {
        None => TrustError::Store(StoreError::NotFound),
        Some(store) if store.is_closed => {
            TrustError::Store(StoreError::Suspended(Unavailability::Closed))
        }
        Some(store) if !store.has_figures => TrustError::NoFigures,
        Some(_) => TrustError::NotCounted,
    })
}

/// Computes the score of a store by both methodologies, while no transaction is open.
pub(crate) async fn compute_score(
    store: Unnamed,
    cause: Cause,
    in_force: MethodologyVersion,
) -> Result<Scored, TrustError> {
    let computed =
        tokio::task::spawn_blocking(move || Scored::of(store.named(), cause, in_force)).await;
    computed.map_err(|error| TrustError::Defect(error.to_string()))?
}

/// Appends a score that was computed before, as the next revision of its epoch, with its effects. Returns `None` if that is not the
/// current one any more, or if `former` is not its newest revision: another computation, perhaps from newer evidence, has set
/// the standing meanwhile, and the caller reads the evidence again.
pub(crate) async fn append_after(
    work: &mut Work,
    former: Option<i32>,
    scored: Scored,
) -> Result<Option<Computation>, TrustError> {
    let (merchant, epoch) = (scored.merchant, scored.computation.epoch);
    merchants::lock_standings(work, &[merchant]).await?;
    let newest = table::score::newest_revision(work.sql(), merchant, epoch).await?;
    if epoch != Epoch::of(work.now()) || newest != former {
        return Ok(None);
    }
    record_one(work, scored).await.map(Some)
}

/// Appends a score as the next revision of its epoch, with its effects.
async fn record_one(work: &mut Work, scored: Scored) -> Result<Computation, TrustError> {
    let cause = scored.computation.cause;
    let mut scored = [scored];
    for _ in 0..ATTEMPTS_MAX {
        let (appended, effects) = record(work, &mut scored).await?;
        if let [one] = appended.as_slice() {
            count(cause, &appended, effects);
            let [Scored { computation, .. }] = scored;
            return Ok(Computation { revision: one.revision, ..computation });
        }
    }
    Err(TrustError::Busy)
}

/// The result of computing all scores again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recomputed {
    pub scores: u64,
    /// Stores whose score could not be computed.
    pub failed: Vec<MerchantId>,
}

/// Computes the scores of all stores with catalog figures again, each as a new revision in the current epoch. A store that fails
/// stops no other.
pub async fn recompute_all(
    database: &Database,
    in_force: MethodologyVersion,
) -> Result<Recomputed, TrustError> {
    backfill(database, None, None).await?;
    let reading = Reading::for_platform(database);
    let now = reading.run(async |sql| -> Result<_, TrustError> { Ok(sql.now().await?) }).await?;
    let (epoch, cause) = (Epoch::of(now), Cause::Requested);
    ensure_partitions(database, epoch, epoch).await?;
    let run = Run { database: database.clone(), job: None, epoch, cause, in_force };
    let (order, last) = (StoreOrder::BY_ID, Uuid::max());
    let range = StoreRange { order, after: None, last, existed_at: now };
    let Computing { scores, failed, .. } = run.compute(range, None).await?;
    Ok(Recomputed { scores, failed })
}

/// Returns stores after one, in the order of their ids, at most 500: for commands that go through all of them.
pub async fn stores_after(
    reading: &Reading,
    after: Option<MerchantId>,
) -> Result<Vec<MerchantId>, TrustError> {
    let after = after.map(MerchantId::uuid);
    reading.run(async |sql| Ok(table::epoch::all_stores(sql, after, BATCH).await?)).await
}

/// Stores by their position in the order of an epoch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreRange {
    pub(crate) order: StoreOrder,
    /// The position after which the range begins; `None`: with the first one.
    pub(crate) after: Option<Uuid>,
    /// The position with which it ends.
    pub(crate) last: Uuid,
    /// Stores that began later are left out.
    pub(crate) existed_at: Timestamp,
}

/// The result of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Computing {
    pub(crate) scores: u64,
    pub(crate) failed: Vec<MerchantId>,
    /// Whether all stores of the range have a score.
    pub(crate) is_complete: bool,
}

/// What all computations of a run have in common.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) database: Database,
    /// The job that runs; `None` for a run of its own.
    pub(crate) job: Option<JobContext>,
    pub(crate) epoch: Epoch,
    pub(crate) cause: Cause,
    pub(crate) in_force: MethodologyVersion,
}

/// The scores of a batch.
#[derive(Debug, Default)]
struct BatchScores {
    number: u64,
    failed: Vec<MerchantId>,
}

/// A batch that is computed, and the position up to which all stores are done with it and all before it.
struct Batch {
    end: Uuid,
    task: JoinHandle<Result<BatchScores, TrustError>>,
}

impl Run {
    /// Computes the scores of a range of stores, several batches at a time, and records the progress in their order.
    pub(crate) async fn compute(
        &self,
        mut range: StoreRange,
        until: Option<Instant>,
    ) -> Result<Computing, TrustError> {
        let (mut computing, mut in_flight, mut batches) =
            (Computing::default(), VecDeque::new(), 0);
        loop {
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            while !is_over && !computing.is_complete && in_flight.len() < CONCURRENCY {
                match self.next_batch(range).await? {
                    Some((stores, end)) => {
                        range.after = Some(end);
                        let task = tokio::spawn(self.clone().score_each(stores));
                        in_flight.push_back(Batch { end, task });
                    }
                    None => computing.is_complete = true,
                }
            }
            let Some(Batch { end, task }) = in_flight.pop_front() else { break };
            let ended = task.await.map_err(|error| TrustError::Defect(error.to_string()))?;
            let BatchScores { number, failed } = ended?;
            computing.scores += number;
            computing.failed.extend(failed);
            self.advance(end).await?;
            batches += 1;
            if self.cause != Cause::Scheduled && batches % BATCHES_PER_LINE == 0 {
                let (scores, failed) = (computing.scores, computing.failed.len());
                tracing::info!(scores, failed, "scores are computed again");
            }
        }
        Ok(computing)
    }

    /// Returns the next stores of a range, and the position up to which they are all; `None` at the end of the range.
    async fn next_batch(
        &self,
        range: StoreRange,
    ) -> Result<Option<(Vec<MerchantId>, Uuid)>, TrustError> {
        let StoreRange { order, after, last, existed_at } = range;
        let Some(segment) = order.segment(after, last) else { return Ok(None) };
        let mut sql = Reading::for_platform(&self.database).open().await?;
        let existed_at = Some(existed_at);
        let stores = table::epoch::scorable_stores(&mut sql, segment, existed_at, BATCH).await?;
        sql.close().await?;
        let is_full = i64::try_from(stores.len()).unwrap_or(BATCH) >= BATCH;
        let end = stores.last().filter(|_| is_full).map(|last| order.position_of(last.uuid()));
        Ok(Some((stores, end.unwrap_or(segment.end))))
    }

    /// Records that all stores up to a position are done, and that the job made progress: a worker that is killed in each of its
    /// runs does not make it suspect. A requested computation is no progress of the schedule.
    async fn advance(&self, position: Uuid) -> Result<(), TrustError> {
        if self.cause != Cause::Scheduled {
            return Ok(());
        }
        let mut work = match &self.job {
            Some(job) => job.work_for_platform().await?,
            None => Work::for_platform(&self.database).await?,
        };
        table::epoch::advance(&mut work, self.epoch, position).await?;
        match &self.job {
            Some(job) => Ok(job.advance(work).await?),
            None => Ok(work.commit().await?),
        }
    }

    /// Scores stores in one transaction. If that fails, in two of half as many: a store that fails, alone and again, is
    /// recorded as a failure and left out, and stops no other.
    async fn score_each(self, stores: Vec<MerchantId>) -> Result<BatchScores, TrustError> {
        let (mut batch, mut is_repeated) = (BatchScores::default(), false);
        let mut parts = vec![stores];
        while let Some(part) = parts.pop() {
            // In a task of its own, so that a panic is an error of these stores.
            let task = tokio::spawn(self.clone().score(part.clone())).await;
            let result = task.unwrap_or_else(|error| Err(TrustError::Defect(error.to_string())));
            let error = match result {
                Ok(number) => {
                    (batch.number, is_repeated) = (batch.number + number, false);
                    continue;
                }
                Err(error) if error.is_outage() => return Err(error),
                Err(error) => error,
            };
            match part.as_slice() {
                [merchant] if is_repeated => {
                    is_repeated = false;
                    let stage = FailureStage::Score;
                    failure::record(&self.database, *merchant, stage, &error).await?;
                    batch.failed.push(*merchant);
                }
                [_] => {
                    is_repeated = true;
                    parts.push(part);
                }
                _ => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second.to_vec(), first.to_vec()]);
                }
            }
        }
        Ok(batch)
    }

    /// Scores stores in one transaction. Their evidence is read before, a part of it at a time, each as of one moment. Nothing is
    /// open while scores are computed: PostgreSQL ends transactions that are idle for long, which would look like an outage.
    async fn score(self, stores: Vec<MerchantId>) -> Result<u64, TrustError> {
        if stores.is_empty() {
            return Ok(0);
        }
        let Self { database, epoch, cause, in_force, .. } = self;
        let (mut scored, mut rest) = (Vec::with_capacity(stores.len()), stores.as_slice());
        while !rest.is_empty() {
            let mut sql = Reading::for_platform(&database).open().await?;
            let (part, remaining) = gather_part(&mut sql, rest, epoch).await?;
            sql.close().await?;
            rest = remaining;
            let computed = tokio::task::spawn_blocking(move || {
                let scored = part.into_iter().map(|one| Scored::of(one.named(), cause, in_force));
                scored.collect::<Result<Vec<Scored>, TrustError>>()
            });
            let computed = computed.await.map_err(|error| TrustError::Defect(error.to_string()))?;
            scored.extend(computed?);
        }
        let mut work = Work::for_platform(&database).await?;
        let (appended, effects) = record(&mut work, &mut scored).await?;
        work.commit().await?;
        count(cause, &appended, effects);
        Ok(u64::try_from(appended.len()).unwrap_or(u64::MAX))
    }
}

/// A score before it is stored.
pub(crate) struct Scored {
    pub(crate) merchant: MerchantId,
    pub(crate) slug: String,
    /// With the time at which it is stored, and the revision 0 until then.
    pub(crate) computation: Computation,
    computed: Computed,
    v41: V41Score,
    state: StoredState,
}

impl Scored {
    /// Computes the score of a store by both methodologies.
    pub(crate) fn of(
        gathered: Gathered,
        cause: Cause,
        in_force: MethodologyVersion,
    ) -> Result<Self, TrustError> {
        let Gathered { merchant, slug, evidence } = gathered;
        let (computed, v41) = (score(&evidence), score_v41(&evidence));
        let figures = computed.figures.iter();
        let computation = Computation {
            epoch: evidence.epoch,
            revision: 0,
            computed_at: evidence.epoch.as_of(),
            methodology: in_force,
            score: computed.score,
            provisional: computed.provisional,
            basis: if evidence.v41.is_synthetic { Basis::Demo } else { Basis::Computed },
            cause,
            components: computed.values(),
            figures: figures.filter_map(|(component, it)| Some((*component, (*it)?))).collect(),
            shadow: Some(Shadow::from(&v41)),
            evidence_hash: Some(evidence_hash(&evidence)?),
        };
        let state = StoredState::of(&evidence);
        Ok(Self { merchant, slug, computation, computed, v41, state })
    }

    /// Returns what lowers the score in force, the largest part first.
    pub(crate) fn reasons(&self) -> Vec<Reason> {
        match self.computation.methodology {
            MethodologyVersion::V20 => reasons(&self.computed),
            MethodologyVersion::V41 => reasons_v41(&self.v41),
        }
    }
}

/// Appends scores of one epoch, and applies those that are the newest of their store, if the epoch is the current one or the
/// one before. Returns those that were appended. Scheduled ones are the first of their epoch, all others the next revision.
///
/// Standings are locked before scores are appended: who appends a newer score of a store waits, or its score is visible here.
async fn record(
    work: &mut Work,
    scored: &mut [Scored],
) -> Result<(Vec<Appended>, Effects), TrustError> {
    let now = work.now();
    for one in scored.iter_mut() {
        one.computation.computed_at = now;
    }
    let Some(first) = scored.first().map(|one| &one.computation) else {
        return Ok((Vec::new(), Effects::default()));
    };
    let (epoch, is_scheduled) = (first.epoch, first.cause == Cause::Scheduled);
    let is_recent = epoch >= Epoch::of(now).previous();
    if is_recent {
        let stores: Vec<MerchantId> = scored.iter().map(|one| one.merchant).collect();
        merchants::lock_standings(work, &stores).await?;
    }
    let new: Vec<NewScore<'_>> = scored.iter().map(NewScore::from).collect();
    let appended = if is_scheduled {
        table::score::append(work, &new).await?
    } else {
        table::score::append_revisions(work, &new).await?
    };
    let stores: Vec<MerchantId> = appended.iter().map(|one| one.merchant).collect();
    table::failure::remove_scored(work, &stores, epoch).await?;
    // The last slots of an epoch are computed in the next one if the schedule is a little late.
    let mut applied = appended.clone();
    applied.retain(|one| one.is_newest && is_recent);
    if applied.is_empty() {
        return Ok((appended, Effects::default()));
    }
    let effects = effects::apply(work, scored, &applied).await?;
    Ok((appended, effects))
}

impl<'new> From<&'new Scored> for NewScore<'new> {
    fn from(scored: &'new Scored) -> Self {
        let Scored { merchant, computation, state, .. } = scored;
        Self { merchant: *merchant, computation, state: Some(state) }
    }
}

/// Counts scores that were stored, and their effects.
fn count(cause: Cause, appended: &[Appended], effects: Effects) {
    let number = u64::try_from(appended.len()).unwrap_or(u64::MAX);
    metrics::counter!("souk_trust_scores_total", "cause" => cause.as_str()).increment(number);
    let changes = [("suspended", effects.suspended), ("reinstated", effects.reinstated)];
    for (change, number) in changes {
        metrics::counter!("souk_trust_suspensions_total", "change" => change).increment(number);
    }
    metrics::counter!("souk_trust_alerts_total").increment(effects.alerts);
}
