//! `clock`: a worker whose clock differs from that of PostgreSQL by more than 30 seconds sends nothing, and says so in its metrics
//! and its log. One whose clock differs less sends, and signs with the time of PostgreSQL.

use std::time::Duration;

use super::evidence::{check_request, time_of};
use super::site::{PATIENCE, Registered, Site};
use crate::orders::WrongClock;
use crate::report::{Failure, Trial, Verdict, ensure};

const SKEW: &str = "souk_webhook_clock_skew_seconds";
/// Differences of the clock with which nothing may be sent, in seconds.
const TOO_MUCH: [i64; 2] = [40, -40];
/// A difference with which events are sent.
const TOLERATED: i64 = 20;
/// For how long a worker must send nothing.
const SILENCE: Duration = Duration::from_secs(2);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let site = Site::open().await?;
    let clock = WrongClock::build()?;
    let merchant = site.store("attic").await;
    let endpoint = site.endpoint(merchant, "/ok/clock").await?;
    site.publish(merchant).await?;
    let wrong = trial.rotate(TOO_MUCH.to_vec(), 1);
    for seconds in &wrong {
        sends_nothing(&site, &clock, *seconds).await?;
    }
    sends(&site, &clock, &endpoint).await?;
    Ok(format!(
        "with a clock wrong by {wrong:?} s a worker sends nothing and reports it; by {TOLERATED} s it sends, signed with the time of \
         PostgreSQL"
    ))
}

async fn sends_nothing(site: &Site, clock: &WrongClock, seconds: i64) -> Result<(), Failure> {
    let log = std::env::temp_dir().join(format!("souk-clock-log-{}", std::process::id()));
    let mut environment = clock.ahead_by(seconds);
    environment.push(("SOUK_LOG", String::from("error")));
    let worker = site.worker_logging(&environment, &log)?;
    let is_reported = |skew: f64| (skew - as_f64(seconds)).abs() < 3.0;
    worker.until_metric(SKEW, is_reported).await?;
    // The event has been due since before the worker started.
    tokio::time::sleep(SILENCE).await;
    let sent = site.receiver.requests()?.len();
    drop(worker);
    let text = std::fs::read_to_string(&log)?;
    std::fs::remove_file(&log)?;
    ensure(sent == 0, || format!("{sent} requests with a clock wrong by {seconds} s"))?;
    ensure(text.contains("no webhook is sent"), || format!("the log does not say why: {text}"))
}

async fn sends(site: &Site, clock: &WrongClock, endpoint: &Registered) -> Result<(), Failure> {
    let worker = site.worker(&clock.ahead_by(TOLERATED))?;
    let requests =
        site.receiver.until("an event", PATIENCE, |requests| !requests.is_empty()).await?;
    worker.until_metric(SKEW, |skew| (skew - as_f64(TOLERATED)).abs() < 3.0).await?;
    let [request] = &requests[..] else {
        return Err(format!("{} requests instead of one", requests.len()).into());
    };
    // At the time of the receiver, whose clock is that of PostgreSQL.
    check_request(request, &endpoint.secret)?;
    let signed: u64 = time_of(request).parse()?;
    let late = request.at_seconds().abs_diff(signed);
    ensure(late <= 2, || format!("signed with a time that is {late} s off"))
}

/// Seconds as a number of a metric.
fn as_f64(seconds: i64) -> f64 {
    i32::try_from(seconds).map_or(f64::NAN, f64::from)
}
