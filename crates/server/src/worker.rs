//! The jobs of this release, and what they need. One line each.

use std::time::Duration;

use catalog::{ApplyRun, SweepRuns, TakeStock};
use checkout::{AskAgain, ForgetSandboxes, NoticeAbandoned};
use database::Database;
use identity::SweepAttempts;
use jobs::{Runner, RunnerSettings};
use search::SweepTallies;

use crate::Config;

/// A runner that knows every kind of job.
#[must_use]
pub fn runner(database: Database, config: &Config) -> Runner {
    let settings = RunnerSettings {
        concurrency: usize::from(config.job_concurrency),
        lease: Duration::from_secs(config.job_lease_seconds),
        ..RunnerSettings::default()
    };
    Runner::new(database, settings)
        .register::<ApplyRun>(connectors::read_feed)
        .register::<TakeStock>(())
        .register::<SweepRuns>(())
        .every::<SweepRuns>(Duration::from_mins(1))
        .register::<NoticeAbandoned>(())
        .every::<NoticeAbandoned>(Duration::from_mins(1))
        .register::<AskAgain>(config.till())
        .every::<AskAgain>(Duration::from_mins(1))
        .register::<ForgetSandboxes>(())
        .every::<ForgetSandboxes>(Duration::from_hours(1))
        .register::<SweepAttempts>(())
        .every::<SweepAttempts>(Duration::from_mins(10))
        .register::<SweepTallies>(())
        .every::<SweepTallies>(Duration::from_hours(24))
}

/// Reads the directory of cells again and again: a worker has no monitor that does it.
pub(crate) async fn follow_directory(database: Database) {
    loop {
        if let Err(error) = database.refresh_directory().await {
            tracing::warn!(%error, "the directory of cells cannot be read");
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}
