//! Disputes that agents open (docs/contract/orders.md#disputes).

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use limits::QuotaClass;
use orders::{Changed, DisputeReason, DisputeRecord, NewDispute, NewStatement};
use primitives::{DisputeId, OrderId, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::idempotency::IdempotencyKeyHeader;
use crate::order_access::{
    AgentOrder, EVIDENCE_MAX, PART_ERRORS, STATEMENT_CHARACTERS_MAX, WRITE_ERRORS, dispute_of,
    subject,
};
use crate::{
    Access, AgentCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes,
};

const ACCESS: Access = Access::Agent(Scope::AgentOrders);

pub(crate) fn endpoints() -> Routes<RestState> {
    let open = Endpoint::post("/agent/orders/{order_id}/disputes", ACCESS, open)
        .tool("open_dispute", QuotaClass::Returns)
        .writes()
        .operation_id("openDispute")
        .tag("orders")
        .summary("Open a dispute")
        .description("The merchant has seven days to answer; then an administrator of the platform decides. An order has one open dispute at a time. Try a return or a message to the merchant first, and ask the person.")
        .path::<OrderId>()
        .body::<OpenDisputeRequest>()
        .response::<Envelope<DisputeRecord>>(201)
        .errors(WRITE_ERRORS);
    let read = Endpoint::get("/agent/orders/{order_id}/disputes/{dispute_id}", ACCESS, read)
        .tool("get_dispute", QuotaClass::Orders)
        .operation_id("getDispute")
        .tag("orders")
        .summary("Get a dispute")
        .path::<OrderId>()
        .path::<DisputeId>()
        .response::<Envelope<DisputeRecord>>(200)
        .errors(PART_ERRORS);
    let routes = Routes::new().with(open).with(read);
    let state = Endpoint::post(
        "/agent/orders/{order_id}/disputes/{dispute_id}/statements",
        ACCESS,
        add_statement,
    )
    .operation_id("addStatement")
    .summary("Add a statement to a dispute")
    .description(
        "Adds a text and links to evidence to an open dispute. Statements cannot be changed.",
    )
    .body::<StatementRequest>();
    let accept =
        Endpoint::post("/agent/orders/{order_id}/disputes/{dispute_id}/accept", ACCESS, accept)
            .operation_id("acceptProposal")
            .summary("Accept the refund that the merchant proposed")
            .description("Ends the dispute by agreement on `proposed_refund`, which the merchant then makes. A dispute that the buyer opened is ended only by the buyer, on the order page. Ask the person first.");
    let withdraw =
        Endpoint::post("/agent/orders/{order_id}/disputes/{dispute_id}/withdraw", ACCESS, withdraw)
            .operation_id("withdrawDispute")
            .summary("Withdraw a dispute")
            .description("Ends an open dispute without a decision. A dispute that the buyer opened is ended only by the buyer, on the order page. Ask the person first.");
    [state, accept, withdraw].into_iter().fold(routes, |routes, endpoint| {
        let endpoint = endpoint
            .tool("open_dispute", QuotaClass::Returns)
            .writes()
            .tag("orders")
            .path::<OrderId>()
            .path::<DisputeId>()
            .response::<Envelope<DisputeRecord>>(200)
            .errors(PART_ERRORS);
        routes.with(endpoint)
    })
}

/// A dispute to open.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OpenDisputeRequest {
    /// What the dispute is about.
    reason: DisputeReason,
    /// What happened. The merchant and the platform read it.
    #[schemars(length(min = 1, max = STATEMENT_CHARACTERS_MAX))]
    statement: String,
    /// https URLs of evidence. The platform does not open them.
    #[schemars(length(max = EVIDENCE_MAX))]
    evidence: Option<Vec<String>>,
}

/// A statement.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatementRequest {
    /// The text. The merchant and the platform read it.
    #[schemars(length(min = 1, max = STATEMENT_CHARACTERS_MAX))]
    statement: String,
    /// https URLs of evidence. The platform does not open them.
    #[schemars(length(max = EVIDENCE_MAX))]
    evidence: Option<Vec<String>>,
}

/// A dispute after a change.
fn record(
    order: &AgentOrder,
    changed: &Changed,
    id: DisputeId,
) -> Result<Envelope<DisputeRecord>, ErrorResponse> {
    Ok(Envelope::new(dispute_of(&changed.details, id, order.store.slug.as_str())?))
}

async fn open(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<OrderId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<OpenDisputeRequest>,
) -> Result<(StatusCode, Envelope<DisputeRecord>), ErrorResponse> {
    let order = AgentOrder::find(&rest, &agent, id).await?;
    let key = idempotency_key.key(order.store.merchant, &agent, &request)?;
    let dispute = NewDispute {
        reason: request.reason,
        statement: request.statement,
        evidence: request.evidence.unwrap_or_default(),
    };
    let context = order.context(&rest, &agent, key.as_ref());
    let changed = orders::open_dispute(&context, id, dispute).await?;
    Ok((StatusCode::CREATED, record(&order, &changed, subject(&changed)?)?))
}

async fn read(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(order_id): Path<OrderId>,
    Path(id): Path<DisputeId>,
) -> Result<Envelope<DisputeRecord>, ErrorResponse> {
    Ok(Envelope::new(AgentOrder::dispute(&rest, &agent, order_id, id).await?))
}

async fn add_statement(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(order_id): Path<OrderId>,
    Path(id): Path<DisputeId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<StatementRequest>,
) -> Result<Envelope<DisputeRecord>, ErrorResponse> {
    let order = AgentOrder::find(&rest, &agent, order_id).await?;
    let key = idempotency_key.key(order.store.merchant, &agent, &request)?;
    let statement = NewStatement {
        text: request.statement,
        evidence: request.evidence.unwrap_or_default(),
        proposed_refund: None,
    };
    let context = order.context(&rest, &agent, key.as_ref());
    let changed = orders::answer_dispute(&context, order_id, id, statement).await?;
    record(&order, &changed, id)
}

async fn accept(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(order_id): Path<OrderId>,
    Path(id): Path<DisputeId>,
    idempotency_key: IdempotencyKeyHeader,
) -> Result<Envelope<DisputeRecord>, ErrorResponse> {
    let order = AgentOrder::find(&rest, &agent, order_id).await?;
    let key = idempotency_key.key(order.store.merchant, &agent, &())?;
    let context = order.context(&rest, &agent, key.as_ref());
    let changed = orders::accept_proposal(&context, order_id, id).await;
    let changed =
        changed.map_err(|error| error.with_order_page(|| order.page_url(&rest, order_id)))?;
    record(&order, &changed, id)
}

async fn withdraw(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(order_id): Path<OrderId>,
    Path(id): Path<DisputeId>,
    idempotency_key: IdempotencyKeyHeader,
) -> Result<Envelope<DisputeRecord>, ErrorResponse> {
    let order = AgentOrder::find(&rest, &agent, order_id).await?;
    let key = idempotency_key.key(order.store.merchant, &agent, &())?;
    let context = order.context(&rest, &agent, key.as_ref());
    let changed = orders::withdraw_dispute(&context, order_id, id).await;
    let changed =
        changed.map_err(|error| error.with_order_page(|| order.page_url(&rest, order_id)))?;
    record(&order, &changed, id)
}
