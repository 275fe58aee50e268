//! Held units while the merchant changes the catalog.

use catalog::{ProductDraft, StockPool, Units};
use primitives::VariantId;

use crate::shop::{Shop, merchant, mug, variant};

fn shirt(skus: &[&str]) -> ProductDraft {
    let variants = skus.iter().map(|sku| variant(sku, "5", 3)).collect();
    ProductDraft { variants, ..mug("shirt", "5") }
}

impl Shop {
    async fn units(&self, sku: &str) -> Units {
        let product = self.product("shirt").await.unwrap();
        let found = product.variants.iter().find(|variant| variant.facts.sku == sku).unwrap();
        Units { product: product.id, variant: Some(found.id), quantity: 2 }
    }

    async fn hold(&self, units: Units) -> bool {
        let mut work = self.work().await;
        let held = catalog::hold(&mut work, merchant(), StockPool::Store, &[units]).await.unwrap();
        if held.is_ok() {
            work.commit().await.unwrap();
        }
        held.is_ok()
    }

    async fn skus(&self) -> Vec<String> {
        let product = self.product("shirt").await.unwrap();
        product.variants.iter().map(|variant| variant.facts.sku.clone()).collect()
    }

    async fn held(&self, variant: Option<VariantId>) -> Option<i32> {
        sqlx::query_scalar("SELECT held FROM variant WHERE variant_id = $1")
            .bind(variant.unwrap().uuid())
            .fetch_optional(&mut self.test.raw().await)
            .await
            .unwrap()
    }
}

#[tokio::test]
async fn a_variant_that_is_dropped_keeps_its_held_units() {
    let shop = Shop::open().await;
    shop.put(&[shirt(&["S", "M"])]).await;
    let units = shop.units("S").await;
    assert!(shop.hold(units).await);
    shop.put(&[shirt(&["M"])]).await;
    assert_eq!(
        (shop.skus().await, shop.held(units.variant).await),
        (vec![String::from("M")], Some(2))
    );
    assert!(!shop.hold(Units { quantity: 1, ..units }).await, "it is no longer sold");
    shop.put(&[shirt(&["M"])]).await;
    shop.put(&[shirt(&["S", "M"])]).await;
    let back = shop.units("S").await;
    assert_eq!((back.variant, shop.held(units.variant).await), (units.variant, Some(2)));
    assert!(!shop.hold(back).await, "one of three units is left");
    assert!(shop.hold(Units { quantity: 1, ..back }).await);
}

#[tokio::test]
async fn a_dropped_variant_is_deleted_when_nothing_is_held() {
    let shop = Shop::open().await;
    for sells in [false, true] {
        shop.put(&[shirt(&["S", "M"])]).await;
        let units = shop.units("S").await;
        assert!(shop.hold(units).await);
        shop.put(&[shirt(&["M"])]).await;
        let mut work = shop.work().await;
        let pool = StockPool::Store;
        if sells {
            catalog::sell(&mut work, merchant(), pool, &[units]).await.unwrap();
        } else {
            catalog::release(&mut work, merchant(), pool, &[units]).await.unwrap();
        }
        work.commit().await.unwrap();
        assert_eq!(shop.held(units.variant).await, None);
        assert_eq!(shop.skus().await, ["M"]);
    }
}
