//! One run of a sweep.

use std::collections::HashMap;
use std::time::Duration;

use database::{Database, DatabaseError, Reading, Work};
use primitives::Timestamp;
use tokio::task::{Id, JoinSet};
use uuid::Uuid;

use crate::sweep::RowFailure;
use crate::{JobError, QueueError, Sweep, SweepRow, table};

/// Rows read at a time.
const PAGE_SIZE: i64 = 200;
/// Rows processed concurrently, so that a row that waits does not delay the others.
const CONCURRENCY: usize = 4;
/// Longest time for one row.
const ROW_TIMEOUT: Duration = Duration::from_secs(20);
/// Rows that failed before and are retried in one run, after all others.
const RETRIES_MAX: usize = 200;

/// Processes all due rows. Fails only if rows cannot be read or failures cannot be recorded.
pub(super) async fn run<S: Sweep>(
    database: &Database,
    dependencies: S::Dependencies,
) -> Result<(), JobError> {
    let reading = Reading::for_platform(database);
    let started_at = reading.run(async |sql| sql.now().await).await?;
    let in_flight = InFlight { tasks: JoinSet::new(), rows: HashMap::new() };
    let mut run = Run::<S> { database, dependencies, started_at, retries: Vec::new(), in_flight };
    let mut after = None;
    loop {
        let rows: Vec<SweepRow> =
            reading.run(async |sql| S::find(sql, after, PAGE_SIZE).await).await?;
        check_order(after, &rows)?;
        run.start_page(&reading, &rows).await?;
        after = rows.last().copied();
        if i64::try_from(rows.len()).unwrap_or(i64::MAX) < PAGE_SIZE {
            break;
        }
    }
    run.finish().await
}

/// Rejects rows that are not in order after the given one: the sweep would process them again and again.
fn check_order(after: Option<SweepRow>, rows: &[SweepRow]) -> Result<(), JobError> {
    let positions: Vec<_> = after.iter().chain(rows).map(SweepRow::position).collect();
    if positions.is_sorted_by(|one, next| one < next) {
        return Ok(());
    }
    Err(JobError::Failed(String::from("the rows of the sweep are not ordered by due_at and id")))
}

struct Run<'run, S: Sweep> {
    database: &'run Database,
    dependencies: S::Dependencies,
    started_at: Timestamp,
    /// Rows that failed before and may be retried now.
    retries: Vec<(SweepRow, RowFailure)>,
    in_flight: InFlight,
}

/// The rows that are being processed.
struct InFlight {
    tasks: JoinSet<Result<(), JobError>>,
    rows: HashMap<Id, (SweepRow, Option<RowFailure>)>,
}

impl<S: Sweep> Run<'_, S> {
    /// Starts the rows of a page that never failed; of the others, remembers those that may be retried.
    async fn start_page(&mut self, reading: &Reading, rows: &[SweepRow]) -> Result<(), JobError> {
        let failures = self.failures(reading, rows).await?;
        for row in rows {
            match failures.get(&row.id) {
                None => self.start(*row, None).await?,
                Some(failure) if failure.retry_at <= self.started_at => {
                    if self.retries.len() < RETRIES_MAX {
                        self.retries.push((*row, *failure));
                    }
                }
                Some(_) => count::<S>("waiting"),
            }
        }
        Ok(())
    }

    async fn failures(
        &self,
        reading: &Reading,
        rows: &[SweepRow],
    ) -> Result<HashMap<Uuid, RowFailure>, DatabaseError> {
        if rows.is_empty() {
            return Ok(HashMap::new());
        }
        let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
        reading.run(async |sql| Ok(table::row_failures(sql, S::NAME, &ids).await?)).await
    }

    /// Retries rows that failed before, waits for all rows, and forgets failures of rows that are no longer due.
    async fn finish(mut self) -> Result<(), JobError> {
        let is_complete = self.retries.len() < RETRIES_MAX;
        for (row, failure) in std::mem::take(&mut self.retries) {
            self.start(row, Some(failure)).await?;
        }
        while self.wait_for_one().await? {}
        if is_complete {
            let mut work = Work::for_platform(self.database).await?;
            table::delete_row_failures_before(&mut work, S::NAME, self.started_at).await?;
            work.commit().await?;
        }
        Ok(())
    }

    /// Starts a row in a task of its own, so that a panic is an error of this row.
    async fn start(&mut self, row: SweepRow, failure: Option<RowFailure>) -> Result<(), JobError> {
        while self.in_flight.tasks.len() >= CONCURRENCY {
            self.wait_for_one().await?;
        }
        let process = S::process(self.database.clone(), row, self.dependencies.clone());
        let task = self.in_flight.tasks.spawn(async move {
            tokio::time::timeout(ROW_TIMEOUT, process).await.unwrap_or_else(|_| {
                Err(JobError::Failed(format!("no result after {ROW_TIMEOUT:?}")))
            })
        });
        self.in_flight.rows.insert(task.id(), (row, failure));
        Ok(())
    }

    /// Waits for one row and records its result. Returns `false` if none is in flight.
    async fn wait_for_one(&mut self) -> Result<bool, JobError> {
        let Some(joined) = self.in_flight.tasks.join_next_with_id().await else {
            return Ok(false);
        };
        let (task, result) = match joined {
            Ok((task, result)) => (task, result),
            Err(error) => {
                (error.id(), Err(JobError::Failed(String::from("processing the row panicked"))))
            }
        };
        let Some((row, failure)) = self.in_flight.rows.remove(&task) else { return Ok(true) };
        match result {
            Ok(()) => {
                count::<S>("done");
                if failure.is_some() {
                    self.forget_failure(row).await?;
                }
            }
            // Also if the database seems to be unavailable: this row may be the cause. If it is unavailable for all,
            // the failure cannot be recorded, which ends the run.
            Err(error) => {
                count::<S>("failed");
                self.record_failure(row, failure, &error).await?;
            }
        }
        Ok(true)
    }

    async fn record_failure(
        &self,
        row: SweepRow,
        previous: Option<RowFailure>,
        error: &JobError,
    ) -> Result<(), QueueError> {
        let text = error.text();
        let mut work = Work::for_platform(self.database).await?;
        let failure = RowFailure::next(previous, work.now());
        table::put_row_failure(&mut work, S::NAME, row, failure, &text).await?;
        work.commit().await?;
        tracing::error!(
            sweep = S::NAME, merchant = %row.merchant, row = %row.id, attempts = failure.attempts,
            retry_at = %failure.retry_at, error = text,
            "a row could not be processed; it is retried later"
        );
        Ok(())
    }

    async fn forget_failure(&self, row: SweepRow) -> Result<(), QueueError> {
        let mut work = Work::for_platform(self.database).await?;
        table::delete_row_failure(&mut work, S::NAME, row.id).await?;
        work.commit().await?;
        Ok(())
    }
}

fn count<S: Sweep>(outcome: &'static str) {
    metrics::counter!("souk_sweep_rows_total", "sweep" => S::NAME, "outcome" => outcome)
        .increment(1);
}
