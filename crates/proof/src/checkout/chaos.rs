//! `chaos`: agents take random actions, merchants report payments, sessions are canceled and changed,
//! and every process is killed at random times: all invariants still hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use testkit::TestDatabase;
use tokio::task::JoinSet;

use super::invariants::{self, Totals};
use super::store::{Agent, Reply, TestStore, report_paid};
use crate::engines::Engines;
use crate::report::{Failure, Tier, Trial, Verdict};
use crate::souk::{Souk, stable_port};

/// Units of each product; some products run out.
const STOCK: [i32; 3] = [40, 400, 4_000];
/// Number of concurrent agents.
const AGENTS: u64 = 6;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let seconds = if trial.tier == Tier::Fast { 8 } else { 60 };
    let seed = trial.rng(1).random();
    let store = TestStore::create(&STOCK).await?;
    let (totals, carts, kills) = run(&store, None, Duration::from_secs(seconds), seed).await?;
    Ok(format!(
        "{seconds} s, {carts} carts, {kills} kills: {} sessions, {} holds, {} orders, {} abandoned; all invariants hold",
        totals.sessions, totals.holding, totals.orders, totals.abandoned
    ))
}

/// Runs for five minutes on private engines, so that PostgreSQL is killed as well.
pub(crate) async fn soak() -> Result<(), Failure> {
    let engines = Engines::start()?;
    let store = TestStore::create_in(TestDatabase::on(&engines.database_url).await, &STOCK).await?;
    let (totals, carts, kills) = run(&store, Some(&engines), Duration::from_mins(5), 7).await?;
    println!("5 minutes, {carts} carts, {kills} kills: {totals:?}; all invariants hold");
    Ok(())
}

/// Runs agents while processes are killed, then checks the invariants. Returns the totals and the
/// numbers of carts and kills.
async fn run(
    store: &TestStore,
    engines: Option<&Engines>,
    span: Duration,
    seed: u64,
) -> Result<(Totals, u64, u32), Failure> {
    let ports = [stable_port()?, stable_port()?];
    let mut servers = Vec::new();
    for port in ports {
        servers.push(Souk::serve_on(&store.url(), port, &[])?.ready().await?);
    }
    let mut worker = Souk::work(&store.url(), 1)?;
    let agents = AgentPool::start(store, &servers[0], ports, seed).await?;
    let (since, mut kills, mut random) = (Instant::now(), 0, StdRng::seed_from_u64(seed));
    while since.elapsed() < span {
        tokio::time::sleep(Duration::from_millis(random.random_range(700..2_500))).await;
        match (random.random_range(0..8_usize), engines) {
            (0, Some(engines)) => engines.kill_postgres().await?,
            (1 | 2, _) => {
                worker.signal("KILL")?;
                worker = Souk::work(&store.url(), 1)?;
            }
            (number, _) => {
                let victim = number % 2;
                servers[victim].signal("KILL")?;
                servers[victim].wait(Duration::from_secs(5)).await?;
                servers[victim] = Souk::serve_on(&store.url(), ports[victim], &[])?.ready().await?;
            }
        }
        kills += 1;
    }
    let carts = agents.stop().await?;
    drop((servers, worker));
    // PostgreSQL rolls back the transactions of a killed server once its connection is closed.
    tokio::time::sleep(Duration::from_secs(1)).await;
    Ok((invariants::check(store).await?, carts, kills))
}

/// Agents that take random actions until they are stopped.
pub(super) struct AgentPool {
    agents: JoinSet<Result<(), Failure>>,
    ended: Arc<AtomicBool>,
    carts: Arc<AtomicU64>,
}

impl AgentPool {
    /// Starts the agents on two servers.
    pub(super) async fn start(
        store: &TestStore,
        server: &Souk,
        ports: [u16; 2],
        seed: u64,
    ) -> Result<Self, Failure> {
        let agent = store.agent(server, "ada").await?;
        let merchant_key = store.merchant_key().await?;
        let (ended, carts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut agents = JoinSet::new();
        for number in 0..AGENTS {
            let shopper = Shopper {
                agent: agent.clone(),
                merchant_key: merchant_key.clone(),
                ports,
                products: store.products.clone(),
                random: StdRng::seed_from_u64(seed ^ number),
            };
            agents.spawn(shopper.run(Arc::clone(&ended), Arc::clone(&carts)));
        }
        Ok(Self { agents, ended, carts })
    }

    /// Stops the agents and returns how many carts they created.
    pub(super) async fn stop(mut self) -> Result<u64, Failure> {
        self.ended.store(true, Ordering::Relaxed);
        while let Some(ended) = self.agents.join_next().await {
            ended??;
        }
        Ok(self.carts.load(Ordering::Relaxed))
    }
}

/// An agent that takes random actions.
struct Shopper {
    agent: Agent,
    merchant_key: String,
    ports: [u16; 2],
    products: Vec<primitives::ProductId>,
    random: StdRng,
}

impl Shopper {
    async fn run(mut self, stop: Arc<AtomicBool>, carts: Arc<AtomicU64>) -> Result<(), Failure> {
        while !stop.load(Ordering::Relaxed) {
            let port = self.ports[self.random.random_range(0..2_usize)];
            let mut client = self.agent.client(port);
            let many = self.random.random_range(1..=2_usize);
            let first = self.random.random_range(0..self.products.len());
            let items: Vec<_> = (0..many)
                .map(|more| {
                    (
                        self.products[(first + more) % self.products.len()],
                        self.random.random_range(1..3),
                    )
                })
                .collect();
            let Ok(cart) = self.agent.cart(&mut client, &items).await else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            carts.fetch_add(1, Ordering::Relaxed);
            self.buy(&cart).await?;
        }
        Ok(())
    }

    /// Completes the cart, possibly several times, and then pays, cancels, changes or abandons the
    /// session.
    async fn buy(&mut self, cart: &str) -> Result<(), Failure> {
        let mut session = None;
        for _ in 0..self.random.random_range(1..4) {
            let port = self.ports[self.random.random_range(0..2_usize)];
            let mut client = self.agent.client(port);
            match self.agent.complete(&mut client, cart, Some(cart)).await {
                Reply::Success(done) => session = Some(done),
                Reply::Error(500, code) => return Err(format!("500 {code}").into()),
                Reply::Error(..) | Reply::Unknown(_) => {}
            }
        }
        let Some(session) = session else { return Ok(()) };
        let checkout = session["checkout_id"].as_str().unwrap_or_default().to_owned();
        for _ in 0..self.random.random_range(1..3) {
            let port = self.ports[self.random.random_range(0..2_usize)];
            let reply = match self.random.random_range(0..10) {
                0..5 => report_paid(port, &self.merchant_key, &checkout, &checkout).await,
                5..7 => {
                    let mut client = self.agent.client(port);
                    let arguments =
                        json!({ "checkout_id": checkout, "reason_code": "changed_mind" });
                    self.agent.call(&mut client, "cancel_checkout", arguments).await
                }
                7..9 => {
                    let mut client = self.agent.client(port);
                    let arguments =
                        json!({ "checkout_id": checkout, "ship_to": { "country": "FR" } });
                    self.agent.call(&mut client, "update_checkout", arguments).await
                }
                _ => return Ok(()),
            };
            if let Reply::Error(500, code) = reply {
                return Err(format!("500 {code}").into());
            }
        }
        Ok(())
    }
}
