//! `delivery-model`: who delivers for a store, in every order of events.
//!
//! A model of `webhooks` (`dispatcher/`, `table/queue.rs`, `table/settlement.rs`) for one store: events
//! are published, dispatchers process wakes, claim the store, read it, start, send, record and release,
//! are killed at any point, pause for any time, and do not know whether a transaction committed when the
//! connection is lost. Each step is one transaction, or one request to the receiver.
//!
//! *Claim and read.* A store is claimed in one transaction and read in a later one, which checks neither
//! owner nor lease: until then the store is listed in memory. A dispatcher that is killed in between
//! leaves a store that is not due; its lease expires.
//!
//! *Time.* A lease lasts until the step `ExpireLease`, which may occur at any time; a paused
//! dispatcher is one that takes no step. A delivery that failed is due again at once, or later.
//!
//! *Ids.* A dispatcher has an owner id until it is killed or notices that its lease has expired, and
//! then another one. So the only relevant property of the owner in the row is whether it is the present
//! id of a dispatcher, or a former one.
//!
//! *Lost.* A pending delivery is attended to if a wake exists, the store is due, or its owner has it in
//! memory or will read it; or if its owner is gone, because then the lease expires. That the delivery
//! can then still be made is a property of the graph: from every state all deliveries can be made.

mod liveness;
mod state;
mod step;

use stateright::{Checker, CheckerBuilder, HasDiscoveries, Model, Property};

use crate::report::{Failure, Tier, Trial, Verdict, ensure, grouped};
use crate::webhooks::delivery_model::state::{RowStatus, State};
use crate::webhooks::delivery_model::step::Step;

/// The rules that dispatchers follow.
#[derive(Debug, Clone)]
struct Protocol {
    deliveries: usize,
    dispatchers: usize,
    /// Failures of each delivery at most, so that the number of states is finite.
    failures_max: u8,
    /// The guards that are removed.
    without: &'static [Guard],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guard {
    /// A start is recorded only by the owner.
    StartByOwner,
    /// A result is recorded only by the owner.
    RecordByOwner,
    /// Wakes are deleted in the transaction that makes their store due or claims it.
    WakeAtomic,
    /// A release keeps what a wake has set since it read the deliveries.
    ReleaseKeepsDue,
    /// After a transaction of which the end is not known, memory is compared with the database.
    Reconcile,
    /// A claimed store is listed until it was read: a read that fails is repeated.
    ListUntilRead,
    /// Stores of expired leases are claimed although they are not due.
    TakeOver,
    /// A result is recorded after the request, not before.
    SendFirst,
}

const OWN_RESULTS: &str = "only the owner of the store records starts and results";
const ATTENDED: &str = "every pending delivery is attended to";
const RECEIVED: &str = "a delivery that was removed was received";
const ALL_DELIVERED: &str = "all deliveries are made";
const TAKEN_OVER: &str = "a delivery is made by the successor of an owner that was killed";

impl Protocol {
    /// The protocol as implemented in `webhooks`.
    const fn real(deliveries: usize, failures_max: u8) -> Self {
        Self { deliveries, dispatchers: 2, failures_max, without: &[] }
    }

    fn has(&self, guard: Guard) -> bool {
        !self.without.contains(&guard)
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        state.steps(self, actions);
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        Some(state.apply(self, step))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(OWN_RESULTS, |_, state: &State| !state.foreign_write),
            Property::always(ATTENDED, |_, state: &State| state.is_attended()),
            Property::always(RECEIVED, |_, state: &State| {
                state.rows.iter().all(|row| row.status != RowStatus::Removed || row.received)
            }),
            Property::sometimes(ALL_DELIVERED, |_, state: &State| state.is_delivered()),
            Property::sometimes(TAKEN_OVER, |_, state: &State| {
                state.was_taken_over && state.is_delivered()
            }),
        ]
    }
}

/// What a mutant violates.
enum Breaks {
    Property(&'static str),
    /// From some state the deliveries cannot be made any more.
    Liveness,
}

const MUTANTS: &[(&[Guard], Breaks)] = &[
    (&[Guard::StartByOwner], Breaks::Property(OWN_RESULTS)),
    (&[Guard::RecordByOwner], Breaks::Property(OWN_RESULTS)),
    (&[Guard::WakeAtomic], Breaks::Property(ATTENDED)),
    (&[Guard::ReleaseKeepsDue], Breaks::Property(ATTENDED)),
    (&[Guard::Reconcile], Breaks::Property(ATTENDED)),
    (&[Guard::ListUntilRead], Breaks::Property(ATTENDED)),
    (&[Guard::TakeOver], Breaks::Liveness),
    (&[Guard::SendFirst], Breaks::Property(RECEIVED)),
];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    tokio::task::spawn_blocking(move || check(&trial)).await?
}

fn check(trial: &Trial) -> Verdict {
    let mut protocols = vec![Protocol::real(1, 1), Protocol::real(2, 0)];
    if trial.tier == Tier::Full {
        protocols.push(Protocol::real(2, 1));
    }
    let (mut states, mut live) = (0, 0);
    for protocol in &protocols {
        states += must_hold(protocol)?;
        trial.progress(|| format!("{} states", grouped(states)));
        let (count, stuck) = liveness::explore(protocol);
        ensure(stuck.is_none(), || format!("the deliveries cannot be made from {stuck:?}"))?;
        live += count;
    }
    let mutants = trial.rotate(MUTANTS.iter().collect(), 3);
    for (without, breaks) in mutants.iter().copied() {
        let protocol = Protocol { without, ..Protocol::real(2, 0) };
        match breaks {
            Breaks::Property(property) => must_break(&protocol, property)?,
            Breaks::Liveness => {
                let (_, stuck) = liveness::explore(&protocol);
                ensure(stuck.is_some(), || undetected(&protocol))?;
            }
        }
    }
    Ok(format!(
        "every property holds in {} states of the delivery protocol; from each of {} states all \
         deliveries can be made; {} mutants are detected",
        grouped(states),
        grouped(live),
        mutants.len(),
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
    ensure(found.is_some(), || undetected(protocol))
}

fn undetected(protocol: &Protocol) -> String {
    format!("the model does not detect the mutant {protocol:?}")
}

fn checker(protocol: &Protocol) -> CheckerBuilder<Protocol> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    protocol.clone().checker().threads(threads)
}
