//! A test store.

use std::sync::Arc;
use std::time::Duration;

use carts::{Buyer, CartOwner, CartRef, Destination, Edit, Item, NewCart, PricedCart, Quantity};
use checkout::{
    CheckoutCaller, CheckoutContext, CheckoutError, Complete, PayRequest, PayResult,
    PaymentGateway, SessionSnapshot, Visitor,
};
use database::{Reading, Work};
use jobs::{Runner, RunnerSettings, Sweep};
use merchants::{ConfirmationPolicy, Settings, Store};
use payments::{TestInstrument, TestProvider};
use primitives::{CartId, ClientAddress, Id, KeyId, MerchantId, ProductId};
use testkit::{StoreBuilder, TestDatabase, TestStore};

pub(crate) const SITE: &str = "https://souk.example";

/// Returns the agent with this number.
pub(crate) fn agent(number: u128) -> CartOwner {
    CartOwner {
        key: KeyId::from_random(number),
        name: format!("helper {number}"),
        is_sandbox: false,
    }
}

/// Returns the person at the hosted pages.
pub(crate) fn visitor() -> Visitor {
    Visitor::new(ClientAddress([192, 0, 2, 7].into()), "Browser/1.0")
}

pub(crate) struct Shop {
    pub(crate) test: TestDatabase,
    gateway: PaymentGateway,
    pub(crate) store: Arc<Store>,
    fixture: TestStore,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::with_policy(ConfirmationPolicy::Attested).await
    }

    pub(crate) async fn with_policy(confirmation: ConfirmationPolicy) -> Self {
        let test = TestDatabase::new().await;
        let fixture = StoreBuilder::new("attic")
            .merchant(MerchantId::from_random(1))
            .settings(Settings { confirmation, ..Settings::default() })
            .with(|store| store.country = String::from("DE"))
            .shipping("DE", 490)
            .score(0.9)
            .build(test.database())
            .await;
        let store = fixture.load(test.database()).await;
        let gateway = PaymentGateway::new(Arc::new(TestProvider), true);
        Self { test, gateway, store, fixture }
    }

    /// Replaces the store's settings.
    pub(crate) async fn put_settings(&self, settings: &Settings) {
        self.fixture.put_settings(self.test.database(), settings).await;
    }

    /// Sets the store's trust score.
    pub(crate) async fn set_standing(&self, score: f64) {
        self.fixture.set_score(self.test.database(), score).await;
    }

    pub(crate) fn context(&self) -> CheckoutContext<'_> {
        CheckoutContext {
            database: self.test.database(),
            store: &self.store,
            site_url: SITE,
            gateway: &self.gateway,
            caller: CheckoutCaller::default(),
        }
    }

    pub(crate) fn gateway(&self) -> PaymentGateway {
        self.gateway.clone()
    }

    /// Leaves the sessions as a process does that dies before this provider responds.
    pub(crate) async fn leave_payment_pending(&self, provider: &str) {
        let mut raw = self.test.raw().await;
        let started = "UPDATE checkout_session SET status = 'complete_in_progress'";
        sqlx::query(started).execute(&mut raw).await.unwrap();
        let pending = "INSERT INTO payment SELECT merchant_id, gen_random_uuid(), checkout_id, $1, 'test_approves', currency,
                       total_minor, 'begun', NULL, updated_at, NULL FROM checkout_session";
        sqlx::query(pending).bind(provider).execute(&mut raw).await.unwrap();
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

    /// Creates a cart that is ready for checkout, with these products and quantities.
    pub(crate) async fn cart(&self, owner: &CartOwner, items: &[(ProductId, i64)]) -> PricedCart {
        let item = |(product, quantity): &(ProductId, i64)| Item {
            product: *product,
            variant: None,
            quantity: Quantity::new(*quantity).unwrap(),
        };
        let to = Destination {
            country: String::from("DE"),
            city: Some(String::from("Berlin")),
            street: Some(String::from("Way 1")),
            ..Destination::default()
        };
        let buyer = Buyer { email: Some(String::from("eve@example.com")), ..Buyer::default() };
        let new = NewCart {
            items: items.iter().map(item).collect(),
            destination: Some(to),
            buyer: Some(buyer),
            ..NewCart::default()
        };
        let (database, store) = (self.test.database(), &self.store);
        let created = Box::pin(carts::create(database, store, owner, new, None)).await.unwrap();
        let option = Edit::Shipping(created.quote.options[0].id.clone());
        let cart = CartRef { agent: owner.key, id: created.cart.id };
        Box::pin(carts::change(database, store, cart, None, &[option], None)).await.unwrap()
    }

    /// Creates a cart without a destination.
    pub(crate) async fn open_cart(
        &self,
        owner: &CartOwner,
        product: ProductId,
        quantity: i64,
    ) -> PricedCart {
        let quantity = Quantity::new(quantity).unwrap();
        let items = vec![Item { product, variant: None, quantity }];
        let new = NewCart { items, ..NewCart::default() };
        Box::pin(carts::create(self.test.database(), &self.store, owner, new, None)).await.unwrap()
    }

    /// Completes a cart without a destination.
    pub(crate) async fn complete_open(
        &self,
        owner: &CartOwner,
        product: ProductId,
        quantity: i64,
    ) -> SessionSnapshot {
        let cart = self.open_cart(owner, product, quantity).await;
        self.complete(owner, cart.cart.id).await.unwrap()
    }

    pub(crate) async fn complete(
        &self,
        owner: &CartOwner,
        cart: CartId,
    ) -> Result<SessionSnapshot, CheckoutError> {
        Box::pin(checkout::complete(&self.context(), owner, &Complete::cart(cart), None)).await
    }

    /// Returns stock quantity and held units of a product.
    pub(crate) async fn stock_and_held(&self, product: ProductId) -> (i32, i32) {
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

    /// Waits until this many transactions wait for a lock.
    pub(crate) async fn wait_for_blocked(&self, transactions: i64) {
        let blocked = "SELECT count(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let all_blocked = async {
            while self.count(blocked).await < transactions {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), all_blocked).await.unwrap();
    }

    pub(crate) fn advance(&self, span: Duration) {
        self.test.clock().advance(span);
    }

    /// Pays for a session as the hosted page shows it.
    pub(crate) async fn pay(
        &self,
        at: &SessionSnapshot,
        instrument: TestInstrument,
    ) -> Result<SessionSnapshot, CheckoutError> {
        Ok(self.submit_payment(at, instrument).await?.snapshot)
    }

    /// Pays for a session as the hosted page shows it, and returns also what this call placed.
    pub(crate) async fn submit_payment(
        &self,
        at: &SessionSnapshot,
        instrument: TestInstrument,
    ) -> Result<PayResult, CheckoutError> {
        let request = PayRequest {
            instrument: instrument.as_str(),
            form_token: &at.session.form_token,
            quote_hash: at.session.quote_hash,
            visitor: visitor(),
        };
        checkout::pay(&self.context(), at.session.id, request).await
    }

    /// Runs a sweep once.
    pub(crate) async fn run<S: Sweep>(&self, dependencies: S::Dependencies) {
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        jobs::enqueue_sweep::<S>(&mut work).await.unwrap();
        work.commit().await.unwrap();
        let runner = Runner::new(self.test.database().clone(), RunnerSettings::default());
        let runner = runner.sweep::<S>(Duration::from_hours(9_999), dependencies);
        assert_eq!(runner.run_until_idle().await.unwrap(), 1);
    }
}
