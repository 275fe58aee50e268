//! A store to bring products into.

use database::Database;
use primitives::{Currency, Id, MerchantId};

/// Whose store it is.
pub(crate) fn merchant() -> MerchantId {
    MerchantId::from_random(1)
}

/// Opens the store, priced in euros.
pub(crate) async fn open_store(database: &Database) {
    testkit::open_store(database, merchant(), "attic", Currency::EUR).await;
}
