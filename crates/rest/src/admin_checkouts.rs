//! Checkout sessions of any store, for platform administrators (docs/contract/admin-api.md#checkouts).

use std::sync::Arc;

use axum::extract::State;
use checkout::SessionRecord;
use database::Reading;
use identity::{Actor, Reason};
use merchants::Administration;
use primitives::{CheckoutId, ErrorCode};

use crate::admin_stores::ReasonRequest;
use crate::{
    Access, AdminCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let show = Endpoint::get("/admin/checkouts/{checkout_id}", Access::Admin, show)
        .operation_id("adminGetCheckout")
        .tag("admin")
        .summary("Get a checkout session of any store")
        .path::<CheckoutId>()
        .response::<Envelope<SessionRecord>>(200)
        .errors(&[ErrorCode::NotFound]);
    let release = Endpoint::post("/admin/checkouts/{checkout_id}/release", Access::Admin, release)
        .operation_id("adminReleaseCheckout")
        .tag("admin")
        .summary("Release a checkout session")
        .description("Cancels an unpaid session and returns its units to stock. A session that is being paid, or was paid, cannot be released. Releasing it again changes nothing.")
        .path::<CheckoutId>()
        .body::<ReasonRequest>()
        .response::<Envelope<SessionRecord>>(200)
        .errors(checkout::RELEASE_ERRORS);
    Routes::new().with(show).with(release)
}

async fn show(
    _admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CheckoutId>,
) -> Result<Envelope<SessionRecord>, ErrorResponse> {
    let merchant = checkout::merchant_of(&rest.database, id).await?;
    let reading = Reading::for_store(&rest.database, merchant)?;
    let found = checkout::session(&reading, merchant, id, None).await?;
    Ok(Envelope::new(found.record_for_merchant()))
}

async fn release(
    admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CheckoutId>,
    Json(request): Json<ReasonRequest>,
) -> Result<Envelope<SessionRecord>, ErrorResponse> {
    let reason: Reason = request.reason.parse()?;
    let by = Administration { actor: Actor::Person(admin.user), reason: &reason };
    let released = checkout::release_by_operator(&rest.database, by, id).await?;
    Ok(Envelope::new(released.record_for_merchant()))
}
