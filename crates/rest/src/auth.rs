//! Login (docs/contract/authentication.md#login).

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use primitives::{ClientAddress, ErrorCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Access, Endpoint, ErrorResponse, Json, Rest, RestState, Routes};

pub(crate) fn endpoints() -> Routes<RestState> {
    let login = Endpoint::post("/auth/login", Access::Public, login).credential_quota()
        .operation_id("login")
        .tag("account")
        .summary("Log in with email and password")
        .description("Returns an access token: a JWT (EdDSA; public keys at `/.well-known/jwks.json`) that is valid for an hour. Send it as `Authorization: Bearer …`. After five failed logins a minute from one IP address the response is 429 until `details.reset`.")
        .body::<LoginRequest>()
        .response::<LoginResponse>(200)
        .errors(&[ErrorCode::Unauthorized]);
    Routes::new().with(login)
}

/// Email and password.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoginRequest {
    /// Email of the account.
    #[schemars(length(min = 3, max = 254))]
    email: String,
    /// Password of the account.
    #[schemars(length(min = 1, max = 200), extend("format" = "password"))]
    password: String,
}

/// An access token.
#[derive(Serialize, JsonSchema)]
struct LoginResponse {
    /// The JWT.
    token: String,
    /// The authentication scheme.
    #[schemars(extend("enum" = ["Bearer"]))]
    token_type: &'static str,
    /// Seconds until the token expires.
    expires_in: u64,
}

async fn login(
    State(rest): State<Arc<Rest>>,
    Extension(from): Extension<ClientAddress>,
    Json(request): Json<LoginRequest>,
) -> Result<axum::Json<LoginResponse>, ErrorResponse> {
    let LoginRequest { email, password } = request;
    let token = rest.credentials.logins.login(&email, password, from).await?;
    let expires_in = identity::TOKEN_LIFETIME.as_secs();
    Ok(axum::Json(LoginResponse { token, token_type: "Bearer", expires_in }))
}
