//! A test store.

use std::sync::Arc;

use carts::{CartError, CartOwner, CartRef, Edit, Item, NewCart, PricedCart};
use database::Reading;
use merchants::Store;
use primitives::{CartId, Id, KeyId, MerchantId, ProductId};
use testkit::{StoreBuilder, TestDatabase, TestStore};

/// The agent that owns all carts of the tests.
pub(crate) fn agent() -> CartOwner {
    CartOwner { key: KeyId::from_random(1), name: String::from("helper"), is_sandbox: false }
}

pub(crate) struct Shop {
    pub(crate) test: TestDatabase,
    pub(crate) store: Arc<Store>,
    fixture: TestStore,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let test = TestDatabase::new().await;
        let fixture = StoreBuilder::new("attic")
            .merchant(MerchantId::from_random(1))
            .shipping("DE", 490)
            .build(test.database())
            .await;
        let store = fixture.load(test.database()).await;
        Self { test, store, fixture }
    }

    pub(crate) fn reading(&self) -> Reading {
        Reading::for_store(self.test.database(), self.store.merchant).unwrap()
    }

    /// Puts products by name, price and stock quantity.
    pub(crate) async fn stock<const N: usize>(
        &self,
        goods: &[(&str, &str, i64); N],
    ) -> [ProductId; N] {
        let drafts =
            goods.map(|(name, price, quantity)| testkit::product_draft(name, price, quantity));
        let ids = self.fixture.put_products(self.test.database(), &drafts).await;
        ids.try_into().unwrap()
    }

    pub(crate) async fn create(&self, items: &[Item]) -> Result<PricedCart, CartError> {
        let new = NewCart { items: items.to_vec(), ..NewCart::default() };
        carts::create(self.test.database(), &self.store, &agent(), new, None).await
    }

    pub(crate) async fn read(&self, id: CartId) -> Result<PricedCart, CartError> {
        carts::cart(&self.reading(), &self.store, id, Some(agent().key)).await
    }

    pub(crate) async fn change(
        &self,
        cart: &PricedCart,
        edit: Edit,
    ) -> Result<PricedCart, CartError> {
        let cart = CartRef { agent: agent().key, id: cart.cart.id };
        carts::change(self.test.database(), &self.store, cart, None, &[edit], None).await
    }
}
