//! Attempts: a lane sends the deliveries of one endpoint, one after another, outside of any transaction.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use database::{crash_point, crash_point_of};
use futures::FutureExt;
use outbound::{Client, Destination, RequestError};
use primitives::Timestamp;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::StartCounts;
use crate::dispatcher::memory::LaneNumber;
use crate::dispatcher::ownership::Deadline;
use crate::schedule::{self, Jitter};
use crate::table::delivery::DeliveryKey;
use crate::{SigningSecret, signature};

/// Bytes of a response that are stored.
const RESPONSE_STORED_BYTES: usize = 512;
/// After this time a lane starts no further delivery: what it has not sent is not kept from others, and not out of date.
pub(super) const LANE_MAX: Duration = Duration::from_secs(2);

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Response {
        status: u16,
        retry_after: Option<Duration>,
        /// The first bytes of the body.
        start: Vec<u8>,
    },
    NoResponse(RequestError),
    /// The attempt panicked.
    Panicked,
    /// The lease ended before there was a response.
    GivenUp,
    /// The secret of the endpoint cannot be decrypted: a fault of this server.
    SecretUnreadable,
    /// The body is missing, which is not expected: it is kept for longer than its deliveries.
    BodyExpired,
    /// Nothing was sent, because of what happened before in the lane.
    Unsent,
}

impl Outcome {
    /// Returns whether the receiver has accepted the event.
    pub(super) fn is_delivered(&self) -> bool {
        matches!(self, Self::Response { status: 200..=299, .. })
    }

    /// Returns whether a lane sends another delivery after this end of an attempt, `elapsed` after its own start.
    pub(super) fn lets_lane_continue(&self, elapsed: Duration) -> bool {
        self.is_delivered() && elapsed < LANE_MAX
    }
}

/// A started delivery.
pub(super) struct Delivery {
    pub(super) key: DeliveryKey,
    /// With this start.
    pub(super) counts: StartCounts,
    /// As [`Pending::is_first`](crate::table::delivery::Pending::is_first).
    pub(super) is_first: bool,
    /// Of the next attempt, if this one fails.
    pub(super) jitter: Jitter,
    /// `None` if it is missing.
    pub(super) body: Option<Bytes>,
}

/// The deliveries that one lane sends to an endpoint.
pub(super) struct Lane {
    pub(super) owner: Uuid,
    /// Of the lease of the owner.
    pub(super) deadline: Deadline,
    pub(super) number: LaneNumber,
    /// Its only delivery is a suspect, beside which nothing else runs.
    pub(super) is_alone: bool,
    pub(super) url: String,
    /// Of the health of the endpoint.
    pub(super) health_version: i32,
    /// `None` if they cannot be decrypted.
    pub(super) secrets: Option<Vec<SigningSecret>>,
    pub(super) deliveries: Vec<Delivery>,
    /// The time of the database at the start.
    pub(super) started_at: Timestamp,
    /// The same moment or a little earlier, by the clock of this process.
    pub(super) since: Instant,
}

/// How the attempt of a delivery ended.
#[derive(Debug, Clone)]
pub(super) struct AttemptResult {
    pub(super) owner: Uuid,
    pub(super) lane: LaneNumber,
    pub(super) key: DeliveryKey,
    /// Of the health of the endpoint.
    pub(super) health_version: i32,
    /// With this start.
    pub(super) counts: StartCounts,
    pub(super) is_alone: bool,
    pub(super) is_first: bool,
    pub(super) jitter: Jitter,
    pub(super) at: Timestamp,
    pub(super) latency: Duration,
    pub(super) outcome: Outcome,
}

impl AttemptResult {
    /// Returns the time from the event to its delivery, if the first attempt succeeded. `None` for any other delivery, and for
    /// one that was queued again later, or was given up before.
    pub(super) fn delivery_time(&self) -> Option<Duration> {
        let is_counted = self.is_first && self.outcome.is_delivered();
        is_counted.then(|| self.at.plus(self.latency).since(self.key.event_at))
    }
}

impl Lane {
    /// Sends the deliveries until one fails, the time is over or `stop` is set, and reports each. When the lease ends, a request
    /// in flight is given up, so that no request of the next owner runs beside it.
    pub(super) async fn run(
        mut self,
        client: Client,
        stop: Arc<AtomicBool>,
        results: UnboundedSender<AttemptResult>,
    ) {
        let begun = Instant::now();
        let mut continues = !stop.load(Ordering::Relaxed);
        for delivery in std::mem::take(&mut self.deliveries) {
            let at = self.now();
            let since = Instant::now();
            let outcome = if continues {
                let attempt = AssertUnwindSafe(self.attempt(&client, &delivery, at));
                tokio::select! {
                    // First: a process that was paused sends nothing after its lease, not even on an open connection.
                    biased;
                    () = self.deadline.passed() => Outcome::GivenUp,
                    outcome = attempt.catch_unwind() => outcome.unwrap_or(Outcome::Panicked),
                }
            } else if self.secrets.is_none() {
                Outcome::SecretUnreadable
            } else {
                Outcome::Unsent
            };
            continues &=
                outcome.lets_lane_continue(begun.elapsed()) && !stop.load(Ordering::Relaxed);
            let result = AttemptResult {
                owner: self.owner,
                lane: self.number,
                key: delivery.key,
                health_version: self.health_version,
                counts: delivery.counts,
                is_alone: self.is_alone,
                is_first: delivery.is_first,
                jitter: delivery.jitter,
                at,
                latency: since.elapsed(),
                outcome,
            };
            if results.send(result).is_err() {
                return;
            }
        }
    }

    /// Returns the time of the database.
    fn now(&self) -> Timestamp {
        self.started_at.plus(self.since.elapsed())
    }

    async fn attempt(&self, client: &Client, delivery: &Delivery, at: Timestamp) -> Outcome {
        crash_point("webhook-after-start");
        let event = delivery.key.event;
        crash_point_of("webhook-poison", &event);
        let Some(secrets) = &self.secrets else { return Outcome::SecretUnreadable };
        let Some(body) = &delivery.body else { return Outcome::BodyExpired };
        let Ok(destination) = Destination::parse(&self.url, client.policy()) else {
            // The operator has changed what is allowed since the endpoint was registered.
            return Outcome::NoResponse(RequestError::AddressRefused);
        };
        let headers = signature::headers(event, at, body, secrets);
        let response = client.post(&destination, headers, body.clone()).await;
        crash_point("webhook-after-response");
        match response {
            Ok(mut response) => {
                let retry_after = response.retry_after.as_deref();
                response.body.truncate(RESPONSE_STORED_BYTES);
                Outcome::Response {
                    status: response.status.as_u16(),
                    retry_after: retry_after.and_then(|value| schedule::retry_after(value, at)),
                    start: response.body,
                }
            }
            Err(error) => Outcome::NoResponse(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use primitives::{EndpointId, EventId, Id, MerchantId};
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    use super::*;
    use crate::table::delivery::EndpointKey;

    fn lane(url: String, deadline: Instant, count: u128) -> Lane {
        let at: Timestamp = "2026-11-15T08:00:00Z".parse().unwrap();
        let (merchant, id) = (MerchantId::from_random(1), EndpointId::from_random(2));
        let endpoint = EndpointKey { merchant, endpoint: id };
        let delivery = |number| Delivery {
            key: DeliveryKey { endpoint, event_at: at, event: EventId::from_random(number) },
            counts: StartCounts::default().started(false),
            is_first: true,
            jitter: Jitter::random(&mut StdRng::seed_from_u64(1)),
            body: Some(Bytes::from_static(b"{}")),
        };
        Lane {
            owner: Uuid::nil(),
            deadline: Deadline::new(deadline),
            number: 1,
            is_alone: false,
            url,
            health_version: 1,
            secrets: Some(vec![SigningSecret::of([7; 32])]),
            deliveries: (0..count).map(delivery).collect(),
            started_at: at,
            since: Instant::now(),
        }
    }

    async fn run(lane: Lane, is_stopped: bool) -> Vec<Outcome> {
        results(lane, is_stopped).await.into_iter().map(|result| result.outcome).collect()
    }

    async fn results(lane: Lane, is_stopped: bool) -> Vec<AttemptResult> {
        let allowed_networks = vec!["127.0.0.0/8".parse().unwrap()];
        let policy = outbound::Policy { allow_http: true, allowed_networks };
        let settings = outbound::Settings { policy, ..outbound::Settings::default() };
        let (sender, mut results) = mpsc::unbounded_channel();
        let stop = Arc::new(AtomicBool::new(is_stopped));
        lane.run(Client::new(settings).unwrap(), stop, sender).await;
        let mut received = Vec::new();
        while let Some(result) = results.recv().await {
            received.push(result);
        }
        received
    }

    /// Answers each request with 200, after a time.
    async fn answer_all(listener: TcpListener, after: Duration) {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            while !request.ends_with(b"{}") && stream.read_buf(&mut request).await.is_ok() {}
            tokio::time::sleep(after).await;
            let response = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(response).await.unwrap();
        }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    #[tokio::test]
    async fn after_a_failure_the_rest_of_the_lane_is_not_sent() {
        let outcomes = run(lane(String::from("https://10.0.0.1/"), soon(), 3), false).await;
        let refused = Outcome::NoResponse(RequestError::AddressRefused);
        assert_eq!(outcomes, [refused, Outcome::Unsent, Outcome::Unsent]);
    }

    #[tokio::test]
    async fn a_request_is_given_up_when_the_lease_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let lane = lane(url, Instant::now() + Duration::from_millis(50), 2);
        assert_eq!(run(lane, false).await, [Outcome::GivenUp, Outcome::Unsent]);
    }

    #[tokio::test]
    async fn the_time_of_an_attempt_is_exact_and_each_in_a_lane_has_its_own() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let after = Duration::from_millis(100);
        let receiver = tokio::spawn(answer_all(listener, after));
        let results = results(lane(url, soon(), 2), false).await;
        receiver.abort();
        assert!(results.iter().all(|result| result.outcome.is_delivered()), "{results:?}");
        let between = results[1].at.since(results[0].at);
        assert!(between >= after, "the second one began {between:?} after the first one");
        let time = results[1].delivery_time().unwrap();
        assert!(time >= after * 2, "{time:?}");
    }

    #[tokio::test]
    async fn nothing_is_sent_after_the_end_of_the_lease() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let lane = lane(url, Instant::now(), 2);
        assert_eq!(run(lane, false).await, [Outcome::GivenUp, Outcome::Unsent]);
        let connection = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(connection.is_err(), "it did not even connect");
    }

    #[tokio::test]
    async fn without_secret_or_body_nothing_is_sent() {
        let mut unreadable = lane(String::from("https://1.1.1.1/"), soon(), 1);
        unreadable.secrets = None;
        assert_eq!(run(unreadable, false).await, [Outcome::SecretUnreadable]);
        let mut expired = lane(String::from("https://1.1.1.1/"), soon(), 1);
        expired.deliveries[0].body = None;
        assert_eq!(run(expired, false).await, [Outcome::BodyExpired]);
    }

    #[tokio::test]
    async fn a_lane_that_starts_while_the_process_ends_sends_nothing() {
        let outcomes = run(lane(String::from("https://10.0.0.1/"), soon(), 2), true).await;
        assert_eq!(outcomes, [Outcome::Unsent, Outcome::Unsent]);
    }
}
