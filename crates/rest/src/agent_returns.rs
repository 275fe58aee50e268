//! Returns that agents request (docs/contract/orders.md#returns).

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use limits::QuotaClass;
use orders::{
    RequestedItem, ReturnAction, ReturnOutcome, ReturnReason, ReturnRecord, ReturnRequest,
};
use primitives::{ErrorCode, LineId, OrderId, ReturnId, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::idempotency::IdempotencyKeyHeader;
use crate::order_access::{
    AgentOrder, ITEMS_MAX, NAME_CHARACTERS_MAX, NOTE_CHARACTERS_MAX, PART_ERRORS, QUANTITY_MAX,
    WRITE_ERRORS, changed_return, subject,
};
use crate::request::InvalidField;
use crate::{
    Access, AgentCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes,
};

const ACCESS: Access = Access::Agent(Scope::AgentOrders);

pub(crate) fn endpoints() -> Routes<RestState> {
    let create = Endpoint::post("/agent/orders/{order_id}/returns", ACCESS, create)
        .tool("onx_create_return", QuotaClass::Returns)
        .writes()
        .operation_id("createReturn")
        .tag("orders")
        .summary("Request a return")
        .description("Asks the merchant to take delivered items back. Units that cannot be returned are refused with 422 `return_not_eligible` and `details.reason`. Ask the person first.")
        .path::<OrderId>()
        .body::<CreateReturnRequest>()
        .response::<Envelope<ReturnRecord>>(201)
        .errors(WRITE_ERRORS)
        .errors(&[ErrorCode::ReturnNotEligible]);
    let change = Endpoint::patch("/agent/orders/{order_id}/returns/{return_id}", ACCESS, change)
        .tool("onx_create_return", QuotaClass::Returns)
        .writes()
        .operation_id("updateReturn")
        .tag("orders")
        .summary("Report a return as sent, or withdraw it")
        .description("`in_transit`: the buyer has sent the items of an approved return back. `cancel`: withdraws a return whose items are not sent yet. Ask the person first.")
        .path::<OrderId>()
        .path::<ReturnId>()
        .body::<ChangeReturnRequest>()
        .response::<Envelope<ReturnRecord>>(200)
        .errors(PART_ERRORS);
    Routes::new().with(create).with(change)
}

/// A return to request.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateReturnRequest {
    /// Units to return, each line once.
    #[schemars(length(min = 1, max = ITEMS_MAX))]
    items: Vec<ReturnLine>,
    /// How the return is to be settled; omitted: by a refund.
    #[schemars(extend("default" = "refund"))]
    outcome: Option<ReturnOutcome>,
    /// Note to the merchant.
    #[schemars(length(max = NOTE_CHARACTERS_MAX))]
    note: Option<String>,
}

/// Units of a line to return.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReturnLine {
    /// Line of the order.
    line_id: LineId,
    /// Units.
    #[schemars(range(min = 1, max = QUANTITY_MAX))]
    quantity: u32,
    /// Why they are returned.
    reason: ReturnReason,
}

primitives::text_enum! {
    /// What an agent does with a return.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    enum AgentReturnAction {
        /// The items were sent back.
        InTransit,
        /// The return is withdrawn.
        Cancel,
    }
}

/// A change of a return.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangeReturnRequest {
    /// What happened.
    action: AgentReturnAction,
    /// Carrier of the items; only with `in_transit`.
    #[schemars(length(max = NAME_CHARACTERS_MAX))]
    carrier: Option<String>,
    /// Tracking number; only with `in_transit`.
    #[schemars(length(max = NAME_CHARACTERS_MAX))]
    tracking_number: Option<String>,
    /// Version of the order that the change is based on. The call fails if the order has changed since.
    #[schemars(range(min = 1))]
    version: Option<i32>,
}

impl ChangeReturnRequest {
    fn action(&self) -> Result<ReturnAction, InvalidField> {
        match (self.action, &self.carrier, &self.tracking_number) {
            (AgentReturnAction::InTransit, carrier, number) => Ok(ReturnAction::MarkInTransit {
                carrier: carrier.clone(),
                tracking_number: number.clone(),
            }),
            (AgentReturnAction::Cancel, None, None) => Ok(ReturnAction::Cancel),
            (AgentReturnAction::Cancel, Some(_), _) => Err(InvalidField { field: "carrier" }),
            (AgentReturnAction::Cancel, None, Some(_)) => {
                Err(InvalidField { field: "tracking_number" })
            }
        }
    }
}

async fn create(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<OrderId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<CreateReturnRequest>,
) -> Result<(StatusCode, Envelope<ReturnRecord>), ErrorResponse> {
    let order = AgentOrder::find(&rest, &agent, id).await?;
    let key = idempotency_key.key(order.store.merchant, &agent, &request)?;
    let item = |line: ReturnLine| RequestedItem {
        line: line.line_id,
        quantity: line.quantity,
        reason: line.reason,
    };
    let requested = ReturnRequest {
        items: request.items.into_iter().map(item).collect(),
        outcome: request.outcome.unwrap_or(ReturnOutcome::Refund),
        note: request.note,
    };
    let context = order.context(&rest, &agent, key.as_ref());
    let changed = orders::request_return(&context, id, requested).await?;
    let record = changed_return(&changed, subject(&changed)?)?;
    Ok((StatusCode::CREATED, Envelope::new(record)))
}

async fn change(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(order_id): Path<OrderId>,
    Path(id): Path<ReturnId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<ChangeReturnRequest>,
) -> Result<Envelope<ReturnRecord>, ErrorResponse> {
    let order = AgentOrder::find(&rest, &agent, order_id).await?;
    let key = idempotency_key.key(order.store.merchant, &agent, &request)?;
    let action = request.action()?;
    let context = order.context(&rest, &agent, key.as_ref());
    let changed = orders::change_return(&context, order_id, id, request.version, action).await?;
    Ok(Envelope::new(changed_return(&changed, id)?))
}
