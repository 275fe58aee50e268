//! What a tool is given.

use database::{Database, DatabaseError, Reading};
use merchants::Store;
use search::Search;

/// One call on one store.
pub(crate) struct Call<'call> {
    pub(crate) store: &'call Store,
    pub(crate) database: &'call Database,
    pub(crate) search: &'call Search,
    pub(crate) site_url: &'call str,
}

impl Call<'_> {
    /// The right to read the store's rows.
    pub(crate) fn reading(&self) -> Result<Reading, DatabaseError> {
        Reading::for_store(self.database, self.store.merchant)
    }
}
