//! The context of a tool call.

use carts::CartOwner;
use database::{Database, DatabaseError, Reading};
use identity::{Agent, CredentialStore, IdentityError};
use jobs::IdempotencyKey;
use limits::LimitExceeded;
use merchants::{Store, StoreCache};
use primitives::ClientAddress;
use search::{CallerKind, Search};

use crate::elicitation::{ElicitationResponse, ElicitationSupport};

/// One tool call at one store.
pub(crate) struct Call<'call> {
    pub(crate) store: &'call Store,
    /// The authenticated agent; `None` for a call without a key.
    pub(crate) agent: Option<&'call Agent>,
    pub(crate) client_address: Option<ClientAddress>,
    /// Set if the rate limit of the tool is exceeded; the gateway then rejects the call.
    pub(crate) limit_exceeded: Option<LimitExceeded>,
    /// `None` if the client does not support elicitation.
    pub(crate) elicitation_support: Option<ElicitationSupport>,
    /// The client's response to an approval request, if the call contains one.
    pub(crate) elicitation_response: Option<ElicitationResponse>,
    /// Idempotency key from `_meta` or the header, not validated.
    pub(crate) raw_idempotency_key: Option<&'call str>,
    /// Validated key of a writing call, from the arguments or else the raw key; set by the gateway.
    pub(crate) idempotency: Option<IdempotencyKey>,
    pub(crate) database: &'call Database,
    pub(crate) stores: &'call StoreCache,
    pub(crate) search: &'call Search,
    pub(crate) credentials: &'call CredentialStore,
    pub(crate) site_url: &'call str,
}

impl Call<'_> {
    /// Returns read access to the store's rows.
    pub(crate) fn reading(&self) -> Result<Reading, DatabaseError> {
        Reading::for_store(self.database, self.store.merchant)
    }

    /// Returns the kind of caller, for search analytics.
    pub(crate) fn caller_kind(&self) -> CallerKind {
        if self.agent.is_some() { CallerKind::Agent } else { CallerKind::Anonymous }
    }

    /// Returns the authenticated agent. Never fails in a tool that requires a scope: the gateway checks it.
    pub(crate) fn caller(&self) -> Result<&Agent, IdentityError> {
        self.agent.ok_or(IdentityError::MissingCredential)
    }

    /// Returns the caller as the owner of its carts.
    pub(crate) fn owner(&self) -> Result<CartOwner, IdentityError> {
        let agent = self.caller()?;
        let (key, name, is_sandbox) = (agent.key, agent.name.clone(), agent.is_sandbox());
        Ok(CartOwner { key, name, is_sandbox })
    }

    /// Returns the idempotency key of a writing call, if the caller sent one.
    pub(crate) fn idempotency(&self) -> Option<&IdempotencyKey> {
        self.idempotency.as_ref()
    }
}
