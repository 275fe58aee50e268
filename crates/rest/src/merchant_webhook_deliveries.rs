//! Deliveries of webhook events: what was sent, sending it again, and the events themselves
//! (docs/contract/merchant-api.md#webhook-deliveries).

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use primitives::{EndpointId, ErrorCode, EventId, PageRequest, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use webhooks::{
    DeliveriesFilter, DeliveryCursor, DeliveryRecord, DeliveryStatus, EventRecord, EventStart,
};

use crate::envelope::CursorEnvelope;
use crate::idempotency::IdempotencyKeyHeader;
use crate::merchant_webhooks::ACCESS;
use crate::request::InvalidField;
use crate::{
    Endpoint, Envelope, ErrorResponse, Json, Path, Query, Rest, RestState, Routes, StoreCaller,
};

/// Most characters of a cursor.
const CURSOR_CHARACTERS_MAX: usize = 100;

pub(crate) fn endpoints() -> Routes<RestState> {
    let list = Endpoint::get("/merchant/webhooks/{endpoint_id}/deliveries", ACCESS, list)
        .operation_id("listWebhookDeliveries")
        .tag("merchant")
        .summary("List deliveries")
        .description("Returns the events that were sent to the endpoint in the last 30 days, or wait to be sent, those of the newest events first, each with its newest attempt. Send `meta.next_cursor` as `cursor` for the next page. The list is not counted: `meta.total` is the number of deliveries on the page.")
        .path::<EndpointId>()
        .query::<ListParameters>()
        .response::<CursorEnvelope<DeliveryRecord>>(200)
        .errors(&[ErrorCode::NotFound]);
    let read = Endpoint::get("/merchant/webhooks/{endpoint_id}/deliveries/{event_id}", ACCESS, read)
        .operation_id("getWebhookDelivery")
        .tag("merchant")
        .summary("Get a delivery with its attempts")
        .description("Returns the delivery of an event to the endpoint with its attempts, the newest 100: status and first bytes of the response, duration, error, and when the next attempt is due.")
        .path::<EndpointId>()
        .path::<EventId>()
        .response::<Envelope<DeliveryRecord>>(200)
        .errors(&[ErrorCode::NotFound]);
    let redeliver = Endpoint::post(
        "/merchant/webhooks/{endpoint_id}/deliveries/{event_id}/redeliver",
        ACCESS,
        redeliver,
    )
    .operation_id("redeliverWebhook")
    .tag("merchant")
    .summary("Send an event again")
    .description("Queues an event of the last 30 days for the endpoint, whether or not it was delivered, and regardless of the endpoint's event filter. The bytes of the body and the ID are the same. A disabled endpoint is 409 `invalid_status_transition`.")
    .idempotency_key()
    .path::<EndpointId>()
    .path::<EventId>()
    .response::<Envelope<DeliveryRecord>>(202)
    .errors(&[ErrorCode::NotFound, ErrorCode::InvalidStatusTransition]);
    let recover = Endpoint::post("/merchant/webhooks/{endpoint_id}/recover", ACCESS, recover)
        .operation_id("recoverWebhooks")
        .tag("merchant")
        .summary("Recover the events of a time range")
        .description("Queues the events from `since` until before `until` that the endpoint has not received: those of the kinds that it selects which were never delivered to it, and its dead letters of any kind. If the endpoint fails, its first pending delivery is attempted at once. At most 10,000 per call: with `next_since`, call again with it as `since`. Repeating a call queues nothing twice. A disabled endpoint is 409 `invalid_status_transition`.")
        .path::<EndpointId>()
        .body::<RecoverRequest>()
        .response::<Envelope<RecoveryRecord>>(202)
        .errors(&[ErrorCode::NotFound, ErrorCode::InvalidStatusTransition]);
    let events = Endpoint::get("/merchant/webhooks/events", ACCESS, events)
        .operation_id("listWebhookEvents")
        .tag("merchant")
        .summary("List webhook events")
        .description("Returns the events of the store with their bodies, the oldest first, without an endpoint: for development, and to read what an endpoint missed. `souk webhooks listen` uses it. Begin with `since`, then send `next_cursor` as `cursor`; while `has_more` is true, continue at once. No event is missed, and one may be returned more than once: ignore an `event_id` that you know. Test events of endpoints are not listed. The bodies are not signed: this connection is authenticated.")
        .query::<EventsParameters>()
        .response::<Envelope<EventsRecord>>(200);
    Routes::new().with(list).with(read).with(redeliver).with(recover).with(events)
}

/// Which deliveries are listed.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListParameters {
    /// Only deliveries with this status.
    status: Option<DeliveryStatus>,
    /// Only the delivery of this event.
    event_id: Option<EventId>,
    /// `meta.next_cursor` of the previous page.
    #[schemars(length(max = CURSOR_CHARACTERS_MAX))]
    cursor: Option<String>,
    /// Deliveries per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

/// A time range.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({
    "since": "2027-01-15T08:00:00Z", "until": "2027-01-15T20:00:00Z",
})))]
struct RecoverRequest {
    /// Time of the first events, RFC 3339. Events older than 30 days are not kept.
    since: Timestamp,
    /// Time before which the last events happened, RFC 3339; omitted: now.
    until: Option<Timestamp>,
}

/// What a recovery queued.
#[derive(Debug, Serialize, JsonSchema)]
struct RecoveryRecord {
    /// Number of events that were queued.
    queued: u32,
    /// `since` of the next call; omitted if the whole range is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_since: Option<Timestamp>,
}

/// Which events are listed.
#[derive(Debug, Deserialize, JsonSchema)]
struct EventsParameters {
    /// Time of the first events, RFC 3339; omitted: now. Not with `cursor`.
    since: Option<Timestamp>,
    /// `next_cursor` of the previous response.
    #[schemars(length(max = CURSOR_CHARACTERS_MAX))]
    cursor: Option<String>,
    /// Events per response, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

/// A part of the events of a store.
#[derive(Debug, Serialize, JsonSchema)]
struct EventsRecord {
    /// Slug of the store.
    store: String,
    /// The events, the oldest first.
    events: Vec<EventRecord>,
    /// Send it as `cursor` to continue.
    next_cursor: String,
    /// Whether there are more events now. Otherwise wait some seconds before you continue.
    has_more: bool,
}

async fn list(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(endpoint): Path<EndpointId>,
    Query(parameters): Query<ListParameters>,
) -> Result<CursorEnvelope<DeliveryRecord>, ErrorResponse> {
    let after = parameters.cursor.as_deref().map(str::parse::<DeliveryCursor>).transpose();
    let after = after.map_err(|_| InvalidField { field: "cursor" })?;
    let request = PageRequest::new(None, parameters.limit);
    let filter = DeliveriesFilter {
        status: parameters.status,
        event: parameters.event_id,
        after,
        limit: request.limit(),
    };
    let page = rest.webhooks.deliveries(caller.merchant, endpoint, &filter).await?;
    let records = page.deliveries.into_iter().map(DeliveryRecord::from).collect();
    Ok(CursorEnvelope::uncounted(records, request, after.is_none(), page.next))
}

async fn read(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(endpoint): Path<EndpointId>,
    Path(event): Path<EventId>,
) -> Result<Envelope<DeliveryRecord>, ErrorResponse> {
    let delivery = rest.webhooks.delivery(caller.merchant, endpoint, event).await?;
    Ok(Envelope::new(delivery.into()))
}

async fn redeliver(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(endpoint): Path<EndpointId>,
    Path(event): Path<EventId>,
    idempotency_key: IdempotencyKeyHeader,
) -> Result<(StatusCode, Envelope<DeliveryRecord>), ErrorResponse> {
    let key = idempotency_key.key_of_store(&caller, &())?;
    rest.webhooks.redeliver(caller.merchant, endpoint, event, key.as_ref()).await?;
    let delivery = rest.webhooks.delivery(caller.merchant, endpoint, event).await?;
    Ok((StatusCode::ACCEPTED, Envelope::new(delivery.into())))
}

async fn recover(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(endpoint): Path<EndpointId>,
    Json(request): Json<RecoverRequest>,
) -> Result<(StatusCode, Envelope<RecoveryRecord>), ErrorResponse> {
    let RecoverRequest { since, until } = request;
    let recovery = rest.webhooks.recover(caller.merchant, endpoint, since, until).await?;
    let (queued, next_since) = (recovery.queued, recovery.next_since);
    Ok((StatusCode::ACCEPTED, Envelope::new(RecoveryRecord { queued, next_since })))
}

async fn events(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<EventsParameters>,
) -> Result<Envelope<EventsRecord>, ErrorResponse> {
    let start = match (parameters.cursor, parameters.since) {
        (Some(_), Some(_)) => return Err(InvalidField { field: "since" }.into()),
        (Some(cursor), None) => {
            EventStart::Cursor(cursor.parse().map_err(|_| InvalidField { field: "cursor" })?)
        }
        (None, Some(since)) => EventStart::Since(since),
        (None, None) => EventStart::Now,
    };
    let limit = PageRequest::new(None, parameters.limit).limit();
    let page = rest.webhooks.events(caller.merchant, start, limit).await?;
    Ok(Envelope::new(EventsRecord {
        store: caller.store.slug.to_string(),
        events: page.events.into_iter().map(EventRecord::from).collect(),
        next_cursor: page.next.to_string(),
        has_more: page.has_more,
    }))
}
