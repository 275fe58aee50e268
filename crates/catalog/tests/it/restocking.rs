//! Sold units that go back into stock.

use catalog::{ProductDraft, PutOutcome, StockPool, StockStatus, Units};
use primitives::{Id, KeyId, ProductId, VariantId};

use crate::shop::{Shop, merchant, mug, variant};

/// A product with this stock.
fn stocked(quantity: Option<i64>, status: Option<StockStatus>) -> ProductDraft {
    ProductDraft {
        stock_quantity: quantity,
        stock_status: status.map(|status| status.to_string()),
        ..mug("mug", "5")
    }
}

impl Shop {
    async fn restock(&self, pool: StockPool, units: &[Units]) {
        let mut work = self.work().await;
        catalog::restock(&mut work, merchant(), pool, units).await.unwrap();
        work.commit().await.unwrap();
    }

    async fn mugs(&self, quantity: u32) -> Units {
        Units { product: self.product("mug").await.unwrap().id, variant: None, quantity }
    }

    async fn stock(&self) -> (Option<i32>, StockStatus) {
        let facts = self.product("mug").await.unwrap().facts;
        (facts.stock_quantity, facts.stock_status)
    }
}

#[tokio::test]
async fn units_are_added_and_a_sold_out_product_is_available_again() {
    use StockStatus::{Backorder, Discontinued, InStock, LowStock, OutOfStock};
    let shop = Shop::open().await;
    for (before, units, after) in [
        ((0, OutOfStock), 1, (1, LowStock)),
        ((0, OutOfStock), 5, (5, LowStock)),
        ((0, OutOfStock), 6, (6, InStock)),
        ((2, LowStock), 8, (10, LowStock)),
        ((3, InStock), 1, (4, InStock)),
        // Only the merchant sells it again.
        ((0, Discontinued), 2, (2, Discontinued)),
        ((0, Backorder), 2, (2, Backorder)),
        ((i32::MAX, InStock), u32::MAX, (i32::MAX, InStock)),
    ] {
        shop.put(&[stocked(Some(before.0.into()), Some(before.1))]).await;
        shop.events().await;
        shop.restock(StockPool::Store, &[shop.mugs(units).await]).await;
        assert_eq!(shop.stock().await, (Some(after.0), after.1), "{before:?}");
        assert_eq!(shop.events().await, 1);
    }
}

#[tokio::test]
async fn a_sale_and_its_restocking_cancel_each_other_out() {
    let shop = Shop::open().await;
    let drafts = [stocked(Some(2), None)];
    shop.put(&drafts).await;
    let (units, pool) = (shop.mugs(2).await, StockPool::Store);
    let mut work = shop.work().await;
    catalog::hold(&mut work, merchant(), pool, &[units]).await.unwrap().unwrap();
    catalog::sell(&mut work, merchant(), pool, &[units]).await.unwrap();
    work.commit().await.unwrap();
    assert_eq!(shop.stock().await, (Some(0), StockStatus::OutOfStock));
    // Entries of the same item add up.
    let one = Units { quantity: 1, ..units };
    shop.restock(pool, &[one, one]).await;
    assert_eq!(shop.stock().await, (Some(2), StockStatus::LowStock));
    let held = shop.count("SELECT held::bigint FROM product").await;
    assert_eq!(held, 0);
    let mut work = shop.work().await;
    assert!(catalog::hold(&mut work, merchant(), pool, &[units]).await.unwrap().is_ok());
}

#[tokio::test]
async fn an_import_of_the_same_quantity_replaces_the_restocked_one() {
    let shop = Shop::open().await;
    let drafts = [stocked(Some(1), None)];
    shop.put(&drafts).await;
    shop.restock(StockPool::Store, &[shop.mugs(1).await]).await;
    assert_eq!(shop.put(&drafts).await, [PutOutcome::Updated]);
    assert_eq!(shop.stock().await, (Some(1), StockStatus::LowStock));
}

#[tokio::test]
async fn units_of_a_variant_change_the_variant_and_publish_its_product() {
    let shop = Shop::open().await;
    let variants = vec![variant("S", "5", 0), variant("M", "5", 3)];
    shop.put(&[ProductDraft { variants, ..mug("mug", "5") }]).await;
    shop.events().await;
    let before = shop.product("mug").await.unwrap();
    let find = |sku: &str| before.variants.iter().find(|it| it.facts.sku == sku).unwrap().id;
    let units = Units { variant: Some(find("S")), ..shop.mugs(2).await };
    shop.restock(StockPool::Store, &[units]).await;
    let after = shop.product("mug").await.unwrap();
    let stock = |it: &catalog::Variant| (it.facts.stock_quantity, it.facts.stock_status);
    let stocks: Vec<_> = after.variants.iter().map(stock).collect();
    let low = StockStatus::LowStock;
    assert_eq!(stocks, [(Some(2), low), (Some(3), low)]);
    assert_eq!(after.facts.stock_quantity, before.facts.stock_quantity);
    assert_eq!(shop.events().await, 1);
}

#[tokio::test]
async fn stock_that_is_not_counted_and_items_that_are_gone_stay_as_they_are() {
    let shop = Shop::open().await;
    shop.put(&[stocked(None, Some(StockStatus::OutOfStock))]).await;
    shop.events().await;
    let mugs = shop.mugs(2).await;
    let gone = Units { product: ProductId::from_random(9), ..mugs };
    let gone_variant = Units { variant: Some(VariantId::from_random(9)), ..mugs };
    shop.restock(StockPool::Store, &[mugs, gone, gone_variant]).await;
    shop.restock(StockPool::Store, &[]).await;
    assert_eq!(shop.stock().await, (None, StockStatus::OutOfStock));
    assert_eq!(shop.events().await, 0);
}

#[tokio::test]
async fn units_of_a_sandbox_go_back_to_its_own_stock() {
    let shop = Shop::open().await;
    shop.put(&[stocked(Some(3), None)]).await;
    let (units, pool) = (shop.mugs(3).await, StockPool::Sandbox(KeyId::from_random(1)));
    let mut work = shop.work().await;
    catalog::hold(&mut work, merchant(), pool, &[units]).await.unwrap().unwrap();
    catalog::sell(&mut work, merchant(), pool, &[units]).await.unwrap();
    work.commit().await.unwrap();
    shop.events().await;
    let others = StockPool::Sandbox(KeyId::from_random(2));
    shop.restock(others, &[units]).await;
    let sold = "SELECT sum(sold) FROM sandbox_stock";
    assert_eq!(shop.count(sold).await, 3);
    shop.restock(pool, &[Units { quantity: 2, ..units }]).await;
    assert_eq!(shop.count(sold).await, 1);
    shop.restock(pool, &[units]).await;
    assert_eq!(shop.count(sold).await, 0);
    assert_eq!((shop.stock().await.0, shop.events().await), (Some(3), 0));
}
