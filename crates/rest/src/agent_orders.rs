//! Orders of agents, at any store (docs/contract/orders.md#reading-orders).

use std::sync::Arc;

use axum::extract::State;
use carts::Destination;
use database::Reading;
use limits::QuotaClass;
use orders::{
    CancelReason, Cancellation, EligibilityRecord, FeedbackOutcome, OrderCursor, OrderError,
    OrderRecord, OrderStatus, OrderUpdate, OrdersFilter,
};
use primitives::{ErrorCode, OrderId, PageRequest, Scope, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::envelope::CursorEnvelope;
use crate::idempotency::IdempotencyKeyHeader;
use crate::order_access::{
    AgentOrder, CURSOR_CHARACTERS_MAX, ITEMS_MAX, LineQuantity, NOTE_CHARACTERS_MAX, READ_ERRORS,
    WRITE_ERRORS, agent_record, units,
};
use crate::request::InvalidField;
use crate::{
    Access, AgentCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Query, Rest, RestState,
    Routes,
};

const ACCESS: Access = Access::Agent(Scope::AgentOrders);

/// Codes of a request that changes destination or note.
const UPDATE_ERRORS: &[ErrorCode] = &[
    ErrorCode::OrderNotFound,
    ErrorCode::InvalidStatusTransition,
    ErrorCode::ConfirmationRequired,
];

pub(crate) fn endpoints() -> Routes<RestState> {
    let list = Endpoint::get("/agent/orders", ACCESS, list)
        .tool("onx_get_orders", QuotaClass::Orders)
        .operation_id("listAgentOrders")
        .tag("orders")
        .summary("List your orders")
        .description("Returns the orders that were placed with this key at all stores, the newest first; a key with the scope `agent:orders` gets those of all keys of its account. Send `meta.next_cursor` as `cursor` for the next page. The list is not counted: `meta.total` is the number of orders on the page.")
        .query::<ListParameters>()
        .response::<CursorEnvelope<OrderRecord>>(200);
    let read = Endpoint::get("/agent/orders/{order_id}", ACCESS, read)
        .tool("get_order_status", QuotaClass::Orders)
        .operation_id("getAgentOrder")
        .tag("orders")
        .summary("Get an order")
        .description("Returns an order with its shipments, adjustments, returns and history, also at a store that is suspended, paused or closed.")
        .path::<OrderId>()
        .response::<Envelope<OrderRecord>>(200)
        .errors(READ_ERRORS);
    let eligibility = Endpoint::get("/agent/orders/{order_id}/return-eligibility", ACCESS, eligibility)
        .tool("check_return_eligibility", QuotaClass::Orders)
        .operation_id("checkReturnEligibility")
        .tag("orders")
        .summary("Check which items can be returned")
        .description("Returns how many units of each line can be returned now, until when, and the refund. The policies that the buyer agreed to decide.")
        .path::<OrderId>()
        .response::<Envelope<EligibilityRecord>>(200)
        .errors(READ_ERRORS);
    Routes::new().with(list).with(read).with(eligibility).merge(writes())
}

fn writes() -> Routes<RestState> {
    let update = Endpoint::patch("/agent/orders/{order_id}", ACCESS, update)
        .tool("onx_update_order", QuotaClass::Returns)
        .writes()
        .operation_id("updateAgentOrder")
        .tag("orders")
        .summary("Change an order before it ships")
        .description("Replaces the note to the merchant, as long as nothing is shipped, or the delivery address, until the merchant processes the order. Country and region of the address cannot change. Only the key that placed the order changes the address, and not if a person approved it: 409 `confirmation_required` with `details.order_page`, where the person changes it. Ask the person first.")
        .path::<OrderId>()
        .body::<UpdateOrderRequest>()
        .response::<Envelope<OrderRecord>>(200)
        .errors(UPDATE_ERRORS);
    let cancel = Endpoint::post("/agent/orders/{order_id}/cancel", ACCESS, cancel)
        .tool("onx_cancel_order", QuotaClass::Returns)
        .writes()
        .operation_id("cancelAgentOrder")
        .tag("orders")
        .summary("Cancel an order or some of its items")
        .description("Cancels all items, or those of `items`, until the merchant processes the order. The merchant refunds what was paid for them. Ask the person first.")
        .path::<OrderId>()
        .optional_body::<CancelOrderRequest>()
        .response::<Envelope<OrderRecord>>(200)
        .errors(WRITE_ERRORS);
    let feedback = Endpoint::post("/agent/orders/{order_id}/feedback", ACCESS, feedback)
        .tool("submit_agent_feedback", QuotaClass::Returns)
        .writes()
        .operation_id("submitFeedback")
        .tag("orders")
        .summary("Give feedback on an order")
        .description("Stores how the order went, in the eyes of the agent. Later feedback of the same key replaces it. The order does not change.")
        .path::<OrderId>()
        .body::<FeedbackRequest>()
        .response::<Envelope<FeedbackResult>>(200)
        .errors(READ_ERRORS);
    Routes::new().with(update).with(cancel).with(feedback)
}

/// Which orders are listed.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListParameters {
    /// Only orders with this status.
    status: Option<OrderStatus>,
    /// Only orders that were placed at this time or later, RFC 3339.
    created_min: Option<Timestamp>,
    /// Only orders that were placed at this time or earlier, RFC 3339.
    created_max: Option<Timestamp>,
    /// Only orders that changed at this time or later, RFC 3339.
    updated_min: Option<Timestamp>,
    /// Only orders that last changed at this time or earlier, RFC 3339; only with `updated_min`.
    updated_max: Option<Timestamp>,
    /// `meta.next_cursor` of the previous page.
    #[schemars(length(max = CURSOR_CHARACTERS_MAX))]
    cursor: Option<String>,
    /// Orders per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

/// Changes to an order. Omitted fields stay unchanged.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdateOrderRequest {
    /// Delivery address that replaces the former one, in the same country and region. Not for an order that a person approved.
    destination: Option<Destination>,
    /// Note to the merchant that replaces the former one. A space removes it.
    #[schemars(length(max = NOTE_CHARACTERS_MAX))]
    note: Option<String>,
    /// Version that the change is based on. The call fails if the order has changed since.
    #[schemars(range(min = 1))]
    version: Option<i32>,
}

/// What is canceled.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelOrderRequest {
    /// Units to cancel; omitted: all.
    #[schemars(length(min = 1, max = ITEMS_MAX))]
    items: Option<Vec<LineQuantity>>,
    /// Note to the merchant that replaces the note of the order; omitted: the note stays.
    #[schemars(length(max = NOTE_CHARACTERS_MAX))]
    note: Option<String>,
    /// Version that the change is based on. The call fails if the order has changed since.
    #[schemars(range(min = 1))]
    version: Option<i32>,
}

/// How an order went.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FeedbackRequest {
    /// How it went.
    outcome: FeedbackOutcome,
    /// Details.
    #[schemars(length(max = NOTE_CHARACTERS_MAX))]
    note: Option<String>,
}

/// Feedback that was stored.
#[derive(Debug, Serialize, JsonSchema)]
struct FeedbackResult {
    /// Order identifier.
    order_id: OrderId,
    /// How it went.
    outcome: FeedbackOutcome,
}

async fn list(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<ListParameters>,
) -> Result<CursorEnvelope<OrderRecord>, ErrorResponse> {
    let after = parameters.cursor.map(|cursor| cursor.parse::<OrderCursor>()).transpose();
    let after = after.map_err(|_| InvalidField { field: "cursor" })?;
    let request = PageRequest::new(None, parameters.limit);
    let filter = OrdersFilter {
        statuses: parameters.status.into_iter().collect(),
        created_min: parameters.created_min,
        created_max: parameters.created_max,
        updated_min: parameters.updated_min,
        updated_max: parameters.updated_max,
        after,
        limit: request.limit(),
        ..OrdersFilter::default()
    };
    let keys = agent.keys_of_orders(&rest.database).await?;
    let stores = agent.stores.as_deref();
    let page = orders::orders_of_keys_at(&rest.database, stores, &keys, &filter).await?;
    let mut records = Vec::with_capacity(page.orders.len());
    for (merchant, details) in &page.orders {
        let store = rest.stores.find_merchant(*merchant).await?;
        records.push(agent_record(&rest, &store, details));
    }
    Ok(CursorEnvelope::uncounted(records, request, after.is_none(), page.next))
}

async fn read(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<OrderId>,
) -> Result<Envelope<OrderRecord>, ErrorResponse> {
    let (order, details) = AgentOrder::read(&rest, &agent, id).await?;
    Ok(Envelope::new(order.record(&rest, &details)))
}

async fn eligibility(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<OrderId>,
) -> Result<Envelope<EligibilityRecord>, ErrorResponse> {
    let found = AgentOrder::find(&rest, &agent, id).await?;
    let merchant = found.store.merchant;
    let reading = Reading::for_store(&rest.database, merchant)?;
    let (details, eligibility) = orders::eligibility(&reading, merchant, id, &found.viewer).await?;
    Ok(Envelope::new(eligibility.record(&details.order)))
}

async fn update(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<OrderId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<UpdateOrderRequest>,
) -> Result<Envelope<OrderRecord>, ErrorResponse> {
    let order = AgentOrder::find(&rest, &agent, id).await?;
    let key = idempotency_key.key(order.store.merchant, &agent, &request)?;
    if request.destination.is_none() && request.note.is_none() {
        return Err(InvalidField { field: "destination" }.into());
    }
    let destination = request.destination.map(Destination::validated).transpose()?;
    let destination = destination.map(serde_json::to_value).transpose();
    let destination = destination.map_err(|_| OrderError::Unreadable)?;
    let update = OrderUpdate { destination, note: request.note };
    let context = order.context(&rest, &agent, key.as_ref());
    let changed = orders::update(&context, id, request.version, update).await;
    let changed = changed.map_err(|error| error.with_order_page(|| order.page_url(&rest, id)))?;
    Ok(Envelope::new(order.record(&rest, &changed.details)))
}

async fn cancel(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<OrderId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<CancelOrderRequest>,
) -> Result<Envelope<OrderRecord>, ErrorResponse> {
    let order = AgentOrder::find(&rest, &agent, id).await?;
    let key = idempotency_key.key(order.store.merchant, &agent, &request)?;
    let cancellation = Cancellation {
        items: units(request.items),
        // Other reasons are evidence about the merchant, which an agent does not give.
        reason: CancelReason::BuyerRequest,
        note: request.note,
    };
    let context = order.context(&rest, &agent, key.as_ref());
    let changed = orders::cancel(&context, id, request.version, cancellation).await?;
    Ok(Envelope::new(order.record(&rest, &changed.details)))
}

async fn feedback(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<OrderId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<FeedbackRequest>,
) -> Result<Envelope<FeedbackResult>, ErrorResponse> {
    let order = AgentOrder::find(&rest, &agent, id).await?;
    let key = idempotency_key.key(order.store.merchant, &agent, &request)?;
    let context = order.context(&rest, &agent, key.as_ref());
    orders::submit_feedback(&context, id, request.outcome, request.note).await?;
    Ok(Envelope::new(FeedbackResult { order_id: id, outcome: request.outcome }))
}
