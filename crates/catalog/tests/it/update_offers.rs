//! Prices and stock by themselves.

use catalog::{Amount, Change, Done, ProductDraft, Revised, Revision, StockStatus};

use crate::shop::{Shop, merchant, mug, variant};

fn price(external_id: &str, sku: Option<&str>, price: &str) -> Revision {
    let change = Change::Price { price: Amount::new(price), list_price: None, currency: None };
    Revision { external_id: external_id.to_owned(), sku: sku.map(str::to_owned), change }
}

fn stock(external_id: &str, sku: Option<&str>, quantity: i32) -> Revision {
    let change = Change::Stock { quantity: Some(quantity), status: None };
    Revision { external_id: external_id.to_owned(), sku: sku.map(str::to_owned), change }
}

async fn revise(shop: &Shop, revisions: &[Revision]) -> Vec<Revised> {
    let mut work = shop.work().await;
    let revised = catalog::revise(&mut work, merchant(), revisions).await.unwrap();
    work.commit().await.unwrap();
    revised
}

#[tokio::test]
async fn a_price_and_a_stock_change_by_themselves() {
    let shop = Shop::open().await;
    shop.put(&[mug("a", "10")]).await;
    shop.events().await;
    let answers = revise(&shop, &[price("a", None, "8.50"), stock("a", None, 3)]).await;
    assert_eq!(answers, [Revised::Updated, Revised::Updated]);
    assert_eq!(shop.events().await, 1, "one product, one event");
    let product = shop.product("a").await.unwrap();
    assert_eq!(product.facts.price.minor(), 8_50);
    assert_eq!(product.facts.stock_status, StockStatus::LowStock);
    assert_eq!(revise(&shop, &[stock("a", None, 3)]).await, [Revised::Unchanged]);
    assert_eq!(shop.events().await, 0);
    assert_eq!(shop.put(&[mug("a", "10")]).await, [Done::Updated], "the whole counts again");
}

#[tokio::test]
async fn a_product_follows_its_variants() {
    let shop = Shop::open().await;
    let draft = ProductDraft {
        variants: vec![variant("S", "10", 0), variant("L", "12", 4)],
        ..mug("a", "10")
    };
    shop.put(&[draft]).await;
    let revised = revise(&shop, &[price("a", Some("L"), "7"), stock("a", Some("S"), 20)]).await;
    assert_eq!(revised, [Revised::Updated, Revised::Updated]);
    let product = shop.product("a").await.unwrap();
    assert_eq!(product.facts.price.minor(), 7_00);
    assert_eq!(product.facts.stock_quantity, Some(24));
    assert_eq!(product.facts.stock_status, StockStatus::InStock);
}

#[tokio::test]
async fn what_cannot_be_revised_says_why() {
    let shop = Shop::open().await;
    let draft = ProductDraft { variants: vec![variant("S", "10", 0)], ..mug("a", "10") };
    shop.put(&[draft, mug("b", "1")]).await;
    let mut dollars = price("b", None, "2");
    dollars.change = Change::Price {
        price: Amount::new("2"),
        list_price: None,
        currency: Some(String::from("USD")),
    };
    let answers = revise(
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
    assert_eq!(answers[..2], [Revised::NotFound, Revised::NotFound]);
    let field = |answer: &Revised| match answer {
        Revised::Refused(fault) => fault.field.to_string(),
        other => panic!("{other:?}"),
    };
    let fields: Vec<String> = answers[2..].iter().map(field).collect();
    assert_eq!(fields, ["sku", "price", "currency", "stock_quantity"]);
}
