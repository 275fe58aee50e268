//! `nothing-lost`: orders are placed and changed over HTTP while both servers, both workers and PostgreSQL are killed at random.
//! Afterwards the file of the receiver is compared with the events in the database.
//!
//! Two endpoints receive all kinds of events; one of them rejects every tenth event at first. Each event must have been received at
//! both, at least once; what was received more than once is the same, byte for byte, under the same id, and every request is
//! signed; nothing was received that is not in the database, such as the event of a purchase that was rolled back; and the
//! `sequence` of each order is complete. Every order that a buyer was told about must be among them.
//!
//! A delivery whose worker was killed three times in a row while it was in flight is quarantined: kills look like a poison
//! event. That is rare, counted, and mended as its merchant would, by sending it again; any other dead letter fails the check.

mod books;
mod buyers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::ProductDraft;
use primitives::{EndpointId, EventId, Id, ProductId};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use testkit::{StoreBuilder, TestDatabase};
use uuid::Uuid;

use self::books::Books;
use self::buyers::{Buyers, Desk};
use super::receiver::Receiver;
use super::site::{Registered, Site, Worker};
use crate::checkout::store::{Agent, settings_without_hold_limits};
use crate::engines::Engines;
use crate::identity::{Account, agent_key_for};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, stable_port, store_key};

const SLUG: &str = "attic";
/// Paths of the endpoints.
const PATHS: [&str; 2] = ["/ok/orders", "/some-fail/orders"];
/// Products, so that buyers rarely wait for each other.
const PRODUCTS: usize = 16;
const STOCK: i64 = 1_000_000;
/// For how long the pending deliveries may stay as many: a lease, the first wait of the retry table, and a circuit that has
/// opened by chance.
const STALLED_MAX: Duration = Duration::from_mins(2);
/// Kills in a run: one of each kind, and another.
const KILLS_MIN: u32 = 4;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let (orders, limit) =
        trial.by_tier((60, Duration::from_mins(3)), (5_000, Duration::from_mins(13)));
    let seed = trial.rng(1).random();
    let run = run(orders, seed, |text| trial.progress(|| text));
    let ended = tokio::time::timeout(limit, run).await;
    ended.map_err(|_| format!("{orders} orders took more than {limit:?}"))?
}

/// Places a hundred thousand orders, or another number.
pub(crate) async fn soak(orders: Option<u32>) -> Result<(), Failure> {
    let mut shown = Instant::now();
    let orders = usize::try_from(orders.unwrap_or(100_000))?;
    let finding = run(orders, 7, |text| {
        if shown.elapsed() > Duration::from_secs(30) {
            shown = Instant::now();
            println!("{text}");
        }
    });
    println!("{}", finding.await?);
    Ok(())
}

async fn run(orders: usize, seed: u64, progress: impl FnMut(String)) -> Verdict {
    let mut shop = Shop::open().await?;
    let ended = place(&mut shop, orders, seed, progress).await;
    // Now, because the database cannot be dropped if PostgreSQL does not run.
    ended.inspect_err(|why| println!("{why}"))
}

/// Places orders while processes are killed, and compares what was received.
async fn place(
    shop: &mut Shop,
    orders: usize,
    seed: u64,
    mut progress: impl FnMut(String),
) -> Verdict {
    let since = Instant::now();
    let buyers = Buyers::start(&shop.desk, seed);
    let (mut rng, mut kills) = (StdRng::seed_from_u64(seed), Kills::default());
    // Often enough that a short run has one of each kind, and that a long one has time for orders.
    let longest_ms = match orders {
        ..1_000 => 700,
        1_000..50_000 => 2_500,
        _ => 6_000,
    };
    while !buyers.has_one_failed() && (buyers.placed() < orders || kills.total() < KILLS_MIN) {
        let pause = rng.random_range(300..longest_ms);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        shop.kill(&mut rng, &mut kills).await?;
        progress(format!("{} orders, {} kills", buyers.placed(), kills.total()));
    }
    let accepted = buyers.stop().await?;
    shop.site.until_drained(STALLED_MAX).await?;
    let quarantined = shop.redeliver().await?;
    shop.site.until_drained(STALLED_MAX).await?;
    let books = Books::compare(&shop.site, &shop.endpoints, &accepted).await?;
    Ok(format!(
        "{} orders in {:.0} s with {} kills of servers, {} of workers and {} of PostgreSQL: {} events, each received at {} \
         endpoints, {} of them more than once with the same bytes, {quarantined} after three kills in a row and a repetition on \
         request; the sequences of all orders are complete; nothing is lost",
        grouped(accepted.len()),
        since.elapsed().as_secs_f64(),
        kills.servers,
        kills.workers,
        kills.engines,
        grouped(books.events),
        PATHS.len(),
        grouped(books.repeated),
    ))
}

/// How often each kind of process was killed.
#[derive(Debug, Default)]
struct Kills {
    servers: u32,
    workers: u32,
    engines: u32,
}

impl Kills {
    fn total(&self) -> u32 {
        self.servers + self.workers + self.engines
    }
}

/// A store with two servers and two workers, on a PostgreSQL of its own.
struct Shop {
    servers: Vec<Souk>,
    workers: Vec<Worker>,
    desk: Arc<Desk>,
    endpoints: Vec<Registered>,
    site: Site,
    // Last, because everything else uses it.
    engines: Engines,
}

impl Shop {
    async fn open() -> Result<Self, Failure> {
        let engines = tokio::task::spawn_blocking(Engines::start).await??;
        let test = TestDatabase::on(&engines.database_url).await;
        let site = Site::open_in(test, Receiver::start()?).await?;
        let settings = settings_without_hold_limits();
        let builder = StoreBuilder::new(SLUG).score(0.9).settings(settings);
        let store = builder.build(&site.database).await;
        let products = store.put_products(&site.database, &drafts()).await;
        let mut endpoints = Vec::new();
        for path in PATHS {
            endpoints.push(site.endpoint(store.merchant, path).await?);
        }
        let ports = [stable_port()?, stable_port()?];
        let mut servers = Vec::new();
        for port in ports {
            servers.push(serve(&site, ports, port)?.ready().await?);
        }
        let workers = vec![site.worker(&[])?, site.worker(&[])?];
        let desk = Arc::new(desk(&site, ports, products).await?);
        Ok(Self { servers, workers, desk, endpoints, site, engines })
    }

    /// Kills a process at random and starts it again. The first ones are one of each kind.
    async fn kill(&mut self, rng: &mut StdRng, kills: &mut Kills) -> Result<(), Failure> {
        let drawn = match kills.total() {
            0 => 1,
            1 => 5,
            2 => 0,
            _ => rng.random_range(0..8_u32),
        };
        let which = rng.random_range(0..2_usize);
        match drawn {
            0 => {
                self.engines.kill_postgres().await?;
                kills.engines += 1;
            }
            1..5 => {
                self.workers[which].souk.signal("KILL")?;
                self.workers[which] = self.site.worker(&[])?;
                kills.workers += 1;
            }
            _ => {
                self.servers[which].signal("KILL")?;
                self.servers[which].wait(Duration::from_secs(5)).await?;
                let (ports, port) = (self.desk.ports, self.desk.ports[which]);
                self.servers[which] = serve(&self.site, ports, port)?.ready().await?;
                kills.servers += 1;
            }
        }
        Ok(())
    }

    /// Sends deliveries again that were quarantined, and returns their number. Fails if another one is a dead letter.
    async fn redeliver(&self) -> Result<usize, Failure> {
        let dead: Vec<(Uuid, Uuid, bool)> = sqlx::query_as(
            "SELECT delivery.endpoint_id, delivery.event_id, EXISTS (
                 SELECT FROM webhook_attempt AS attempt
                 WHERE attempt.merchant_id = delivery.merchant_id AND attempt.endpoint_id = delivery.endpoint_id
                   AND attempt.event_at = delivery.event_at AND attempt.event_id = delivery.event_id
                   AND attempt.error = 'quarantined')
             FROM webhook_delivery AS delivery WHERE delivery.dead_at IS NOT NULL",
        )
        .fetch_all(&mut self.site.raw().await)
        .await?;
        for (endpoint, event, is_quarantined) in &dead {
            ensure(*is_quarantined, || format!("the delivery of {event} was given up"))?;
            let (endpoint, event) = (EndpointId::from_uuid(*endpoint), EventId::from_uuid(*event));
            let merchant = self.endpoints[0].merchant;
            self.site.webhooks.redeliver(merchant, endpoint, event, None).await?;
        }
        Ok(dead.len())
    }
}

fn drafts() -> Vec<ProductDraft> {
    let draft =
        |number: usize| testkit::product_draft(&format!("product-{number}"), "10.00", STOCK);
    (0..PRODUCTS).map(draft).collect()
}

/// Both servers have the same public address, so that both accept the same tokens.
fn serve(site: &Site, ports: [u16; 2], port: u16) -> Result<Souk, Failure> {
    let settings = [("SOUK_SITE_URL", format!("http://127.0.0.1:{}", ports[0]))];
    Souk::serve_on(&site.test.url(), port, &settings)
}

/// Creates the credentials of a buyer's agent and of the merchant.
async fn desk(site: &Site, ports: [u16; 2], products: Vec<ProductId>) -> Result<Desk, Failure> {
    let url = site.test.url();
    let account = Account::create(&url, "ada@example.com", "ENTERPRISE").await?;
    let token = account.log_in(ports[0]).await?;
    let scopes = ["agent:read", "agent:cart", "agent:checkout"];
    let (_, key) = agent_key_for(ports[0], &token, &scopes).await?;
    let agent = Agent::at(SLUG, &key);
    Ok(Desk { ports, agent, store_key: store_key(&url, SLUG).await?, products })
}
