//! Sales and categories without products.

use std::time::Duration;

use catalog::{Amount, OfferChange, OfferUpdate, ProductDraft, UpdateSalePrices};
use database::Work;
use jobs::{Runner, RunnerSettings};

use crate::shop::{Shop, merchant, mug, variant};

impl Shop {
    /// Changes the prices that are due.
    async fn update_sale_prices(&self) {
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        jobs::enqueue_sweep::<UpdateSalePrices>(&mut work).await.unwrap();
        work.commit().await.unwrap();
        Runner::new(self.test.database().clone(), RunnerSettings::default())
            .sweep::<UpdateSalePrices>(Duration::from_secs(2), ())
            .run_until_idle()
            .await
            .unwrap();
    }

    /// Returns the price and the list price that are stored.
    async fn prices(&self, external_id: &str) -> (i64, Option<i64>) {
        let mut raw = self.test.raw().await;
        let sql = "SELECT price_minor, list_price_minor FROM product WHERE external_id = $1";
        sqlx::query_as(sql).bind(external_id).fetch_one(&mut raw).await.unwrap()
    }

    async fn at(&self, seconds: u64) -> Option<String> {
        let work = self.work().await;
        Some(work.now().plus(Duration::from_secs(seconds)).to_string())
    }
}

#[tokio::test]
async fn prices_change_when_a_sale_begins_and_ends() {
    let shop = Shop::open().await;
    let mut shirt = ProductDraft {
        variants: vec![variant("S", "12", 1), variant("L", "14", 1)],
        ..mug("shirt", "1")
    };
    shirt.variants[1].sale_price = Some(Amount::new("9"));
    shirt.variants[1].sale_starts_at = shop.at(60).await;
    let mug = ProductDraft {
        sale_price: Some(Amount::new("8")),
        sale_starts_at: shop.at(60).await,
        sale_ends_at: shop.at(120).await,
        ..mug("mug", "10")
    };
    shop.put(&[mug.clone(), shirt]).await;
    shop.events().await;
    assert_eq!(
        (shop.prices("mug").await, shop.prices("shirt").await),
        ((1_000, None), (1_200, None))
    );
    shop.update_sale_prices().await;
    assert_eq!(shop.events().await, 0, "nothing is due");
    shop.test.clock().advance(Duration::from_mins(1));
    shop.update_sale_prices().await;
    assert_eq!(shop.prices("mug").await, (800, Some(1_000)));
    assert_eq!(shop.prices("shirt").await, (900, Some(1_400)));
    assert_eq!(shop.events().await, 2, "the index follows");
    let pushed = shop.count("SELECT count(DISTINCT pushed_at) FROM product").await;
    assert_eq!(pushed, 1, "a sale is no push");
    shop.put(std::slice::from_ref(&mug)).await;
    assert_eq!(shop.events().await, 0, "the same product again");
    shop.test.clock().advance(Duration::from_mins(1));
    shop.update_sale_prices().await;
    assert_eq!(shop.prices("mug").await, (1_000, None));
    assert_eq!(shop.events().await, 1);
    let read = shop.product("mug").await.unwrap();
    assert_eq!(read.facts.price.minor(), 1_000);
    let due = shop.count("SELECT count(*) FROM product WHERE price_due_at IS NOT NULL").await;
    let history = shop.count("SELECT count(*) FROM price_history WHERE variant_id IS NULL").await;
    assert_eq!((due, history), (0, 5));
}

#[tokio::test]
async fn a_price_that_is_set_ends_the_sale() {
    let shop = Shop::open().await;
    let mug = ProductDraft {
        sale_price: Some(Amount::new("8")),
        sale_ends_at: shop.at(60).await,
        ..mug("mug", "10")
    };
    shop.put(&[mug]).await;
    assert_eq!(shop.prices("mug").await, (800, Some(1_000)));
    let change = OfferChange::Price { price: Amount::new("7"), list_price: None, currency: None };
    let update = OfferUpdate { external_id: String::from("mug"), sku: None, change };
    let mut work = shop.work().await;
    catalog::update_offers(&mut work, merchant(), &[update]).await.unwrap();
    work.commit().await.unwrap();
    shop.test.clock().advance(Duration::from_secs(61));
    shop.update_sale_prices().await;
    assert_eq!(shop.prices("mug").await, (700, None));
}

#[tokio::test]
async fn a_read_never_returns_the_price_of_an_expired_sale() {
    let shop = Shop::open().await;
    let sale = ProductDraft {
        sale_price: Some(Amount::new("8")),
        sale_ends_at: Some(String::from("2000-01-01T00:00:00Z")),
        variants: Vec::new(),
        ..mug("mug", "10")
    };
    shop.put(&[sale]).await;
    // As if no worker had run since the sale.
    let mut raw = shop.test.raw().await;
    sqlx::query("UPDATE product SET price_minor = 800").execute(&mut raw).await.unwrap();
    let read = shop.product("mug").await.unwrap();
    assert_eq!(read.facts.price.minor(), 1_000);
}

#[tokio::test]
async fn categories_without_products_are_not_shown() {
    let shop = Shop::open().await;
    let lamp = ProductDraft { category: vec![String::from("Lamps")], ..mug("lamp", "1") };
    shop.put(&[mug("mug", "1"), lamp]).await;
    shop.refresh_counts().await;
    let names = async || {
        let mut raw = shop.test.raw().await;
        let departments: Vec<String> =
            sqlx::query_scalar("SELECT departments FROM store").fetch_one(&mut raw).await.unwrap();
        let tree = catalog::categories(&shop.reading(), merchant(), None).await.unwrap();
        let tree: Vec<String> = tree.into_iter().map(|node| node.category.name).collect();
        (departments, tree)
    };
    let both = vec![String::from("Kitchen"), String::from("Lamps")];
    assert_eq!(names().await, (both.clone(), both));
    let mut work = shop.work().await;
    let lamps = [String::from("lamp")];
    catalog::retire(&mut work, merchant(), catalog::Origin::Push, &lamps).await.unwrap();
    work.commit().await.unwrap();
    shop.refresh_counts().await;
    let kitchen = vec![String::from("Kitchen")];
    assert_eq!(names().await, (kitchen.clone(), kitchen));
}
