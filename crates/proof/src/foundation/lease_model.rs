//! `lease-model`: the lease protocol, checked in every order of events.
//!
//! A model of `jobs` (`runner.rs`, `context.rs`, `table/queue.rs`): workers claim, start, run, fail,
//! renew, release, are killed at any point and pause for any time; a poison job may crash its worker
//! whenever it runs. Each step is one transaction.
//!
//! The runner claims and starts a job in one statement; here they are two steps, which allows more
//! orders of events, and a claimed job can be released. A suspect runs exclusively for its first ten
//! seconds only; a job that crashes its worker later than that may cost another job one more run.
//!
//! *Scheduled jobs.* One that was interrupted is claimed again beside other jobs, at most
//! `interruptions_max` times, and is a suspect after that.
//!
//! *Tokens.* A claim gives a row a new token, so the only relevant property of a token is whether it
//! is still the row's. *Time.* A lease lasts until the step `ExpireLease`, which may occur at any
//! time; a paused worker is one that takes no step. A failed job is due again at once.
//!
//! *Healthy jobs.* External kills are unlimited here, and a job whose every run is killed cannot be
//! distinguished from a poison job. So the guarantee is that each poison job costs another job at most
//! one run, or, if it is scheduled, one for each time that it is claimed beside other jobs. Of the
//! `crashes_max + 1` lost runs that lead to quarantine, a healthy job has lost all others to external
//! causes: its worker was killed, or paused past its lease.
//!
//! *Guards.* They overlap. The fence (token, time and row lock when a `Work` is opened) and the check
//! at `finish` each suffice for exactly-once; without both it does not hold. The model is also run
//! without guards, to show that it can fail.

mod liveness;
mod state;
mod step;
mod transition;

use stateright::{Checker, CheckerBuilder, HasDiscoveries, Model, Property};

use crate::foundation::lease_model::state::{JobKind, JobStatus, Row, State};
use crate::foundation::lease_model::step::Step;
use crate::report::{Failure, Tier, Trial, Verdict, ensure, grouped};

/// The rules that workers follow, and the jobs they run.
#[derive(Debug, Clone)]
struct Protocol {
    jobs: Vec<JobKind>,
    workers: usize,
    /// `CRASHES_MAX` of `jobs`.
    crashes_max: u8,
    /// `INTERRUPTIONS_MAX` of `jobs`.
    interruptions_max: u8,
    commit: Commit,
    /// The guards that are removed.
    without: &'static [Guard],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// A `Work` is opened only with the newest token and within the lease.
    FenceCheck,
    /// An open `Work` locks the job's row.
    FenceLock,
    /// Claims skip locked rows.
    SkipLocked,
    /// `finish` requires the newest token and the lease.
    FinishCheck,
    /// Starting a job moves it to lane 1.
    MarkStarted,
    /// A suspect is claimed only by an idle worker, and nothing is started beside it.
    Exclusive,
    /// A scheduled job that was interrupted too often is a suspect.
    InterruptionsMax,
}

/// How the effect and the removal of the job are committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Commit {
    Together,
    EffectFirst,
    RemovalFirst,
}

const ONCE: &str = "no effect happens twice";
const NOT_LOST: &str = "a removed job took effect, and a job without effect is still queued";
const EACH_COSTS_ONE: &str = "a poison job costs another job at most one run for each time that it is \
                              claimed beside others";
const QUARANTINE: &str = "a healthy job is quarantined only after external losses";
const CAN_FINISH: &str = "all healthy jobs finish and all poison jobs are quarantined";
const CAN_RECOVER: &str = "a healthy job finishes after it was a suspect";

impl Protocol {
    /// The protocol as implemented in `jobs`.
    fn real(jobs: &[JobKind], crashes_max: u8) -> Self {
        Self {
            jobs: jobs.to_vec(),
            workers: 2,
            crashes_max,
            interruptions_max: crashes_max.min(2),
            commit: Commit::Together,
            without: &[],
        }
    }

    fn has(&self, guard: Guard) -> bool {
        !self.without.contains(&guard)
    }

    /// Returns how many runs the poison jobs may cost another job.
    fn collateral_max(&self) -> u8 {
        let poison = self.jobs.iter().filter(|job| job.poison);
        let costs = poison.map(|job| if job.scheduled { 1 + self.interruptions_max } else { 1 });
        costs.sum()
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(&self.jobs, self.workers)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        state.steps(self, actions);
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        Some(state.apply(self, step))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONCE, |_, state: &State| {
                state.rows.iter().all(|row| row.effects <= 1)
            }),
            Property::always(NOT_LOST, |_, state: &State| state.rows.iter().all(is_accounted_for)),
            Property::always(EACH_COSTS_ONE, |model: &Self, state: &State| {
                healthy(state).all(|row| row.collateral <= model.collateral_max())
            }),
            Property::always(QUARANTINE, |model: &Self, state: &State| {
                let losses_needed = (model.crashes_max + 1).saturating_sub(model.collateral_max());
                healthy(state).all(|row| {
                    row.status != JobStatus::Quarantined
                        || row.crashes - row.collateral >= losses_needed
                })
            }),
            Property::sometimes(CAN_FINISH, |_, state: &State| state.rows.iter().all(is_settled)),
            Property::sometimes(CAN_RECOVER, |_, state: &State| {
                healthy(state).any(|row| row.status == JobStatus::Finished && row.crashes > 0)
            }),
        ]
    }
}

fn healthy(state: &State) -> impl Iterator<Item = &Row> {
    state.rows.iter().filter(|row| !row.kind.poison)
}

fn is_accounted_for(row: &Row) -> bool {
    (row.status == JobStatus::Finished) == (row.effects > 0)
}

fn is_settled(row: &Row) -> bool {
    let end = if row.kind.poison { JobStatus::Quarantined } else { JobStatus::Finished };
    row.status == end
}

/// A protocol with something removed, and the property that it then violates: `None` if another guard
/// suffices.
struct Mutant {
    jobs: [JobKind; 2],
    without: &'static [Guard],
    commit: Commit,
    breaks: Option<&'static str>,
}

const fn mutant(without: &'static [Guard], breaks: Option<&'static str>) -> Mutant {
    Mutant { jobs: PAIR, without, commit: Commit::Together, breaks }
}

/// A healthy job and a poison job.
const PAIR: [JobKind; 2] = [JobKind::HEALTHY, JobKind::POISON];
const SCHEDULED_PAIR: [JobKind; 2] = [JobKind::HEALTHY.scheduled(), JobKind::POISON.scheduled()];

const MUTANTS: &[Mutant] = &[
    mutant(&[Guard::FinishCheck], None),
    mutant(&[Guard::FenceCheck, Guard::FenceLock], None),
    // A second run has to wait for the lock of the first, whichever worker claimed the job.
    mutant(&[Guard::FinishCheck, Guard::SkipLocked], None),
    mutant(&[Guard::FinishCheck, Guard::FenceLock], Some(ONCE)),
    mutant(&[Guard::FinishCheck, Guard::FenceCheck], Some(ONCE)),
    Mutant { commit: Commit::EffectFirst, ..mutant(&[], Some(ONCE)) },
    Mutant { commit: Commit::RemovalFirst, ..mutant(&[], Some(NOT_LOST)) },
    mutant(&[Guard::MarkStarted], Some(EACH_COSTS_ONE)),
    mutant(&[Guard::Exclusive], Some(EACH_COSTS_ONE)),
    Mutant { jobs: SCHEDULED_PAIR, ..mutant(&[Guard::InterruptionsMax], Some(EACH_COSTS_ONE)) },
];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    tokio::task::spawn_blocking(move || check(&trial)).await?
}

fn check(trial: &Trial) -> Verdict {
    let (healthy, poison) = (JobKind::HEALTHY, JobKind::POISON);
    let mut protocols = vec![
        Protocol::real(&PAIR, 3),
        Protocol::real(&[healthy, healthy], 1),
        Protocol::real(&SCHEDULED_PAIR, 3),
    ];
    if trial.tier == Tier::Full {
        protocols.push(Protocol::real(&[healthy.scheduled(), poison], 3));
        protocols.push(Protocol::real(&[healthy, poison.scheduled()], 3));
        protocols.push(Protocol::real(&[healthy, healthy, poison], 1));
        protocols.push(Protocol::real(&[healthy, poison, poison], 1));
        protocols.push(Protocol::real(&[healthy.scheduled(), healthy, poison.scheduled()], 1));
    }
    let mut states = 0;
    for protocol in &protocols {
        states += must_hold(protocol)?;
        trial.progress(|| format!("{} states", grouped(states)));
    }
    let mut settling = liveness::check(&Protocol::real(&PAIR, 3))?;
    if trial.tier == Tier::Full {
        settling += liveness::check(&Protocol::real(&SCHEDULED_PAIR, 3))?;
    }
    let mut caught = 0;
    for Mutant { jobs, without, commit, breaks } in MUTANTS {
        let protocol = Protocol { without, commit: *commit, ..Protocol::real(jobs, 1) };
        match breaks {
            Some(property) => must_break(&protocol, property)?,
            None => _ = must_hold(&protocol)?,
        }
        caught += usize::from(breaks.is_some());
    }
    Ok(format!(
        "every property holds in {} states of the lease protocol; from each of {} states all jobs can \
         settle; {caught} mutants are detected",
        grouped(states),
        grouped(settling),
    ))
}

fn must_hold(protocol: &Protocol) -> Result<usize, Failure> {
    let checker = checker(protocol).finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let found = checker.discoveries();
    for property in protocol.properties() {
        let path = found.get(property.name);
        let holds = path.is_some() != property.expectation.discovery_is_failure();
        let example = || path.map_or_else(|| String::from("never"), ToString::to_string);
        ensure(holds, || format!("violated: {}: {}", property.name, example()))?;
    }
    ensure(checker.is_done(), || String::from("the model was not explored completely"))?;
    Ok(checker.unique_state_count())
}

fn must_break(protocol: &Protocol, property: &'static str) -> Result<(), Failure> {
    let wanted = HasDiscoveries::AnyOf([property].into());
    let found = checker(protocol).finish_when(wanted).spawn_bfs().join().discovery(property);
    ensure(found.is_some(), || format!("the model does not detect the mutant {protocol:?}"))
}

fn checker(protocol: &Protocol) -> CheckerBuilder<Protocol> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    protocol.clone().checker().threads(threads)
}
