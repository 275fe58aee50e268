//! The authenticated caller, as handlers extract it.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use catalog::CatalogError;
use database::Database;
use identity::{Actor, Agent, IdentityError, Person, Role, StoreProgram, StoreScope};
use merchants::{Editor, Store, StoreError};
use orders::Viewer;
use primitives::{ErrorCode, MerchantId, Problem, RequestRecord, StoreSlug, UserId};

use crate::{ErrorResponse, Rest};

/// A caller that acts for a store: a program with a store key, or a member with a token. The store may be closed or
/// suspended: its merchant may still correct its data.
#[derive(Debug, Clone)]
pub struct StoreCaller {
    /// The tenant whose rows the caller may access.
    pub merchant: MerchantId,
    /// Cached, at most a few seconds old.
    pub store: Arc<Store>,
    /// Who it is: a key, or a person with a role.
    pub editor: Editor,
    /// `None` for a person.
    program: Option<Arc<StoreProgram>>,
}

impl StoreCaller {
    /// Returns the caller of a store key.
    pub(crate) async fn of_program(
        rest: &Rest,
        program: Arc<StoreProgram>,
    ) -> Result<Self, ErrorResponse> {
        let merchant = program.merchant;
        let editor = Editor { actor: Actor::Key(program.key), role: None };
        let store = store_of(rest, merchant).await?;
        Ok(Self { merchant, store, editor, program: Some(program) })
    }

    /// Returns the caller of the token of a member.
    pub(crate) async fn of_member(
        rest: &Rest,
        person: &Person,
        headers: &HeaderMap,
    ) -> Result<Self, ErrorResponse> {
        let (merchant, role) = membership(rest, person, headers).await?;
        let editor = Editor { actor: Actor::Person(person.user), role: Some(role) };
        let store = store_of(rest, merchant).await?;
        Ok(Self { merchant, store, editor, program: None })
    }

    /// Returns `StoreScopeMissing` if a store key lacks a scope, for what a request needs besides the scope of its endpoint. A
    /// member may do what any store key may.
    pub(crate) fn require(&self, scope: StoreScope) -> Result<(), IdentityError> {
        self.program.as_ref().map_or(Ok(()), |program| program.require(scope))
    }
}

/// Returns the store of a credential.
async fn store_of(rest: &Rest, merchant: MerchantId) -> Result<Arc<Store>, ErrorResponse> {
    match rest.stores.find_merchant(merchant).await {
        Ok(store) => Ok(store),
        // The credential outlived its store.
        Err(StoreError::NotFound) => Err(IdentityError::InvalidCredential.into()),
        Err(error) => Err(error.into()),
    }
}

/// An owner of a store, authenticated by a token.
#[derive(Debug, Clone, Copy)]
pub struct OwnerCaller {
    pub user: UserId,
    pub merchant: MerchantId,
}

impl OwnerCaller {
    pub(crate) async fn of(
        rest: &Rest,
        person: &Person,
        headers: &HeaderMap,
    ) -> Result<Self, ErrorResponse> {
        match membership(rest, person, headers).await? {
            (merchant, Role::Owner) => Ok(Self { user: person.user, merchant }),
            (_, Role::Staff) => {
                Err(IdentityError::Forbidden("only an owner of the store may do this").into())
            }
        }
    }
}

/// A person, authenticated by a token.
#[derive(Debug, Clone)]
pub struct PersonCaller(pub Arc<Person>);

/// A platform administrator, authenticated by a token.
#[derive(Debug, Clone, Copy)]
pub struct AdminCaller {
    pub user: UserId,
}

/// An agent, authenticated by its key.
#[derive(Debug, Clone)]
pub struct AgentCaller {
    pub agent: Arc<Agent>,
    /// The record of the request, for its log line.
    pub(crate) record: RequestRecord,
}

impl Deref for AgentCaller {
    type Target = Agent;

    fn deref(&self) -> &Agent {
        &self.agent
    }
}

impl AgentCaller {
    /// Returns `ProductNotFound` if the key is restricted to other stores.
    pub(crate) fn require_visible(&self, merchant: MerchantId) -> Result<(), CatalogError> {
        self.agent.require_store(merchant).map_err(|_| CatalogError::ProductNotFound)
    }

    /// Returns whose orders the agent sees (docs/contract/orders.md#visibility).
    pub(crate) async fn viewer(&self, database: &Database) -> Result<Viewer, IdentityError> {
        Ok(Viewer::Agent(self.agent.keys_of_orders(database).await?))
    }

    /// Returns which of the requested stores the agent may search. An empty list, requested or returned, means all.
    pub(crate) async fn searchable_stores(
        &self,
        rest: &Rest,
        requested: Vec<StoreSlug>,
    ) -> Result<Vec<StoreSlug>, ErrorResponse> {
        let Some(own) = &self.agent.stores else { return Ok(requested) };
        let mut slugs = Vec::with_capacity(own.len());
        for merchant in own {
            match rest.stores.find_merchant(*merchant).await {
                // A closed store is left out, unless it was requested.
                Ok(store) if store.admit().is_err() && requested.is_empty() => {}
                Ok(store) => slugs.push(store.slug.clone()),
                Err(StoreError::NotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if !requested.is_empty() {
            slugs.retain(|slug| requested.contains(slug));
        }
        if slugs.is_empty() { Err(IdentityError::StoreNotAllowed.into()) } else { Ok(slugs) }
    }
}

/// Implements extraction from the request's extensions, where admission puts the caller that the endpoint declares.
macro_rules! from_extensions {
    ($($caller:ty),+) => {$(
        impl<S: Send + Sync> FromRequestParts<S> for $caller {
            type Rejection = ErrorResponse;
            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
                parts.extensions.get::<Self>().cloned().ok_or_else(|| UndeclaredCaller.into())
            }
        }
    )+};
}

from_extensions!(StoreCaller, OwnerCaller, PersonCaller, AgentCaller, AdminCaller);

/// A handler extracts a kind of caller that its endpoint does not declare: a programming error.
#[derive(Debug, thiserror::Error)]
#[error("the endpoint declares another kind of caller")]
struct UndeclaredCaller;

impl Problem for UndeclaredCaller {
    fn code(&self) -> ErrorCode {
        ErrorCode::InternalError
    }
}

/// Returns the store that a person acts for: the only one, or the one that `X-Store` names. A store that does not
/// exist and one of which the person is no member give the same error.
async fn membership(
    rest: &Rest,
    person: &Person,
    headers: &HeaderMap,
) -> Result<(MerchantId, Role), ErrorResponse> {
    const NOT_A_MEMBER: IdentityError =
        IdentityError::Forbidden("you are not a member of the store");
    let Some(named) = headers.get("x-store") else {
        return match person.memberships.as_slice() {
            [] => Err(NOT_A_MEMBER.into()),
            [only] => Ok(*only),
            _ => Err(IdentityError::StoreRequired.into()),
        };
    };
    let slug: Option<StoreSlug> = named.to_str().ok().and_then(|slug| slug.parse().ok());
    let found = match slug {
        Some(slug) => rest.stores.find(&slug).await,
        None => Err(StoreError::NotFound),
    };
    match found {
        Ok(store) => {
            let role = person.role_in(store.merchant).ok_or(NOT_A_MEMBER)?;
            Ok((store.merchant, role))
        }
        Err(StoreError::NotFound) => Err(NOT_A_MEMBER.into()),
        Err(error) => Err(error.into()),
    }
}
