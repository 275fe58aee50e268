//! Admission of an agent to the store that its request addresses.

use std::sync::Arc;

use carts::CartError;
use checkout::CheckoutError;
use database::Reading;
use merchants::Store;
use primitives::{CartId, CheckoutId, ErrorCode, StoreSlug};

use crate::{AgentCaller, ErrorResponse, Rest};

/// Codes of a request whose path names a store, or something that an agent has at one.
pub(crate) const STORE_ERRORS: &[ErrorCode] =
    &[ErrorCode::StoreNotFound, ErrorCode::StoreSuspended];
/// Codes of a request whose body or query names a store.
pub(crate) const SLUG_ERRORS: &[ErrorCode] =
    &[ErrorCode::InvalidSlug, ErrorCode::StoreNotFound, ErrorCode::StoreSuspended];

/// How a request addresses a store.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StoreTarget<'request> {
    Slug(&'request str),
    /// The store of a cart of the agent.
    Cart(CartId),
    /// The store of a checkout session of the agent.
    Session(CheckoutId),
}

/// What a request does at the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    Write,
    /// Reads or ends what the agent already has there, in every state of the store
    /// (docs/contract/stores.md#unavailable-exceptions).
    Settle,
}

/// Returns the store, and adds it to the log line of the request, or an error if it is closed or suspended, or the agent may not do this there. A cart or session of
/// another agent, or at a store to which the key lost access, does not exist.
pub(crate) async fn admit(
    rest: &Rest,
    agent: &AgentCaller,
    target: StoreTarget<'_>,
    operation: Operation,
) -> Result<Arc<Store>, ErrorResponse> {
    let store = match target {
        StoreTarget::Slug(slug) => {
            let slug: StoreSlug = slug.parse()?;
            rest.stores.find(&slug).await?
        }
        StoreTarget::Cart(id) => {
            let merchant = carts::merchant_of(&rest.database, id, agent.key).await?;
            agent.require_store(merchant).map_err(|_| CartError::NotFound)?;
            rest.stores.find_merchant(merchant).await?
        }
        StoreTarget::Session(id) => {
            let merchant = checkout::merchant_of(&rest.database, id).await?;
            agent.require_store(merchant).map_err(|_| CheckoutError::NotFound)?;
            let reading = Reading::for_store(&rest.database, merchant)?;
            checkout::session(&reading, merchant, id, Some(agent.key)).await?;
            rest.stores.find_merchant(merchant).await?
        }
    };
    agent.record.set_store(&store.slug);
    if operation != Operation::Settle {
        store.admit()?;
    }
    if operation == Operation::Write {
        store.admit_write(agent.is_sandbox())?;
    }
    agent.require_store(store.merchant)?;
    Ok(store)
}
