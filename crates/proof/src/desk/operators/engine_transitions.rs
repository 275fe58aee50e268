//! `engine-transitions`: Redis is killed and comes back, under load: the log has one line for each, with the duration of the
//! outage, and `souk_limits_degraded` says so meanwhile.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::TestDatabase;

use super::Scratch;
use crate::http::Client;
use crate::identity::metric;
use crate::limits::Redis;
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

const TIMEOUT: Duration = Duration::from_secs(30);
/// How long Redis is unavailable.
const OUTAGE: Duration = Duration::from_secs(4);

pub(crate) async fn prove(_: Trial) -> Verdict {
    let (test, mut redis) = (TestDatabase::new().await, Redis::start().await?);
    let scratch = Scratch::new("engine-transitions")?;
    let log = scratch.path("log");
    let settings = [
        ("SOUK_LOG", String::from("info")),
        ("SOUK_LOG_FORMAT", String::from("json")),
        ("SOUK_LIMITS", String::from("on")),
        ("REDIS_URL", redis.url()),
    ];
    let souk = Souk::serve_logging(&test.url(), &settings, &log).await?;
    ensure(lines_about(&log, "Redis")?.is_empty(), || String::from("Redis is unavailable"))?;
    ensure(metric_is(&souk, 0.0).await?, || String::from("souk_limits_degraded is not 0"))?;
    redis.kill();
    let since = Instant::now();
    let mut is_degraded = false;
    while since.elapsed() < OUTAGE || !is_degraded {
        ensure(since.elapsed() < TIMEOUT, || String::from("souk_limits_degraded stays 0"))?;
        // Every call needs Redis.
        Client::new(souk.port).get("/api/v1/search/ranking").await;
        is_degraded |= metric_is(&souk, 1.0).await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    redis.start_process().await?;
    let since = Instant::now();
    while lines_about(&log, "Redis")?.len() < 2 || !metric_is(&souk, 0.0).await? {
        ensure(since.elapsed() < TIMEOUT, || String::from("Redis is not available again"))?;
        Client::new(souk.port).get("/api/v1/search/ranking").await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    drop(souk);
    let lines = lines_about(&log, "Redis")?;
    let [down, up] = lines.as_slice() else {
        return Err(format!("expected two lines about Redis: {lines:#?}").into());
    };
    ensure(down["level"] == "WARN" && up["level"] == "INFO", || format!("{down} {up}"))?;
    let seconds = up["outage_seconds"].as_f64().unwrap_or_default();
    ensure((3.0..30.0).contains(&seconds), || format!("the duration of the outage: {up}"))?;
    ensure(lines_about(&log, "PostgreSQL")?.is_empty(), || String::from("lines on PostgreSQL"))?;
    Ok(format!("two lines for an outage of Redis of {seconds} s under load"))
}

async fn metric_is(souk: &Souk, value: f64) -> Result<bool, Failure> {
    Ok((metric(souk.port, "souk_limits_degraded").await? - value).abs() < 0.1)
}

/// Returns the log lines about the state of an engine.
fn lines_about(log: &Path, engine: &str) -> Result<Vec<Value>, Failure> {
    let text = std::fs::read_to_string(log)?;
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    Ok(lines.filter(|line: &Value| line["engine"] == engine).collect())
}
