//! Creating and updating products.

use std::time::Duration;

use catalog::{Origin, ProductDraft, PutOutcome};
use primitives::{FeedRunId, Id};

use crate::shop::{Shop, checked, merchant, mug, variant};

#[tokio::test]
async fn only_a_real_change_is_written_and_published() {
    let shop = Shop::open().await;
    let two = ProductDraft { variants: vec![variant("S", "10", 1)], ..mug("b", "12.50") };
    let first = [mug("a", "12.50"), two.clone()];
    assert_eq!(shop.put(&first).await, [PutOutcome::Created, PutOutcome::Created]);
    assert_eq!(shop.events().await, 2);
    assert_eq!(shop.put(&first).await, [PutOutcome::Unchanged, PutOutcome::Unchanged]);
    assert_eq!(shop.events().await, 0);
    let more = ProductDraft {
        variants: vec![variant("S", "10", 1), variant("L", "11", 1)],
        ..two.clone()
    };
    assert_eq!(shop.put(&[mug("a", "11"), more]).await, [PutOutcome::Updated, PutOutcome::Updated]);
    assert_eq!(shop.events().await, 2);
    assert_eq!(shop.put(&[two]).await, [PutOutcome::Updated], "a variant was removed");
    assert_eq!(shop.events().await, 1);
    assert_eq!(shop.product("b").await.unwrap().variants.len(), 1);
}

#[tokio::test]
async fn a_push_without_changes_is_recorded_once_an_hour_and_published_never() {
    let shop = Shop::open().await;
    let both = [
        mug("a", "12.50"),
        ProductDraft { variants: vec![variant("S", "10", 1)], ..mug("b", "1") },
    ];
    shop.put(&both).await;
    shop.events().await;
    let pushed_since = async || {
        let quality = shop.refresh_quality().await;
        quality.pushed_since.unwrap()
    };
    let first = pushed_since().await;
    for (minutes, recorded) in [(59, first), (1, first.plus(Duration::from_hours(1)))] {
        shop.test.clock().advance(Duration::from_mins(minutes));
        let mut work = shop.work().await;
        let incoming = [checked(&both[0]), checked(&both[1])];
        let put = catalog::put_products(&mut work, merchant(), Origin::Push, &incoming).await;
        work.commit().await.unwrap();
        for put in put.unwrap() {
            assert_eq!((put.outcome, put.is_confirmed), (PutOutcome::Unchanged, recorded != first));
        }
        assert_eq!(pushed_since().await, recorded);
    }
    assert_eq!(shop.events().await, 0);
    let unchanged = "SELECT count(*) FROM product WHERE updated_at < pushed_at";
    assert_eq!(shop.count(unchanged).await, 2);
}

#[tokio::test]
async fn a_push_without_changes_is_newer_than_a_feed_that_was_received_before() {
    let shop = Shop::open().await;
    let received_at = shop.work().await.now();
    let run = Origin::FeedRun { run: FeedRunId::from_random(7), received_at };
    assert_eq!(shop.put_from(run, &[mug("a", "10")]).await, [PutOutcome::Created]);
    shop.test.clock().advance(Duration::from_secs(1));
    assert_eq!(shop.put(&[mug("a", "10")]).await, [PutOutcome::Unchanged]);
    assert_eq!(shop.put_from(run, &[mug("a", "99")]).await, [PutOutcome::Outdated]);
}

#[tokio::test]
async fn a_product_reads_back_as_it_was_put() {
    let shop = Shop::open().await;
    let draft = ProductDraft {
        variants: vec![variant("L", "12.50", 2), variant("S", "9", 0)],
        ..mug("a", "99")
    };
    shop.put(std::slice::from_ref(&draft)).await;
    let product = shop.product("a").await.unwrap();
    let mut expected = checked(&draft).facts;
    expected.listed_at = Some(product.listed_at);
    assert_eq!(product.facts, expected);
    assert_eq!(product.facts.price.minor(), 9_00, "the cheapest variant");
    assert_eq!(product.facts.stock_quantity, Some(2));
    let order: Vec<_> = product.variants.iter().map(|variant| variant.facts.sku.as_str()).collect();
    assert_eq!(order, ["L", "S"]);
    assert_eq!(product.category.path, "kitchen/mugs");
}

#[tokio::test]
async fn the_price_history_is_append_only() {
    let shop = Shop::open().await;
    shop.put(&[mug("a", "12")]).await;
    shop.put(&[mug("a", "12")]).await;
    shop.put(&[mug("a", "10")]).await;
    let renamed = ProductDraft { name: Some(String::from("Cup")), ..mug("a", "10") };
    shop.put(&[renamed]).await;
    let dollars = ProductDraft { currency: Some(String::from("USD")), ..mug("a", "10") };
    shop.put(&[dollars]).await;
    let id = shop.product("a").await.unwrap().id;
    let prices = catalog::price_history(&shop.reading(), merchant(), id, 10).await.unwrap();
    let prices: Vec<String> = prices.iter().map(|past| past.price.to_string()).collect();
    assert_eq!(prices, ["10.00 USD", "10.00 EUR", "12.00 EUR"]);
    let mut raw = shop.test.raw().await;
    // Only the purge, a job of the platform, deletes.
    for (role, statement) in [
        ("SET ROLE souk_store", "UPDATE price_history SET price_minor = 1"),
        ("SET ROLE souk_platform", "UPDATE price_history SET price_minor = 1"),
        ("SET ROLE souk_store", "DELETE FROM price_history"),
    ] {
        sqlx::query(role).execute(&mut raw).await.unwrap();
        let refused = sqlx::query(statement).execute(&mut raw).await;
        assert!(refused.unwrap_err().to_string().contains("permission denied"), "{statement}");
    }
}

#[tokio::test]
async fn a_push_after_a_feed_was_received_is_newer() {
    let shop = Shop::open().await;
    let received_at = shop.work().await.now();
    let run = Origin::FeedRun { run: FeedRunId::from_random(7), received_at };
    shop.test.clock().advance(Duration::from_secs(1));
    shop.put(&[mug("pushed", "10")]).await;
    let feed = [mug("pushed", "99"), mug("new", "5")];
    assert_eq!(shop.put_from(run, &feed).await, [PutOutcome::Outdated, PutOutcome::Created]);
    assert_eq!(shop.product("pushed").await.unwrap().facts.price.minor(), 10_00);
    let mut work = shop.work().await;
    let ids = [String::from("pushed"), String::from("new")];
    let retired = catalog::retire(&mut work, merchant(), run, &ids).await.unwrap();
    work.commit().await.unwrap();
    assert_eq!(retired.len(), 1);
    assert!(shop.product("new").await.is_none() && shop.product("pushed").await.is_some());
}

#[tokio::test]
async fn a_retired_product_is_listed_again_under_its_id() {
    let shop = Shop::open().await;
    shop.put(&[mug("a", "10")]).await;
    let id = shop.product("a").await.unwrap().id;
    let mut work = shop.work().await;
    let ids = [String::from("a")];
    catalog::retire(&mut work, merchant(), Origin::Push, &ids).await.unwrap();
    let again = catalog::retire(&mut work, merchant(), Origin::Push, &ids).await.unwrap();
    assert!(again.is_empty(), "a retired product is not retired again");
    work.commit().await.unwrap();
    assert!(shop.product("a").await.is_none());
    shop.events().await;
    assert_eq!(shop.put(&[mug("a", "10")]).await, [PutOutcome::Updated]);
    assert_eq!((shop.product("a").await.unwrap().id, shop.events().await), (id, 1));
}

#[tokio::test]
async fn concurrent_imports_of_a_new_product_create_it_once() {
    let shop = Shop::open().await;
    let products: Vec<ProductDraft> = (0..20).map(|n| mug(&format!("p{n}"), "10")).collect();
    let mut backwards = products.clone();
    backwards.reverse();
    let (one, other) = tokio::join!(shop.put(&products), shop.put(&backwards));
    let created =
        one.iter().chain(&other).filter(|outcome| **outcome == PutOutcome::Created).count();
    assert_eq!(created, 20);
    assert_eq!(shop.events().await, 20);
    assert_eq!(shop.count("SELECT count(*) FROM price_history").await, 20);
}
