//! Computes scores: those that are due, of all stores in the order of their ids, and those that somebody requests.
//!
//! A score has an epoch and a revision, and is appended once: a run that is killed, or two at the same time, append what is
//! missing and nothing twice. `trust_epoch` says up to which id an epoch is done. Stores whose catalog figures were never
//! computed are left out: nothing is known about them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use database::{Database, Reading, Work};
use jobs::{Job, JobContext, JobError, Outcome, Scheduled};
use primitives::{MerchantId, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::effects::{self, Effects};
use crate::gather::{Gathered, evidence_hash, gather, one};
use crate::reason::{Reason, reasons, reasons_v41};
use crate::slots::{SLOTS, due_slots, last_id};
use crate::table::detail::StoredState;
use crate::table::epoch::OpenEpoch;
use crate::table::score::{Appended, NewScore};
use crate::v41::{V41Score, score_v41};
use crate::{
    Basis, Cause, Computation, Computed, Epoch, MethodologyVersion, Shadow, TrustError, score,
    table,
};

/// Stores scored in one transaction.
const BATCH: i64 = 500;
/// Batches computed concurrently.
const CONCURRENCY: usize = 4;
/// Longest time of a run, after which it starts no more batches: a worker that stops waits for it.
const RUN_MAX: Duration = Duration::from_secs(20);
/// Epochs before the current one that are still computed: seven days.
pub(crate) const LATE_EPOCHS_MAX: i64 = 28;
/// Epochs for which partitions exist ahead: a year.
const EPOCHS_AHEAD: i64 = 4 * 365;
/// Attempts to append a requested score while others do.
const ATTEMPTS_MAX: u32 = 5;

/// Computes the scores that are due. Scheduled every few seconds; late epochs come first.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecomputeScores {}

impl Scheduled for RecomputeScores {
    fn for_epoch(_: jobs::Epoch) -> Self {
        Self {}
    }
}

impl Job for RecomputeScores {
    const NAME: &'static str = "trust.score";
    /// The methodology in force.
    type Dependencies = MethodologyVersion;

    async fn run(
        self,
        context: JobContext,
        in_force: MethodologyVersion,
    ) -> Result<Outcome, JobError> {
        let database = context.database().clone();
        compute_open(database, Some(context), in_force).await?;
        Ok(Outcome::DONE)
    }
}

/// Computes the scores that are due and not computed, the oldest epoch first, for some seconds. Returns whether none is
/// left. The job does the same; this is for tests and measurements.
pub async fn compute_due(
    database: &Database,
    in_force: MethodologyVersion,
) -> Result<bool, TrustError> {
    compute_open(database.clone(), None, in_force).await
}

async fn compute_open(
    database: Database,
    job: Option<JobContext>,
    in_force: MethodologyVersion,
) -> Result<bool, TrustError> {
    let until = Instant::now() + RUN_MAX;
    let (now, open) = open_epochs(&database).await?;
    for OpenEpoch { epoch, position } in open {
        let due = due_slots(epoch, now);
        if due == 0 {
            continue;
        }
        let last = last_id(due);
        if position.is_some_and(|position| position >= last) {
            continue;
        }
        let (database, job, cause) = (database.clone(), job.clone(), Cause::Scheduled);
        let run = Run { database, job, epoch, cause, in_force };
        let range = IdRange { after: position, last, existed_at: epoch.as_of() };
        if !run.compute(range, Some(until)).await?.is_complete {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Computes the score of a store again, as a new revision in the current epoch, in a platform transaction. A revision is
/// appended also if it equals the former one: it says that and when the score was computed again. Returns `NoFigures` for a
/// store whose catalog figures were never computed.
pub async fn recompute(
    work: &mut Work,
    merchant: MerchantId,
    cause: Cause,
    in_force: MethodologyVersion,
) -> Result<Computation, TrustError> {
    let epoch = Epoch::of(work.now());
    let gathered = one(gather(work.sql(), &[merchant], epoch).await?)?;
    if !gathered.has_figures {
        return Err(TrustError::NoFigures);
    }
    let mut scored = [Scored::of(gathered, cause, in_force)?];
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

/// Computes the scores of all stores with catalog figures again, each as a new revision in the current epoch. Returns their
/// number.
pub async fn recompute_all(
    database: &Database,
    in_force: MethodologyVersion,
) -> Result<u64, TrustError> {
    let (now, _) = open_epochs(database).await?;
    let (epoch, cause) = (Epoch::of(now), Cause::Requested);
    let run = Run { database: database.clone(), job: None, epoch, cause, in_force };
    let range = IdRange { after: None, last: last_id(SLOTS), existed_at: now };
    Ok(run.compute(range, None).await?.scores)
}

/// Returns stores after one, in the order of their ids, at most 500: for commands that go through all of them.
pub async fn stores_after(
    reading: &Reading,
    after: Option<MerchantId>,
) -> Result<Vec<MerchantId>, TrustError> {
    let after = after.map(MerchantId::uuid);
    reading.run(async |sql| Ok(table::epoch::all_stores(sql, after, BATCH).await?)).await
}

/// Returns the time, and the epochs that are not done, the oldest first. Creates what they need.
async fn open_epochs(database: &Database) -> Result<(Timestamp, Vec<OpenEpoch>), TrustError> {
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    let current = Epoch::of(now);
    let oldest = Epoch(current.0 - LATE_EPOCHS_MAX);
    table::epoch::add(&mut work, oldest, current).await?;
    let open = table::epoch::open(work.sql(), oldest).await?;
    let missing = table::score::missing_partitions(
        work.sql(),
        open.first().map_or(current, |open| open.epoch),
        Epoch(current.0 + EPOCHS_AHEAD),
    );
    let missing = missing.await?;
    work.commit().await?;
    for partition in missing {
        let created = create_partition(database, partition).await;
        // One that is needed later is created later.
        if partition <= table::score::partition_of(current) {
            created?;
        } else if let Err(error) = created {
            tracing::warn!(partition, %error, "a partition of scores cannot be created; retrying in the next run");
            break;
        }
    }
    Ok((now, open))
}

async fn create_partition(database: &Database, partition: i64) -> Result<(), TrustError> {
    let mut work = Work::for_platform(database).await?;
    table::score::create_partition(&mut work, partition).await?;
    Ok(work.commit().await?)
}

/// Stores by their ids.
#[derive(Debug, Clone, Copy)]
struct IdRange {
    after: Option<Uuid>,
    last: Uuid,
    /// Stores that began later are left out.
    existed_at: Timestamp,
}

/// The result of a run.
#[derive(Debug, Clone, Copy)]
struct Computing {
    scores: u64,
    /// Whether all stores of the range have a score.
    is_complete: bool,
}

/// What all computations of a run have in common.
#[derive(Clone)]
struct Run {
    database: Database,
    /// The job that runs; `None` for a run of its own.
    job: Option<JobContext>,
    epoch: Epoch,
    cause: Cause,
    in_force: MethodologyVersion,
}

/// A batch that is computed, and the largest id that is done with it and all before it.
struct Batch {
    end: Uuid,
    task: JoinHandle<Result<u64, TrustError>>,
}

impl Run {
    /// Computes the scores of a range of stores, several batches at a time, and records the progress in the order of ids.
    async fn compute(
        &self,
        mut range: IdRange,
        until: Option<Instant>,
    ) -> Result<Computing, TrustError> {
        let (mut in_flight, mut scores, mut has_more) = (VecDeque::new(), 0, true);
        loop {
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            while has_more && !is_over && in_flight.len() < CONCURRENCY {
                let stores = self.stores(range).await?;
                has_more = i64::try_from(stores.len()).unwrap_or(BATCH) >= BATCH;
                let last = stores.last().filter(|_| has_more).map(|last| last.uuid());
                let end = last.unwrap_or(range.last);
                range.after = Some(end);
                let task = tokio::spawn(self.clone().score_each(stores));
                in_flight.push_back(Batch { end, task });
            }
            let Some(Batch { end, task }) = in_flight.pop_front() else { break };
            scores += task.await.map_err(|error| TrustError::Defect(error.to_string()))??;
            self.advance(end).await?;
        }
        Ok(Computing { scores, is_complete: !has_more })
    }

    async fn stores(&self, range: IdRange) -> Result<Vec<MerchantId>, TrustError> {
        let IdRange { after, last, existed_at } = range;
        let mut sql = Reading::for_platform(&self.database).open().await?;
        let stores = table::epoch::stores(&mut sql, (after, last), existed_at, BATCH).await?;
        sql.close().await?;
        Ok(stores)
    }

    /// Records that all stores up to an id are done, and that the job made progress: a worker that is killed in each of its
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
    /// logged and left out, and stops no other. Returns the number of scores.
    async fn score_each(self, stores: Vec<MerchantId>) -> Result<u64, TrustError> {
        let (mut scores, mut is_repeated) = (0, false);
        let mut parts = vec![stores];
        while let Some(part) = parts.pop() {
            // In a task of its own, so that a panic is an error of these stores.
            let task = tokio::spawn(self.clone().score(part.clone())).await;
            let result = task.unwrap_or_else(|error| Err(TrustError::Defect(error.to_string())));
            let error = match result {
                Ok(number) => {
                    (scores, is_repeated) = (scores + number, false);
                    continue;
                }
                Err(error) if error.is_outage() => return Err(error),
                Err(error) => error,
            };
            match part.as_slice() {
                [merchant] if is_repeated => {
                    is_repeated = false;
                    metrics::counter!("souk_trust_failures_total").increment(1);
                    tracing::error!(%merchant, epoch = self.epoch.0, %error, "a score cannot be computed; the others are");
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
        Ok(scores)
    }

    /// Scores stores in one transaction. Their evidence is read before, as of one moment.
    async fn score(self, stores: Vec<MerchantId>) -> Result<u64, TrustError> {
        if stores.is_empty() {
            return Ok(0);
        }
        let Self { database, epoch, cause, in_force, .. } = self;
        let mut sql = Reading::for_platform(&database).open().await?;
        let gathered = gather(&mut sql, &stores, epoch).await?;
        sql.close().await?;
        let computed = tokio::task::spawn_blocking(move || {
            let scored = gathered.into_iter().map(|one| Scored::of(one, cause, in_force));
            scored.collect::<Result<Vec<Scored>, TrustError>>()
        });
        let computed = computed.await.map_err(|error| TrustError::Defect(error.to_string()))?;
        let mut scored = computed?;
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
        let Gathered { merchant, slug, evidence, .. } = gathered;
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
    let is_recent = first.epoch >= Epoch::of(now).previous();
    let is_scheduled = first.cause == Cause::Scheduled;
    let new: Vec<NewScore<'_>> = scored.iter().map(NewScore::from).collect();
    let appended = if is_scheduled {
        table::score::append(work, &new).await?
    } else {
        table::score::append_revisions(work, &new).await?
    };
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
