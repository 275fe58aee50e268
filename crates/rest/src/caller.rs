//! Who calls: what handlers take to know it.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use catalog::CatalogError;
use identity::{Agent, IdentityError, Person, Role};
use merchants::{Store, StoreError};
use primitives::{ErrorCode, MerchantId, Problem, StoreSlug, UserId};

use crate::{Refusal, Rest};

/// Whoever acts for a store: a program of its merchant, known by a key, or a member, known by a token. Whether agents may call on the store does not matter here: a closed or suspended merchant may
/// still mend its data.
#[derive(Debug, Clone)]
pub struct StoreCaller {
    /// Whose rows it may touch.
    pub merchant: MerchantId,
    /// Its store, a few seconds old at the most.
    pub store: Arc<Store>,
}

impl StoreCaller {
    pub(crate) async fn of(rest: &Rest, merchant: MerchantId) -> Result<Self, Refusal> {
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

impl OwnerCaller {
    pub(crate) async fn of(
        rest: &Rest,
        person: &Person,
        headers: &HeaderMap,
    ) -> Result<Self, Refusal> {
        match membership(rest, person, headers).await? {
            (merchant, Role::Owner) => Ok(Self { user: person.user, merchant }),
            (_, Role::Staff) => Err(IdentityError::NotAllowed("it takes an owner").into()),
        }
    }
}

/// A person, known by a token.
#[derive(Debug, Clone)]
pub struct PersonCaller(pub Arc<Person>);

/// An agent, known by its key.
#[derive(Debug, Clone)]
pub struct AgentCaller(pub Arc<Agent>);

impl AgentCaller {
    /// What a store sells is not there for a key whose owner named other stores.
    pub(crate) fn sees(&self, merchant: MerchantId) -> Result<(), CatalogError> {
        self.0.require_store(merchant).map_err(|_| CatalogError::ProductNotFound)
    }

    /// The stores it may search in, of those that are asked for; none named: all.
    pub(crate) async fn stores(
        &self,
        rest: &Rest,
        asked: Vec<StoreSlug>,
    ) -> Result<Vec<StoreSlug>, Refusal> {
        let Some(own) = &self.0.stores else { return Ok(asked) };
        let mut slugs = Vec::with_capacity(own.len());
        for merchant in own {
            match rest.stores.find_merchant(*merchant).await {
                // One that is closed for now is left out, unless it was asked for.
                Ok(store) if store.admit().is_err() && asked.is_empty() => {}
                Ok(store) => slugs.push(store.slug.clone()),
                Err(StoreError::NotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if !asked.is_empty() {
            slugs.retain(|slug| asked.contains(slug));
        }
        if slugs.is_empty() { Err(IdentityError::OtherStore.into()) } else { Ok(slugs) }
    }
}

/// Each of them is found out before the handler runs, by what its endpoint declares; the handler finds it here.
macro_rules! from_extensions {
    ($($caller:ty),+) => {$(
        impl<S: Send + Sync> FromRequestParts<S> for $caller {
            type Rejection = Refusal;
            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
                parts.extensions.get::<Self>().cloned().ok_or_else(|| Undeclared.into())
            }
        }
    )+};
}

from_extensions!(StoreCaller, OwnerCaller, PersonCaller, AgentCaller);

/// A handler wants a caller of a kind that its endpoint does not declare: a mistake of ours.
#[derive(Debug, thiserror::Error)]
#[error("the endpoint declares another kind of caller")]
struct Undeclared;

impl Problem for Undeclared {
    fn code(&self) -> ErrorCode {
        ErrorCode::InternalError
    }
}

/// The store a person acts for: the only one, or the one that `X-Store` names. A store one is no member of and one
/// that does not exist are refused alike.
pub(crate) async fn membership(
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
