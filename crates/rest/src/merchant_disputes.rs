//! Disputes about orders of a store, for its merchant (docs/contract/merchant-api.md#disputes).

use std::sync::Arc;

use axum::extract::State;
use database::Reading;
use identity::StoreScope;
use orders::{
    DisputeCursor, DisputeRecord, DisputeStatus, DisputeSummary, DisputesFilter, NewStatement,
    Viewer,
};
use primitives::{DisputeId, ErrorCode, OrderId, PageRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::envelope::CursorEnvelope;
use crate::idempotency::IdempotencyKeyHeader;
use crate::order_access::{
    Amounts, CURSOR_CHARACTERS_MAX, EVIDENCE_MAX, PART_ERRORS, STATEMENT_CHARACTERS_MAX,
    dispute_of, merchant_context,
};
use crate::request::InvalidField;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, Path, Query, Rest, RestState, Routes,
    StoreCaller,
};

const ACCESS: Access = Access::Store(StoreScope::Orders);

pub(crate) fn endpoints() -> Routes<RestState> {
    let list = Endpoint::get("/merchant/disputes", ACCESS, list)
        .operation_id("listDisputes")
        .tag("merchant")
        .summary("List disputes")
        .description("Returns the disputes about orders of the store, the newest first, without their statements. Send `meta.next_cursor` as `cursor` for the next page. The list is not counted: `meta.total` is the number of disputes on the page.")
        .query::<ListParameters>()
        .response::<CursorEnvelope<DisputeSummary>>(200);
    let read = Endpoint::get("/merchant/orders/{order_id}/disputes/{dispute_id}", ACCESS, read)
        .operation_id("getOwnDispute")
        .tag("merchant")
        .summary("Get a dispute about an order of the store")
        .path::<OrderId>()
        .path::<DisputeId>()
        .response::<Envelope<DisputeRecord>>(200)
        .errors(&[ErrorCode::OrderNotFound, ErrorCode::NotFound]);
    let answer = Endpoint::post(
        "/merchant/orders/{order_id}/disputes/{dispute_id}/statements",
        ACCESS,
        answer,
    )
    .operation_id("answerDispute")
    .tag("merchant")
    .summary("Answer a dispute")
    .description("Adds a statement. The first one must come before `respond_by`; with it the dispute is under review, and an administrator of the platform decides. With `proposed_refund` the buyer can end the dispute by accepting it; a later proposal cannot be lower.")
    .idempotency_key()
    .path::<OrderId>()
    .path::<DisputeId>()
    .body::<AnswerRequest>()
    .response::<Envelope<DisputeRecord>>(200)
    .errors(PART_ERRORS);
    Routes::new().with(list).with(read).with(answer)
}

/// Which disputes are listed.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListParameters {
    /// Only disputes with this status.
    status: Option<DisputeStatus>,
    /// Only disputes about this order.
    order_id: Option<OrderId>,
    /// `meta.next_cursor` of the previous page.
    #[schemars(length(max = CURSOR_CHARACTERS_MAX))]
    cursor: Option<String>,
    /// Disputes per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

/// The answer of a merchant.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({
    "statement": "The carrier lost the parcel.", "proposed_refund": 12.5, "currency": "EUR",
})))]
struct AnswerRequest {
    /// The text. The buyer and the platform read it.
    #[schemars(length(min = 1, max = STATEMENT_CHARACTERS_MAX))]
    statement: String,
    /// https URLs of evidence. The platform does not open them.
    #[schemars(length(max = EVIDENCE_MAX))]
    evidence: Option<Vec<String>>,
    /// Refund that you offer to end the dispute.
    proposed_refund: Option<f64>,
    /// Currency of the refund, that of the order; required with it, and only with it.
    #[schemars(length(max = 4))]
    currency: Option<String>,
}

async fn list(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<ListParameters>,
) -> Result<CursorEnvelope<DisputeSummary>, ErrorResponse> {
    let after = parameters.cursor.map(|cursor| cursor.parse::<DisputeCursor>()).transpose();
    let after = after.map_err(|_| InvalidField { field: "cursor" })?;
    let request = PageRequest::new(None, parameters.limit);
    let filter = DisputesFilter {
        statuses: parameters.status.into_iter().collect(),
        order: parameters.order_id,
        after,
        limit: request.limit(),
    };
    let (merchant, slug) = (caller.merchant, caller.store.slug.as_str());
    let reading = Reading::for_store(&rest.database, merchant)?;
    let page = orders::disputes_of_store(&reading, merchant, &filter).await?;
    let ids: Vec<OrderId> = page.disputes.iter().map(|(_, order, _)| *order).collect();
    let orders = orders::orders_by_id(&reading, merchant, &ids).await?;
    let record = |(_, id, it): &(_, OrderId, orders::Dispute)| {
        orders.get(id).map(|order| it.summary(order, slug))
    };
    let records = page.disputes.iter().filter_map(record).collect();
    Ok(CursorEnvelope::uncounted(records, request, after.is_none(), page.next))
}

async fn read(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(order): Path<OrderId>,
    Path(id): Path<DisputeId>,
) -> Result<Envelope<DisputeRecord>, ErrorResponse> {
    let merchant = caller.merchant;
    let reading = Reading::for_store(&rest.database, merchant)?;
    let (details, dispute) =
        orders::dispute_of_order(&reading, merchant, order, id, &Viewer::Merchant).await?;
    Ok(Envelope::new(dispute.record(&details.order, caller.store.slug.as_str())))
}

async fn answer(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(order): Path<OrderId>,
    Path(id): Path<DisputeId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<AnswerRequest>,
) -> Result<Envelope<DisputeRecord>, ErrorResponse> {
    let key = idempotency_key.key_of_store(&caller, &request)?;
    let amounts = Amounts::in_currency(request.currency.as_deref(), &[request.proposed_refund])?;
    let statement = NewStatement {
        text: request.statement,
        evidence: request.evidence.unwrap_or_default(),
        proposed_refund: amounts.money("proposed_refund", request.proposed_refund)?,
    };
    let context = merchant_context(&rest, &caller, key.as_ref());
    let changed = orders::answer_dispute(&context, order, id, statement).await?;
    Ok(Envelope::new(dispute_of(&changed.details, id, caller.store.slug.as_str())?))
}
