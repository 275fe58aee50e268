//! Who calls: what handlers take to know it.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use identity::{IdentityError, Person, Role};
use merchants::{Store, StoreError};
use primitives::{MerchantId, StoreSlug, UserId};

use crate::{Refusal, Rest};

/// Whoever acts for a store: a program of its merchant, known by a key, or a member, known by a token. A
/// handler takes it before anything else, so that a stranger learns nothing from how the rest of the request
/// is judged. Whether agents may call on the store does not matter here: a closed or suspended merchant may
/// still mend its data.
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
        let credential = bearer(&parts.headers).ok_or(IdentityError::Missing)?;
        // A token has dots in it, and no key has.
        let merchant = if credential.contains('.') {
            let person = rest.callers.people.person_of(credential).await?;
            membership(&rest, &person, &parts.headers).await?.0
        } else {
            rest.callers.store_keys.merchant_of(credential).await?
        };
        match rest.stores.find_merchant(merchant).await {
            Ok(store) => Ok(Self { merchant, store }),
            // The credential outlived its store.
            Err(StoreError::NotFound) => Err(IdentityError::Refused.into()),
            Err(error) => Err(error.into()),
        }
    }
}

/// An owner of a store, known by a token.
#[derive(Debug, Clone, Copy)]
pub struct OwnerCaller {
    /// Who it is.
    pub user: UserId,
    /// Whose store it is.
    pub merchant: MerchantId,
}

impl<S> FromRequestParts<S> for OwnerCaller
where
    S: Send + Sync,
    Arc<Rest>: FromRef<S>,
{
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let rest = Arc::<Rest>::from_ref(state);
        let PersonCaller(person) = PersonCaller::from_request_parts(parts, state).await?;
        match membership(&rest, &person, &parts.headers).await? {
            (merchant, Role::Owner) => Ok(Self { user: person.user, merchant }),
            (_, Role::Staff) => Err(IdentityError::NotAllowed("it takes an owner").into()),
        }
    }
}

/// A person, known by a token.
#[derive(Debug, Clone)]
pub struct PersonCaller(pub Arc<Person>);

impl<S> FromRequestParts<S> for PersonCaller
where
    S: Send + Sync,
    Arc<Rest>: FromRef<S>,
{
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let rest = Arc::<Rest>::from_ref(state);
        let token = bearer(&parts.headers).ok_or(IdentityError::Missing)?;
        Ok(Self(rest.callers.people.person_of(token).await?))
    }
}

/// The store a person acts for: the only one, or the one that `X-Store` names. A store one is no member of and one
/// that does not exist are refused alike.
async fn membership(
    rest: &Rest,
    person: &Person,
    headers: &HeaderMap,
) -> Result<(MerchantId, Role), Refusal> {
    const STRANGER: IdentityError = IdentityError::NotAllowed("you are no member of the store");
    let Some(named) = headers.get("x-store") else {
        return match person.memberships.as_slice() {
            [] => Err(STRANGER.into()),
            [only] => Ok(*only),
            _ => Err(IdentityError::StoreUnnamed.into()),
        };
    };
    let slug: Option<StoreSlug> = named.to_str().ok().and_then(|slug| slug.parse().ok());
    let found = match slug {
        Some(slug) => rest.stores.find(&slug).await,
        None => Err(StoreError::NotFound),
    };
    match found {
        Ok(store) => {
            let role = person.role_in(store.merchant).ok_or(STRANGER)?;
            Ok((store.merchant, role))
        }
        Err(StoreError::NotFound) => Err(STRANGER.into()),
        Err(error) => Err(error.into()),
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
