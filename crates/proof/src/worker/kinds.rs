//! The jobs that worker processes run.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use jobs::{Job, JobContext, JobError, Outcome};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::worker::PausePoint;

/// How long a run waits to be paused. The parent needs a few milliseconds to send the signal.
const PAUSE_EXPECTED: Duration = Duration::from_millis(500);

/// Inserts a row into `effect`, exactly once if the queue works as designed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Effect {
    pub(crate) first_attempt: FirstAttempt,
    pub(crate) sleep_ms: u64,
}

/// How the first attempt ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FirstAttempt {
    Succeeds,
    Fails,
    Panics,
}

/// Aborts its worker process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Poison {}

/// The worker that runs an [`Effect`].
#[derive(Clone)]
pub(crate) struct Dependencies {
    worker: Arc<str>,
    pause: Option<PausePoint>,
    runs: Arc<AtomicI32>,
}

impl Dependencies {
    pub(crate) fn new(worker: String, pause: Option<PausePoint>) -> Self {
        Self { worker: worker.into(), pause, runs: Arc::default() }
    }
}

/// Creates the table of effects. It has no primary key, so that a second effect of a job is visible.
pub(crate) async fn make_effect_table(sql: &mut PgConnection) -> sqlx::Result<()> {
    let statements =
        "CREATE TABLE effect (job uuid NOT NULL, worker text NOT NULL, run integer NOT NULL);
                      GRANT INSERT ON effect TO souk_platform";
    sqlx::raw_sql(statements).execute(sql).await?;
    Ok(())
}

impl Job for Effect {
    const NAME: &'static str = "effect";
    type Dependencies = Dependencies;

    async fn run(
        self,
        context: JobContext,
        dependencies: Dependencies,
    ) -> Result<Outcome, JobError> {
        let number = dependencies.runs.fetch_add(1, Ordering::SeqCst) + 1;
        let pause = dependencies.pause.filter(|_| number == 1);
        let ended = self.write_effect(context, &dependencies.worker, number, pause).await;
        if pause.is_some() {
            println!(
                "{}",
                ended.as_ref().map_or_else(|error| format!("{error:?}"), |_| "finished".into())
            );
        }
        ended
    }
}

impl Effect {
    async fn write_effect(
        self,
        context: JobContext,
        worker: &str,
        run: i32,
        pause: Option<PausePoint>,
    ) -> Result<Outcome, JobError> {
        tokio::time::sleep(Duration::from_millis(self.sleep_ms)).await;
        match self.first_attempt {
            FirstAttempt::Fails if context.attempt() == 1 => {
                return Err(JobError::Failed(String::from("the first attempt fails")));
            }
            FirstAttempt::Panics if context.attempt() == 1 => panic!("the first attempt panics"),
            _ => {}
        }
        wait_for_pause(pause, PausePoint::BeforeWork).await;
        let mut work = context.work_for_platform().await?;
        insert_effect(work.sql(), context.job().uuid(), worker, run).await?;
        wait_for_pause(pause, PausePoint::BeforeFinish).await;
        context.finish(work).await
    }
}

async fn insert_effect(
    sql: &mut PgConnection,
    job: Uuid,
    worker: &str,
    run: i32,
) -> sqlx::Result<()> {
    let insert = sqlx::query("INSERT INTO effect (job, worker, run) VALUES ($1, $2, $3)");
    insert.bind(job).bind(worker).bind(run).execute(sql).await?;
    Ok(())
}

/// Reports to the parent that the point is reached, and waits for the signal.
async fn wait_for_pause(wanted: Option<PausePoint>, reached: PausePoint) {
    if wanted == Some(reached) {
        println!("reached");
        tokio::time::sleep(PAUSE_EXPECTED).await;
    }
}

impl Job for Poison {
    const NAME: &'static str = "poison";
    type Dependencies = ();

    async fn run(self, _: JobContext, (): ()) -> Result<Outcome, JobError> {
        std::process::abort()
    }
}
