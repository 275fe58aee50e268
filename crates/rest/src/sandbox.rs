//! Sandbox keys for the demo store (docs/contract/authentication.md#sandbox-keys).

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use identity::SANDBOX_KEYS_MAX;
use primitives::{ClientAddress, ErrorCode, const_text};

use crate::agent_keys::{NewKeyRecord, created};
use crate::{Access, Endpoint, Envelope, ErrorResponse, Rest, RestState, Routes};

pub(crate) fn endpoints() -> Routes<RestState> {
    let create = Endpoint::post("/sandbox/key", Access::Public, create)
        .credential_quota()
        .operation_id("createSandboxKey")
        .tag("account")
        .summary("Create a sandbox key")
        .description(const_text!(
            "The key has every scope at `demo-store` only and expires after a day; sandbox purchases are not real. Of each IP address the newest ",
            SANDBOX_KEYS_MAX,
            " keys work: a further call revokes the oldest and returns a new one. `api_key` is returned only in this response.",
        ))
        .response::<Envelope<NewKeyRecord>>(201)
        .errors(&[ErrorCode::StoreNotFound]);
    Routes::new().with(create)
}

async fn create(
    State(rest): State<Arc<Rest>>,
    Extension(from): Extension<ClientAddress>,
) -> Result<(StatusCode, Envelope<NewKeyRecord>), ErrorResponse> {
    let demo = rest.stores.demo().await?;
    let (issued, key) = rest.credentials.issue_sandbox_key(demo.merchant, from).await?;
    created(&rest, (Some(issued), key)).await
}
