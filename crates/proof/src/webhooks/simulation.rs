//! `simulation`: dispatchers in a simulated world, one for each seed: simulated clock, network and database, with crashes,
//! pauses, receivers that fail, hang, succeed slowly, recover or are gone, and merchants that disable, enable and move their endpoints.
//!
//! What runs are the parts of `webhooks` that decide: what a process has in memory, whose turn it is, what follows from a
//! response, what is recorded, when the next attempt is due. The tables, the requests and the loop around them are simulated
//! (`crates/webhooks/src/dispatcher/simulation.rs` says exactly what). A seed replays exactly. In each simulation the limits of
//! slots and lanes hold at every step; nothing is attempted before it is due or more than ten times; without kills and pauses
//! a working endpoint waits at most two seconds, whatever the others do, unless there is more to send than slots; in the end
//! every delivery was received, or is a dead letter for a reason. Full stores, endpoints that are left out and queues longer
//! than what is read at a time must all have occurred.

use std::time::{Duration, Instant};

use rand::Rng;
use webhooks::{SimulationSummary, simulate};

use crate::report::{Failure, Trial, Verdict, ensure, grouped};

/// How long all simulations may take.
const TIME_MAX: Duration = Duration::from_mins(1);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let seeds = trial.by_tier(400_u64, 10_000);
    let first = u64::from(trial.rng(1).next_u32());
    let (since, threads) = (Instant::now(), threads());
    let mut tasks = Vec::new();
    for thread in 0..threads {
        let own = (first..first + seeds).skip(thread).step_by(threads);
        tasks.push(tokio::task::spawn_blocking(move || run(own)));
    }
    let mut total = SimulationSummary::default();
    for task in tasks {
        let part = task.await??;
        add(&mut total, &part);
    }
    let time = since.elapsed();
    ensure(time < TIME_MAX, || format!("{seeds} simulations took {time:?}"))?;
    let SimulationSummary { fenced, quarantined, dead, changes, .. } = total;
    let SimulationSummary { full_stores, deferred, released_later, long_queues, slow, .. } = total;
    let happened = [fenced, quarantined, dead, changes, full_stores, deferred, released_later];
    let happened = [&happened[..], &[long_queues, total.partial_reads, slow]].concat();
    ensure(!happened.contains(&0), || format!("something did not happen: {total:?}"))?;
    Ok(format!(
        "{} seeds: {} deliveries with {} attempts, {} crashes and {} pauses of processes, {} changes of endpoints: {} delivered, {} dead \
         after their attempts, {} quarantined, {} results refused; {} times a store was full, {} times endpoints were left out, {} times \
         more waited than is read at a time; a working endpoint waited at most {} ms",
        grouped(seeds),
        grouped(total.deliveries),
        grouped(total.attempts),
        grouped(total.crashes),
        grouped(total.pauses),
        grouped(changes),
        grouped(total.delivered),
        grouped(dead),
        grouped(quarantined),
        grouped(fenced),
        grouped(full_stores),
        grouped(deferred),
        grouped(long_queues),
        total.longest_wait.as_millis(),
    ))
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn run(seeds: impl Iterator<Item = u64>) -> Result<SimulationSummary, Failure> {
    let mut total = SimulationSummary::default();
    for seed in seeds {
        let part = simulate(seed).map_err(|why| format!("simulation {seed}: {why}"))?;
        add(&mut total, &part);
    }
    Ok(total)
}

fn add(total: &mut SimulationSummary, part: &SimulationSummary) {
    total.deliveries += part.deliveries;
    total.delivered += part.delivered;
    total.dead += part.dead;
    total.quarantined += part.quarantined;
    total.attempts += part.attempts;
    total.crashes += part.crashes;
    total.pauses += part.pauses;
    total.fenced += part.fenced;
    total.changes += part.changes;
    total.full_stores += part.full_stores;
    total.deferred += part.deferred;
    total.released_later += part.released_later;
    total.partial_reads += part.partial_reads;
    total.long_queues += part.long_queues;
    total.slow += part.slow;
    total.longest_wait = total.longest_wait.max(part.longest_wait);
}
