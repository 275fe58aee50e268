//! `outbox`: every reader sees each committed event exactly once, and in commit order.
//!
//! Sixteen writers increment twenty counters in transactions of random length: some are rolled back,
//! some update two counters, some publish another event first, so that neither transaction ids nor
//! positions are in commit order. Three readers follow with random batches, one of them from a
//! backlog. A fourth reads by position alone, the obvious but wrong way; what it misses is printed
//! and shows that the load is demanding enough.

mod read;
mod verify;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use database::RandomSource;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use testkit::TestDatabase;
use tokio::task::JoinSet;

use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::worker::open;

const WRITERS: u64 = 16;
const READERS: [&str; 3] = ["first", "second", "late"];

/// What the writers and readers share.
#[derive(Default)]
struct SharedState {
    /// Number of committed events.
    committed: AtomicU64,
    /// Number of the next transaction.
    transaction: AtomicU64,
    writers_are_done: AtomicBool,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let wanted = trial.by_tier(2_000, 20_000);
    let test = TestDatabase::new().await;
    write::make_counters(&mut test.raw().await).await?;
    let database = open(test.url(), 32, RandomSource::system())?;
    let shared = Arc::new(SharedState::default());
    let mut rng = trial.rng(6);

    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let rng = StdRng::seed_from_u64(rng.next_u64());
        writers.spawn(write::write(database.clone(), Arc::clone(&shared), rng, wanted));
    }
    let mut readers = JoinSet::new();
    for name in READERS {
        let (rng, start) =
            (StdRng::seed_from_u64(rng.next_u64()), if name == "late" { wanted / 2 } else { 0 });
        readers.spawn(read::follow(database.clone(), Arc::clone(&shared), rng, name, start));
    }
    let naive = tokio::spawn(read::by_position(test.url(), Arc::clone(&shared)));
    let housekeeper = tokio::spawn(housekeeping(database.clone()));

    let showing = tokio::spawn(show(trial.clone(), Arc::clone(&shared), wanted));
    let mut log = write::CommitLog::default();
    while let Some(part) = writers.join_next().await {
        log.add(part??);
    }
    shared.writers_are_done.store(true, Ordering::SeqCst);
    showing.abort();
    while let Some(seen) = readers.join_next().await {
        let (name, seen) = seen??;
        verify::verify(&log, &seen).map_err(|why| format!("reader {name}: {why}"))?;
    }
    ensure(!housekeeper.is_finished(), || String::from("the housekeeping failed during the run"))?;
    housekeeper.abort();
    let naive = verify::violations(&log, &naive.await??);
    let events = log.events();
    Ok(format!(
        "{} events of {} transactions by {WRITERS} writers: {} readers saw each once and in commit \
         order (by position alone: {} missed, {} out of order)",
        grouped(events),
        grouped(log.committed.len()),
        READERS.len(),
        grouped(naive.missed),
        grouped(naive.misordered),
    ))
}

/// Runs the queue's housekeeping ten times as often as a worker does.
async fn housekeeping(database: database::Database) -> Result<(), Failure> {
    loop {
        jobs::housekeeping(&database).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn show(trial: Trial, shared: Arc<SharedState>, wanted: u64) {
    loop {
        let committed = shared.committed.load(Ordering::SeqCst);
        trial.progress(|| format!("{} of {} events", grouped(committed), grouped(wanted)));
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}
