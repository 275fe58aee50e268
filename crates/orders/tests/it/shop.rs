//! A test store and its orders.

use std::time::Duration;

use catalog::ProductDraft;
use database::{Reading, Work};
use jobs::{Runner, RunnerSettings, Sweep};
use orders::{
    Actor, Changed, ConfirmationLevel, HistoryKind, Order, OrderContext, OrderDetails, OrderError,
    OrderLine, OrderStatus, PaymentStatus, Viewer,
};
use primitives::{
    CartId, CheckoutId, ConfirmationId, Currency, Id, KeyId, LineId, MerchantId, Money, OrderId,
    ProductId, Timestamp, UserId, VariantId,
};
use serde_json::{Value, json};
use testkit::{StoreBuilder, TestDatabase, TestStore};

const SLUG: &str = "attic";

/// Returns the key of the agent with this number.
pub(crate) fn agent(number: u128) -> KeyId {
    KeyId::from_random(number)
}

/// Returns an order of agent 1. Orders with different numbers have nothing unique in common.
pub(crate) fn order(number: u128) -> Order {
    let line = OrderLine {
        line: LineId::from_random(number),
        product: ProductId::from_random(1),
        variant: Some(VariantId::from_random(1)),
        sku: String::from("MUG-1"),
        name: String::from("Mug “Blå” 🫖"),
        quantity: 2,
        unit_minor: 1_250,
        total_minor: 2_499,
        canceled: 0,
        shipped: 0,
        returned: 0,
    };
    let plain = OrderLine {
        line: LineId::from_random(number + 100),
        product: ProductId::from_random(2),
        variant: None,
        total_minor: 1,
        ..line.clone()
    };
    let now = Timestamp::from_unix_micros(testkit::START);
    Order {
        id: OrderId::from_random(number),
        checkout: CheckoutId::from_random(number),
        cart: CartId::from_random(number),
        agent: agent(1),
        agent_name: String::from("helper"),
        is_sandbox: false,
        status: OrderStatus::Pending,
        payment_provider: String::from("test"),
        payment_reference: format!("ref-{number}"),
        total: Money::new(2_990, Currency::EUR),
        lines: vec![line, plain],
        terms: json!({ "total": "29.90", "rate": 0.19, "items": [{ "quantity": 2 }] }),
        quote_hash: [0xab; 32],
        confirmation: ConfirmationLevel::Hosted,
        confirmation_id: Some(ConfirmationId::from_random(number)),
        shipping_minor: None,
        tax_minor: None,
        same_address: None,
        buyer: Some(json!({ "email": "eve@example.com" })),
        version: 1,
        payment: PaymentStatus::Paid,
        refunded_minor: 0,
        promised_by: None,
        delivered_at: None,
        returnable_until: None,
        destination: None,
        note: None,
        created_at: now,
        updated_at: now,
    }
}

pub(crate) struct Shop {
    pub(crate) test: TestDatabase,
    pub(crate) merchant: MerchantId,
    store: TestStore,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let test = TestDatabase::new().await;
        let merchant = MerchantId::from_random(1);
        let store = StoreBuilder::new(SLUG).merchant(merchant).build(test.database()).await;
        Self { test, merchant, store }
    }

    /// Puts products and returns their ids.
    pub(crate) async fn put_products(&self, drafts: &[ProductDraft]) -> Vec<ProductId> {
        self.store.put_products(self.test.database(), drafts).await
    }

    /// Returns the context of the merchant.
    pub(crate) fn as_merchant(&self) -> OrderContext<'_> {
        self.acting(Actor::merchant(String::from("skey_1")), Viewer::Merchant)
    }

    /// Returns the context of the agent with this number.
    pub(crate) fn as_agent(&self, number: u128) -> OrderContext<'_> {
        self.acting(Actor::agent(agent(number)), Viewer::Agent(vec![agent(number)]))
    }

    pub(crate) fn acting(&self, actor: Actor, viewer: Viewer) -> OrderContext<'_> {
        OrderContext {
            database: self.test.database(),
            merchant: self.merchant,
            slug: SLUG,
            actor,
            viewer,
            idempotency_key: None,
        }
    }

    /// Creates a second store in the same database.
    pub(crate) async fn another_merchant(&self) -> MerchantId {
        StoreBuilder::new("cellar").build(self.test.database()).await.merchant
    }

    /// Places an order of this store in its own transaction.
    pub(crate) async fn place(&self, order: &Order) -> Result<(), OrderError> {
        self.place_for(self.merchant, order).await
    }

    pub(crate) async fn place_for(
        &self,
        merchant: MerchantId,
        order: &Order,
    ) -> Result<(), OrderError> {
        let mut work = Work::for_checkout(self.test.database(), merchant).await?;
        orders::place(&mut work, merchant, SLUG, order).await?;
        Ok(work.commit().await?)
    }

    /// Sets the status of the payment of the order with this number, as an administrator.
    pub(crate) async fn set_payment(
        &self,
        number: u128,
        payment: PaymentStatus,
    ) -> Result<Changed, OrderError> {
        let administrator = Actor::platform(UserId::from_random(1));
        let (context, by) = (self.acting(administrator, Viewer::All), testkit::administration());
        orders::set_payment_status(&context, by, order(number).id, payment).await
    }

    /// Reads an order of this store, as an agent or as a job.
    pub(crate) async fn read(
        &self,
        id: OrderId,
        agent: Option<KeyId>,
    ) -> Result<Order, OrderError> {
        self.read_for(self.merchant, id, agent).await
    }

    pub(crate) async fn read_for(
        &self,
        merchant: MerchantId,
        id: OrderId,
        agent: Option<KeyId>,
    ) -> Result<Order, OrderError> {
        let reading = Reading::for_store(self.test.database(), merchant)?;
        let viewer = agent.map_or(Viewer::All, |agent| Viewer::Agent(vec![agent]));
        orders::order(&reading, merchant, id, &viewer).await
    }

    /// Reads an order with everything that belongs to it, after checking its history and events.
    pub(crate) async fn details(&self, id: OrderId) -> OrderDetails {
        let reading = Reading::for_store(self.test.database(), self.merchant).unwrap();
        let details = orders::details(&reading, self.merchant, id, &Viewer::All).await.unwrap();
        self.check_history(&details).await;
        details
    }

    /// Checks that the history is complete and in order, and that each change of the status, of what the buyer may change, of
    /// units and of the payment has exactly one event.
    async fn check_history(&self, details: &OrderDetails) {
        self.check_transitions(details).await;
        let OrderDetails { order, history, .. } = details;
        let updates =
            [HistoryKind::Updated, HistoryKind::LinesCanceled, HistoryKind::PaymentChanged];
        let is_update =
            |it: &&orders::HistoryEntry| updates.contains(&it.kind) && !order.is_sandbox;
        let expected = history.iter().filter(is_update).map(|it| Some(i64::from(it.sequence)));
        let events = self.events(order.id, "order.updated").await;
        let mut published: Vec<_> = events.iter().map(|it| it["sequence"].as_i64()).collect();
        published.sort_unstable();
        assert_eq!(published, expected.collect::<Vec<_>>());
    }

    async fn check_transitions(&self, OrderDetails { order, history, .. }: &OrderDetails) {
        let sequences: Vec<i32> = history.iter().map(|entry| entry.sequence).collect();
        assert_eq!(sequences, (2..=order.version).collect::<Vec<_>>());
        assert!(history.is_sorted_by_key(|entry| entry.occurred_at), "{history:?}");
        for (entry, next) in history.iter().zip(history.iter().skip(1)) {
            assert_eq!(entry.status, next.previous_status, "{history:?}");
        }
        assert!(history.last().is_none_or(|entry| entry.status == order.status), "{history:?}");
        let mut expected = Vec::new();
        for entry in history {
            let is_transition = entry.kind == HistoryKind::StatusChanged;
            assert_eq!(is_transition, entry.status != entry.previous_status, "{entry:?}");
            if is_transition && !order.is_sandbox {
                expected.push((
                    i64::from(entry.sequence),
                    entry.previous_status.to_string(),
                    entry.status.to_string(),
                    entry.actor.kind.to_string(),
                    entry.reason.clone(),
                ));
            }
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut published: Vec<_> = self
            .events(order.id, "order.status_changed")
            .await
            .into_iter()
            .map(|event| {
                let [from, to, by] = ["previousStatus", "status", "changedBy"]
                    .map(|name| text(&event[name]).unwrap());
                (event["sequence"].as_i64().unwrap(), from, to, by, text(&event["reason"]))
            })
            .collect();
        published.sort();
        assert_eq!(published, expected);
    }

    /// Returns the bodies of the events of one kind about an order, in no order.
    pub(crate) async fn events(&self, id: OrderId, kind: &str) -> Vec<Value> {
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        let bodies: Vec<Vec<u8>> = sqlx::query_scalar(
            "SELECT webhook_body.body FROM webhook_event JOIN webhook_body USING (merchant_id, event_id)
             WHERE subject = $1 AND kind = $2",
        )
        .bind(id.uuid())
        .bind(kind)
        .fetch_all(work.sql())
        .await
        .unwrap();
        bodies.iter().map(|body| serde_json::from_slice(body).unwrap()).collect()
    }

    /// Runs a sweep once.
    pub(crate) async fn run<S: Sweep<Dependencies = ()>>(&self) {
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        jobs::enqueue_sweep::<S>(&mut work).await.unwrap();
        work.commit().await.unwrap();
        let runner = Runner::new(self.test.database().clone(), RunnerSettings::default());
        let runner = runner.sweep::<S>(Duration::from_hours(9_999), ());
        assert_eq!(runner.run_until_idle().await.unwrap(), 1);
    }

    /// Executes SQL as the owner of the schema.
    pub(crate) async fn execute(&self, sql: &'static str) -> sqlx::Result<u64> {
        let done = sqlx::query(sql).execute(&mut self.test.raw().await).await?;
        Ok(done.rows_affected())
    }

    pub(crate) async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&mut self.test.raw().await).await.unwrap()
    }
}

/// Returns the name of the violated constraint.
pub(crate) fn constraint<T: std::fmt::Debug>(result: Result<T, OrderError>) -> String {
    let Err(OrderError::Database(error)) = result else { panic!("{result:?}") };
    error.constraint().unwrap().to_owned()
}
