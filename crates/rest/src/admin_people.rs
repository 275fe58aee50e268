//! Accounts, for platform administrators (docs/contract/admin-api.md#people).

use std::sync::Arc;

use axum::extract::State;
use database::Work;
use identity::{Actor, Email, Reason};
use primitives::{ErrorCode, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Access, AdminCaller, Endpoint, Envelope, ErrorResponse, Json, Rest, RestState, Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let disable = Endpoint::post("/admin/people/disable", Access::Admin, disable)
        .operation_id("adminDisablePerson")
        .tag("admin")
        .summary("Disable an account")
        .description(
            "Its tokens and agent keys stop working within five seconds, and it cannot log in.",
        )
        .body::<PersonRequest>()
        .response::<Envelope<PersonState>>(200)
        .errors(&[ErrorCode::NotFound]);
    let enable = Endpoint::post("/admin/people/enable", Access::Admin, enable)
        .operation_id("adminEnablePerson")
        .tag("admin")
        .summary("Enable a disabled account")
        .description("Its agent keys work again; its former tokens do not.")
        .body::<PersonRequest>()
        .response::<Envelope<PersonState>>(200)
        .errors(&[ErrorCode::NotFound]);
    Routes::new().with(disable).with(enable)
}

/// An account, and why an administrator acts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PersonRequest {
    /// Email of the account.
    #[schemars(length(min = 3, max = 254))]
    email: String,
    /// The reason, for the audit log.
    #[schemars(length(min = 1, max = Reason::CHARACTERS_MAX))]
    reason: String,
}

/// The state of an account.
#[derive(Debug, Serialize, JsonSchema)]
struct PersonState {
    /// ID of the account.
    user_id: UserId,
    /// Whether the account is disabled.
    disabled: bool,
}

async fn disable(
    admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<PersonRequest>,
) -> Result<Envelope<PersonState>, ErrorResponse> {
    set_disabled(admin, &rest, &request, true).await
}

async fn enable(
    admin: AdminCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<PersonRequest>,
) -> Result<Envelope<PersonState>, ErrorResponse> {
    set_disabled(admin, &rest, &request, false).await
}

async fn set_disabled(
    admin: AdminCaller,
    rest: &Rest,
    request: &PersonRequest,
    disabled: bool,
) -> Result<Envelope<PersonState>, ErrorResponse> {
    let (email, reason): (Email, Reason) = (request.email.parse()?, request.reason.parse()?);
    let actor = Actor::Person(admin.user);
    let mut work = Work::for_platform(&rest.database).await?;
    let user = identity::person_by_email(&mut work, &email).await?;
    if disabled {
        identity::disable_person(&mut work, actor, user, &reason).await?;
    } else {
        identity::enable_person(&mut work, actor, user, &reason).await?;
    }
    work.commit().await?;
    Ok(Envelope::new(PersonState { user_id: user, disabled }))
}
