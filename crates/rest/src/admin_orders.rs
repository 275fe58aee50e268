//! Orders of any store, for platform administrators (docs/contract/admin-api.md#orders).

use std::sync::Arc;

use axum::extract::State;
use database::Reading;
use identity::Reason;
use merchants::Administration;
use orders::{Actor, OrderContext, OrderRecord, PaymentStatus, Viewer};
use primitives::OrderId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::idempotency::IdempotencyKeyHeader;
use crate::order_access::{READ_ERRORS, WRITE_ERRORS};
use crate::{
    Access, AdminCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let read = Endpoint::get("/admin/orders/{order_id}", Access::Admin, read)
        .operation_id("adminGetOrder")
        .tag("admin")
        .summary("Get an order of any store")
        .description("Returns an order with its shipments, adjustments, returns and history, for instance to decide a dispute. The record has no personal data.")
        .path::<OrderId>()
        .response::<Envelope<OrderRecord>>(200)
        .errors(READ_ERRORS);
    let set = Endpoint::post("/admin/orders/{order_id}/payment-status", Access::Admin, set)
        .operation_id("adminSetPaymentStatus")
        .tag("admin")
        .summary("Set the payment status of an order")
        .description("Records what became known of the payment outside of the platform. A pending order whose payment failed fails, and its units go back into stock. Refunds are counted and cannot be set. Recorded in the audit log with the administrator and the reason; setting the same status again changes nothing. The record has no personal data.")
        .idempotency_key()
        .path::<OrderId>()
        .body::<PaymentStatusRequest>()
        .response::<Envelope<OrderRecord>>(200)
        .errors(WRITE_ERRORS);
    Routes::new().with(read).with(set)
}

/// The status of a payment.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PaymentStatusRequest {
    /// Status of the payment: `unpaid`, `authorized`, `paid`, `failed` or `disputed`.
    #[schemars(extend("enum" = ["unpaid", "authorized", "paid", "failed", "disputed"]))]
    payment_status: PaymentStatus,
    /// The reason, for the audit log.
    #[schemars(length(min = 1, max = Reason::CHARACTERS_MAX))]
    reason: String,
}

async fn read(
    _admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<OrderId>,
) -> Result<Envelope<OrderRecord>, ErrorResponse> {
    let merchant = orders::merchant_of(&rest.database, id).await?;
    let store = rest.stores.find_merchant(merchant).await?;
    let reading = Reading::for_store(&rest.database, merchant)?;
    let details = orders::details(&reading, merchant, id, &Viewer::All).await?;
    Ok(Envelope::new(details.record_for_administrator(store.slug.as_str())))
}

async fn set(
    admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<OrderId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<PaymentStatusRequest>,
) -> Result<Envelope<OrderRecord>, ErrorResponse> {
    let reason: Reason = request.reason.parse()?;
    let merchant = orders::merchant_of(&rest.database, id).await?;
    let store = rest.stores.find_merchant(merchant).await?;
    let key = idempotency_key.key_of_admin(merchant, admin, &request)?;
    let context = OrderContext {
        database: &rest.database,
        merchant,
        slug: store.slug.as_str(),
        actor: Actor::platform(admin.user),
        viewer: Viewer::All,
        idempotency_key: key.as_ref(),
    };
    let by = Administration { actor: identity::Actor::Person(admin.user), reason: &reason };
    let changed = orders::set_payment_status(&context, by, id, request.payment_status).await?;
    Ok(Envelope::new(changed.details.record_for_administrator(store.slug.as_str())))
}
