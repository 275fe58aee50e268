//! Keys of anybody, for platform administrators (docs/contract/admin-api.md#keys).

use std::sync::Arc;

use axum::extract::State;
use database::Work;
use identity::{Actor, Reason};
use primitives::{ErrorCode, KeyId};

use crate::admin_stores::ReasonRequest;
use crate::agent_keys::RevokedKey;
use crate::{
    Access, AdminCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let revoke = Endpoint::post("/admin/keys/{key_id}/revoke", Access::Admin, revoke)
        .operation_id("adminRevokeKey")
        .tag("admin")
        .summary("Revoke an agent key or a store key")
        .description("The key stops working within five seconds.")
        .path::<KeyId>()
        .body::<ReasonRequest>()
        .response::<Envelope<RevokedKey>>(200)
        .errors(&[ErrorCode::NotFound]);
    Routes::new().with(revoke)
}

async fn revoke(
    admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Path(key): Path<KeyId>,
    Json(request): Json<ReasonRequest>,
) -> Result<Envelope<RevokedKey>, ErrorResponse> {
    let reason: Reason = request.reason.parse()?;
    let mut work = Work::for_platform(&rest.database).await?;
    identity::revoke_key(&mut work, Actor::Person(admin.user), key, &reason).await?;
    work.commit().await?;
    Ok(Envelope::new(RevokedKey { key_id: key, revoked: true }))
}
