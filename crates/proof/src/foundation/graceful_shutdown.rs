//! (h) SIGTERM under load: no request in flight is cut. The clients behave as a load balancer does:
//! they look at `/health/ready` and open no new connection once it says no.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::{Connection, PgConnection};
use testkit::TestDatabase;

use crate::http::{Client, Fate};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command};

const CLIENTS: usize = 16;
/// How long requests are held up in the database, so that SIGTERM finds them in flight.
const HELD_UP: Duration = Duration::from_millis(1_500);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    command(&test.url(), &["seed"])?;
    let rounds = trial.by_tier(1, 10);
    let (mut answered, mut in_flight) = (0, 0);
    for round in 0..rounds {
        trial.progress(|| format!("stop {} of {rounds}", round + 1));
        let (fates, held) = one_stop(&test).await?;
        for fate in &fates {
            let whole = matches!(fate, Fate::Answered { status: 200, .. } | Fate::NotSent);
            ensure(whole, || format!("a request in flight met {fate:?}"))?;
        }
        answered += fates.len();
        in_flight += held;
    }
    ensure(in_flight >= rounds * CLIENTS / 2, || {
        format!("only {in_flight} requests were in flight")
    })?;
    Ok(format!(
        "{rounds} stops: {} requests, {in_flight} of them in flight at SIGTERM, none cut; exit code 0",
        grouped(answered)
    ))
}

/// Load, then requests held up, then SIGTERM. What became of all requests, and how many were held.
async fn one_stop(test: &TestDatabase) -> Result<(Vec<Fate>, usize), Failure> {
    let mut souk = Souk::serve(&test.url(), &["--drain-seconds", "1"]).await?;
    let leaving = Arc::new(AtomicBool::new(false));
    let watcher = tokio::spawn(watch_readiness(souk.port, Arc::clone(&leaving)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| tokio::spawn(call_until_leaving(souk.port, Arc::clone(&leaving))))
        .collect();
    tokio::time::sleep(Duration::from_millis(700)).await;

    let mut raw = PgConnection::connect(&test.url()).await?;
    let mut lock = raw.begin().await?;
    sqlx::raw_sql("LOCK TABLE category IN ACCESS EXCLUSIVE MODE").execute(&mut *lock).await?;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let held = waiting(&test.url()).await?;
    souk.signal("TERM")?;
    tokio::time::sleep(HELD_UP).await;
    lock.rollback().await?;

    let code = souk.wait(Duration::from_secs(40)).await?;
    ensure(code == Some(0), || format!("it ended with {code:?}"))?;
    let mut fates = Vec::new();
    for client in clients {
        fates.extend(client.await?);
    }
    watcher.abort();
    Ok((fates, held))
}

/// How many statements of the server wait for the lock.
async fn waiting(url: &str) -> Result<usize, Failure> {
    let mut raw = PgConnection::connect(url).await?;
    let count: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    .fetch_one(&mut raw)
    .await?;
    Ok(usize::try_from(count)?)
}

async fn watch_readiness(port: u16, leaving: Arc<AtomicBool>) {
    loop {
        // A connection for each look, as a load balancer makes it.
        let fate = Client::new(port).get("/health/ready").await;
        if !matches!(fate, Fate::Answered { status: 200, .. }) {
            leaving.store(true, Ordering::SeqCst);
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn call_until_leaving(port: u16, leaving: Arc<AtomicBool>) -> Vec<Fate> {
    let mut client = Client::new(port);
    let mut fates = Vec::new();
    let ask = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "browse_categories", "arguments": {} },
    });
    while !(leaving.load(Ordering::SeqCst) && client.is_closed()) {
        let fate = client.post("/demo-store/mcp", &ask.to_string()).await;
        let gone = fate == Fate::NotSent;
        fates.push(fate);
        if gone {
            break;
        }
    }
    fates
}
