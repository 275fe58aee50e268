//! Refunds that a merchant made (docs/contract/merchant-api.md#refunds).

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use identity::StoreScope;
use orders::{NewRefund, OrderError, RefundReason, RefundRecord};
use primitives::{OrderId, RefundId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::idempotency::IdempotencyKeyHeader;
use crate::merchant_settings::version::{IfMatch, version};
use crate::order_access::{
    Amounts, IF_MATCH, NOTE_CHARACTERS_MAX, REFERENCE_CHARACTERS_MAX, WRITE_ERRORS,
    merchant_context, subject,
};
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes, StoreCaller,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let access = Access::Store(StoreScope::Orders);
    let refund = Endpoint::post("/merchant/orders/{order_id}/refunds", access, refund)
        .operation_id("refundOrder")
        .tag("merchant")
        .summary("Record a refund")
        .description("Records a refund that you made; no money moves here. All refunds of an order together never exceed what was paid. A refund with a `reference` that the order knows is not recorded again if its amount is the same, and rejected if it is not.")
        .header(IfMatch::NAME, IF_MATCH)
        .idempotency_key()
        .path::<OrderId>()
        .body::<RefundRequest>()
        .response::<Envelope<RefundRecord>>(201)
        .errors(WRITE_ERRORS);
    Routes::new().with(refund)
}

/// A refund.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({
    "amount": 12.5, "currency": "EUR", "reason": "damaged", "reference": "RF-1001",
})))]
struct RefundRequest {
    /// Amount; omitted: everything that is not refunded yet.
    amount: Option<f64>,
    /// Currency of the amount, that of the order; required with it, and only with it.
    #[schemars(length(max = 4))]
    currency: Option<String>,
    /// Why the amount is refunded.
    reason: RefundReason,
    /// Note for the buyer, as part of the refund in `adjustments`.
    #[schemars(length(max = NOTE_CHARACTERS_MAX))]
    note: Option<String>,
    /// Your own reference of the refund.
    #[schemars(length(min = 1, max = REFERENCE_CHARACTERS_MAX))]
    reference: Option<String>,
    /// Version of the order that the refund is based on.
    #[schemars(range(min = 1))]
    version: Option<i32>,
}

async fn refund(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<OrderId>,
    if_match: IfMatch,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<RefundRequest>,
) -> Result<(StatusCode, Envelope<RefundRecord>), ErrorResponse> {
    let version = version(if_match, request.version)?;
    let key = idempotency_key.key_of_store(&caller, &(&request, version))?;
    let amounts = Amounts::in_currency(request.currency.as_deref(), &[request.amount])?;
    let new = NewRefund {
        amount: amounts.money("amount", request.amount)?,
        reason: request.reason,
        note: request.note,
        reference: request.reference,
    };
    let context = merchant_context(&rest, &caller, key.as_ref());
    let changed = orders::refund(&context, id, version, new).await?;
    let refund: RefundId = subject(&changed)?;
    let recorded = changed.details.refunds.iter().find(|it| it.id == refund);
    let record = recorded.map(|it| it.record(id, changed.details.order.currency()));
    Ok((StatusCode::CREATED, Envelope::new(record.ok_or(OrderError::Unreadable)?)))
}
