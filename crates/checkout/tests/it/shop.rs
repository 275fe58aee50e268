//! A store to buy at.

use std::sync::Arc;
use std::time::Duration;

use carts::{Buyer, Destination, Edit, Item, NewCart, Owner, Priced, Quantity};
use catalog::{Amount, Origin, ProductDraft};
use checkout::{At, CheckoutError, Complete, Counter};
use database::{Reading, Work};
use jobs::{Runner, RunnerSettings, Scheduled};
use merchants::{
    ConfirmationPolicy, Settings, ShippingRate, ShippingZone, Standing, Store, StoreCache,
};
use primitives::{CartId, Currency, Id, KeyId, MerchantId, ProductId};
use testkit::TestDatabase;

pub(crate) const SITE: &str = "https://souk.example";

/// An agent by number.
pub(crate) fn agent(number: u128) -> Owner {
    Owner { key: KeyId::from_random(number), name: format!("helper {number}"), is_sandbox: false }
}

async fn set(test: &TestDatabase, merchant: MerchantId, settings: &Settings) {
    let mut work = Work::for_store(test.database(), merchant).await.unwrap();
    merchants::put_settings(&mut work, merchant, settings, None).await.unwrap();
    work.commit().await.unwrap();
}

async fn stand(test: &TestDatabase, merchant: MerchantId, score: f64) {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let standing = Standing { score: Some(score), provisional: false, computed_at: work.now() };
    merchants::set_standing(&mut work, merchant, &standing).await.unwrap();
    work.commit().await.unwrap();
}

pub(crate) struct Shop {
    pub(crate) test: TestDatabase,
    pub(crate) store: Arc<Store>,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::with_policy(ConfirmationPolicy::Attested).await
    }

    pub(crate) async fn with_policy(confirmation: ConfirmationPolicy) -> Self {
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
        let settings = Settings { shipping: vec![zone], confirmation, ..Settings::default() };
        set(&test, merchant, &settings).await;
        stand(&test, merchant, 0.9).await;
        let stores = StoreCache::new(test.database().clone(), Duration::ZERO);
        let store = stores.find(&"attic".parse().unwrap()).await.unwrap();
        Self { test, store }
    }

    /// Sets what the merchant sets.
    pub(crate) async fn set(&self, settings: &Settings) {
        set(&self.test, self.store.merchant, settings).await;
    }

    /// Sets where the store stands.
    pub(crate) async fn stand(&self, score: f64) {
        stand(&self.test, self.store.merchant, score).await;
    }

    pub(crate) fn counter(&self) -> Counter<'_> {
        Counter { database: self.test.database(), store: &self.store, site_url: SITE }
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
        let merchant = self.store.merchant;
        let mut work = Work::for_store(self.test.database(), merchant).await.unwrap();
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

    /// A cart that is ready, of these and so many of each.
    pub(crate) async fn cart(&self, owner: &Owner, items: &[(ProductId, i64)]) -> Priced {
        let item = |(product, quantity): &(ProductId, i64)| Item {
            product: *product,
            variant: None,
            quantity: Quantity::new(*quantity).unwrap(),
        };
        let to = Destination {
            country: String::from("DE"),
            region: None,
            postal_code: None,
            city: None,
            street: None,
            name: None,
        };
        let buyer = Buyer { email: Some(String::from("eve@example.com")), ..Buyer::default() };
        let new = NewCart {
            items: items.iter().map(item).collect(),
            destination: Some(to),
            buyer: Some(buyer),
            codes: Vec::new(),
        };
        let (database, store) = (self.test.database(), &self.store);
        let made = carts::create(database, store, owner, new, None).await.unwrap();
        let way = Edit::Shipping(made.quote.options[0].id.clone());
        let who = (owner.key, made.cart.id);
        carts::change(database, store, who, None, &[way], None).await.unwrap()
    }

    pub(crate) async fn complete(&self, owner: &Owner, cart: CartId) -> Result<At, CheckoutError> {
        checkout::complete(&self.counter(), owner, &Complete::cart(cart), None).await
    }

    /// How many there are of a product, and how many of them are held.
    pub(crate) async fn shelf(&self, product: ProductId) -> (i32, i32) {
        let mut raw = self.test.raw().await;
        sqlx::query_as("SELECT stock_quantity, held FROM product WHERE product_id = $1")
            .bind(product)
            .fetch_one(&mut raw)
            .await
            .unwrap()
    }

    pub(crate) async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&mut self.test.raw().await).await.unwrap()
    }

    pub(crate) fn advance(&self, span: Duration) {
        self.test.clock().advance(span);
    }

    /// Runs a job of the round that is due.
    pub(crate) async fn run<J: Scheduled>(&self, needs: J::Needs) {
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        jobs::enqueue(&mut work, &J::for_epoch(0)).await.unwrap();
        work.commit().await.unwrap();
        let runner = Runner::new(self.test.database().clone(), RunnerSettings::default());
        assert_eq!(runner.register::<J>(needs).run_until_idle().await.unwrap(), 1);
    }
}
