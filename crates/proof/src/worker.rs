//! A worker in a separate process that checks kill and pause.

mod kinds;
mod process;

use std::io::Read;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use database::{Clock, Database, DatabaseError, RandomSource, Settings};
use jobs::{Runner, RunnerSettings};
use tokio::sync::watch;

pub(crate) use kinds::{Effect, FirstAttempt, Poison, make_effect_table};
pub(crate) use process::WorkerProcess;

/// The arguments of a worker process.
#[derive(Args, Clone)]
pub(crate) struct WorkerArgs {
    /// URL of the database.
    #[arg(long)]
    pub(crate) url: String,
    /// Name recorded with each effect.
    #[arg(long)]
    pub(crate) name: String,
    #[arg(long)]
    pub(crate) lease_ms: u64,
    /// Number of jobs run concurrently.
    #[arg(long)]
    pub(crate) concurrency: usize,
    /// Seed of the lease tokens; unique for each worker.
    #[arg(long)]
    pub(crate) seed: u64,
    /// Point at which the first run reports to the parent and waits to be paused.
    #[arg(long)]
    pub(crate) pause: Option<PausePoint>,
}

/// A point in a run at which the parent pauses the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PausePoint {
    /// The job is claimed and marked as started; no `Work` is open.
    BeforeWork,
    /// The `Work` is open and the effect written; nothing is committed.
    BeforeFinish,
}

/// Runs jobs until standard input is closed, by the parent or because the parent has exited.
pub(crate) async fn run(args: WorkerArgs) -> ExitCode {
    // Jobs panic on purpose here; the parent checks only what they wrote.
    std::panic::set_hook(Box::new(|_| ()));
    let connections = u32::try_from(args.concurrency).unwrap_or(u32::MAX).saturating_add(3);
    let Ok(database) = open(args.url.clone(), connections, RandomSource::seeded(args.seed)) else {
        return ExitCode::FAILURE;
    };
    let settings = RunnerSettings {
        concurrency: args.concurrency,
        reserved: 0,
        per_merchant: args.concurrency,
        lease: Duration::from_millis(args.lease_ms),
        poll: Duration::from_millis(20),
    };
    let dependencies = kinds::Dependencies::new(args.name, args.pause);
    let runner =
        Runner::new(database, settings).register::<Effect>(dependencies).register::<Poison>(());
    runner.run(end_of_input()).await;
    ExitCode::SUCCESS
}

/// Opens a connection pool that uses the system clock.
pub(crate) fn open(
    url: String,
    connections: u32,
    random_source: RandomSource,
) -> Result<Database, DatabaseError> {
    let cell = "cell-1".parse().map_err(|why: &str| sqlx::Error::Configuration(why.into()))?;
    Database::connect_lazy(Settings {
        url,
        connections_max: connections,
        acquire_timeout: Duration::from_secs(10),
        cell,
        clock: Clock::system(),
        random_source,
    })
}

/// Returns a channel that becomes `true` when standard input is closed. The process exits 15 seconds
/// later if the runner has not stopped by then.
fn end_of_input() -> watch::Receiver<bool> {
    let (stop, stopped) = watch::channel(false);
    std::thread::spawn(move || {
        let mut byte = [0];
        while matches!(std::io::stdin().read(&mut byte), Ok(1)) {}
        // No receiver means that the runner has already stopped.
        let _ = stop.send(true);
        std::thread::sleep(Duration::from_secs(15));
        std::process::exit(1);
    });
    stopped
}
