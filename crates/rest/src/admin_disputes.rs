//! Disputes of all stores, for platform administrators (docs/contract/admin-api.md#disputes).

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use database::Reading;
use identity::Reason;
use merchants::Administration;
use orders::{
    Actor, Decision, DisputeCursor, DisputeRecord, DisputeSummary, OrderContext, Resolution, Viewer,
};
use primitives::{DisputeId, ErrorCode, MerchantId, OrderId, PageRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::envelope::CursorEnvelope;
use crate::idempotency::IdempotencyKeyHeader;
use crate::order_access::{Amounts, CURSOR_CHARACTERS_MAX, dispute_of};
use crate::request::InvalidField;
use crate::{
    Access, AdminCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Query, Rest, RestState,
    Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let list = Endpoint::get("/admin/disputes", Access::Admin, list)
        .operation_id("adminListDisputes")
        .tag("admin")
        .summary("List disputes to decide")
        .description("Returns the disputes of all stores that await a decision, the earliest deadline first, without their statements. The list is not counted: `meta.total` is the number of disputes on the page.")
        .query::<ListParameters>()
        .response::<CursorEnvelope<DisputeSummary>>(200);
    let show = Endpoint::get("/admin/disputes/{dispute_id}", Access::Admin, show)
        .operation_id("adminGetDispute")
        .tag("admin")
        .summary("Get a dispute of any store")
        .path::<DisputeId>()
        .response::<Envelope<DisputeRecord>>(200)
        .errors(&[ErrorCode::NotFound]);
    let decide = Endpoint::post("/admin/disputes/{dispute_id}/decision", Access::Admin, decide)
        .operation_id("adminDecideDispute")
        .tag("admin")
        .summary("Decide a dispute")
        .description("Decides a dispute that is under review, for the buyer or for the merchant. No money moves: the merchant makes the refund. Recorded in the audit log with the administrator and the reason, which both parties read, and posted to the merchant as a notice.")
        .idempotency_key()
        .path::<DisputeId>()
        .body::<DecisionRequest>()
        .response::<Envelope<DisputeRecord>>(200)
        .errors(&[ErrorCode::NotFound, ErrorCode::InvalidStatusTransition]);
    Routes::new().with(list).with(show).with(decide)
}

/// A page of disputes.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListParameters {
    /// `meta.next_cursor` of the previous page.
    #[schemars(length(max = CURSOR_CHARACTERS_MAX))]
    cursor: Option<String>,
    /// Disputes per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

/// A decision.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DecisionRequest {
    /// For whom the dispute is decided: `buyer` or `merchant`.
    #[schemars(extend("enum" = ["buyer", "merchant"]))]
    resolution: Resolution,
    /// Refund that the merchant has to make; only for the buyer.
    refund: Option<f64>,
    /// Currency of the refund, that of the order; required with it, and only with it.
    #[schemars(length(max = 4))]
    currency: Option<String>,
    /// The grounds, for both parties and the audit log.
    #[schemars(length(min = 1, max = Reason::CHARACTERS_MAX))]
    reason: String,
}

async fn list(
    _admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<ListParameters>,
) -> Result<CursorEnvelope<DisputeSummary>, ErrorResponse> {
    let after = parameters.cursor.map(|cursor| cursor.parse::<DisputeCursor>()).transpose();
    let after = after.map_err(|_| InvalidField { field: "cursor" })?;
    let request = PageRequest::new(None, parameters.limit);
    let page = orders::disputes_to_decide(&rest.database, after, request.limit()).await?;
    let mut by_store: HashMap<MerchantId, Vec<OrderId>> = HashMap::new();
    for (merchant, order, _) in &page.disputes {
        by_store.entry(*merchant).or_default().push(*order);
    }
    let mut orders = HashMap::new();
    for (merchant, ids) in by_store {
        let reading = Reading::for_store(&rest.database, merchant)?;
        orders.extend(orders::orders_by_id(&reading, merchant, &ids).await?);
    }
    let mut records = Vec::with_capacity(page.disputes.len());
    for (merchant, order, dispute) in &page.disputes {
        let store = rest.stores.find_merchant(*merchant).await?;
        let record = orders.get(order).map(|it| dispute.summary(it, store.slug.as_str()));
        records.extend(record);
    }
    Ok(CursorEnvelope::uncounted(records, request, after.is_none(), page.next))
}

async fn show(
    _admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<DisputeId>,
) -> Result<Envelope<DisputeRecord>, ErrorResponse> {
    let merchant = orders::merchant_of_dispute(&rest.database, id).await?;
    let store = rest.stores.find_merchant(merchant).await?;
    let reading = Reading::for_store(&rest.database, merchant)?;
    let (details, dispute) = orders::dispute(&reading, merchant, id, &Viewer::All).await?;
    Ok(Envelope::new(dispute.record(&details.order, store.slug.as_str())))
}

async fn decide(
    admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<DisputeId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<DecisionRequest>,
) -> Result<Envelope<DisputeRecord>, ErrorResponse> {
    let reason: Reason = request.reason.parse()?;
    let amounts = Amounts::in_currency(request.currency.as_deref(), &[request.refund])?;
    let refund = amounts.money("refund", request.refund)?;
    let merchant = orders::merchant_of_dispute(&rest.database, id).await?;
    let store = rest.stores.find_merchant(merchant).await?;
    let reading = Reading::for_store(&rest.database, merchant)?;
    let (details, _) = orders::dispute(&reading, merchant, id, &Viewer::All).await?;
    let key = idempotency_key.key_of_admin(merchant, admin, &request)?;
    let context = OrderContext {
        database: &rest.database,
        merchant,
        slug: store.slug.as_str(),
        actor: Actor::platform(admin.user),
        viewer: Viewer::All,
        idempotency_key: key.as_ref(),
    };
    let decision =
        Decision { resolution: request.resolution, refund, reason: reason.as_str().to_owned() };
    let by = Administration { actor: identity::Actor::Person(admin.user), reason: &reason };
    let changed = orders::decide_dispute(&context, by, details.order.id, id, decision).await?;
    Ok(Envelope::new(dispute_of(&changed.details, id, store.slug.as_str())?))
}
