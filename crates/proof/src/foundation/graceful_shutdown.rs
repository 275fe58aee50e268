//! `graceful-shutdown`: SIGTERM under load interrupts no request in flight. The clients behave like a
//! load balancer: they poll `/health/ready` and open no new connection once it fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use testkit::TestDatabase;

use crate::http::{Client, Delivery, tool_call};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command};

const CLIENTS: usize = 16;
/// Several, because one store has only a part of the connections.
const STORES: [&str; 4] = ["demo-store", "kivikiri", "kestrel-rain", "skarvdal"];
/// How long a table lock blocks requests after SIGTERM, so that they are in flight then.
const BLOCKED: Duration = Duration::from_millis(1_500);
/// How long requests may take to meet the lock. Shorter than the time that a request waits for a lock.
const ARRIVAL: Duration = Duration::from_secs(3);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    command(&test.url(), &["seed"])?;
    let rounds = trial.by_tier(1, 10);
    let (mut requests, mut in_flight) = (0, 0);
    for round in 0..rounds {
        trial.progress(|| format!("shutdown {} of {rounds}", round + 1));
        let (deliveries, blocked) = one_shutdown(&test).await?;
        for delivery in &deliveries {
            let is_expected =
                matches!(delivery, Delivery::Answered { status: 200, .. } | Delivery::NotSent);
            ensure(is_expected, || format!("outcome of a request in flight: {delivery:?}"))?;
        }
        requests += deliveries.len();
        in_flight += blocked;
    }
    ensure(in_flight >= rounds * CLIENTS / 2, || {
        format!("only {in_flight} requests were in flight")
    })?;
    Ok(format!(
        "{rounds} shutdowns: {} requests, {in_flight} of them in flight at SIGTERM, none interrupted; \
         exit code 0",
        grouped(requests)
    ))
}

/// Sends SIGTERM under load while requests are blocked. Returns the outcome of all requests and the
/// number of blocked ones.
async fn one_shutdown(test: &TestDatabase) -> Result<(Vec<Delivery>, usize), Failure> {
    let mut souk = Souk::serve(&test.url(), &["--drain-seconds", "1"]).await?;
    let draining = Arc::new(AtomicBool::new(false));
    let watcher = tokio::spawn(watch_readiness(souk.port, Arc::clone(&draining)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let slug = STORES[number % STORES.len()];
            tokio::spawn(call_until_draining(souk.port, slug, Arc::clone(&draining)))
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(700)).await;

    let mut raw = PgConnection::connect(&test.url()).await?;
    let mut lock = raw.begin().await?;
    sqlx::raw_sql("LOCK TABLE category IN ACCESS EXCLUSIVE MODE").execute(&mut *lock).await?;
    let blocked = blocked_requests(&test.url()).await?;
    souk.signal("TERM")?;
    tokio::time::sleep(BLOCKED).await;
    lock.rollback().await?;

    let code = souk.wait(Duration::from_secs(40)).await?;
    ensure(code == Some(0), || format!("souk serve exited with {code:?}"))?;
    let mut deliveries = Vec::new();
    for client in clients {
        deliveries.extend(client.await?);
    }
    watcher.abort();
    Ok((deliveries, blocked))
}

/// Waits until half of the clients have a request that waits for the lock. Returns how many have.
async fn blocked_requests(url: &str) -> Result<usize, Failure> {
    let mut raw = PgConnection::connect(url).await?;
    let began = Instant::now();
    loop {
        let count: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'",
        )
        .fetch_one(&mut raw)
        .await?;
        let blocked = usize::try_from(count)?;
        if blocked >= CLIENTS / 2 || began.elapsed() > ARRIVAL {
            return Ok(blocked);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn watch_readiness(port: u16, draining: Arc<AtomicBool>) {
    loop {
        // A new connection for each poll, as a load balancer does.
        let delivery = Client::new(port).get("/health/ready").await;
        if !matches!(delivery, Delivery::Answered { status: 200, .. }) {
            draining.store(true, Ordering::SeqCst);
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn call_until_draining(
    port: u16,
    slug: &'static str,
    draining: Arc<AtomicBool>,
) -> Vec<Delivery> {
    let mut client = Client::new(port);
    let mut deliveries = Vec::new();
    let call = tool_call("browse_categories", &serde_json::json!({}));
    while !(draining.load(Ordering::SeqCst) && client.is_closed()) {
        let delivery = client.post(&format!("/{slug}/mcp"), &call.to_string()).await;
        let gone = delivery == Delivery::NotSent;
        deliveries.push(delivery);
        if gone {
            break;
        }
    }
    deliveries
}
