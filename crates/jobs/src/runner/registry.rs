//! The kinds of jobs registered with a runner.

use std::collections::HashMap;
use std::pin::Pin;
use std::time::Duration;

use database::{Database, Work};
use serde_json::Value;

use crate::runner::RunResult;
use crate::schedule::{self, Scheduled};
use crate::{Job, JobContext, JobError, QueueError};

type Run = Pin<Box<dyn Future<Output = RunResult> + Send>>;
type Tick = for<'work> fn(
    &'work mut Work,
    Duration,
) -> Pin<Box<dyn Future<Output = Result<(), QueueError>> + Send + 'work>>;

#[derive(Default)]
pub(crate) struct Registry {
    kinds: HashMap<&'static str, Kind>,
    schedules: Vec<(&'static str, Duration, Tick)>,
}

struct Kind {
    attempts_max: u32,
    run: Box<dyn Fn(Value, JobContext) -> Run + Send + Sync>,
}

impl Registry {
    pub(crate) fn add<J: Job>(&mut self, dependencies: J::Dependencies) {
        let run = move |payload: Value, context: JobContext| -> Run {
            let dependencies = dependencies.clone();
            Box::pin(async move {
                let job: J = serde_json::from_value(payload).map_err(|error| {
                    JobError::Permanent(format!("the payload cannot be deserialized: {error}"))
                })?;
                job.run(context, dependencies).await.map(|outcome| outcome.0)
            })
        };
        let kind = Kind { attempts_max: J::ATTEMPTS_MAX, run: Box::new(run) };
        let earlier = self.kinds.insert(J::NAME, kind);
        assert!(earlier.is_none(), "two kinds of jobs have the name {}", J::NAME);
    }

    pub(crate) fn schedule<J: Scheduled>(&mut self, period: Duration) {
        let tick: Tick = |work, period| Box::pin(schedule::tick::<J>(work, period));
        self.schedules.push((J::NAME, period, tick));
    }

    /// Returns the run of a job and its maximum number of attempts. An unknown kind is left for a worker that knows it
    /// (a newer version during a deployment): the attempt fails and is retried later.
    pub(crate) fn run(&self, kind: &str, payload: Value, context: JobContext) -> (Run, u32) {
        if let Some(known) = self.kinds.get(kind) {
            return ((known.run)(payload, context), known.attempts_max);
        }
        let unknown = async {
            Err(JobError::Failed(String::from("the kind is not registered with this worker")))
        };
        (Box::pin(unknown), u32::MAX)
    }

    /// Enqueues the jobs of all schedules that are due. A schedule that fails does not stop the others.
    pub(crate) async fn tick(&self, database: &Database) {
        for (name, period, tick) in &self.schedules {
            let ticked = async {
                let mut work = Work::for_platform(database).await?;
                tick(&mut work, *period).await?;
                work.commit().await?;
                Ok::<(), QueueError>(())
            };
            if let Err(error) = ticked.await {
                tracing::warn!(kind = name, %error, "a schedule could not be read; retrying in a second");
            }
        }
    }
}
