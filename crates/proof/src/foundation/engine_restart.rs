//! `engine-restart`: PostgreSQL is restarted with `-m immediate` under load: callers get 503 and
//! nothing worse, and the server recovers by itself within five seconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::engines::Engines;
use crate::http::{Client, Delivery, tool_call};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command};

/// Maximum time between the restart of PostgreSQL and the last 503.
const RECOVERY_MAX: Duration = Duration::from_secs(5);
const CLIENTS: usize = 8;
/// Requests that take longer were delayed by the restart.
const DELAYED: Duration = Duration::from_millis(300);

/// One request: when it ended, how long it took, and its outcome.
struct Sample {
    at: Instant,
    took: Duration,
    delivery: Delivery,
}

impl Sample {
    fn has_failed(&self) -> bool {
        !matches!(self.delivery, Delivery::Answered { status: 200, .. })
    }

    /// Returns whether the restart affected it: it failed, or it was delayed.
    fn is_affected(&self) -> bool {
        self.has_failed() || self.took > DELAYED
    }
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let engines = Engines::start()?;
    command(&engines.database_url, &["migrate"])?;
    command(&engines.database_url, &["seed"])?;
    let souk = Souk::serve(&engines.database_url, &[]).await?;
    let rounds = trial.by_tier(1, 5);
    let (mut requests, mut affected, mut failed, mut slowest) = (0, 0, 0, Duration::ZERO);
    for round in 0..rounds {
        trial.progress(|| format!("restart {} of {rounds}", round + 1));
        let (samples, up) = one_restart(&engines, &souk).await?;
        let last_failure = verify(&samples)?;
        requests += samples.len();
        affected += samples.iter().filter(|sample| sample.is_affected()).count();
        failed += samples.iter().filter(|sample| sample.has_failed()).count();
        let recovery = last_failure.map_or(Duration::ZERO, |at| at.saturating_duration_since(up));
        ensure(recovery < RECOVERY_MAX, || format!("recovery took {recovery:?}"))?;
        slowest = slowest.max(recovery);
    }
    ensure(affected > 0, || String::from("the restart affected no request: the load is too low"))?;
    Ok(format!(
        "{rounds} restarts: {} of {} requests affected, {} of them answered with 503, the others \
         delayed, no other error; recovered after at most {:.1} s",
        grouped(affected),
        grouped(requests),
        grouped(failed),
        slowest.as_secs_f64()
    ))
}

/// Restarts PostgreSQL under load. Returns the requests and the time at which PostgreSQL was up again.
async fn one_restart(engines: &Engines, souk: &Souk) -> Result<(Vec<Sample>, Instant), Failure> {
    let over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> =
        (0..CLIENTS).map(|_| tokio::spawn(generate_load(souk.port, Arc::clone(&over)))).collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    engines.restart_immediately().await?;
    let up = Instant::now();
    tokio::time::sleep(RECOVERY_MAX + Duration::from_secs(1)).await;
    over.store(true, Ordering::SeqCst);
    let mut samples = Vec::new();
    for client in clients {
        samples.extend(client.await?);
    }
    Ok((samples, up))
}

/// Calls the MCP and REST APIs until `over` is set.
async fn generate_load(port: u16, over: Arc<AtomicBool>) -> Vec<Sample> {
    let mut client = Client::new(port);
    let mut samples = Vec::new();
    let call = tool_call("browse_categories", &serde_json::json!({}));
    while !over.load(Ordering::SeqCst) {
        let sent = Instant::now();
        let delivery = client.post("/demo-store/mcp", &call.to_string()).await;
        samples.push(Sample { at: Instant::now(), took: sent.elapsed(), delivery });
        let sent = Instant::now();
        let delivery = client.get("/api/v1/stores/directory?limit=5").await;
        samples.push(Sample { at: Instant::now(), took: sent.elapsed(), delivery });
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    samples
}

/// Fails unless every response is 200 or 503 `service_unavailable`. Returns the time of the last 503.
fn verify(samples: &[Sample]) -> Result<Option<Instant>, Failure> {
    let mut last = None;
    for Sample { at, delivery, .. } in samples {
        match delivery {
            Delivery::Answered { status: 200, .. } => {}
            Delivery::Answered { status: 503, body } if body.contains("service_unavailable") => {
                last = last.max(Some(*at));
            }
            other => return Err(format!("unexpected outcome of a request: {other:?}").into()),
        }
    }
    Ok(last)
}
