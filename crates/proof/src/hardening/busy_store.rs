//! `busy-store`: one store gets fifty times the calls of the others, and each of its reads takes long. Other stores and
//! their carts are served as before.
//!
//! A policy makes the reads of the busy store take 50 ms without using a processor, as those of a very large catalog.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::Connection;
use tokio::task::JoinSet;

use super::demo_stores::{DemoStores, product_of};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, grouped};

const BUSY: &str = "kivikiri";
const OTHERS: [&str; 3] = ["skarvdal", "wiederlicht", "orelys"];
/// Clients of the busy store; each other store has two.
const CLIENTS: usize = 100;
/// Largest growth of the p99 latency.
const GROWTH_MAX: f64 = 1.5;
/// Rounds until the growth must be small: the machine is shared.
const ROUNDS: usize = 3;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let demo = DemoStores::start().await?;
    let port = demo.souk.port;
    let key =
        demo.agent_key("buyer@example.com", "ENTERPRISE", &["agent:read", "agent:cart"]).await?;
    slow_down(&demo, BUSY).await?;
    let seconds = Duration::from_secs(trial.by_tier(2, 15));
    // Connections and caches are filled first.
    p99(port, &key, Duration::from_secs(1)).await?;
    let mut best = f64::INFINITY;
    let mut verdict = String::new();
    for _ in 0..ROUNDS {
        let before = p99(port, &key, seconds).await?;
        let busy = BusyStore::start(port, &key)?;
        tokio::time::sleep(Duration::from_millis(500)).await;
        let after = p99(port, &key, seconds).await?;
        let (served, refused) = busy.stop().await;
        let growth = after.as_secs_f64() / before.as_secs_f64();
        if growth < best {
            best = growth;
            verdict = format!(
                "{CLIENTS} clients of one store ({} calls served, {} refused): p99 of reads and carts of other stores {:.1} \
                 ms, without them {:.1} ms",
                grouped(served),
                grouped(refused),
                after.as_secs_f64() * 1_000.0,
                before.as_secs_f64() * 1_000.0,
            );
        }
        if best <= GROWTH_MAX {
            return Ok(verdict);
        }
    }
    Err(format!("the p99 latency of other stores grew {best:.1} times: {verdict}").into())
}

/// Makes every read of a product of the store take 50 ms.
async fn slow_down(demo: &DemoStores, slug: &str) -> Result<(), Failure> {
    let world = demo::world();
    let merchant = world.store(slug).ok_or("no such demo store")?.id;
    let statements = format!(
        "CREATE FUNCTION is_read(merchant uuid) RETURNS boolean LANGUAGE plpgsql AS $$
         BEGIN
             IF merchant = '{merchant}' THEN PERFORM pg_sleep(0.05); END IF;
             RETURN true;
         END $$;
         CREATE POLICY slow ON product AS RESTRICTIVE FOR SELECT TO souk_store USING (is_read(merchant_id))"
    );
    let mut sql = sqlx::PgConnection::connect(&demo.engines.database_url).await?;
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements)).execute(&mut sql).await?;
    Ok(())
}

/// The load of the busy store.
struct BusyStore {
    stop: Arc<AtomicBool>,
    served: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
    clients: JoinSet<()>,
}

impl BusyStore {
    fn start(port: u16, key: &str) -> Result<Self, Failure> {
        let (stop, served, refused) = (Arc::default(), Arc::default(), Arc::default());
        let mut busy = Self { stop, served, refused, clients: JoinSet::new() };
        let body = details(BUSY)?;
        for _ in 0..CLIENTS {
            let mut client = Client::new(port).with_agent_key(key);
            let (stop, body) = (Arc::clone(&busy.stop), body.clone());
            let (served, refused) = (Arc::clone(&busy.served), Arc::clone(&busy.refused));
            busy.clients.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let delivery = client.post(&format!("/{BUSY}/mcp"), &body).await;
                    let is_served = matches!(delivery, Delivery::Answered { status: 200, .. });
                    let count = if is_served { &served } else { &refused };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        Ok(busy)
    }

    async fn stop(self) -> (usize, usize) {
        self.stop.store(true, Ordering::Relaxed);
        self.clients.join_all().await;
        (self.served.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed))
    }
}

fn call(tool: &str, arguments: &serde_json::Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

fn details(slug: &str) -> Result<String, Failure> {
    Ok(call("get_product_details", &json!({ "product_id": product_of(slug)? })))
}

/// Returns the p99 latency of reads and carts of the other stores.
async fn p99(port: u16, key: &str, during: Duration) -> Result<Duration, Failure> {
    let mut clients = JoinSet::new();
    for slug in OTHERS {
        let items = json!([{ "product_id": product_of(slug)?, "quantity": 1 }]);
        for body in [details(slug)?, call("create_cart", &json!({ "items": items }))] {
            let mut client = Client::new(port).with_agent_key(key);
            clients.spawn(async move {
                let (until, mut times) = (Instant::now() + during, Vec::new());
                while Instant::now() < until {
                    let since = Instant::now();
                    match client.post(&format!("/{slug}/mcp"), &body).await {
                        Delivery::Answered { status: 200, .. } => times.push(since.elapsed()),
                        other => return Err(format!("a call to {slug} failed: {other:?}")),
                    }
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                Ok(times)
            });
        }
    }
    let mut times = Vec::new();
    while let Some(result) = clients.join_next().await {
        times.extend(result??);
    }
    times.sort_unstable();
    let p99 = times.get(times.len() * 99 / 100).copied().ok_or("no call was made")?;
    Ok(p99)
}
