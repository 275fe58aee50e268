//! What a tool is given.

use carts::Owner;
use database::{Database, DatabaseError, Reading};
use identity::{Agent, Callers, IdentityError};
use jobs::IdempotencyKey;
use limits::Limited;
use merchants::{Store, StoreCache};
use primitives::ClientAddress;
use search::{CallerKind, Search};

use crate::elicitation::{Answered, Asks};

/// One call on one store.
pub(crate) struct Call<'call> {
    pub(crate) store: &'call Store,
    /// Who calls, if it has a key.
    pub(crate) agent: Option<&'call Agent>,
    /// Where the call came from.
    pub(crate) from: Option<ClientAddress>,
    /// Why the call may not go on, if its tool was called too often.
    pub(crate) limited: Option<Limited>,
    /// How the client can ask its person, if it can.
    pub(crate) asks: Option<Asks>,
    /// What came back of a question.
    pub(crate) answered: Option<Answered>,
    /// The idempotency key, if one was sent beside the arguments.
    pub(crate) key: Option<&'call str>,
    /// The same of a call that writes, or the one among its arguments; the gateway puts it here.
    pub(crate) once: Option<IdempotencyKey>,
    pub(crate) database: &'call Database,
    pub(crate) stores: &'call StoreCache,
    pub(crate) search: &'call Search,
    pub(crate) callers: &'call Callers,
    pub(crate) site_url: &'call str,
}

impl Call<'_> {
    /// The right to read the store's rows.
    pub(crate) fn reading(&self) -> Result<Reading, DatabaseError> {
        Reading::for_store(self.database, self.store.merchant)
    }

    /// What kind of caller searches.
    pub(crate) fn kind(&self) -> CallerKind {
        if self.agent.is_some() { CallerKind::Agent } else { CallerKind::Anonymous }
    }

    /// Who calls, for a tool that needs a scope: the gateway lets nobody else in.
    pub(crate) fn caller(&self) -> Result<&Agent, IdentityError> {
        self.agent.ok_or(IdentityError::Missing)
    }

    /// Whose carts these are.
    pub(crate) fn owner(&self) -> Result<Owner, IdentityError> {
        let agent = self.caller()?;
        let (key, name, is_sandbox) = (agent.key, agent.name.clone(), agent.is_sandbox());
        Ok(Owner { key, name, is_sandbox })
    }

    /// The key under which a write is done once, if the caller sent one.
    pub(crate) fn once(&self) -> Option<&IdempotencyKey> {
        self.once.as_ref()
    }
}
