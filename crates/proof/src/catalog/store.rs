//! The store that products are imported into.

use database::Database;
use primitives::{Id, MerchantId};

/// Returns the id of the store's merchant.
pub(crate) fn merchant() -> MerchantId {
    MerchantId::from_random(1)
}

/// Creates the store, with prices in euros.
pub(crate) async fn create_store(database: &Database) {
    testkit::StoreBuilder::new("attic").merchant(merchant()).build(database).await;
}
