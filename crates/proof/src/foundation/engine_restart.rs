//! (g) PostgreSQL is restarted with `-m immediate` under load: callers hear 503 and nothing worse,
//! and all is well again by itself within five seconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::engines::Engines;
use crate::http::{Client, Fate};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command};

/// How long after the engine is up again the last refusal may come.
const RECOVERY_MAX: Duration = Duration::from_secs(5);
const CLIENTS: usize = 8;
/// No request takes this long while the engine is up.
const HELD_UP: Duration = Duration::from_millis(300);

/// What one request came to, and when.
struct Seen {
    at: Instant,
    took: Duration,
    fate: Fate,
}

impl Seen {
    fn is_refused(&self) -> bool {
        !matches!(self.fate, Fate::Answered { status: 200, .. })
    }

    /// Whether it met the restart: refused, or held up until the engine was back.
    fn met_it(&self) -> bool {
        self.is_refused() || self.took > HELD_UP
    }
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let engines = Engines::start()?;
    command(&engines.database_url, &["migrate"])?;
    command(&engines.database_url, &["seed"])?;
    let souk = Souk::serve(&engines.database_url, &[]).await?;
    let rounds = trial.by_tier(1, 5);
    let (mut answered, mut met, mut refused, mut slowest) = (0, 0, 0, Duration::ZERO);
    for round in 0..rounds {
        trial.progress(|| format!("restart {} of {rounds}", round + 1));
        let (seen, up) = one_restart(&engines, &souk).await?;
        let last_refusal = judge(&seen)?;
        answered += seen.len();
        met += seen.iter().filter(|seen| seen.met_it()).count();
        refused += seen.iter().filter(|seen| seen.is_refused()).count();
        let recovery = last_refusal.map_or(Duration::ZERO, |at| at.saturating_duration_since(up));
        ensure(recovery < RECOVERY_MAX, || format!("it recovered only after {recovery:?}"))?;
        slowest = slowest.max(recovery);
    }
    ensure(met > 0, || String::from("no request met the restart: the load is too thin"))?;
    Ok(format!(
        "{rounds} restarts: of {} requests {} met one; {} heard 503, the others were held up and \
         answered, none met anything worse; well again after {:.1} s at the most",
        grouped(answered),
        grouped(met),
        grouped(refused),
        slowest.as_secs_f64()
    ))
}

/// Load before, during and after one restart; what was seen, and when the engine was up again.
async fn one_restart(engines: &Engines, souk: &Souk) -> Result<(Vec<Seen>, Instant), Failure> {
    let over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> =
        (0..CLIENTS).map(|_| tokio::spawn(hammer(souk.port, Arc::clone(&over)))).collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    engines.restart_immediately().await?;
    let up = Instant::now();
    tokio::time::sleep(RECOVERY_MAX + Duration::from_secs(1)).await;
    over.store(true, Ordering::SeqCst);
    let mut seen = Vec::new();
    for client in clients {
        seen.extend(client.await?);
    }
    Ok((seen, up))
}

/// Reads products over both doors until it is over.
async fn hammer(port: u16, over: Arc<AtomicBool>) -> Vec<Seen> {
    let mut client = Client::new(port);
    let mut seen = Vec::new();
    let ask = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "browse_categories", "arguments": {} },
    });
    while !over.load(Ordering::SeqCst) {
        let sent = Instant::now();
        let fate = client.post("/demo-store/mcp", &ask.to_string()).await;
        seen.push(Seen { at: Instant::now(), took: sent.elapsed(), fate });
        let sent = Instant::now();
        let fate = client.get("/api/v1/stores/directory?limit=5").await;
        seen.push(Seen { at: Instant::now(), took: sent.elapsed(), fate });
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    seen
}

/// Only 200 and 503 `service_unavailable`; when the last 503 was.
fn judge(seen: &[Seen]) -> Result<Option<Instant>, Failure> {
    let mut last = None;
    for Seen { at, fate, .. } in seen {
        match fate {
            Fate::Answered { status: 200, .. } => {}
            Fate::Answered { status: 503, body } if body.contains("service_unavailable") => {
                last = last.max(Some(*at));
            }
            worse => return Err(format!("a caller met {worse:?}").into()),
        }
    }
    Ok(last)
}
