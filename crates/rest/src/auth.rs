//! Logging in (spec §4.1).

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use primitives::{ClientAddress, ErrorCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Access, Endpoint, Json, Opened, Refusal, Rest, Routes};

pub(crate) fn endpoints() -> Routes<Opened> {
    let login = Endpoint::post("/auth/login", Access::Public, login).of_credentials()
        .name("logIn")
        .tag("account")
        .summary("A token for an email and a password")
        .explanation("The token is a JWT (EdDSA; keys at `/.well-known/jwks.json`) and works for an hour: send it as `Authorization: Bearer …`. Five wrong logins a minute from one address are let through, then 429 until `details.reset`.")
        .body::<Credentials>()
        .answer::<LoggedIn>(200)
        .errors(&[ErrorCode::Unauthorized]);
    Routes::new().with(login)
}

/// Who logs in.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Credentials {
    /// The account's email.
    #[schemars(length(min = 3, max = 254))]
    email: String,
    /// Its password.
    #[schemars(length(min = 1, max = 200), extend("format" = "password"))]
    password: String,
}

/// What a login gives.
#[derive(Serialize, JsonSchema)]
struct LoggedIn {
    /// The JWT.
    token: String,
    /// How it is sent.
    #[schemars(extend("enum" = ["Bearer"]))]
    token_type: &'static str,
    /// Seconds it works for.
    expires_in: u64,
}

async fn login(
    State(rest): State<Arc<Rest>>,
    Extension(from): Extension<ClientAddress>,
    Json(credentials): Json<Credentials>,
) -> Result<axum::Json<LoggedIn>, Refusal> {
    let Credentials { email, password } = credentials;
    let token = rest.callers.logins.login(&email, password, from).await?;
    let expires_in = identity::TOKEN_LIFE.as_secs();
    Ok(axum::Json(LoggedIn { token, token_type: "Bearer", expires_in }))
}
