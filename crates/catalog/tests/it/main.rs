//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::collections::BTreeMap;

use catalog::{CatalogError, Category, Condition, NewProduct, NewVariant, StockStatus};
use database::{Reading, Work};
use primitives::{CategoryId, Currency, Id, MerchantId, Money, ProductId, Timestamp, VariantId};
use testkit::TestDatabase;

const MERCHANT: u128 = 1;

fn merchant() -> MerchantId {
    MerchantId::from_random(MERCHANT)
}

fn category() -> Category {
    let (id, path, name) = (CategoryId::from_random(1), "mugs".to_owned(), "Mugs".to_owned());
    Category { id, parent: None, path, name }
}

fn mug(price_minor: i64, currency: &str) -> NewProduct {
    NewProduct {
        sku: String::from("MUG-1"),
        name: String::from("Mug"),
        description: String::from("Holds coffee."),
        brand: String::from("Salgueira"),
        gtin: None,
        category: category().id,
        condition: Condition::New,
        price: Money::new(price_minor, currency.parse().unwrap()),
        list_price_minor: None,
        stock_status: StockStatus::InStock,
        stock_quantity: Some(9),
        rating: None,
        attributes: BTreeMap::from([(String::from("colour"), String::from("blue"))]),
        images: Vec::new(),
        listed_at: Timestamp::from_unix_micros(0),
    }
}

fn variant(number: u128) -> (VariantId, NewVariant) {
    let facts = NewVariant {
        sku: format!("MUG-1-{number}"),
        name: String::from("Mug, large"),
        gtin: None,
        options: BTreeMap::new(),
        price: Money::new(12_50, Currency::EUR),
        stock_status: StockStatus::LowStock,
        stock_quantity: Some(1),
    };
    (VariantId::from_random(number), facts)
}

async fn put(
    test: &TestDatabase,
    product: &NewProduct,
    variants: &[(VariantId, NewVariant)],
) -> bool {
    let mut work = Work::for_store(test.database(), merchant()).await.unwrap();
    catalog::put_category(&mut work, merchant(), &category()).await.unwrap();
    let id = ProductId::from_random(1);
    let changed = catalog::put_product(&mut work, merchant(), id, product, variants).await.unwrap();
    work.commit().await.unwrap();
    changed
}

async fn events(test: &TestDatabase) -> i64 {
    let mut raw = test.raw().await;
    sqlx::query_scalar("SELECT count(*) FROM outbox").fetch_one(&mut raw).await.unwrap()
}

#[tokio::test]
async fn only_a_real_change_is_written_and_told() {
    let test = TestDatabase::new().await;
    assert!(put(&test, &mug(12_50, "EUR"), &[variant(1)]).await);
    assert!(!put(&test, &mug(12_50, "EUR"), &[variant(1)]).await);
    assert_eq!(events(&test).await, 1);
    assert!(put(&test, &mug(11_00, "EUR"), &[variant(1)]).await, "a price");
    assert!(put(&test, &mug(11_00, "EUR"), &[variant(1), variant(2)]).await, "another variant");
    assert!(put(&test, &mug(11_00, "EUR"), &[variant(2)]).await, "a variant gone");
    assert_eq!(events(&test).await, 4);
}

#[tokio::test]
async fn a_product_reads_back_as_it_was_put() {
    let test = TestDatabase::new().await;
    put(&test, &mug(12_50, "EUR"), &[variant(2), variant(1)]).await;
    let reading = Reading::for_store(test.database(), merchant()).unwrap();
    let product = catalog::product(&reading, merchant(), ProductId::from_random(1)).await.unwrap();
    assert_eq!(product.facts, mug(12_50, "EUR"));
    let order: Vec<_> = product.variants.iter().map(|variant| variant.id).collect();
    assert_eq!(order, [VariantId::from_random(2), VariantId::from_random(1)]);
}

#[tokio::test]
async fn what_agents_cannot_pay_in_is_hidden_from_them() {
    let test = TestDatabase::new().await;
    put(&test, &mug(12_50, "SEK"), &[]).await;
    let reading = Reading::for_store(test.database(), merchant()).unwrap();
    let hidden = catalog::product(&reading, merchant(), ProductId::from_random(1)).await;
    assert!(matches!(hidden, Err(CatalogError::ProductNotFound)));
    let tree = catalog::categories(&reading, merchant(), None).await.unwrap();
    assert_eq!(tree[0].product_count, 0);
}

#[tokio::test]
async fn an_unknown_category_names_the_ones_there_are() {
    let test = TestDatabase::new().await;
    put(&test, &mug(12_50, "EUR"), &[]).await;
    let reading = Reading::for_store(test.database(), merchant()).unwrap();
    let missing = catalog::categories(&reading, merchant(), Some("cups")).await;
    assert!(
        matches!(missing, Err(CatalogError::CategoryNotFound { allowed }) if allowed == ["mugs"])
    );
}
