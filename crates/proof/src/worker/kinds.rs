//! The jobs that workers run here.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use jobs::{Job, JobContext, JobError, Outcome};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::worker::PausePoint;

/// How long a run waits to be paused. The parent needs a few milliseconds to do it.
const PAUSE_EXPECTED: Duration = Duration::from_millis(500);

/// Leaves a row behind, exactly once if the queue keeps its promise.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Effect {
    pub(crate) temper: Temper,
    pub(crate) sleep_ms: u64,
}

/// What happens at the first attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Temper {
    Calm,
    FailsOnce,
    PanicsOnce,
}

/// Takes its worker down.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Poison {}

/// Who runs an effect.
#[derive(Clone)]
pub(crate) struct Needs {
    worker: Arc<str>,
    pause: Option<PausePoint>,
    runs: Arc<AtomicI32>,
}

impl Needs {
    pub(crate) fn new(worker: String, pause: Option<PausePoint>) -> Self {
        Self { worker: worker.into(), pause, runs: Arc::default() }
    }
}

/// Where effects are kept: no key, so that a second one shows.
pub(crate) async fn make_effect_table(sql: &mut PgConnection) -> sqlx::Result<()> {
    let statements =
        "CREATE TABLE effect (job uuid NOT NULL, worker text NOT NULL, run integer NOT NULL);
                      GRANT INSERT ON effect TO souk_platform";
    sqlx::raw_sql(statements).execute(sql).await?;
    Ok(())
}

impl Job for Effect {
    const NAME: &'static str = "effect";
    type Needs = Needs;

    async fn run(self, context: JobContext, needs: Needs) -> Result<Outcome, JobError> {
        let number = needs.runs.fetch_add(1, Ordering::SeqCst) + 1;
        let pause = needs.pause.filter(|_| number == 1);
        let ended = self.leave_row(context, &needs.worker, number, pause).await;
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
    async fn leave_row(
        self,
        context: JobContext,
        worker: &str,
        run: i32,
        pause: Option<PausePoint>,
    ) -> Result<Outcome, JobError> {
        tokio::time::sleep(Duration::from_millis(self.sleep_ms)).await;
        match self.temper {
            Temper::FailsOnce if context.attempt() == 1 => {
                return Err(JobError::Failed(String::from("the first attempt fails")));
            }
            Temper::PanicsOnce if context.attempt() == 1 => panic!("the first attempt panics"),
            _ => {}
        }
        be_paused(pause, PausePoint::BeforeWork).await;
        let mut work = context.work_for_platform().await?;
        insert_effect(work.sql(), context.job().uuid(), worker, run).await?;
        be_paused(pause, PausePoint::BeforeFinish).await;
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

/// Tells the parent that the point is reached, and gives it the time to act.
async fn be_paused(wanted: Option<PausePoint>, here: PausePoint) {
    if wanted == Some(here) {
        println!("here");
        tokio::time::sleep(PAUSE_EXPECTED).await;
    }
}

impl Job for Poison {
    const NAME: &'static str = "poison";
    type Needs = ();

    async fn run(self, _: JobContext, (): ()) -> Result<Outcome, JobError> {
        std::process::abort()
    }
}
