//! A worker in a process of its own, to be killed and paused.

mod kinds;
mod process;

use std::io::Read;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use database::{Clock, Database, DatabaseError, Dice, Settings};
use jobs::{Runner, RunnerSettings};
use tokio::sync::watch;

pub(crate) use kinds::{Effect, Poison, Temper, make_effect_table};
pub(crate) use process::WorkerProcess;

/// How a worker is started.
#[derive(Args, Clone)]
pub(crate) struct WorkerArgs {
    /// The database.
    #[arg(long)]
    pub(crate) url: String,
    /// What its effects are signed with.
    #[arg(long)]
    pub(crate) name: String,
    #[arg(long)]
    pub(crate) lease_ms: u64,
    /// Jobs claimed in one go.
    #[arg(long)]
    pub(crate) batch: usize,
    /// Jobs run side by side.
    #[arg(long)]
    pub(crate) concurrency: usize,
    /// No two workers may have the same: their lease tokens come from it.
    #[arg(long)]
    pub(crate) seed: u64,
    /// Where its first run tells that it is there and waits to be paused.
    #[arg(long)]
    pub(crate) pause: Option<PausePoint>,
}

/// A point of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PausePoint {
    /// The job is claimed and marked as started; no work is open.
    BeforeWork,
    /// The work is open and the effect written; nothing is committed.
    BeforeFinish,
}

/// Works until standard input ends: then the parent has asked for it, or is gone.
pub(crate) async fn run(args: WorkerArgs) -> ExitCode {
    // Jobs panic on purpose here; the parent judges by what they leave behind.
    std::panic::set_hook(Box::new(|_| ()));
    let connections = u32::try_from(args.concurrency).unwrap_or(u32::MAX).saturating_add(3);
    let Ok(database) = open(args.url.clone(), connections, Dice::seeded(args.seed)) else {
        return ExitCode::FAILURE;
    };
    let settings = RunnerSettings {
        batch: args.batch,
        concurrency: args.concurrency,
        lease: Duration::from_millis(args.lease_ms),
        poll: Duration::from_millis(20),
    };
    let needs = kinds::Needs::new(args.name, args.pause);
    let runner = Runner::new(database, settings).register::<Effect>(needs).register::<Poison>(());
    runner.run(end_of_input()).await;
    ExitCode::SUCCESS
}

/// A pool on the real clock.
pub(crate) fn open(url: String, connections: u32, dice: Dice) -> Result<Database, DatabaseError> {
    let cell = "cell-1".parse().map_err(|why: &str| sqlx::Error::Configuration(why.into()))?;
    Database::prepare(Settings {
        url,
        connections_max: connections,
        acquire_timeout: Duration::from_secs(10),
        cell,
        clock: Clock::real(),
        dice,
    })
}

/// Becomes true when standard input ends.
fn end_of_input() -> watch::Receiver<bool> {
    let (stop, stopped) = watch::channel(false);
    std::thread::spawn(move || {
        let mut byte = [0];
        while matches!(std::io::stdin().read(&mut byte), Ok(1)) {}
        // No receiver means that the runner has ended already.
        let _ = stop.send(true);
        std::thread::sleep(Duration::from_secs(15));
        std::process::exit(1);
    });
    stopped
}
