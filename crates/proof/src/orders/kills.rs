//! `kills`: random acts of merchants, agents and payments on a few hundred orders, each repeated with its idempotency key until
//! it is answered, while servers and the worker are killed; in the long form also PostgreSQL. Before, the process crashes at each
//! point of a change. Afterwards SQL alone checks the books, the history and the events, and that each act took effect once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use primitives::OrderId;
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use sqlx::PgConnection;
use testkit::TestDatabase;
use tokio::task::JoinSet;

use super::acts::{Answer, Hand, Named, Request, answer};
use super::books::{self, Totals};
use super::model::{Act, OrderModel, ReturnStep, Who};
use super::refunds::returns_of;
use super::store::{OrderStore, model_of};
use super::sweeps::Sweeps;
use crate::engines::Engines;
use crate::http::Delivery;
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::Souk;

/// Points of a change at which the process crashes.
const CRASH_POINTS: [&str; 2] = ["order.before_commit", "order.committed"];
/// Programs that act at once.
const ACTORS: u64 = 8;
/// Orders that they act on: few, so that they meet.
const ORDERS: usize = 200;
/// How often an act is sent until it is answered.
const ATTEMPTS_MAX: usize = 60;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let seconds = trial.by_tier(8, 30);
    let mut rng = trial.rng(3);
    let mut store = OrderStore::open().await?;
    let crashes = crash(&mut store).await?;
    let run = run(&mut store, None, Duration::from_secs(seconds), rng.next_u64()).await?;
    Ok(format!("{crashes} crashes within a change, each retried once; {}", run.describe(seconds)))
}

/// Runs for five minutes on private engines, so that PostgreSQL is killed as well.
pub(crate) async fn soak() -> Result<(), Failure> {
    let engines = Engines::start()?;
    let mut store = OrderStore::open_in(TestDatabase::on(&engines.database_url).await).await?;
    let run = run(&mut store, Some(&engines), Duration::from_mins(5), 7).await?;
    println!("{}", run.describe(300));
    Ok(())
}

/// Lets a server crash at each point of a refund and repeats the refund. Returns the number of crashes.
async fn crash(store: &mut OrderStore) -> Result<usize, Failure> {
    let orders = store.copy(CRASH_POINTS.len(), "pending").await?;
    for (point, order) in CRASH_POINTS.into_iter().zip(orders) {
        let mut sql = store.test.raw().await;
        let (_, lines) = model_of(&mut sql, order, "pending").await?;
        let named = Named::new(order, lines);
        store.restart_with(0, &[("SOUK_CRASH_AT", point.to_owned())]).await?;
        let mut hand = Hand::new(&store.callers, store.ports);
        let request = Request { version: None, idempotency_key: Some(point), server: 0 };
        let act = Act::Refund(Some(100));
        let lost = hand.deliver(&named, Who::Merchant, &act, &request).await;
        ensure(matches!(lost, Delivery::Interrupted(_)), || format!("at {point}: {lost:?}"))?;
        store.servers[0].wait(Duration::from_secs(10)).await?;
        store.restart(0).await?;
        for server in [0, 1, 0] {
            let again = Request { server, ..request };
            let again = hand.send(&named, Who::Merchant, &act, &again).await?;
            ensure(matches!(again, Answer::Done(_)), || format!("after {point}: {again:?}"))?;
        }
        let refunded: i64 =
            sqlx::query_scalar("SELECT refunded_minor FROM placed_order WHERE order_id = $1")
                .bind(order.uuid())
                .fetch_one(&mut sql)
                .await?;
        ensure(refunded == 100, || format!("after {point} {refunded} minor units are refunded"))?;
    }
    Ok(CRASH_POINTS.len())
}

/// The result of a run.
struct Run {
    acts: u64,
    /// Acts that were sent again because there was no answer.
    repeated: u64,
    kills: u32,
    totals: Totals,
}

impl Run {
    fn describe(&self, seconds: u64) -> String {
        format!(
            "{seconds} s, {} kills: {} acts, {} of them sent again; {} transitions with one event each; of {} minor units {} \
             refunded with {} refunds and {} returns, paid equals kept plus refunded",
            self.kills,
            grouped(self.acts),
            grouped(self.repeated),
            grouped(self.totals.transitions),
            grouped(self.totals.paid_minor),
            grouped(self.totals.refunded_minor),
            grouped(self.totals.refunds),
            grouped(self.totals.returns),
        )
    }
}

/// Lets programs act while processes are killed, then checks the books.
async fn run(
    store: &mut OrderStore,
    engines: Option<&Engines>,
    span: Duration,
    seed: u64,
) -> Result<Run, Failure> {
    let mut rng = StdRng::seed_from_u64(seed);
    let before = Tally::read(&mut store.test.raw().await).await?;
    let orders = store.copy(ORDERS, "pending").await?;
    let actors = Actors::start(store, &orders, &mut rng).await?;
    let mut worker = Souk::work(&store.url(), 1)?;
    let sweeps = Sweeps::start(&store.test);
    let (since, mut kills) = (Instant::now(), 0);
    while since.elapsed() < span {
        tokio::time::sleep(Duration::from_millis(rng.random_range(400..1_500))).await;
        match (rng.random_range(0..8_usize), engines) {
            (0, Some(engines)) => engines.kill_postgres().await?,
            (1 | 2, _) => {
                worker.signal("KILL")?;
                worker = Souk::work(&store.url(), 1)?;
            }
            (number, _) => store.restart(number % 2).await?,
        }
        kills += 1;
    }
    let (acts, repeated) = (Arc::clone(&actors.acts), Arc::clone(&actors.repeated));
    let accepted = before.plus(actors.stop().await?);
    drop((sweeps, worker));
    let mut sql = store.test.raw().await;
    let totals = books::check(&mut sql).await?;
    let stored = Tally::read(&mut sql).await?;
    ensure(stored == accepted, || format!("accepted: {accepted:?}, stored: {stored:?}"))?;
    let (acts, repeated) = (acts.load(Ordering::Relaxed), repeated.load(Ordering::Relaxed));
    Ok(Run { acts, repeated, kills, totals })
}

/// What was accepted, by the answers. An act that was sent again counts once.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    refunds: i64,
    refunded_minor: i64,
    shipments: i64,
    cancellations: i64,
    returns: i64,
}

impl Tally {
    fn count(&mut self, act: &Act) {
        match act {
            Act::Refund(Some(minor)) => {
                self.refunds += 1;
                self.refunded_minor += minor;
            }
            Act::Ship(_) => self.shipments += 1,
            Act::Cancel(..) => self.cancellations += 1,
            Act::RequestReturn(..) => self.returns += 1,
            _ => {}
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            refunds: self.refunds + other.refunds,
            refunded_minor: self.refunded_minor + other.refunded_minor,
            shipments: self.shipments + other.shipments,
            cancellations: self.cancellations + other.cancellations,
            returns: self.returns + other.returns,
        }
    }

    /// Reads what is stored. Refunds of returns are not counted: their amount is computed.
    async fn read(sql: &mut PgConnection) -> Result<Self, Failure> {
        let (refunds, refunded_minor, shipments, cancellations, returns) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM order_refund WHERE return_id IS NULL),
                    (SELECT coalesce(sum(amount_minor), 0)::bigint FROM order_refund WHERE return_id IS NULL),
                    (SELECT count(*) FROM order_fulfillment),
                    (SELECT count(*) FROM order_history WHERE kind = 'lines_canceled'),
                    (SELECT count(*) FROM order_return)",
        )
        .fetch_one(sql)
        .await?;
        Ok(Self { refunds, refunded_minor, shipments, cancellations, returns })
    }
}

/// Programs that act until they are stopped.
pub(crate) struct Actors {
    tasks: JoinSet<Result<Tally, Failure>>,
    ended: Arc<AtomicBool>,
    acts: Arc<AtomicU64>,
    repeated: Arc<AtomicU64>,
}

impl Actors {
    /// Lets programs act on these orders, to which nothing has happened yet.
    pub(crate) async fn start(
        store: &OrderStore,
        orders: &[OrderId],
        rng: &mut StdRng,
    ) -> Result<Self, Failure> {
        let (mut sql, mut named) = (store.test.raw().await, Vec::new());
        for order in orders {
            let (model, lines) = model_of(&mut sql, *order, "pending").await?;
            named.push((model, Named::new(*order, lines)));
        }
        let orders = Arc::new(named);
        let mut actors = Self {
            tasks: JoinSet::new(),
            ended: Arc::default(),
            acts: Arc::default(),
            repeated: Arc::default(),
        };
        for _ in 0..ACTORS {
            let actor = Actor {
                hand: Hand::new(&store.callers, store.ports),
                orders: Arc::clone(&orders),
                url: store.url(),
                rng: StdRng::seed_from_u64(rng.next_u64()),
                ended: Arc::clone(&actors.ended),
                acts: Arc::clone(&actors.acts),
                repeated: Arc::clone(&actors.repeated),
            };
            actors.tasks.spawn(actor.run());
        }
        Ok(actors)
    }

    /// Stops them, and returns what was accepted.
    pub(crate) async fn stop(mut self) -> Result<Tally, Failure> {
        self.ended.store(true, Ordering::Relaxed);
        let mut accepted = Tally::default();
        while let Some(ended) = self.tasks.join_next().await {
            accepted = accepted.plus(ended??);
        }
        Ok(accepted)
    }
}

/// A program that takes random actions on random orders. It does not know what state they are in.
struct Actor {
    hand: Hand,
    orders: Arc<Vec<(OrderModel, Named)>>,
    url: String,
    rng: StdRng,
    ended: Arc<AtomicBool>,
    acts: Arc<AtomicU64>,
    repeated: Arc<AtomicU64>,
}

impl Actor {
    async fn run(mut self) -> Result<Tally, Failure> {
        let mut accepted = Tally::default();
        while !self.ended.load(Ordering::Relaxed) {
            let (model, named) = self.orders[self.rng.random_range(0..self.orders.len())].clone();
            let (who, act, named) = self.draw(&model, named).await?;
            self.acts.fetch_add(1, Ordering::Relaxed);
            if let Answer::Done(_) = self.send(&named, who, &act).await? {
                accepted.count(&act);
            }
        }
        Ok(accepted)
    }

    /// Sends an act to any server until one answers.
    async fn send(&mut self, named: &Named, who: Who, act: &Act) -> Result<Answer, Failure> {
        let key = format!("{:032x}", self.rng.random::<u128>());
        let idempotency_key = (who != Who::Payment).then_some(key.as_str());
        for attempt in 0..ATTEMPTS_MAX {
            let server = self.rng.random_range(0..2_usize);
            let request = Request { version: None, idempotency_key, server };
            let delivery = self.hand.deliver(named, who, act, &request).await;
            if let Delivery::Answered { status: 500, body } = &delivery {
                return Err(format!("{who:?} {act:?}: 500 {body}").into());
            }
            if let Some(answer) = answer(&delivery) {
                return Ok(answer);
            }
            self.repeated.fetch_add(u64::from(attempt == 0), Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err(format!("{who:?} {act:?} was not answered {ATTEMPTS_MAX} times").into())
    }

    async fn draw(
        &mut self,
        model: &OrderModel,
        mut named: Named,
    ) -> Result<(Who, Act, Named), Failure> {
        let line = self.rng.random_range(0..model.lines.len());
        let some = vec![(line, 1)];
        let amount = self.rng.random_range(1..=(model.paid_minor / 5).max(1));
        let (who, act) = match self.rng.random_range(0..20_u32) {
            0..2 => (Who::Merchant, Act::Confirm),
            2 => (Who::Merchant, Act::Process),
            3..6 => (Who::Merchant, Act::Ship(some)),
            6..8 => (Who::Merchant, Act::Ship(Vec::new())),
            8..10 => (Who::Merchant, Act::Deliver(None)),
            10 => (Who::Merchant, Act::Cancel(some, "out_of_stock")),
            11..14 => (Who::Merchant, Act::Refund(Some(amount))),
            14 => (
                Who::Payment,
                Act::Payment(["disputed", "paid"][self.rng.random_range(0..2_usize)]),
            ),
            15..17 => (Who::Agent, Act::RequestReturn(some, "refund")),
            _ => {
                named.returns = returns(&self.url, named.order).await.unwrap_or_default();
                if named.returns.is_empty() {
                    return Ok((Who::Merchant, Act::Confirm, named));
                }
                let at = self.rng.random_range(0..named.returns.len());
                let steps = [
                    ReturnStep::Approve,
                    ReturnStep::Receive,
                    ReturnStep::Settle(None),
                    ReturnStep::Close,
                ];
                (Who::Merchant, Act::Return(at, steps[self.rng.random_range(0..4_usize)]))
            }
        };
        Ok((who, act, named))
    }
}

/// Returns the returns of an order. Fails while PostgreSQL is killed.
async fn returns(url: &str, order: OrderId) -> Result<Vec<String>, Failure> {
    use sqlx::Connection;
    returns_of(&mut PgConnection::connect(url).await?, order).await
}
