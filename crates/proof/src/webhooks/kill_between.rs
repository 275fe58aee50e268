//! `kill-between-post-and-record`: the worker ends after the receiver has answered and before that is recorded, and also after a
//! start is recorded and before anything is sent.
//!
//! Another worker sends every delivery again: within the lease and five seconds, with the same id and the same bytes, signed with
//! a time of its own. Each is recorded as delivered once. A dispatcher that recorded before it sends would lose the event at the
//! first point; one without a lease would not send it again at the second.

use std::time::{Duration, Instant};

use primitives::EventId;

use super::evidence::{by_event, check_copies, check_request, time_of};
use super::receiver::Request;
use super::site::{LEASE_SECONDS, PATIENCE, Registered, Site};
use crate::report::{Failure, Trial, Verdict, ensure};

/// Crash points, and whether the first request of a lane has been answered by then.
const POINTS: [(&str, bool); 2] =
    [("webhook-after-start", false), ("webhook-after-response", true)];
/// Events in each round: more than one, so that a lane has several.
const EVENTS: usize = 5;
/// Time for the other worker beyond the lease.
const MARGIN: Duration = Duration::from_secs(5);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let rounds = trial.by_tier(1, 5);
    let site = Site::open().await?;
    let merchant = site.store("attic").await;
    let endpoint = site.endpoint(merchant, "/ok/killed").await?;
    // The endpoint is healthy, so that a lane takes several deliveries.
    site.publish(merchant).await?;
    let worker = site.worker(&[])?;
    site.until_settled(PATIENCE).await?;
    worker.stop().await?;
    let (mut again, mut longest) = (0, Duration::ZERO);
    for round in 0..rounds {
        for (point, is_answered) in POINTS {
            trial.progress(|| format!("round {round}, {point}"));
            let (copies, late) = crash(&site, &endpoint, point, is_answered).await?;
            again += copies;
            longest = longest.max(late);
        }
    }
    Ok(format!(
        "{} crashes between start, response and record: all {} events received, {again} of them twice with the same id and \
         bytes and a new signature, at most {:.1} s after the crash with a lease of {LEASE_SECONDS} s",
        rounds * POINTS.len(),
        rounds * POINTS.len() * EVENTS,
        longest.as_secs_f64(),
    ))
}

/// Lets a worker crash at a point, and another one take over. Returns the number of events that were sent twice, and how long
/// the last one took after the crash.
async fn crash(
    site: &Site,
    endpoint: &Registered,
    point: &str,
    is_answered: bool,
) -> Result<(usize, Duration), Failure> {
    let mut events = Vec::new();
    for _ in 0..EVENTS {
        events.push(site.publish(endpoint.merchant).await?);
    }
    let mut worker = site.worker(&[("SOUK_CRASH_AT", point.to_owned())])?;
    let exit = worker.souk.wait(PATIENCE).await?;
    ensure(exit.is_none(), || format!("the worker exited with {exit:?} instead of crashing"))?;
    let crashed = Instant::now();
    let sent = requests_of(site, &events)?;
    ensure(sent.is_empty() != is_answered, || format!("at {point} {} were sent", sent.len()))?;
    let worker = site.worker(&[])?;
    let limit = Duration::from_secs(LEASE_SECONDS) + MARGIN;
    let total = sent.len() + EVENTS;
    let has_all = |requests: &[Request]| of_events(requests, &events).count() >= total;
    site.receiver.until("the deliveries of a crashed worker", limit, has_all).await?;
    let late = crashed.elapsed();
    ensure(late < limit, || format!("taken over {late:?} after the crash"))?;
    site.until_settled(PATIENCE).await?;
    worker.stop().await?;
    let requests = requests_of(site, &events)?;
    let twice = check(endpoint, &events, &requests)?;
    let delivered =
        "SELECT count(*) FROM (SELECT event_id FROM webhook_attempt WHERE outcome = 'delivered'
                     GROUP BY endpoint_id, event_id HAVING count(*) > 1) AS repeated";
    let repeated = site.count(delivered).await?;
    ensure(repeated == 0, || format!("{repeated} events are recorded as delivered twice"))?;
    Ok((twice, late))
}

fn of_events<'request>(
    requests: &'request [Request],
    events: &[EventId],
) -> impl Iterator<Item = &'request Request> {
    let ids: Vec<String> = events.iter().map(ToString::to_string).collect();
    requests.iter().filter(move |request| ids.iter().any(|id| id == request.event()))
}

fn requests_of(site: &Site, events: &[EventId]) -> Result<Vec<Request>, Failure> {
    Ok(of_events(&site.receiver.requests()?, events).cloned().collect())
}

/// Checks what was received of the events, and returns how many of them were received more than once.
fn check(
    endpoint: &Registered,
    events: &[EventId],
    requests: &[Request],
) -> Result<usize, Failure> {
    let received = by_event(requests, "/");
    ensure(received.len() == events.len(), || format!("received: {:?}", received.keys()))?;
    let mut twice = 0;
    for copies in received.values() {
        check_copies(copies)?;
        for request in copies {
            check_request(request, &endpoint.secret)?;
        }
        if let [first, .., last] = copies[..] {
            twice += 1;
            let is_new = time_of(first) != time_of(last);
            ensure(is_new, || format!("sent again with the signature of before: {last:?}"))?;
        }
    }
    Ok(twice)
}
