//! Keys to play with at the demo store (decisions §5).

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use primitives::{ClientAddress, ErrorCode};

use crate::agent_keys::{NewKeyRecord, shown};
use crate::{Access, Endpoint, One, Opened, Refusal, Rest, Routes};

pub(crate) fn endpoints() -> Routes<Opened> {
    let create = Endpoint::post("/sandbox/key", Access::Public, create)
        .of_credentials()
        .name("createSandboxKey")
        .tag("account")
        .summary("Make a key to try carts at the demo store with")
        .explanation("It has every scope at `demo-store` alone and works for a day; nothing is sold. Three a day for each address. `api_key` is shown in this answer and never again.")
        .answer::<One<NewKeyRecord>>(201)
        .errors(&[ErrorCode::StoreNotFound]);
    Routes::new().with(create)
}

async fn create(
    State(rest): State<Arc<Rest>>,
    Extension(from): Extension<ClientAddress>,
) -> Result<(StatusCode, One<NewKeyRecord>), Refusal> {
    let demo = rest.stores.demo().await?;
    let made = rest.callers.issue_sandbox_key(demo.merchant, from).await?;
    shown(&rest, made).await
}
