//! `poison`: an event whose attempts end the worker, in a queue with others. A supervisor starts the worker again and again. After
//! two starts without a result the event is attempted alone, and after the third it is quarantined: a dead letter, counted. So
//! it ends exactly three workers. All others are delivered, and no other one is quarantined although its worker ended beside
//! it.
//!
//! In the long form also an event whose attempts panic: the worker survives, and the third panic quarantines it.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use primitives::EventId;

use super::evidence::by_event;
use super::site::{PATIENCE, Site, Worker, merchant};
use crate::report::{Failure, Tier, Trial, Verdict, ensure, grouped};

const STORES: usize = 5;
/// Events of each store, before and after the poison.
const NEIGHBORS: usize = 10;
/// How often the event ends a worker: twice beside others, and once alone.
const CRASHES: usize = 3;
/// Each time the next worker waits for the lease.
const TIME_MAX: Duration = Duration::from_mins(1);
/// A delivery that panicked is attempted again after half a minute, so that three panics take a minute.
const PANIC_TIME_MIN: Duration = Duration::from_mins(1);
const PANIC_TIME_MAX: Duration = Duration::from_secs(100);

/// Whether something is quarantined and nothing pending.
const IS_OVER: &str =
    "SELECT EXISTS (SELECT FROM webhook_attempt WHERE error = 'quarantined' AND outcome = 'dead')
                          AND NOT EXISTS (SELECT FROM webhook_delivery WHERE dead_at IS NULL)";

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let (crashes, time) = run(&trial, "SOUK_CRASH_AT", TIME_MAX).await?;
    ensure(crashes == CRASHES, || format!("the worker ended {crashes} times"))?;
    let mut finding = format!(
        "an event that ends the worker: quarantined after {crashes} crashes and {:.0} s; all {} others delivered",
        time.as_secs_f64(),
        grouped(STORES * NEIGHBORS * 2),
    );
    if trial.tier == Tier::Full {
        let (crashes, time) = run(&trial, "SOUK_PANIC_AT", PANIC_TIME_MAX).await?;
        ensure(crashes == 0, || format!("a panic ended the worker {crashes} times"))?;
        ensure(time >= PANIC_TIME_MIN, || {
            format!("quarantined after {time:?}: fewer than three panics")
        })?;
        let _ = write!(
            finding,
            "; one that panics: quarantined after {:.0} s, the worker went on",
            time.as_secs_f64()
        );
    }
    Ok(finding)
}

/// Delivers a queue with a poison event. Returns how often the worker ended, and how long it took.
async fn run(
    trial: &Trial,
    variable: &'static str,
    limit: Duration,
) -> Result<(usize, Duration), Failure> {
    let site = Site::open().await?;
    for number in 0..STORES {
        site.endpoint(merchant(number), &format!("/ok/{number}")).await?;
    }
    let mut events = publish(&site).await?;
    let poison = site.publish(merchant(0)).await?;
    events.extend(publish(&site).await?);
    let point = [
        (variable, format!("webhook-poison:{poison}")),
        ("RUST_BACKTRACE", String::from("0")), // The panics are intended.
    ];
    let (mut worker, mut crashes, since) = (site.worker(&point)?, 0, Instant::now());
    let mut sql = site.raw().await;
    while !sqlx::query_scalar::<_, bool>(IS_OVER).fetch_one(&mut sql).await? {
        if worker.souk.has_ended()? {
            crashes += 1;
            worker = site.worker(&point)?;
        }
        trial.progress(|| format!("{crashes} crashes, {:.0} s", since.elapsed().as_secs_f64()));
        ensure(since.elapsed() < limit, || format!("not quarantined after {crashes} crashes"))?;
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    check(&site, &worker, poison, &events).await?;
    Ok((crashes, since.elapsed()))
}

async fn publish(site: &Site) -> Result<Vec<EventId>, Failure> {
    let mut events = Vec::new();
    for number in 0..STORES * NEIGHBORS {
        events.push(site.publish(merchant(number % STORES)).await?);
    }
    Ok(events)
}

async fn check(
    site: &Site,
    worker: &Worker,
    poison: EventId,
    events: &[EventId],
) -> Result<(), Failure> {
    let requests = site.receiver.requests()?;
    let received = by_event(&requests, "/ok/");
    let is_received = |event: &EventId| received.contains_key(event.to_string().as_str());
    let lost = events.iter().filter(|event| !is_received(event)).count();
    ensure(lost == 0, || format!("{lost} events beside the poison were not received"))?;
    ensure(!is_received(&poison), || String::from("the poison was sent"))?;
    let dead: Vec<uuid::Uuid> =
        sqlx::query_scalar("SELECT event_id FROM webhook_delivery WHERE dead_at IS NOT NULL")
            .fetch_all(&mut site.raw().await)
            .await?;
    ensure(dead == [poison.uuid()], || format!("dead letters: {dead:?}, poison: {poison}"))?;
    let counted = worker.until_metric("souk_webhook_quarantined_total", |count| count > 0.0);
    let counted = tokio::time::timeout(PATIENCE, counted).await??;
    ensure((counted - 1.0).abs() < 0.5, || format!("{counted} quarantined deliveries counted"))
}
