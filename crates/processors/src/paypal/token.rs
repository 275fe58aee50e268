//! Access tokens: fetched with the credentials, and kept until shortly before they expire.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use tokio::sync::MutexGuard;
use tokio::time::Instant;

use crate::api::{self, Api, ErrorMeaning};
use crate::credentials::{PayPalCredentials, PayPalEnvironment, Secret};
use crate::error::{NotSent, ProcessorError};
use crate::processors::REQUEST_TIMEOUT;

/// Merchants whose token is kept.
const TOKENS_MAX: usize = 10_000;

/// How long before its expiry a token is not used any more.
const MARGIN: Duration = Duration::from_mins(1);

/// Longest time for which a token is used, whatever PayPal says. Theirs are valid for nine hours.
const LIFETIME_MAX: Duration = Duration::from_hours(24);

/// The tokens of all merchants.
#[derive(Debug, Clone, Default)]
pub(super) struct Tokens {
    slots: Arc<Mutex<HashMap<[u8; 32], Slot>>>,
}

/// The token of a merchant. Its lock is held while one is fetched, so that concurrent calls fetch one.
type Slot = Arc<tokio::sync::Mutex<Option<Token>>>;

#[derive(Debug, Clone)]
struct Token {
    text: Secret,
    expires_at: Instant,
}

/// A token for one call.
pub(super) struct AccessToken {
    text: Secret,
    /// Whether it was fetched before this call, so that PayPal may have revoked it since.
    pub(super) is_cached: bool,
}

impl AccessToken {
    pub(super) fn authorization(&self) -> String {
        format!("Bearer {}", self.text.expose())
    }
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    token_type: String,
    expires_in: u64,
}

impl Tokens {
    /// Returns a token. Whatever happens here, the call that needs the token has not been sent.
    pub(super) async fn token(
        &self,
        api: &Api,
        credentials: &PayPalCredentials,
    ) -> Result<AccessToken, ProcessorError> {
        let slot = self.slot(credentials);
        let mut kept = locked(&slot).await?;
        if let Some(token) = kept.as_ref().filter(|token| token.expires_at > Instant::now()) {
            return Ok(AccessToken { text: token.text.clone(), is_cached: true });
        }
        let token = fetch(api, credentials).await?;
        let text = token.text.clone();
        *kept = Some(token);
        Ok(AccessToken { text, is_cached: false })
    }

    /// Drops a token that PayPal refused. If that has to wait for too long, the next call finds out again.
    pub(super) async fn forget(&self, credentials: &PayPalCredentials, refused: &AccessToken) {
        let slot = self.slot(credentials);
        let Ok(mut kept) = locked(&slot).await else { return };
        // Another call may have replaced it.
        if kept.as_ref().is_some_and(|token| token.text == refused.text) {
            *kept = None;
        }
    }

    fn slot(&self, credentials: &PayPalCredentials) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let key = slot_key(credentials);
        if slots.len() >= TOKENS_MAX && !slots.contains_key(&key) {
            // Those in use are kept by their users.
            slots.clear();
        }
        Arc::clone(slots.entry(key).or_default())
    }
}

/// Locks a slot. While PayPal does not respond, calls do not wait for all the calls before them, one after the other.
async fn locked(slot: &Slot) -> Result<MutexGuard<'_, Option<Token>>, ProcessorError> {
    let locked = tokio::time::timeout(REQUEST_TIMEOUT, slot.lock()).await;
    locked.map_err(|_| ProcessorError::NotSent(NotSent::NoAccessToken))
}

/// The key contains the secret, so that who knows only the id does not get the token.
fn slot_key(credentials: &PayPalCredentials) -> [u8; 32] {
    let environment = match credentials.environment {
        PayPalEnvironment::Live => "live",
        PayPalEnvironment::Sandbox => "sandbox",
    };
    let parts = [environment, &credentials.client_id, credentials.client_secret.expose()];
    let hash = digest(&SHA256, parts.join("\0").as_bytes());
    let mut key = [0; 32];
    key.copy_from_slice(hash.as_ref());
    key
}

async fn fetch(api: &Api, credentials: &PayPalCredentials) -> Result<Token, ProcessorError> {
    let PayPalCredentials { client_id, client_secret, .. } = credentials;
    let basic = BASE64_STANDARD.encode(format!("{client_id}:{}", client_secret.expose()));
    let mut headers = api::authorized(&format!("Basic {basic}"))?;
    let form = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(CONTENT_TYPE, form);
    let requested_at = Instant::now();
    let response = api.post("/v1/oauth2/token", headers, "grant_type=client_credentials").await;
    let response = response.map_err(|error| ProcessorError::NotSent(NotSent::Request(error)))?;
    let token = match api::body(&response, meaning) {
        Ok(body) => api::parse::<TokenResponse>(body),
        Err(error) => Err(error),
    };
    let no_token = ProcessorError::NotSent(NotSent::NoAccessToken);
    let token = match token {
        Err(error) if error.is_unknown() => return Err(no_token),
        token => token?,
    };
    let Ok(text) = Secret::new(token.access_token) else { return Err(no_token) };
    if !token.token_type.eq_ignore_ascii_case("bearer") {
        return Err(no_token);
    }
    let lifetime = Duration::from_secs(token.expires_in).min(LIFETIME_MAX);
    Ok(Token { text, expires_at: requested_at + lifetime.saturating_sub(MARGIN) })
}

/// Every error of OAuth means that the application may not do this.
fn meaning(_: StatusCode, body: &[u8]) -> Option<ErrorMeaning> {
    #[derive(Deserialize)]
    struct OAuthError {
        #[serde(rename = "error")]
        _error: String,
    }
    serde_json::from_slice::<OAuthError>(body).ok().map(|_| ErrorMeaning::CredentialsRefused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(client: &str, secret: &str) -> PayPalCredentials {
        PayPalCredentials {
            environment: PayPalEnvironment::Sandbox,
            client_id: client.to_owned(),
            client_secret: Secret::new(secret).unwrap(),
            webhook_id: "WH1".to_owned(),
        }
    }

    #[test]
    fn a_token_belongs_to_all_of_the_credentials() {
        let key = slot_key(&credentials("a", "b"));
        assert_eq!(key, slot_key(&credentials("a", "b")));
        let live =
            PayPalCredentials { environment: PayPalEnvironment::Live, ..credentials("a", "b") };
        for other in [credentials("a", "c"), credentials("c", "b"), credentials("ab", "b"), live] {
            assert_ne!(key, slot_key(&other));
        }
    }

    #[test]
    fn a_limited_number_of_tokens_is_kept() {
        let tokens = Tokens::default();
        for index in 0..=TOKENS_MAX {
            tokens.slot(&credentials(&index.to_string(), "b"));
        }
        assert!(tokens.slots.lock().unwrap().len() <= TOKENS_MAX);
    }
}
