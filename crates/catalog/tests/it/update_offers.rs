//! Updating prices and stock.

use catalog::{
    Amount, OfferChange, OfferUpdate, OfferUpdateOutcome, ProductDraft, PutOutcome, StockStatus,
};

use crate::shop::{Shop, merchant, mug, variant};

fn price(external_id: &str, sku: Option<&str>, price: &str) -> OfferUpdate {
    let change = OfferChange::Price { price: Amount::new(price), list_price: None, currency: None };
    OfferUpdate { external_id: external_id.to_owned(), sku: sku.map(str::to_owned), change }
}

fn stock(external_id: &str, sku: Option<&str>, quantity: i32) -> OfferUpdate {
    let change = OfferChange::Stock { quantity: Some(quantity), status: None };
    OfferUpdate { external_id: external_id.to_owned(), sku: sku.map(str::to_owned), change }
}

async fn update_offers(shop: &Shop, updates: &[OfferUpdate]) -> Vec<OfferUpdateOutcome> {
    let mut work = shop.work().await;
    let outcomes = catalog::update_offers(&mut work, merchant(), updates).await.unwrap();
    work.commit().await.unwrap();
    outcomes
}

#[tokio::test]
async fn price_and_stock_are_updated_without_the_whole_product() {
    let shop = Shop::open().await;
    shop.put(&[mug("a", "10")]).await;
    shop.events().await;
    let outcomes = update_offers(&shop, &[price("a", None, "8.50"), stock("a", None, 3)]).await;
    assert_eq!(outcomes, [OfferUpdateOutcome::Updated, OfferUpdateOutcome::Updated]);
    assert_eq!(shop.events().await, 1, "one product, one event");
    let product = shop.product("a").await.unwrap();
    assert_eq!(product.facts.price.minor(), 8_50);
    assert_eq!(product.facts.stock_status, StockStatus::LowStock);
    assert_eq!(update_offers(&shop, &[stock("a", None, 3)]).await, [OfferUpdateOutcome::Unchanged]);
    assert_eq!(shop.events().await, 0);
    assert_eq!(
        shop.put(&[mug("a", "10")]).await,
        [PutOutcome::Updated],
        "the next import of the whole product applies"
    );
}

#[tokio::test]
async fn the_offer_of_a_product_follows_its_variants() {
    let shop = Shop::open().await;
    let draft = ProductDraft {
        variants: vec![variant("S", "10", 0), variant("L", "12", 4)],
        ..mug("a", "10")
    };
    shop.put(&[draft]).await;
    let outcomes =
        update_offers(&shop, &[price("a", Some("L"), "7"), stock("a", Some("S"), 20)]).await;
    assert_eq!(outcomes, [OfferUpdateOutcome::Updated, OfferUpdateOutcome::Updated]);
    let product = shop.product("a").await.unwrap();
    assert_eq!(product.facts.price.minor(), 7_00);
    assert_eq!(product.facts.stock_quantity, Some(24));
    assert_eq!(product.facts.stock_status, StockStatus::InStock);
}

#[tokio::test]
async fn a_rejected_update_names_the_field() {
    let shop = Shop::open().await;
    let draft = ProductDraft { variants: vec![variant("S", "10", 0)], ..mug("a", "10") };
    shop.put(&[draft, mug("b", "1")]).await;
    let mut dollars = price("b", None, "2");
    dollars.change = OfferChange::Price {
        price: Amount::new("2"),
        list_price: None,
        currency: Some(String::from("USD")),
    };
    let outcomes = update_offers(
        &shop,
        &[
            price("nobody", None, "1"),
            price("a", Some("XL"), "1"),
            price("a", None, "1"),
            price("b", None, "1e9"),
            dollars,
            stock("b", None, -1),
        ],
    )
    .await;
    assert_eq!(outcomes[..2], [OfferUpdateOutcome::NotFound, OfferUpdateOutcome::NotFound]);
    let field = |outcome: &OfferUpdateOutcome| match outcome {
        OfferUpdateOutcome::Rejected(error) => error.field.to_string(),
        other => panic!("{other:?}"),
    };
    let fields: Vec<String> = outcomes[2..].iter().map(field).collect();
    assert_eq!(fields, ["sku", "price", "currency", "stock_quantity"]);
}
