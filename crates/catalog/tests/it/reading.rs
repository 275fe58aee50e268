//! Finding products again.

use catalog::{CatalogError, Lookup, ProductDraft};
use primitives::PageRequest;

use crate::shop::{Shop, merchant, mug, variant};

async fn found(shop: &Shop, lookup: Lookup) -> Vec<String> {
    let products = catalog::find(&shop.reading(), merchant(), &lookup).await.unwrap();
    products.into_iter().map(|product| product.facts.external_id).collect()
}

#[tokio::test]
async fn a_product_is_found_by_each_of_its_names() {
    let shop = Shop::open().await;
    let url = String::from("https://attic.example/mugs/a");
    let mut large = variant("MUG-L", "10", 1);
    large.gtin = Some(String::from("036000291452"));
    let draft = ProductDraft {
        sku: Some(String::from("MUG")),
        gtin: Some(String::from("4006381333931")),
        url: Some(url.clone()),
        variants: vec![large],
        ..mug("a", "10")
    };
    shop.put(&[draft, mug("b", "1")]).await;
    for lookup in [
        Lookup::Sku(String::from("MUG")),
        Lookup::Sku(String::from("MUG-L")),
        Lookup::Gtin(String::from("04006381333931")),
        Lookup::Gtin(String::from("00036000291452")),
        Lookup::Url(url),
    ] {
        assert_eq!(found(&shop, lookup.clone()).await, ["a"], "{lookup:?}");
    }
    assert!(found(&shop, Lookup::Sku(String::from("CUP"))).await.is_empty());
    let gtin = "036000291452".parse().unwrap();
    let sellers = catalog::sellers(shop.test.database(), &gtin).await.unwrap();
    assert_eq!(sellers, [merchant()]);
    let id = shop.product("a").await.unwrap().id;
    assert_eq!(catalog::owner(shop.test.database(), id).await.unwrap(), merchant());
}

#[tokio::test]
async fn what_agents_cannot_pay_in_is_hidden_from_them() {
    let shop = Shop::open().await;
    let crowns = ProductDraft { currency: Some(String::from("SEK")), ..mug("a", "1") };
    shop.put(&[crowns]).await;
    assert!(shop.product("a").await.is_none());
    shop.sum_up().await;
    let tree = catalog::categories(&shop.reading(), merchant(), None).await.unwrap();
    assert_eq!(tree[0].product_count, 0);
}

#[tokio::test]
async fn an_unknown_category_names_the_ones_there_are() {
    let shop = Shop::open().await;
    shop.put(&[mug("a", "1")]).await;
    shop.sum_up().await;
    let missing = catalog::categories(&shop.reading(), merchant(), Some("cups")).await;
    assert!(
        matches!(missing, Err(CatalogError::CategoryNotFound { allowed }) if allowed == ["kitchen"])
    );
    let below = catalog::categories(&shop.reading(), merchant(), Some("kitchen")).await.unwrap();
    assert_eq!((below[0].category.path.as_str(), below[0].product_count), ("kitchen/mugs", 1));
}

#[tokio::test]
async fn the_newest_come_first() {
    let shop = Shop::open().await;
    let listed = |id: &str, day: &str| ProductDraft {
        listed_at: Some(format!("2026-11-{day}T00:00:00Z")),
        ..mug(id, "1")
    };
    shop.put(&[listed("old", "01"), listed("new", "10"), listed("mid", "05")]).await;
    let page = PageRequest::new(None, Some(2));
    let (newest, _) = catalog::new_arrivals(&shop.reading(), merchant(), page).await.unwrap();
    let ids: Vec<_> = newest.iter().map(|product| product.facts.external_id.as_str()).collect();
    assert_eq!(ids, ["new", "mid"]);
}
