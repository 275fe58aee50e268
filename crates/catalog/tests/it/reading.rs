//! Reading products.

use catalog::{CatalogError, Lookup, Origin, ProductDraft};
use database::{Reading, Work};
use primitives::{Id, MerchantId, PageRequest, ProductId};

use crate::shop::{Shop, checked, merchant, mug, variant};

async fn found(shop: &Shop, lookup: Lookup) -> Vec<String> {
    let products = catalog::find(&shop.reading(), merchant(), &lookup).await.unwrap();
    products.into_iter().map(|product| product.facts.external_id).collect()
}

#[tokio::test]
async fn a_product_is_found_by_sku_gtin_and_url() {
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
    assert_eq!(catalog::merchant_of(shop.test.database(), id).await.unwrap(), merchant());
}

#[tokio::test]
async fn products_in_unsupported_currencies_are_hidden_from_agents() {
    let shop = Shop::open().await;
    let crowns = ProductDraft { currency: Some(String::from("SEK")), ..mug("a", "1") };
    shop.put(&[crowns]).await;
    assert!(shop.product("a").await.is_none());
    shop.refresh_counts().await;
    let tree = catalog::categories(&shop.reading(), merchant(), None).await.unwrap();
    assert!(tree.is_empty(), "a category without visible products is not shown");
}

#[tokio::test]
async fn the_error_of_an_unknown_category_lists_the_existing_ones() {
    let shop = Shop::open().await;
    shop.put(&[mug("a", "1")]).await;
    shop.refresh_counts().await;
    let missing = catalog::categories(&shop.reading(), merchant(), Some("cups")).await;
    assert!(
        matches!(missing, Err(CatalogError::CategoryNotFound { allowed }) if allowed == ["kitchen"])
    );
    let below = catalog::categories(&shop.reading(), merchant(), Some("kitchen")).await.unwrap();
    assert_eq!((below[0].category.path.as_str(), below[0].product_count), ("kitchen/mugs", 1));
}

#[tokio::test]
async fn new_arrivals_are_ordered_newest_first() {
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

/// Puts products into a store.
async fn fill(shop: &Shop, merchant: MerchantId, drafts: &[ProductDraft]) {
    let incoming: Vec<_> = drafts.iter().map(checked).collect();
    let mut work = Work::for_store(shop.test.database(), merchant).await.unwrap();
    catalog::put_products(&mut work, merchant, Origin::Push, &incoming).await.unwrap();
    work.commit().await.unwrap();
}

/// Three stores with 5, 0 and 3 visible products.
async fn three_stores() -> (Shop, [MerchantId; 3]) {
    let shop = Shop::open().await;
    let stores = [merchant(), MerchantId::from_random(2), MerchantId::from_random(3)];
    testkit::StoreBuilder::new("barn").merchant(stores[1]).build(shop.test.database()).await;
    testkit::StoreBuilder::new("cellar").merchant(stores[2]).build(shop.test.database()).await;
    let crowns = ProductDraft { currency: Some(String::from("SEK")), ..mug("crowns", "1") };
    let sized = ProductDraft {
        variants: vec![variant("L", "3", 1), variant("S", "2", 1)],
        ..mug("sized", "2")
    };
    fill(&shop, stores[0], &[mug("a", "1"), mug("b", "1"), mug("c", "1"), mug("d", "1"), sized])
        .await;
    fill(&shop, stores[1], std::slice::from_ref(&crowns)).await;
    fill(
        &shop,
        stores[2],
        &[mug("a", "1"), mug("b", "1"), mug("c", "1"), crowns, mug("gone", "1")],
    )
    .await;
    let mut work = Work::for_store(shop.test.database(), stores[2]).await.unwrap();
    let gone = [String::from("gone")];
    catalog::retire(&mut work, stores[2], Origin::Push, &gone).await.unwrap();
    work.commit().await.unwrap();
    (shop, stores)
}

#[tokio::test]
async fn pages_of_any_size_hold_every_visible_product_once_and_in_order() {
    let (shop, stores) = three_stores().await;
    let reading = Reading::for_platform(shop.test.database());
    for limit in [1, 2, 3, 5, 8, 100] {
        let mut seen: Vec<(MerchantId, ProductId)> = Vec::new();
        loop {
            let after = seen.last().copied();
            let mixed = [stores[2], stores[0], stores[1], stores[0]];
            let page = catalog::products_after(&reading, &mixed, after, limit).await.unwrap();
            let page = page.products;
            assert!(i64::try_from(page.len()).unwrap() <= limit);
            if page.is_empty() {
                break;
            }
            seen.extend(page.iter().map(|(merchant, product)| (*merchant, product.id)));
        }
        assert_eq!(seen.len(), 8, "in pages of {limit}");
        assert!(seen.is_sorted_by(|one, next| {
            (one.0.uuid(), one.1.uuid()) < (next.0.uuid(), next.1.uuid())
        }));
    }
    // The store in which the last page ended is not in the list any more.
    let end = Some((stores[0], ProductId::from_random(u128::MAX)));
    let rest = catalog::products_after(&reading, &[stores[2]], end, 100).await.unwrap();
    assert_eq!(rest.products.len(), 3);
    assert!(catalog::products_after(&reading, &[], None, 100).await.unwrap().last.is_none());
}

#[tokio::test]
async fn products_are_read_by_their_keys_with_their_variants() {
    let (shop, stores) = three_stores().await;
    let reading = Reading::for_platform(shop.test.database());
    let all = catalog::products_after(&reading, &stores, None, 100).await.unwrap().products;
    let sized = all.iter().find(|(_, product)| product.facts.external_id == "sized").unwrap();
    let skus = |product: &catalog::Product| -> Vec<String> {
        product.variants.iter().map(|variant| variant.facts.sku.clone()).collect()
    };
    assert_eq!(skus(&sized.1), ["L", "S"]);

    let mut keys: Vec<_> = all.iter().rev().map(|(owner, product)| (*owner, product.id)).collect();
    let wrong_store = (stores[1], sized.1.id);
    let unknown = (stores[0], ProductId::from_random(5));
    let (first, last) = (keys[0], keys[7]);
    keys.splice(3..3, [wrong_store, unknown]);
    let found = catalog::products_of(&reading, &keys).await.unwrap();
    assert_eq!(found.len(), 8);
    assert_eq!((found[0].0, found[0].1.id), first);
    assert_eq!((found[7].0, found[7].1.id), last);
    let again = found.iter().find(|(_, product)| product.id == sized.1.id).unwrap();
    assert_eq!(skus(&again.1), ["L", "S"]);
    assert!(catalog::products_of(&reading, &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_product_that_cannot_be_read_hides_no_other() {
    let (shop, stores) = three_stores().await;
    let reading = Reading::for_platform(shop.test.database());
    let all = catalog::products_after(&reading, &stores, None, 100).await.unwrap().products;
    let keys: Vec<_> = all.iter().map(|(owner, product)| (*owner, product.id)).collect();
    let broken = [
        "UPDATE product SET attributes = '[1]' WHERE product_id = $1",
        "UPDATE product SET images = '{}' WHERE product_id = $1",
        "UPDATE product SET listed_at = 'infinity' WHERE product_id = $1",
    ];
    for (statement, key) in broken.into_iter().zip([keys[0], keys[4], keys[7]]) {
        let mut raw = shop.test.raw().await;
        sqlx::query(statement).bind(key.1.uuid()).execute(&mut raw).await.unwrap();
    }
    let unreadable = vec![keys[0], keys[4], keys[7]];
    let ids = |products: &[(MerchantId, catalog::Product)]| -> Vec<_> {
        products.iter().map(|(owner, product)| (*owner, product.id)).collect()
    };
    let readable: Vec<_> = keys.iter().filter(|key| !unreadable.contains(key)).copied().collect();
    let read = catalog::read_products(&reading, &keys).await.unwrap();
    assert_eq!((ids(&read.products), &read.unreadable), (readable.clone(), &unreadable));
    let found = catalog::products_of(&reading, &keys).await.unwrap();
    assert_eq!(ids(&found), readable);
    for limit in [1, 3, 100] {
        let (mut seen, mut left_out, mut after) = (Vec::new(), Vec::new(), None);
        loop {
            let page = catalog::products_after(&reading, &stores, after, limit).await.unwrap();
            let Some(last) = page.last else { break };
            after = Some(last);
            seen.extend(ids(&page.products));
            left_out.extend(page.unreadable);
        }
        assert_eq!((&seen, &left_out), (&readable, &unreadable), "in pages of {limit}");
    }
}
