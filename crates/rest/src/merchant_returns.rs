//! Returns to a store, for its merchant (docs/contract/merchant-api.md#returns).

use std::sync::Arc;

use axum::extract::State;
use database::Reading;
use identity::StoreScope;
use orders::{
    DeclineReason, ReturnAction, ReturnCondition, ReturnCursor, ReturnRecord, ReturnStatus,
    ReturnsFilter,
};
use primitives::{LineId, OrderId, PageRequest, ReturnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::envelope::CursorEnvelope;
use crate::idempotency::IdempotencyKeyHeader;
use crate::merchant_settings::version::{IfMatch, version};
use crate::order_access::{
    Amounts, CURSOR_CHARACTERS_MAX, IF_MATCH, ITEMS_MAX, NAME_CHARACTERS_MAX, NOTE_CHARACTERS_MAX,
    PART_ERRORS, REFERENCE_CHARACTERS_MAX, changed_return, merchant_context,
};
use crate::request::InvalidField;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, Path, Query, Rest, RestState, Routes,
    StoreCaller,
};

const ACCESS: Access = Access::Store(StoreScope::Orders);

pub(crate) fn endpoints() -> Routes<RestState> {
    let list = Endpoint::get("/merchant/returns", ACCESS, list)
        .operation_id("listReturns")
        .tag("merchant")
        .summary("List returns")
        .description("Returns the returns of the store, the newest first. Send `meta.next_cursor` as `cursor` for the next page. The list is not counted: `meta.total` is the number of returns on the page.")
        .query::<ListParameters>()
        .response::<CursorEnvelope<ReturnRecord>>(200);
    let change = Endpoint::patch("/merchant/orders/{order_id}/returns/{return_id}", ACCESS, change)
        .operation_id("changeReturn")
        .tag("merchant")
        .summary("Approve, receive, settle or decline a return")
        .description("`approve` or `decline` a requested return; `in_transit` and `receive` report where the items are; `inspect` records their condition; `settle` ends the return by its outcome: a refund is recorded, computed from what was paid for the items unless you name it, and no money moves here; if less is left of the payment, name the amount. `reject` refuses items that have arrived; `close` ends a settled return, which otherwise happens 14 days later.")
        .header(IfMatch::NAME, IF_MATCH)
        .idempotency_key()
        .path::<OrderId>()
        .path::<ReturnId>()
        .body::<HandleReturnRequest>()
        .response::<Envelope<ReturnRecord>>(200)
        .errors(PART_ERRORS);
    Routes::new().with(list).with(change)
}

/// Which returns are listed.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListParameters {
    /// Only returns with this status.
    status: Option<ReturnStatus>,
    /// Only returns of this order.
    order_id: Option<OrderId>,
    /// `meta.next_cursor` of the previous page.
    #[schemars(length(max = CURSOR_CHARACTERS_MAX))]
    cursor: Option<String>,
    /// Returns per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

primitives::text_enum! {
    /// What a merchant does with a return.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    enum MerchantReturnAction {
        /// Agree to take the items back.
        Approve,
        /// Refuse to take the items back.
        Decline,
        /// Report that the items are on their way.
        InTransit,
        /// Report that the items have arrived.
        Receive,
        /// Record the condition of the items.
        Inspect,
        /// Refund or exchange the items.
        Settle,
        /// Refuse items that have arrived.
        Reject,
        /// End a settled return.
        Close,
    }
}

/// A change of a return.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "action": "approve", "instructions": "Send it to …" })))]
struct HandleReturnRequest {
    /// What is done.
    action: MerchantReturnAction,
    /// How to send the items back; only with `approve`.
    #[schemars(length(max = NOTE_CHARACTERS_MAX))]
    instructions: Option<String>,
    /// Why the items are refused; required with `decline` and `reject`.
    reason: Option<DeclineReason>,
    /// Carrier; only with `in_transit`.
    #[schemars(length(max = NAME_CHARACTERS_MAX))]
    carrier: Option<String>,
    /// Tracking number; only with `in_transit`.
    #[schemars(length(max = NAME_CHARACTERS_MAX))]
    tracking_number: Option<String>,
    /// Condition of the items, each line at most once; only with `inspect`.
    #[schemars(length(max = ITEMS_MAX))]
    conditions: Option<Vec<LineCondition>>,
    /// Amount to refund, also 0; only with `settle`. Omitted: what was paid for the items, without the fee.
    refund: Option<f64>,
    /// Amount that you keep, at most what was paid for the items; only with `settle`.
    restocking_fee: Option<f64>,
    /// Currency of the amounts, that of the order; required with any of them, and only with them.
    #[schemars(length(max = 4))]
    currency: Option<String>,
    /// Your own reference of the refund; only with `settle`.
    #[schemars(length(min = 1, max = REFERENCE_CHARACTERS_MAX))]
    reference: Option<String>,
    /// Version of the order that the change is based on.
    #[schemars(range(min = 1))]
    version: Option<i32>,
}

/// The condition of the returned units of a line.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LineCondition {
    /// Line of the order.
    line_id: LineId,
    /// Condition of its units.
    condition: ReturnCondition,
}

impl HandleReturnRequest {
    /// Returns a field that does not belong to the action.
    fn unexpected(&self) -> Option<&'static str> {
        use MerchantReturnAction::{Approve, Decline, InTransit, Inspect, Reject, Settle};
        let of = |actions: &[MerchantReturnAction]| actions.contains(&self.action);
        let fields = [
            ("instructions", self.instructions.is_some(), of(&[Approve])),
            ("reason", self.reason.is_some(), of(&[Decline, Reject])),
            ("carrier", self.carrier.is_some(), of(&[InTransit])),
            ("tracking_number", self.tracking_number.is_some(), of(&[InTransit])),
            ("conditions", self.conditions.is_some(), of(&[Inspect])),
            ("refund", self.refund.is_some(), of(&[Settle])),
            ("restocking_fee", self.restocking_fee.is_some(), of(&[Settle])),
            ("currency", self.currency.is_some(), of(&[Settle])),
            ("reference", self.reference.is_some(), of(&[Settle])),
        ];
        let found = fields.into_iter().find(|(_, is_sent, belongs)| *is_sent && !*belongs);
        found.map(|(field, ..)| field)
    }

    fn action(self) -> Result<ReturnAction, InvalidField> {
        if let Some(field) = self.unexpected() {
            return Err(InvalidField { field });
        }
        let reason = || self.reason.ok_or(InvalidField { field: "reason" });
        let sent = [self.refund, self.restocking_fee];
        let amounts = Amounts::in_currency(self.currency.as_deref(), &sent)?;
        let conditions = || self.conditions.iter().flatten();
        Ok(match self.action {
            MerchantReturnAction::Approve => {
                ReturnAction::Approve { instructions: self.instructions }
            }
            MerchantReturnAction::Decline => ReturnAction::Decline { reason: reason()? },
            MerchantReturnAction::InTransit => ReturnAction::MarkInTransit {
                carrier: self.carrier,
                tracking_number: self.tracking_number,
            },
            MerchantReturnAction::Receive => ReturnAction::Receive,
            MerchantReturnAction::Inspect => ReturnAction::Inspect {
                conditions: conditions().map(|it| (it.line_id, it.condition)).collect(),
            },
            MerchantReturnAction::Settle => ReturnAction::Settle {
                refund: amounts.money("refund", self.refund)?,
                restocking_fee: amounts.money("restocking_fee", self.restocking_fee)?,
                reference: self.reference,
            },
            MerchantReturnAction::Reject => ReturnAction::Reject { reason: reason()? },
            MerchantReturnAction::Close => ReturnAction::Close,
        })
    }
}

async fn list(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<ListParameters>,
) -> Result<CursorEnvelope<ReturnRecord>, ErrorResponse> {
    let after = parameters.cursor.map(|cursor| cursor.parse::<ReturnCursor>()).transpose();
    let after = after.map_err(|_| InvalidField { field: "cursor" })?;
    let request = PageRequest::new(None, parameters.limit);
    let filter = ReturnsFilter {
        statuses: parameters.status.into_iter().collect(),
        order: parameters.order_id,
        after,
        limit: request.limit(),
    };
    let merchant = caller.merchant;
    let reading = Reading::for_store(&rest.database, merchant)?;
    let page = orders::merchant_returns(&reading, merchant, &filter).await?;
    let ids: Vec<OrderId> = page.returns.iter().map(|(order, _)| *order).collect();
    let orders = orders::orders_by_id(&reading, merchant, &ids).await?;
    let record = |(id, it): &(OrderId, orders::OrderReturn)| {
        orders.get(id).map(|order| it.record(*id, order.currency()))
    };
    let records = page.returns.iter().filter_map(record).collect();
    Ok(CursorEnvelope::uncounted(records, request, after.is_none(), page.next))
}

async fn change(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    (Path(order), Path(id)): (Path<OrderId>, Path<ReturnId>),
    if_match: IfMatch,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<HandleReturnRequest>,
) -> Result<Envelope<ReturnRecord>, ErrorResponse> {
    let version = version(if_match, request.version)?;
    let key = idempotency_key.key_of_store(&caller, &(&request, version))?;
    let action = request.action()?;
    let context = merchant_context(&rest, &caller, key.as_ref());
    let changed = orders::change_return(&context, order, id, version, action).await?;
    Ok(Envelope::new(changed_return(&changed, id)?))
}
