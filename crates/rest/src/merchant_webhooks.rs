//! Webhook endpoints of a store, for its merchant (docs/contract/merchant-api.md#webhooks).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::ETAG;
use axum::http::{HeaderName, StatusCode};
use identity::StoreScope;
use primitives::{EndpointId, ErrorCode, EventId};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;
use webhooks::{
    EndpointPatch, EndpointRecord, EndpointStatus, EndpointWithSecret, EventKind, NewEndpoint,
};

use crate::idempotency::IdempotencyKeyHeader;
use crate::merchant_settings::version::{IfMatch, version};
use crate::paging::PageParameters;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, PageEnvelope, Path, Query, Rest, RestState,
    Routes, StoreCaller,
};

pub(crate) const ACCESS: Access = Access::Store(StoreScope::Webhooks);

const IF_MATCH: &str = "The version of the endpoint that is changed, as the `ETag` of `GET /merchant/webhooks/{endpoint_id}`, in place of `version` in the body. `*` is any version.";

const DESCRIPTION_CHARACTERS_MAX: usize = webhooks::Endpoint::DESCRIPTION_CHARACTERS_MAX;
const URL_BYTES_MAX: usize = webhooks::Endpoint::URL_BYTES_MAX;
/// More than there are kinds, so that a repeated one is no error.
const EVENTS_MAX: usize = 20;

pub(crate) fn endpoints() -> Routes<RestState> {
    let create = Endpoint::post("/merchant/webhooks", ACCESS, create)
        .operation_id("createWebhook")
        .tag("merchant")
        .summary("Create a webhook endpoint")
        .description("Events of the store are sent to `url` as signed POST requests. `secret`, with which they are signed, is returned only in this response. Without `events` the endpoint receives `order.created`, `order.status_changed` and `checkout.abandoned`. The URL must be https, on the public internet: its host is resolved, and private addresses are refused with `details.reason`. A store has at most 20 endpoints; one more is 409 `invalid_status_transition` with `details.maximum`.")
        .idempotency_key()
        .body::<CreateEndpointRequest>()
        .response::<Envelope<NewEndpointRecord>>(201)
        .errors(&[ErrorCode::NotFound, ErrorCode::InvalidStatusTransition]);
    let list = Endpoint::get("/merchant/webhooks", ACCESS, list)
        .operation_id("listWebhooks")
        .tag("merchant")
        .summary("List webhook endpoints")
        .description("Returns the endpoints of the store, the oldest first, without their secrets.")
        .query::<PageParameters>()
        .response::<PageEnvelope<EndpointRecord>>(200);
    let read = Endpoint::get("/merchant/webhooks/{endpoint_id}", ACCESS, read)
        .operation_id("getWebhook")
        .tag("merchant")
        .summary("Get a webhook endpoint")
        .description("Returns an endpoint with its health: what the last attempts say, and how many deliveries wait or failed for good. The header `ETag` is the version.")
        .path::<EndpointId>()
        .response::<Envelope<EndpointRecord>>(200)
        .errors(&[ErrorCode::NotFound]);
    let update = Endpoint::patch("/merchant/webhooks/{endpoint_id}", ACCESS, update)
        .operation_id("updateWebhook")
        .tag("merchant")
        .summary("Change a webhook endpoint")
        .description("Changes the fields that the body names and no others. `status` disables the endpoint, or enables it again after it was disabled: then get the events of the meantime with `POST /merchant/webhooks/{endpoint_id}/recover`. With `version` or `If-Match`, the call fails with 409 `invalid_status_transition` and `details.current_version` if the endpoint has changed since that version.")
        .header(IfMatch::NAME, IF_MATCH)
        .path::<EndpointId>()
        .body::<UpdateEndpointRequest>()
        .response::<Envelope<EndpointRecord>>(200)
        .errors(&[ErrorCode::NotFound, ErrorCode::InvalidStatusTransition]);
    let delete = Endpoint::delete("/merchant/webhooks/{endpoint_id}", ACCESS, delete)
        .operation_id("deleteWebhook")
        .tag("merchant")
        .summary("Delete a webhook endpoint")
        .description("Nothing more is sent to it, except requests that are in flight. Its deliveries are deleted.")
        .path::<EndpointId>()
        .response::<Envelope<DeletedEndpoint>>(200)
        .errors(&[ErrorCode::NotFound]);
    Routes::new().with(create).with(list).with(read).with(update).with(delete).merge(actions())
}

/// Returns what is done with an endpoint besides changing it.
fn actions() -> Routes<RestState> {
    let rotate = Endpoint::post("/merchant/webhooks/{endpoint_id}/rotate-secret", ACCESS, rotate)
        .operation_id("rotateWebhookSecret")
        .tag("merchant")
        .summary("Rotate the secret of a webhook endpoint")
        .description("Returns a new `secret`, only in this response. For 24 hours requests carry two signatures, of the new and of the former secret; a secret before that is no longer used.")
        .idempotency_key()
        .path::<EndpointId>()
        .response::<Envelope<NewEndpointRecord>>(200)
        .errors(&[ErrorCode::NotFound]);
    let test = Endpoint::post("/merchant/webhooks/{endpoint_id}/test", ACCESS, test)
        .operation_id("testWebhook")
        .tag("merchant")
        .summary("Send a test event")
        .description("Queues an event of the kind `webhook.test` for the endpoint, regardless of its event filter. See the result with `GET /merchant/webhooks/{endpoint_id}/deliveries/{event_id}`. A disabled endpoint is 409 `invalid_status_transition`.")
        .idempotency_key()
        .path::<EndpointId>()
        .response::<Envelope<QueuedEvent>>(202)
        .errors(&[ErrorCode::NotFound, ErrorCode::InvalidStatusTransition]);
    Routes::new().with(rotate).with(test)
}

/// A new webhook endpoint.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({
    "url": "https://hooks.example.com/souk",
    "description": "order system",
    "events": ["order.created", "order.status_changed", "order.refunded"],
})))]
struct CreateEndpointRequest {
    /// Where events are sent: https, on the public internet, without user name, password and fragment.
    #[schemars(length(min = 1, max = URL_BYTES_MAX))]
    url: String,
    /// Description for yourself.
    #[schemars(length(max = DESCRIPTION_CHARACTERS_MAX))]
    description: Option<String>,
    /// Kinds of events that are sent; omitted: `order.created`, `order.status_changed`, `checkout.abandoned`.
    #[schemars(with = "Option<Vec<SelectableKind>>", length(min = 1, max = EVENTS_MAX))]
    events: Option<Vec<EventKind>>,
}

/// A change of a webhook endpoint; omitted fields stay as they are.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "status": "enabled", "events": ["order.created"] })))]
struct UpdateEndpointRequest {
    /// Where events are sent. The secret stays the same.
    #[schemars(length(min = 1, max = URL_BYTES_MAX))]
    url: Option<String>,
    /// Description for yourself.
    #[schemars(length(max = DESCRIPTION_CHARACTERS_MAX))]
    description: Option<String>,
    /// Kinds of events that are sent.
    #[schemars(with = "Option<Vec<SelectableKind>>", length(min = 1, max = EVENTS_MAX))]
    events: Option<Vec<EventKind>>,
    /// Whether events are sent.
    status: Option<EndpointStatus>,
    /// Version that the change is based on.
    #[schemars(range(min = 1))]
    version: Option<i32>,
}

/// A kind of events that a request can name, in its schema: all but the test.
enum SelectableKind {}

impl JsonSchema for SelectableKind {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("SelectableEventKind")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let kinds: Vec<&str> = EventKind::selectable().map(EventKind::as_str).collect();
        let about = "Kind of events that an endpoint can select.";
        json_schema!({ "type": "string", "enum": kinds, "description": about })
    }
}

// Has no `Debug`, so that the secret cannot be logged.
/// An endpoint with the secret that it was just given.
#[derive(Serialize, JsonSchema)]
struct NewEndpointRecord {
    /// The signing secret, `whsec_…`, returned only once: null if the request repeats an earlier one with the same idempotency
    /// key.
    secret: Option<String>,
    /// The endpoint's other properties.
    #[serde(flatten)]
    record: EndpointRecord,
}

impl From<EndpointWithSecret> for NewEndpointRecord {
    fn from(made: EndpointWithSecret) -> Self {
        let EndpointWithSecret { endpoint, secret } = made;
        Self { secret: secret.map(|secret| secret.text()), record: endpoint.into() }
    }
}

/// A deleted webhook endpoint.
#[derive(Debug, Serialize, JsonSchema)]
struct DeletedEndpoint {
    /// ID of the endpoint.
    endpoint_id: EndpointId,
    /// Always true.
    deleted: bool,
}

/// An event that was queued.
#[derive(Debug, Serialize, JsonSchema)]
struct QueuedEvent {
    /// ID of the event.
    event_id: EventId,
}

/// An endpoint with its version as a header.
type Versioned = ([(HeaderName, String); 1], Envelope<EndpointRecord>);

fn versioned(record: EndpointRecord) -> Versioned {
    ([(ETAG, format!("\"{}\"", record.version))], Envelope::new(record))
}

fn kinds(events: Option<Vec<EventKind>>) -> Option<BTreeSet<EventKind>> {
    events.map(|events| events.into_iter().collect())
}

async fn create(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<CreateEndpointRequest>,
) -> Result<(StatusCode, Envelope<NewEndpointRecord>), ErrorResponse> {
    let key = idempotency_key.key_of_store(&caller, &request)?;
    let CreateEndpointRequest { url, description, events } = request;
    let description = description.unwrap_or_default();
    let new = NewEndpoint { url, description, kinds: kinds(events) };
    let (merchant, actor) = (caller.merchant, caller.editor.actor);
    let made = rest.webhooks.create(merchant, actor, new, key.as_ref()).await?;
    Ok((StatusCode::CREATED, Envelope::new(made.into())))
}

async fn list(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(page): Query<PageParameters>,
) -> Result<PageEnvelope<EndpointRecord>, ErrorResponse> {
    let endpoints = rest.webhooks.list(caller.merchant).await?;
    Ok(page.select(endpoints.into_iter().map(EndpointRecord::from).collect()))
}

async fn read(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<EndpointId>,
) -> Result<Versioned, ErrorResponse> {
    let (endpoint, health) = rest.webhooks.find_with_health(caller.merchant, id).await?;
    Ok(versioned(EndpointRecord::from(endpoint).with_health(&health)))
}

async fn update(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<EndpointId>,
    if_match: IfMatch,
    Json(request): Json<UpdateEndpointRequest>,
) -> Result<Versioned, ErrorResponse> {
    let expected = version(if_match, request.version)?;
    let UpdateEndpointRequest { url, description, events, status, version: _ } = request;
    let patch = EndpointPatch { url, description, kinds: kinds(events), status };
    let (merchant, actor) = (caller.merchant, caller.editor.actor);
    let endpoint = rest.webhooks.update(merchant, actor, id, patch, expected).await?;
    Ok(versioned(endpoint.into()))
}

async fn delete(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<EndpointId>,
) -> Result<Envelope<DeletedEndpoint>, ErrorResponse> {
    rest.webhooks.delete(caller.merchant, caller.editor.actor, id).await?;
    Ok(Envelope::new(DeletedEndpoint { endpoint_id: id, deleted: true }))
}

async fn rotate(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<EndpointId>,
    idempotency_key: IdempotencyKeyHeader,
) -> Result<Envelope<NewEndpointRecord>, ErrorResponse> {
    let key = idempotency_key.key_of_store(&caller, &())?;
    let (merchant, actor) = (caller.merchant, caller.editor.actor);
    let made = rest.webhooks.rotate_secret(merchant, actor, id, key.as_ref()).await?;
    Ok(Envelope::new(made.into()))
}

async fn test(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<EndpointId>,
    idempotency_key: IdempotencyKeyHeader,
) -> Result<(StatusCode, Envelope<QueuedEvent>), ErrorResponse> {
    let key = idempotency_key.key_of_store(&caller, &())?;
    let event_id = rest.webhooks.send_test(caller.merchant, id, key.as_ref()).await?;
    Ok((StatusCode::ACCEPTED, Envelope::new(QueuedEvent { event_id })))
}
