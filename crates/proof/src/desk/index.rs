//! Checks of the search index with many stores: what one store does is visible to others neither as lag nor as a page full
//! of its products.

pub(super) mod diversity;
pub(super) mod lanes;

use catalog::{Amount, Incoming, Origin, ProductDraft};
use database::{Database, Work};
use primitives::{Currency, Id, MerchantId};

use crate::report::Failure;

/// The store with many products.
const LARGE: u128 = 0;

/// Returns the merchant of a store.
fn merchant(store: u128) -> MerchantId {
    MerchantId::from_random((store + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
}

/// Returns the slug of a store.
fn slug(store: u128) -> String {
    format!("shop-{store}")
}

/// Creates stores of about the same trust.
async fn create_stores(database: &Database, count: u128) {
    for store in 0..count {
        let builder = testkit::StoreBuilder::new(&slug(store)).merchant(merchant(store));
        builder.score(0.9).build(database).await;
    }
}

/// Returns a product at a price in cents.
fn product(id: &str, name: &str, cents: i64) -> ProductDraft {
    ProductDraft {
        external_id: id.to_owned(),
        name: Some(name.to_owned()),
        description: Some(String::from("Made by hand in small numbers, and shipped in a carton.")),
        brand: Some(String::from("Salgueira")),
        category: vec![String::from("Home"), String::from("Vases")],
        price: Some(Amount::new(format!("{}.{:02}", cents / 100, cents % 100))),
        stock_quantity: Some(9),
        ..ProductDraft::default()
    }
}

/// Writes products of a store, as a merchant's import does.
async fn put(database: &Database, store: u128, drafts: &[ProductDraft]) -> Result<(), Failure> {
    let mut incoming: Vec<Incoming> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let checked = catalog::check(draft, Currency::EUR);
        incoming.push(checked.map_err(|errors| format!("a product is invalid: {errors:?}"))?);
    }
    let merchant = merchant(store);
    let mut work = Work::for_store(database, merchant).await?;
    catalog::put_products(&mut work, merchant, Origin::Push, &incoming).await?;
    work.commit().await?;
    Ok(())
}
