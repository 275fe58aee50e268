//! `busy-store`: one store gets fifty times the calls of the others, and each of its reads takes long. Other stores and
//! their carts are served as before.
//!
//! A policy makes the reads of the busy store take 50 ms without using a processor, as those of a very large catalog.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::TestDatabase;
use tokio::task::JoinSet;

use super::deployment::{demo_database, product_of};
use super::neighbours::{Rounds, p99};
use crate::http::{Client, Delivery, tool_call};
use crate::identity::{Account, agent_key_for};
use crate::report::{Failure, Tier, Trial, Verdict, grouped};
use crate::souk::Souk;

const BUSY: &str = "kivikiri";
const OTHERS: [&str; 3] = ["skarvdal", "wiederlicht", "orelys"];
/// Clients of the busy store; each other store has two.
const CLIENTS: usize = 100;
/// Rounds; in the short form one is enough if it meets the limit.
const ROUNDS: usize = 3;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = demo_database().await;
    slow_down(&test, BUSY).await?;
    let souk = Souk::serve(&test.url(), &[]).await?;
    let port = souk.port;
    let account = Account::create(&test.url(), "buyer@example.com", "ENTERPRISE").await?;
    let scopes = ["agent:read", "agent:cart"];
    let (_, key) = agent_key_for(port, &account.log_in(port).await?, &scopes).await?;
    let during = trial.by_tier(Duration::from_millis(1_500), Duration::from_secs(15));
    // Connections and caches are filled first.
    latencies(port, &key, Duration::from_millis(500)).await?;
    let (mut rounds, mut served, mut refused) = (Rounds::default(), 0, 0);
    for _ in 0..ROUNDS {
        let without = latencies(port, &key, during).await?;
        let busy = BusyStore::start(port, &key)?;
        tokio::time::sleep(Duration::from_millis(300)).await;
        rounds.add(p99(without)?, p99(latencies(port, &key, during).await?)?);
        let calls = busy.stop().await;
        (served, refused) = (served + calls.0, refused + calls.1);
        if trial.tier == Tier::Fast && rounds.is_met() {
            break;
        }
    }
    rounds.judge(&trial, "the p99 latency of other stores")?;
    Ok(format!(
        "{CLIENTS} clients of one store ({} calls served, {} refused): p99 of reads and carts of other stores {rounds}",
        grouped(served),
        grouped(refused),
    ))
}

/// Makes every read of a product of the store take 50 ms.
async fn slow_down(test: &TestDatabase, slug: &str) -> Result<(), Failure> {
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
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements)).execute(&mut test.raw().await).await?;
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

fn details(slug: &str) -> Result<String, Failure> {
    let arguments = json!({ "product_id": product_of(slug)? });
    Ok(tool_call("get_product_details", &arguments).to_string())
}

/// Returns the latencies of reads and carts of the other stores.
async fn latencies(port: u16, key: &str, during: Duration) -> Result<Vec<Duration>, Failure> {
    let mut clients = JoinSet::new();
    for slug in OTHERS {
        let items = json!([{ "product_id": product_of(slug)?, "quantity": 1 }]);
        let create = tool_call("create_cart", &json!({ "items": items })).to_string();
        for body in [details(slug)?, create] {
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
    Ok(times)
}
