//! `histories`: merchant, agent, payment and job act at once on the same orders, at two processes and a worker; each answer
//! and each entry of the history is what a model says that some serial order of the acts gives.
//!
//! A history is one order to which 8 to 20 acts are tried, in rounds of one to three that start together. After a round there
//! must be an order of its acts in which the model gives the same answers, the same entries of the history and the same order.
//! Some acts state the version they are based on, some are sent to both processes with one idempotency key. The search is not
//! told which act came first: it follows from answers and entries.
//!
//! A status that the code changes along an edge the model does not have, an act that is applied twice, an answer that shows a
//! state the order never had, an entry that is lost or out of order: each fails the check. At the end SQL alone checks what
//! holds of all orders together, and that the edges that occurred are exactly the documented ones.

mod generate;
mod observe;
mod serial_order;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::join_all;
use primitives::OrderId;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use sqlx::PgConnection;
use tokio::task::JoinSet;

use self::generate::Call;
use self::observe::Observed;
use self::serial_order::{Step, find_serial_order};
use super::acts::{Answer, Hand, Named};
use super::books::{self, Edges};
use super::model::{Act, EDGES, NOT_POSSIBLE, OrderModel, RETURN_EDGES, Status, Who};
use super::store::{OrderStore, model_of};
use super::sweeps::{Completion, Sweeps, Watch};
use crate::report::{Failure, Tier, Trial, Verdict, ensure, grouped};
use crate::souk::Souk;

/// Histories that run side by side.
const LANES: usize = 16;
/// Most acts of a round, with the repetition of one of them.
const ROUND_MAX: usize = 4;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let histories = trial.by_tier(200, 10_000);
    let store = OrderStore::open().await?;
    let worker = Souk::work(&store.url(), 10)?;
    let sweeps = Sweeps::start(&store.test);
    let mut rng = trial.rng(1);
    let orders = orders(&store, histories, &mut rng).await?;
    let counters = Arc::new(Counters::default());
    let mut lanes = JoinSet::new();
    for lane in 0..LANES {
        let own: Vec<_> = orders.iter().skip(lane).step_by(LANES).copied().collect();
        let lane = Lane {
            sql: store.test.raw().await,
            hands: (0..ROUND_MAX).map(|_| Hand::new(&store.callers, store.ports)).collect(),
            sweeps: sweeps.watch(),
            rng: StdRng::seed_from_u64(rng.next_u64()),
            counters: Arc::clone(&counters),
        };
        lanes.spawn(lane.run(own));
    }
    while let Some(ended) = lanes.join_next().await {
        ended??;
        trial.progress(|| counters.summary());
    }
    drop((sweeps, worker));
    let mut sql = store.test.raw().await;
    let totals = books::check(&mut sql).await?;
    check_edges("orders", &books::edges(&mut sql).await?, &EDGES, trial.tier)?;
    check_edges("returns", &books::return_edges(&mut sql).await?, &RETURN_EDGES, trial.tier)?;
    Ok(format!(
        "{}; {} entries without a gap, {} transitions with one event each; refunded {} of {} minor units; the edges are the \
         documented ones",
        counters.summary(),
        grouped(totals.entries),
        grouped(totals.transitions),
        grouped(totals.refunded_minor),
        grouped(totals.paid_minor),
    ))
}

/// Returns the orders of the histories, each with its status: those that were bought, and copies.
async fn orders(
    store: &OrderStore,
    count: usize,
    rng: &mut StdRng,
) -> Result<Vec<(OrderId, Status)>, Failure> {
    let reviewed = count / 5;
    let pending = store.copy(count - reviewed - store.bought.len(), "pending").await?;
    let pending = store.bought.iter().chain(&pending).map(|order| (*order, "pending"));
    let reviewed = store.copy(reviewed, "manual_review").await?;
    let reviewed = reviewed.into_iter().map(|order| (order, "manual_review"));
    let mut orders: Vec<_> = pending.chain(reviewed).collect();
    orders.shuffle(rng);
    Ok(orders)
}

/// Fails if an edge occurred that is not documented; in the long form also if a documented one did not occur.
fn check_edges(
    what: &str,
    seen: &Edges,
    documented: &[(Status, Status)],
    tier: Tier,
) -> Result<(), Failure> {
    let documented: Edges =
        documented.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
    let unknown: BTreeSet<_> = seen.difference(&documented).collect();
    ensure(unknown.is_empty(), || format!("{what}: edges that are not documented: {unknown:?}"))?;
    let missing: BTreeSet<_> = documented.difference(seen).collect();
    ensure(missing.is_empty() || tier == Tier::Fast, || {
        format!("{what}: documented edges that no history took: {missing:?}")
    })
}

/// Counters of the whole check.
#[derive(Default)]
struct Counters {
    histories: AtomicU64,
    acts: AtomicU64,
    accepted: AtomicU64,
    /// Rounds whose acts were applied in another order than that of their position.
    reordered: AtomicU64,
    jobs: AtomicU64,
}

impl Counters {
    fn summary(&self) -> String {
        let count = |counter: &AtomicU64| grouped(counter.load(Ordering::Relaxed));
        format!(
            "{} histories of {} acts at two processes, {} accepted, {} by the job; {} rounds took effect in another order \
             than they were sent",
            count(&self.histories),
            count(&self.acts),
            count(&self.accepted),
            count(&self.jobs),
            count(&self.reordered),
        )
    }
}

/// Runs histories one after another.
struct Lane {
    sql: PgConnection,
    /// One for each act of a round.
    hands: Vec<Hand>,
    sweeps: Watch,
    rng: StdRng,
    counters: Arc<Counters>,
}

/// An order, as the model has it, and the ids of what belongs to it.
struct History {
    model: OrderModel,
    named: Named,
}

impl Lane {
    async fn run(mut self, orders: Vec<(OrderId, Status)>) -> Result<(), Failure> {
        for (order, status) in orders {
            let done = self.history(order, status).await;
            done.map_err(|failure| format!("{order}: {failure}"))?;
            self.counters.histories.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn history(&mut self, order: OrderId, status: Status) -> Result<(), Failure> {
        let (model, lines) = model_of(&mut self.sql, order, status).await?;
        let mut history = History { model, named: Named::new(order, lines) };
        let acts = self.rng.random_range(8..=20_usize);
        let mut tried = 0;
        while tried < acts {
            let calls = generate::round(&mut self.rng, &history, acts - tried);
            tried += calls.len();
            self.round(&mut history, &calls).await?;
        }
        Ok(())
    }

    /// Sends the calls of a round together and finds an order in which the model gives the same.
    async fn round(&mut self, history: &mut History, calls: &[Call]) -> Result<(), Failure> {
        let named = &history.named;
        let hands = self.hands.iter_mut().zip(calls);
        let sent = hands.map(|(hand, call)| execute(hand, named, call, self.sweeps.clone()));
        let mut steps: Vec<Vec<Step>> = Vec::new();
        for sent in join_all(sent).await {
            steps.push(sent?);
        }
        let after = history.model.version;
        let observed = Observed::read(&mut self.sql, named.order, after).await?;
        let Some(found) = find_serial_order(&history.model, &steps, &observed) else {
            return Err(describe(history, &steps, &observed).into());
        };
        let add = |counter: &AtomicU64, by: usize| {
            counter.fetch_add(u64::try_from(by).unwrap_or(0), Ordering::Relaxed);
        };
        add(&self.counters.acts, calls.len());
        add(&self.counters.accepted, steps.iter().flatten().filter(|it| it.is_accepted()).count());
        add(&self.counters.jobs, calls.iter().filter(|call| call.who == Who::Job).count());
        add(&self.counters.reordered, usize::from(!found.is_in_order));
        history.named.add(&observed.subjects);
        history.model = found.model;
        Ok(())
    }
}

/// Executes a call and returns its steps with their answers.
async fn execute(
    hand: &mut Hand,
    named: &Named,
    call: &Call,
    sweeps: Watch,
) -> Result<Vec<Step>, Failure> {
    if call.who == Who::Job {
        return Ok(steps_of_job(call, sweeps.complete(named.order).await?));
    }
    let request = super::acts::Request {
        version: call.version,
        idempotency_key: call.idempotency_key.as_deref(),
        server: call.server,
    };
    let answer = hand.send(named, call.who, &call.act, &request).await?;
    Ok(vec![Step { call: call.clone(), answer }])
}

/// Returns the steps of the job: the window ends, the order is completed or left, and the window opens again.
fn steps_of_job(call: &Call, completion: Completion) -> Vec<Step> {
    let step = |act: Act, answer: Answer| Step { call: Call { act, ..call.clone() }, answer };
    let done = |act: Act| step(act, Answer::Done(None));
    let refused = Answer::Refused(NOT_POSSIBLE.0, NOT_POSSIBLE.1.to_owned());
    match completion {
        Completion::NotDelivered => vec![step(Act::CloseWindow, refused)],
        Completion::Completed => vec![done(Act::CloseWindow), done(Act::Complete(true))],
        Completion::LeftOpen => {
            vec![done(Act::CloseWindow), done(Act::Complete(false)), done(Act::OpenWindow)]
        }
    }
}

/// Describes a round for which no order was found.
fn describe(history: &History, steps: &[Vec<Step>], observed: &Observed) -> String {
    let mut lines =
        vec![format!("no serial order gives what was observed\nbefore: {:?}", history.model)];
    let steps = steps.iter().flatten();
    lines.extend(steps.map(|step| format!("sent: {:?}\n  answer: {:?}", step.call, step.answer)));
    lines.extend(observed.entries.iter().map(|entry| format!("entry: {entry:?}")));
    lines.push(format!("after: {:?}", observed.order));
    lines.join("\n")
}

impl Act {
    /// Whether the act changes nothing by itself.
    fn is_read(&self) -> bool {
        *self == Self::Read
    }
}
