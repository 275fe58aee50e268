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
//! *Tokens.* A claim gives a row a new token, so the only relevant property of a token is whether it
//! is still the row's. *Time.* A lease lasts until the step `ExpireLease`, which may occur at any
//! time; a paused worker is one that takes no step. A failed job is due again at once.
//!
//! *Healthy jobs.* External kills are unlimited here, and a job whose every run is killed cannot be
//! distinguished from a poison job. So the guarantee is that each poison job costs another job at most
//! one run. Of the `crashes_max + 1` lost runs that lead to quarantine, a healthy job has lost all
//! others to external causes: its worker was killed, or paused past its lease.
//!
//! *Guards.* They overlap. The fence (token, time and row lock when a `Work` is opened) and the check
//! at `finish` each suffice for exactly-once; without both it does not hold. The model is also run
//! without guards, to show that it can fail.

mod liveness;
mod state;
mod step;
mod transition;

use stateright::{Checker, CheckerBuilder, HasDiscoveries, Model, Property};

use crate::foundation::lease_model::state::{JobStatus, Row, State};
use crate::foundation::lease_model::step::Step;
use crate::report::{Failure, Tier, Trial, Verdict, ensure, grouped};

/// The rules that workers follow, and the jobs they run.
#[derive(Debug, Clone)]
struct Protocol {
    /// One entry per job: whether it is a poison job.
    poison: Vec<bool>,
    workers: usize,
    /// `CRASHES_MAX` of `jobs`.
    crashes_max: u8,
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
    /// A job of lane 1 is claimed only by an idle worker, and nothing is started beside it.
    Exclusive,
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
const EACH_COSTS_ONE: &str = "a poison job costs another job at most one run";
const QUARANTINE: &str = "a healthy job is quarantined only after external losses";
const CAN_FINISH: &str = "all healthy jobs finish and all poison jobs are quarantined";
const CAN_RECOVER: &str = "a healthy job finishes after it was a suspect";

impl Protocol {
    /// The protocol as implemented in `jobs`.
    fn real(poison: &[bool], crashes_max: u8) -> Self {
        let poison = poison.to_vec();
        Self { poison, workers: 2, crashes_max, commit: Commit::Together, without: &[] }
    }

    fn has(&self, guard: Guard) -> bool {
        !self.without.contains(&guard)
    }

    fn poison_jobs(&self) -> u8 {
        self.poison.iter().map(|is_poison| u8::from(*is_poison)).sum()
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(&self.poison, self.workers)]
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
                healthy(state).all(|row| row.collateral <= model.poison_jobs())
            }),
            Property::always(QUARANTINE, |model: &Self, state: &State| {
                let losses_needed = (model.crashes_max + 1).saturating_sub(model.poison_jobs());
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
    state.rows.iter().filter(|row| !row.poison)
}

fn is_accounted_for(row: &Row) -> bool {
    (row.status == JobStatus::Finished) == (row.effects > 0)
}

fn is_settled(row: &Row) -> bool {
    let end = if row.poison { JobStatus::Quarantined } else { JobStatus::Finished };
    row.status == end
}

/// A protocol with something removed, and the property that it then violates: `None` if another guard
/// suffices.
struct Mutant {
    without: &'static [Guard],
    commit: Commit,
    breaks: Option<&'static str>,
}

const fn mutant(without: &'static [Guard], breaks: Option<&'static str>) -> Mutant {
    Mutant { without, commit: Commit::Together, breaks }
}

const MUTANTS: &[Mutant] = &[
    mutant(&[Guard::FinishCheck], None),
    mutant(&[Guard::FenceCheck, Guard::FenceLock], None),
    // A second run has to wait for the lock of the first, whichever worker claimed the job.
    mutant(&[Guard::FinishCheck, Guard::SkipLocked], None),
    mutant(&[Guard::FinishCheck, Guard::FenceLock], Some(ONCE)),
    mutant(&[Guard::FinishCheck, Guard::FenceCheck], Some(ONCE)),
    Mutant { without: &[], commit: Commit::EffectFirst, breaks: Some(ONCE) },
    Mutant { without: &[], commit: Commit::RemovalFirst, breaks: Some(NOT_LOST) },
    mutant(&[Guard::MarkStarted], Some(EACH_COSTS_ONE)),
    mutant(&[Guard::Exclusive], Some(EACH_COSTS_ONE)),
];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    tokio::task::spawn_blocking(move || check(&trial)).await?
}

fn check(trial: &Trial) -> Verdict {
    let (healthy, poison) = (false, true);
    let pair = [healthy, poison];
    let mut protocols = vec![Protocol::real(&pair, 3), Protocol::real(&[healthy, healthy], 1)];
    if trial.tier == Tier::Full {
        protocols.push(Protocol::real(&[healthy, healthy, poison], 1));
        protocols.push(Protocol::real(&[healthy, poison, poison], 1));
    }
    let mut states = 0;
    for protocol in &protocols {
        states += must_hold(protocol)?;
        trial.progress(|| format!("{} states", grouped(states)));
    }
    let settling = liveness::check(&Protocol::real(&pair, 3))?;
    let mut caught = 0;
    for Mutant { without, commit, breaks } in MUTANTS {
        let protocol = Protocol { without, commit: *commit, ..Protocol::real(&pair, 1) };
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
