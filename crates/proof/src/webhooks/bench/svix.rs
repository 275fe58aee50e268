//! The open-source Svix server beside ours, on receivers of which four in ten hang: how long the others wait for the first attempt.
//!
//! Each store, or application of Svix, has ten endpoints. Events are sent at a steady rate, to ours as a purchase does, to Svix
//! by its API; the time of an attempt is that from then to its arrival. Both run with their defaults, one after the other, each
//! with a receiver of its own, on the same PostgreSQL and Redis. `SVIX_BIN` names the binary of
//! server 1.100.0, which is not part of this project.

use std::collections::HashMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use database::Clock;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use testkit::TestDatabase;

use crate::engines::Engines;
use crate::http::{Client, Delivery};
use crate::report::{Failure, ensure, grouped};
use crate::souk::{free_port, optional_env};
use crate::table_print::Table;
use crate::webhooks::receiver::Receiver;
use crate::webhooks::site::{PATIENCE, Site, merchant};

const STORES: usize = 50;
/// Paths of the endpoints of a store.
const PATHS: [&str; 10] = ["hang", "hang", "hang", "hang", "ok", "ok", "ok", "ok", "ok", "ok"];
/// How many of them work.
const WORKING: usize = 6;
/// For how long events are sent, and the time between two.
const SENDING: Duration = Duration::from_mins(1);
const INTERVAL: Duration = Duration::from_millis(50);
/// For how long arrivals are awaited after that.
const AWAITED: Duration = Duration::from_secs(30);

pub(super) async fn compare(engines: &Engines) -> Result<(), Failure> {
    let Some(binary) = optional_env("SVIX_BIN") else {
        println!("Svix: not measured; SVIX_BIN names its binary");
        return Ok(());
    };
    let ours = ours(engines).await?;
    let theirs = theirs(engines, &binary).await?;
    println!(
        "{} endpoints of which 40 % hang, {} events per second for {} s",
        grouped(STORES * PATHS.len()),
        1_000 / INTERVAL.as_millis(),
        SENDING.as_secs()
    );
    let mut table = Table::new(&[
        "first attempts at the others",
        "p50 ms",
        "p99 ms",
        "arrived",
        "not within 30 s",
    ]);
    for (name, attempts) in [("souk", ours), ("Svix", theirs)] {
        table.add(vec![
            name.to_owned(),
            attempts.percentile(50),
            attempts.percentile(99),
            grouped(attempts.millis.len()),
            grouped(attempts.missing),
        ]);
    }
    table.print();
    Ok(())
}

/// An event that was sent.
struct Sent {
    id: String,
    at_micros: i64,
}

/// First attempts at endpoints that work.
struct Attempts {
    /// Milliseconds from an event to its arrival, sorted.
    millis: Vec<i64>,
    /// Attempts that did not arrive.
    missing: usize,
}

impl Attempts {
    /// Waits for the arrivals of events, and measures them.
    async fn of(sent: &[Sent], receiver: &Receiver) -> Result<Self, Failure> {
        let (since, total) = (Instant::now(), sent.len() * WORKING);
        loop {
            let mut millis = Self::arrived(sent, receiver)?;
            if millis.len() >= total || since.elapsed() > AWAITED {
                millis.sort_unstable();
                ensure(!millis.is_empty(), || String::from("nothing arrived"))?;
                return Ok(Self { missing: total - millis.len(), millis });
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    fn arrived(sent: &[Sent], receiver: &Receiver) -> Result<Vec<i64>, Failure> {
        let sent: HashMap<&str, i64> =
            sent.iter().map(|event| (event.id.as_str(), event.at_micros)).collect();
        let mut first: HashMap<(String, String), i64> = HashMap::new();
        for request in receiver.requests()? {
            if let Some(at) = sent.get(request.event())
                && request.path.starts_with("/ok/")
            {
                let millis = (request.at_micros - at) / 1_000;
                let key = (request.event().to_owned(), request.path);
                first.entry(key).or_insert(millis);
            }
        }
        Ok(first.into_values().collect())
    }

    fn percentile(&self, percent: usize) -> String {
        let at = (self.millis.len() * percent / 100).min(self.millis.len() - 1);
        grouped(u64::try_from(self.millis[at]).unwrap_or(0))
    }
}

/// Calls `send` with the number of each event, at a steady rate. It returns the id of the event.
async fn send_all(
    send: impl AsyncFn(usize) -> Result<String, Failure>,
) -> Result<Vec<Sent>, Failure> {
    let (since, clock, mut events) = (Instant::now(), Clock::system(), Vec::new());
    while since.elapsed() < SENDING {
        let at_micros = clock.local_now().unix_micros();
        let id = send(events.len()).await?;
        events.push(Sent { id, at_micros });
        let next = INTERVAL * u32::try_from(events.len())?;
        tokio::time::sleep(next.saturating_sub(since.elapsed())).await;
    }
    Ok(events)
}

/// Returns the URL of an endpoint, each at an address of its own.
fn url(receiver: &Receiver, store: usize, endpoint: usize) -> String {
    let host = format!("127.70.{store}.{}", endpoint + 1);
    receiver.url_at(&host, &format!("/{}/{store}-{endpoint}", PATHS[endpoint]))
}

async fn ours(engines: &Engines) -> Result<Attempts, Failure> {
    let test = TestDatabase::on(&engines.database_url).await;
    let site = Site::open_in(test, Receiver::start()?).await?;
    for store in 0..STORES {
        for endpoint in 0..PATHS.len() {
            site.endpoint_at(merchant(store), url(&site.receiver, store, endpoint)).await?;
        }
    }
    let _worker = site.worker(&[("SOUK_WEBHOOK_LEASE_SECONDS", String::from("15"))])?;
    let publish = async |number: usize| {
        let event = site.publish(merchant(number % STORES)).await?;
        Ok(event.to_string())
    };
    let sent = send_all(publish).await?;
    Attempts::of(&sent, &site.receiver).await
}

async fn theirs(engines: &Engines, binary: &str) -> Result<Attempts, Failure> {
    let receiver = Receiver::start()?;
    let svix = Svix::start(engines, binary).await?;
    for store in 0..STORES {
        let app = json!({ "name": format!("store {store}"), "uid": format!("store-{store}") });
        svix.post("/api/v1/app/", &app).await?;
        for endpoint in 0..PATHS.len() {
            let url = url(&receiver, store, endpoint);
            let path = format!("/api/v1/app/store-{store}/endpoint/");
            svix.post(&path, &json!({ "url": url, "version": 1 })).await?;
        }
    }
    let publish = async |number: usize| {
        let path = format!("/api/v1/app/store-{}/msg/", number % STORES);
        let message = json!({ "eventType": "order.created", "payload": { "number": number } });
        let made = svix.post(&path, &message).await?;
        made["id"].as_str().map(str::to_owned).ok_or_else(|| "a message without an id".into())
    };
    let sent = send_all(publish).await?;
    Attempts::of(&sent, &receiver).await
}

/// A running Svix server, killed when dropped.
struct Svix {
    child: Child,
    port: u16,
    token: String,
}

impl Drop for Svix {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Svix {
    async fn start(engines: &Engines, binary: &str) -> Result<Self, Failure> {
        let mut sql = PgConnection::connect(&engines.database_url).await?;
        sqlx::raw_sql("CREATE DATABASE svix").execute(&mut sql).await?;
        let (server, _) = engines.database_url.rsplit_once('/').ok_or("not a URL")?;
        let port = free_port()?;
        let command = || {
            let mut command = Command::new(binary);
            command
                .env("SVIX_DB_DSN", format!("{server}/svix"))
                .env("SVIX_REDIS_DSN", &engines.redis_url)
                .env("SVIX_QUEUE_TYPE", "redis")
                .env("SVIX_CACHE_TYPE", "redis")
                .env("SVIX_JWT_SECRET", "a secret of this benchmark")
                .env("SVIX_LISTEN_ADDRESS", format!("127.0.0.1:{port}"))
                .env("SVIX_WHITELIST_SUBNETS", "[127.0.0.0/8]")
                // The names of Standard Webhooks, as ours.
                .env("SVIX_WHITELABEL_HEADERS", "true")
                .stdin(Stdio::null())
                .stderr(Stdio::null());
            command
        };
        let printed = command().args(["jwt", "generate"]).output()?;
        let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
        let token = printed.split_whitespace().find(|word| word.starts_with("eyJ"));
        let token = token.ok_or_else(|| format!("Svix printed no token: {printed}"))?.to_owned();
        let child = command().arg("--run-migrations").stdout(Stdio::null()).spawn()?;
        let svix = Self { child, port, token };
        let since = Instant::now();
        // Its health has no body; any answer will do.
        while Client::new(port).get("/api/v1/health/").await == Delivery::NotSent {
            ensure(since.elapsed() < PATIENCE, || String::from("Svix does not listen"))?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(svix)
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        let mut client = Client::new(self.port).with_key(&self.token);
        match client.post(path, &body.to_string()).await {
            Delivery::Answered { status: 200..=202, body } => Ok(serde_json::from_str(&body)?),
            other => Err(format!("Svix: {path}: {other:?}").into()),
        }
    }
}
