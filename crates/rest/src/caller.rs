//! Who calls: what handlers take to know it.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use identity::IdentityError;
use merchants::{Store, StoreError};
use primitives::MerchantId;

use crate::{Refusal, Rest};

/// A program of a merchant, known by a key of the store. A handler takes it before anything else,
/// so that a stranger learns nothing from how the rest of the request is judged. Whether agents may
/// call on the store does not matter here: a closed or suspended merchant may still mend its data.
#[derive(Debug, Clone)]
pub struct StoreCaller {
    /// Whose rows it may touch.
    pub merchant: MerchantId,
    /// Its store, a few seconds old at the most.
    pub store: Arc<Store>,
}

impl<S> FromRequestParts<S> for StoreCaller
where
    S: Send + Sync,
    Arc<Rest>: FromRef<S>,
{
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let rest = Arc::<Rest>::from_ref(state);
        let key = bearer(&parts.headers).ok_or(IdentityError::Missing)?;
        let merchant = rest.store_keys.merchant_of(key).await?;
        match rest.stores.find_merchant(merchant).await {
            Ok(store) => Ok(Self { merchant, store }),
            // The key outlived its store.
            Err(StoreError::NotFound) => Err(IdentityError::Refused.into()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The token of `Authorization: Bearer …`. The name of the scheme has no case (RFC 9110).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn read(value: &'static [u8]) -> Option<String> {
        let value = HeaderValue::from_bytes(value).unwrap();
        let headers = HeaderMap::from_iter([(AUTHORIZATION, value)]);
        bearer(&headers).map(str::to_owned)
    }

    #[test]
    fn the_token_is_behind_the_scheme() {
        assert_eq!(read(b"Bearer mrch_1").as_deref(), Some("mrch_1"));
        assert_eq!(read(b"bearer  mrch_1").as_deref(), Some("mrch_1"));
        for other in [&b"mrch_1"[..], b"Bearer", b"Bearer ", b"Basic mrch_1", b"Bearer \xff"] {
            assert_eq!(read(other), None);
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
    }
}
