//! (f) The outbox: every reader sees each committed event exactly once, and in commit order.
//!
//! Sixteen writers count up twenty keys in transactions of random length, some undone, some touching
//! two keys, some telling of something else first, so that neither transaction ids nor positions are
//! in commit order. Three readers follow with random batches, one of them from a backlog. A fourth
//! reads by position alone, as one would without knowing better; what it misses is printed, and
//! shows that the writers make it hard enough.

mod judge;
mod read;
mod write;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use database::Dice;
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
struct Stage {
    /// Events that were committed.
    committed: AtomicU64,
    /// The next transaction's number.
    transaction: AtomicU64,
    writers_are_done: AtomicBool,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let wanted = trial.by_tier(2_000, 20_000);
    let test = TestDatabase::new().await;
    write::make_counters(&mut test.raw().await).await?;
    let database = open(test.url(), 32, Dice::real())?;
    let stage = Arc::new(Stage::default());
    let mut dice = trial.dice(6);

    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let dice = StdRng::seed_from_u64(dice.next_u64());
        writers.spawn(write::write(database.clone(), Arc::clone(&stage), dice, wanted));
    }
    let mut readers = JoinSet::new();
    for name in READERS {
        let (dice, start) =
            (StdRng::seed_from_u64(dice.next_u64()), if name == "late" { wanted / 2 } else { 0 });
        readers.spawn(read::follow(database.clone(), Arc::clone(&stage), dice, name, start));
    }
    let naive = tokio::spawn(read::by_position(test.url(), Arc::clone(&stage)));
    let house = tokio::spawn(keep_house(database.clone()));

    let showing = tokio::spawn(show(trial.clone(), Arc::clone(&stage), wanted));
    let mut told = write::Told::default();
    while let Some(part) = writers.join_next().await {
        told.add(part??);
    }
    stage.writers_are_done.store(true, Ordering::SeqCst);
    showing.abort();
    while let Some(seen) = readers.join_next().await {
        let (name, seen) = seen??;
        judge::judge(&told, &seen).map_err(|why| format!("reader {name}: {why}"))?;
    }
    ensure(!house.is_finished(), || String::from("the housekeeping failed on the way"))?;
    house.abort();
    let naive = judge::faults(&told, &naive.await??);
    let events = told.events();
    Ok(format!(
        "{} events of {} transactions by {WRITERS} writers: {} readers saw each once and in commit \
         order (by position alone: {} missed, {} out of order)",
        grouped(events),
        grouped(told.committed.len()),
        READERS.len(),
        grouped(naive.missed),
        grouped(naive.misordered),
    ))
}

/// What a worker does each second, ten times as often.
async fn keep_house(database: database::Database) -> Result<(), Failure> {
    loop {
        jobs::keep_house(&database).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn show(trial: Trial, stage: Arc<Stage>, wanted: u64) {
    loop {
        let committed = stage.committed.load(Ordering::SeqCst);
        trial.progress(|| format!("{} of {} events", grouped(committed), grouped(wanted)));
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}
