//! What a tool is given.

use database::{Database, DatabaseError, Reading};
use identity::Agent;
use limits::Limited;
use merchants::Store;
use search::{CallerKind, Search};

/// One call on one store.
pub(crate) struct Call<'call> {
    pub(crate) store: &'call Store,
    /// Who calls, if it has a key.
    pub(crate) agent: Option<&'call Agent>,
    /// Why the call may not go on, if its tool was called too often.
    pub(crate) limited: Option<Limited>,
    pub(crate) database: &'call Database,
    pub(crate) search: &'call Search,
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
}
