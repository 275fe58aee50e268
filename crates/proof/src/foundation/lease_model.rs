//! (c) The lease protocol, checked in every order of events.
//!
//! A model of `jobs` (`runner.rs`, `context.rs`, `table/queue.rs`): workers claim, start, run, fail,
//! renew, hand back, are killed at any point and pause for any time; one job may take its worker
//! down whenever it runs. Each step is one transaction.
//!
//! *Tokens.* A claim gives a row a new token, so all that matters of a token is whether it is still
//! the row's. *Time.* A lease holds until the step `EndLease`, which may come at any moment; a pause
//! is a worker that takes no step. A failed job is due again at once.
//!
//! *Innocent jobs.* Kills from outside are unlimited here, and a job whose every run is killed
//! cannot be told from one that kills. So the promise is that each poisonous job costs a neighbour
//! at most one run. Of the `crashes_max + 1` lost runs that lead to quarantine, an innocent job has
//! lost all others from outside: its worker was killed, or slept past its lease.
//!
//! *Guards.* They overlap. The fence (token, time and row lock when a work is opened) and the check
//! at `finish` each suffice for exactly once; without both it is lost. The model is run with guards
//! taken out, to show that it can fail.

mod after;
mod escape;
mod state;
mod step;

use stateright::{Checker, CheckerBuilder, HasDiscoveries, Model, Property};

use crate::foundation::lease_model::state::{Place, Row, State};
use crate::foundation::lease_model::step::Step;
use crate::report::{Failure, Tier, Trial, Verdict, ensure, grouped};

/// The rules that workers follow, over so many jobs.
#[derive(Debug, Clone)]
struct Protocol {
    poisonous: Vec<bool>,
    workers: usize,
    /// `CRASHES_MAX`
    crashes_max: u8,
    commit: Commit,
    /// What is taken out.
    without: &'static [Guard],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// A work is opened only under the newest token and within the lease.
    FenceCheck,
    /// An open work locks the job's row.
    FenceLock,
    /// Claims pass over locked rows.
    SkipLocked,
    /// `finish` needs the newest token and the lease.
    FinishCheck,
    /// Starting a job moves it to lane 1.
    MarkStarted,
    /// What is due in lane 1 is claimed with empty hands, and nothing is started beside it.
    Alone,
}

/// How the effect and the removal of the job are committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Commit {
    Together,
    EffectFirst,
    RemovalFirst,
}

const ONCE: &str = "no effect happens twice";
const NOT_LOST: &str = "a job that is gone took effect, and one that did not is still there";
const EACH_COSTS_ONE: &str = "a poisonous job costs its neighbour at most one run";
const QUARANTINE: &str = "an innocent job is quarantined only after losses from outside";
const CAN_FINISH: &str = "all innocent jobs finish and all poisonous ones are quarantined";
const CAN_RECOVER: &str = "an innocent job finishes after it was a suspect";

impl Protocol {
    /// As it is in `jobs`.
    fn real(poisonous: &[bool], crashes_max: u8) -> Self {
        let poisonous = poisonous.to_vec();
        Self { poisonous, workers: 2, crashes_max, commit: Commit::Together, without: &[] }
    }

    fn has(&self, guard: Guard) -> bool {
        !self.without.contains(&guard)
    }

    fn poisons(&self) -> u8 {
        self.poisonous.iter().map(|poisonous| u8::from(*poisonous)).sum()
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(&self.poisonous, self.workers)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        state.steps(self, actions);
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        Some(state.after(self, step))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(ONCE, |_, state: &State| {
                state.rows.iter().all(|row| row.effects <= 1)
            }),
            Property::always(NOT_LOST, |_, state: &State| state.rows.iter().all(is_accounted_for)),
            Property::always(EACH_COSTS_ONE, |model: &Self, state: &State| {
                innocent(state).all(|row| row.felled <= model.poisons())
            }),
            Property::always(QUARANTINE, |model: &Self, state: &State| {
                let losses_needed = (model.crashes_max + 1).saturating_sub(model.poisons());
                innocent(state).all(|row| {
                    row.place != Place::Quarantined || row.crashes - row.felled >= losses_needed
                })
            }),
            Property::sometimes(CAN_FINISH, |_, state: &State| state.rows.iter().all(is_settled)),
            Property::sometimes(CAN_RECOVER, |_, state: &State| {
                innocent(state).any(|row| row.place == Place::Finished && row.crashes > 0)
            }),
        ]
    }
}

fn innocent(state: &State) -> impl Iterator<Item = &Row> {
    state.rows.iter().filter(|row| !row.poisonous)
}

fn is_accounted_for(row: &Row) -> bool {
    (row.place == Place::Finished) == (row.effects > 0)
}

fn is_settled(row: &Row) -> bool {
    let end = if row.poisonous { Place::Quarantined } else { Place::Finished };
    row.place == end
}

/// A protocol with something taken out, and the promise that is then broken: none, if another guard
/// covers for it.
struct Mutilation {
    without: &'static [Guard],
    commit: Commit,
    breaks: Option<&'static str>,
}

const fn mutilation(without: &'static [Guard], breaks: Option<&'static str>) -> Mutilation {
    Mutilation { without, commit: Commit::Together, breaks }
}

const MUTILATIONS: &[Mutilation] = &[
    mutilation(&[Guard::FinishCheck], None),
    mutilation(&[Guard::FenceCheck, Guard::FenceLock], None),
    // A second run has to wait for the first one's lock, whoever claimed the job.
    mutilation(&[Guard::FinishCheck, Guard::SkipLocked], None),
    mutilation(&[Guard::FinishCheck, Guard::FenceLock], Some(ONCE)),
    mutilation(&[Guard::FinishCheck, Guard::FenceCheck], Some(ONCE)),
    Mutilation { without: &[], commit: Commit::EffectFirst, breaks: Some(ONCE) },
    Mutilation { without: &[], commit: Commit::RemovalFirst, breaks: Some(NOT_LOST) },
    mutilation(&[Guard::MarkStarted], Some(EACH_COSTS_ONE)),
    mutilation(&[Guard::Alone], Some(EACH_COSTS_ONE)),
];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    tokio::task::spawn_blocking(move || check(&trial)).await?
}

fn check(trial: &Trial) -> Verdict {
    let (innocent, poisonous) = (false, true);
    let pair = [innocent, poisonous];
    let mut houses = vec![Protocol::real(&pair, 3), Protocol::real(&[innocent, innocent], 1)];
    if trial.tier == Tier::Full {
        houses.push(Protocol::real(&[innocent, innocent, poisonous], 1));
        houses.push(Protocol::real(&[innocent, poisonous, poisonous], 1));
    }
    let mut states = 0;
    for protocol in &houses {
        states += must_hold(protocol)?;
        trial.progress(|| format!("{} states", grouped(states)));
    }
    let settling = escape::from_everywhere(&Protocol::real(&pair, 3))?;
    let mut caught = 0;
    for Mutilation { without, commit, breaks } in MUTILATIONS {
        let protocol = Protocol { without, commit: *commit, ..Protocol::real(&pair, 1) };
        match breaks {
            Some(property) => must_break(&protocol, property)?,
            None => _ = must_hold(&protocol)?,
        }
        caught += usize::from(breaks.is_some());
    }
    Ok(format!(
        "{} states of the lease protocol keep every promise, from each of {} all jobs can settle; \
         {caught} mutilated protocols are caught",
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
        ensure(holds, || format!("not so: {}: {}", property.name, example()))?;
    }
    ensure(checker.is_done(), || String::from("the model was not searched to its end"))?;
    Ok(checker.unique_state_count())
}

fn must_break(protocol: &Protocol, property: &'static str) -> Result<(), Failure> {
    let wanted = HasDiscoveries::AnyOf([property].into());
    let found = checker(protocol).finish_when(wanted).spawn_bfs().join().discovery(property);
    ensure(found.is_some(), || format!("the model does not notice what is wrong with {protocol:?}"))
}

fn checker(protocol: &Protocol) -> CheckerBuilder<Protocol> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    protocol.clone().checker().threads(threads)
}
