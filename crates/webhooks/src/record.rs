//! Endpoints, deliveries and events as every door returns them (docs/contract/merchant-api.md#webhooks).

use primitives::{EndpointId, EventId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Attempt, AttemptOutcome, Delivery, DeliveryStatus, DisabledReason, Endpoint, EndpointHealth,
    EndpointStatus, EventKind, HealthState, ListedEvent,
};

/// A webhook endpoint, without its secret.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EndpointRecord {
    /// ID of the endpoint.
    pub endpoint_id: EndpointId,
    /// Where events are sent, by POST.
    pub url: String,
    /// Description of the merchant.
    pub description: String,
    /// Kinds of events that are sent.
    pub events: Vec<EventKind>,
    /// Whether events are sent.
    pub status: EndpointStatus,
    /// Why it is disabled; absent while it is enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_reason: Option<DisabledReason>,
    /// When it was disabled; absent while it is enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_at: Option<Timestamp>,
    /// Whether it is that of `webhook_url` in the settings.
    pub from_settings: bool,
    /// Until when requests are signed with the former secret too; absent if there was no rotation within the last day.
    /// May have passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub former_secret_until: Option<Timestamp>,
    /// Version. Send it with a change to exclude concurrent ones.
    pub version: i32,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// What the last attempts say; only in the response that returns one endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthRecord>,
}

impl From<Endpoint> for EndpointRecord {
    fn from(endpoint: Endpoint) -> Self {
        let Endpoint {
            id,
            url,
            description,
            kinds,
            status,
            disabled_reason,
            disabled_at,
            from_settings,
            former_secret_until,
            version,
            created_at,
            updated_at,
        } = endpoint;
        Self {
            endpoint_id: id,
            url,
            description,
            events: kinds.into_iter().collect(),
            status,
            disabled_reason,
            disabled_at,
            from_settings,
            former_secret_until,
            version,
            created_at,
            updated_at,
            health: None,
        }
    }
}

impl EndpointRecord {
    /// Adds the health.
    #[must_use]
    pub fn with_health(self, health: &EndpointHealth) -> Self {
        Self { health: Some(health.into()), ..self }
    }
}

/// What the last attempts say about an endpoint.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HealthRecord {
    /// Result of the last attempt.
    pub state: HealthState,
    /// Time of the last attempt, after successes accurate to a minute; null if there was none.
    pub last_attempt_at: Option<Timestamp>,
    /// Time of the last success, accurate to a minute; null if there was none.
    pub last_success_at: Option<Timestamp>,
    /// First failure since the last success; null after a success. An endpoint that fails for five days is disabled.
    pub failing_since: Option<Timestamp>,
    /// Failures since the last success.
    pub consecutive_failures: i32,
    /// After several failures deliveries wait, and a single one is tried at this time if one is due, otherwise when the first one
    /// is; null otherwise.
    pub next_probe_at: Option<Timestamp>,
    /// Deliveries that are due or will be. Counted up to 1,000.
    pub pending_deliveries: i64,
    /// Dead letters: deliveries that are sent again only on request. Counted up to 1,000.
    pub dead_deliveries: i64,
}

impl From<&EndpointHealth> for HealthRecord {
    fn from(health: &EndpointHealth) -> Self {
        Self {
            state: health.state(),
            last_attempt_at: health.last_attempt_at,
            last_success_at: health.last_success_at,
            failing_since: health.failing_since,
            consecutive_failures: health.consecutive_failures,
            next_probe_at: health.probe_at,
            pending_deliveries: health.pending,
            dead_deliveries: health.dead,
        }
    }
}

/// An event at an endpoint.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DeliveryRecord {
    /// ID of the event.
    pub event_id: EventId,
    /// Kind of the event.
    pub event: EventKind,
    /// Time of the event.
    pub event_at: Timestamp,
    /// Status of the delivery.
    pub status: DeliveryStatus,
    /// Number of the newest attempt: 0 until the first one, also after a dead letter or delivered event is sent again on request.
    pub attempt_count: i16,
    /// When the next attempt is due; absent unless the delivery is pending and its endpoint enabled. While the circuit is open,
    /// not before the next probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// Attempts, the newest first: in lists the newest one, otherwise up to 100.
    pub attempts: Vec<AttemptRecord>,
}

impl From<Delivery> for DeliveryRecord {
    fn from(delivery: Delivery) -> Self {
        let Delivery { event, kind, event_at, status, attempts, next_attempt_at, attempt_log } =
            delivery;
        Self {
            event_id: event,
            event: kind,
            event_at,
            status,
            attempt_count: attempts,
            next_attempt_at,
            attempts: attempt_log.into_iter().map(AttemptRecord::from).collect(),
        }
    }
}

/// An attempt to deliver an event.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AttemptRecord {
    /// Number of the attempt; begins again when the event is sent again on request.
    pub number: i16,
    /// When the request was sent.
    pub attempted_at: Timestamp,
    /// What the attempt led to.
    pub outcome: AttemptOutcome,
    /// HTTP status of the response; null without a response.
    pub response_status: Option<i16>,
    /// What failed, in a word such as `timeout`; null if a response arrived.
    pub error: Option<String>,
    /// Duration of the attempt.
    pub latency_ms: i32,
    /// First bytes of the response as text, as the receiver sent them; null without a response.
    pub response_excerpt: Option<String>,
    /// When the next attempt was due; null if none followed.
    pub next_attempt_at: Option<Timestamp>,
}

impl From<Attempt> for AttemptRecord {
    fn from(attempt: Attempt) -> Self {
        let Attempt { number, at, outcome, status, error, latency_ms, response, next_at } = attempt;
        Self {
            number,
            attempted_at: at,
            outcome,
            response_status: status,
            error,
            latency_ms,
            response_excerpt: response.as_deref().map(excerpt),
            next_attempt_at: next_at,
        }
    }
}

/// Returns the bytes of a response as text. Control characters, which could forge lines of a terminal or a log, are replaced.
fn excerpt(bytes: &[u8]) -> String {
    let is_plain = |character: char| !character.is_control() || matches!(character, '\n' | '\t');
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|it| if is_plain(it) { it } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// A webhook event of a store.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EventRecord {
    /// ID of the event. An event may be listed more than once: ignore an ID that you know.
    pub event_id: EventId,
    /// Kind of the event.
    pub event: EventKind,
    /// Time of the event.
    pub created_at: Timestamp,
    /// Body of the request that endpoints receive, byte for byte: JSON as a string.
    pub body: String,
}

impl From<ListedEvent> for EventRecord {
    fn from(event: ListedEvent) -> Self {
        let ListedEvent { id, kind, created_at, body } = event;
        let body = String::from_utf8_lossy(&body).into_owned();
        Self { event_id: id, event: kind, created_at, body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_shown_as_plain_text() {
        assert_eq!(excerpt(b"a\r\nb\t\x1b[2J\xff"), "a\u{fffd}\nb\t\u{fffd}[2J\u{fffd}");
    }
}
