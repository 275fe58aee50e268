//! A store to fill carts at.

use std::sync::Arc;
use std::time::Duration;

use carts::{CartError, Edit, Item, NewCart, Owner, Priced};
use catalog::{Amount, Origin, ProductDraft};
use database::{Reading, Work};
use merchants::{Settings, ShippingRate, ShippingZone, Store, StoreCache};
use primitives::{CartId, Currency, Id, KeyId, MerchantId, ProductId};
use testkit::TestDatabase;

/// The key all carts are made with.
pub(crate) fn agent() -> Owner {
    Owner { key: KeyId::from_random(1), name: String::from("helper"), is_sandbox: false }
}

pub(crate) struct Shop {
    pub(crate) test: TestDatabase,
    pub(crate) store: Arc<Store>,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let test = TestDatabase::new().await;
        let merchant = MerchantId::from_random(1);
        testkit::open_store(test.database(), merchant, "attic", Currency::EUR).await;
        let rate = ShippingRate {
            name: String::from("standard"),
            price_minor: 490,
            min_subtotal_minor: None,
            days_min: 2,
            days_max: 4,
        };
        let countries = vec![String::from("DE")];
        let zone = ShippingZone { name: String::from("home"), countries, rates: vec![rate] };
        let settings = Settings { shipping: vec![zone], ..Settings::default() };
        let mut work = Work::for_store(test.database(), merchant).await.unwrap();
        merchants::put_settings(&mut work, merchant, &settings, None).await.unwrap();
        work.commit().await.unwrap();
        let stores = StoreCache::new(test.database().clone(), Duration::ZERO);
        let store = stores.find(&"attic".parse().unwrap()).await.unwrap();
        Self { test, store }
    }

    pub(crate) fn reading(&self) -> Reading {
        Reading::for_store(self.test.database(), self.store.merchant).unwrap()
    }

    /// Products by name, price and how many there are.
    pub(crate) async fn stock<const N: usize>(
        &self,
        goods: &[(&str, &str, i64); N],
    ) -> [ProductId; N] {
        let incoming = goods.map(|(name, price, there)| {
            let draft = ProductDraft {
                external_id: name.to_owned(),
                name: Some(name.to_owned()),
                price: Some(Amount::new(price)),
                stock_quantity: Some(there),
                ..ProductDraft::default()
            };
            catalog::check(&draft, Currency::EUR).unwrap()
        });
        let mut work = Work::for_store(self.test.database(), self.store.merchant).await.unwrap();
        let merchant = self.store.merchant;
        catalog::put_products(&mut work, merchant, Origin::Push, &incoming).await.unwrap();
        work.commit().await.unwrap();
        let mut ids = Vec::new();
        let mut raw = self.test.raw().await;
        for (name, ..) in goods {
            let id = "SELECT product_id FROM product WHERE external_id = $1";
            ids.push(sqlx::query_scalar(id).bind(name).fetch_one(&mut raw).await.unwrap());
        }
        ids.try_into().unwrap()
    }

    pub(crate) async fn create(&self, items: &[Item]) -> Result<Priced, CartError> {
        let new = NewCart { items: items.to_vec(), ..NewCart::default() };
        carts::create(self.test.database(), &self.store, &agent(), new, None).await
    }

    pub(crate) async fn read(&self, id: CartId) -> Result<Priced, CartError> {
        carts::cart(&self.reading(), &self.store, id, Some(agent().key)).await
    }

    pub(crate) async fn change(&self, cart: &Priced, edit: Edit) -> Result<Priced, CartError> {
        let who = (agent().key, cart.cart.id);
        carts::change(self.test.database(), &self.store, who, None, &[edit], None).await
    }
}
