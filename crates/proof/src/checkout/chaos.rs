//! (f) Agents that do anything at all, merchants who report, people who turn back, and every process killed now and then: the
//! books still balance.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use testkit::TestDatabase;
use tokio::task::JoinSet;

use super::checker::{self, Books};
use super::shop::{Agent, Said, Shop, report_paid};
use crate::engines::Engines;
use crate::report::{Failure, Tier, Trial, Verdict};
use crate::souk::{Souk, lasting_port};

/// Of each article: some run out.
const STOCK: [i32; 3] = [40, 400, 4_000];
/// How many agents at once.
const AGENTS: u64 = 6;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let seconds = if trial.tier == Tier::Fast { 8 } else { 60 };
    let seed = trial.dice(1).random();
    let shop = Shop::open(&STOCK).await?;
    let (books, acts, kills) = rage(&shop, None, Duration::from_secs(seconds), seed).await?;
    Ok(format!(
        "{seconds} s, {acts} acts, {kills} kills: {} sessions, {} holds, {} orders, {} abandoned; the books balance",
        books.sessions, books.holding, books.orders, books.abandoned
    ))
}

/// Five minutes of it, on engines of its own, so that PostgreSQL is killed as well.
pub(crate) async fn soak() -> Result<(), Failure> {
    let engines = Engines::start()?;
    let shop = Shop::open_in(TestDatabase::on(&engines.database_url).await, &STOCK).await?;
    let (books, acts, kills) = rage(&shop, Some(&engines), Duration::from_mins(5), 7).await?;
    println!("5 minutes, {acts} acts, {kills} kills: {books:?}; the books balance");
    Ok(())
}

async fn rage(
    shop: &Shop,
    engines: Option<&Engines>,
    span: Duration,
    seed: u64,
) -> Result<(Books, u64, u32), Failure> {
    let ports = [lasting_port()?, lasting_port()?];
    let mut servers = Vec::new();
    for port in ports {
        servers.push(Souk::serve_on(&shop.url(), port, &[])?.opened().await?);
    }
    let mut worker = Souk::work(&shop.url(), 1)?;
    let crowd = Crowd::gather(shop, &servers[0], ports, seed).await?;
    let (since, mut kills, mut random) = (Instant::now(), 0, StdRng::seed_from_u64(seed));
    while since.elapsed() < span {
        tokio::time::sleep(Duration::from_millis(random.random_range(700..2_500))).await;
        match (random.random_range(0..8_usize), engines) {
            (0, Some(engines)) => engines.kill_postgres().await?,
            (1 | 2, _) => {
                worker.signal("KILL")?;
                worker = Souk::work(&shop.url(), 1)?;
            }
            (number, _) => {
                let victim = number % 2;
                servers[victim].signal("KILL")?;
                servers[victim].wait(Duration::from_secs(5)).await?;
                servers[victim] = Souk::serve_on(&shop.url(), ports[victim], &[])?.opened().await?;
            }
        }
        kills += 1;
    }
    let acts = crowd.end().await?;
    drop((servers, worker));
    // What a killed server left open is undone once its connection is gone.
    tokio::time::sleep(Duration::from_secs(1)).await;
    Ok((checker::check(shop).await?, acts, kills))
}

/// Agents that do anything at all, until they are told to stop.
pub(super) struct Crowd {
    agents: JoinSet<Result<(), Failure>>,
    ended: Arc<AtomicBool>,
    acts: Arc<AtomicU64>,
}

impl Crowd {
    /// Lets them loose on two servers.
    pub(super) async fn gather(
        shop: &Shop,
        server: &Souk,
        ports: [u16; 2],
        seed: u64,
    ) -> Result<Self, Failure> {
        let agent = shop.agent(server, "ada").await?;
        let merchant_key = shop.merchant_key().await?;
        let (ended, acts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut agents = JoinSet::new();
        for number in 0..AGENTS {
            let one = Shopper {
                agent: agent.clone(),
                merchant_key: merchant_key.clone(),
                ports,
                products: shop.products.clone(),
                random: StdRng::seed_from_u64(seed ^ number),
            };
            agents.spawn(one.shop(Arc::clone(&ended), Arc::clone(&acts)));
        }
        Ok(Self { agents, ended, acts })
    }

    /// Stops them; how many carts they made.
    pub(super) async fn end(mut self) -> Result<u64, Failure> {
        self.ended.store(true, Ordering::Relaxed);
        while let Some(gone) = self.agents.join_next().await {
            gone??;
        }
        Ok(self.acts.load(Ordering::Relaxed))
    }
}

/// An agent that does anything at all.
struct Shopper {
    agent: Agent,
    merchant_key: String,
    ports: [u16; 2],
    products: Vec<primitives::ProductId>,
    random: StdRng,
}

impl Shopper {
    async fn shop(mut self, stop: Arc<AtomicBool>, acts: Arc<AtomicU64>) -> Result<(), Failure> {
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
            acts.fetch_add(1, Ordering::Relaxed);
            self.buy(&cart).await?;
        }
        Ok(())
    }

    /// Completes, perhaps several times, and then pays, calls off, changes, or walks away.
    async fn buy(&mut self, cart: &str) -> Result<(), Failure> {
        let mut session = None;
        for _ in 0..self.random.random_range(1..4) {
            let port = self.ports[self.random.random_range(0..2_usize)];
            let mut client = self.agent.client(port);
            match self.agent.complete(&mut client, cart, Some(cart)).await {
                Said::Done(done) => session = Some(done),
                Said::Refused(500, code) => return Err(format!("500 {code}").into()),
                Said::Refused(..) | Said::Nothing(_) => {}
            }
        }
        let Some(session) = session else { return Ok(()) };
        let checkout = session["checkout_id"].as_str().unwrap_or_default().to_owned();
        for _ in 0..self.random.random_range(1..3) {
            let port = self.ports[self.random.random_range(0..2_usize)];
            let said = match self.random.random_range(0..10) {
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
            if let Said::Refused(500, code) = said {
                return Err(format!("500 {code}").into());
            }
        }
        Ok(())
    }
}
