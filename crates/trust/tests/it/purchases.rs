//! A store with purchases: orders by the verbs of `orders`, checkouts and reports of payments as `checkout` stores them.

use std::time::Duration;

use database::{Database, Reading, Work};
use jobs::{NewEvent, Runner, RunnerSettings};
use orders::{
    Actor, CancelReason, Cancellation, ConfirmationLevel, LineUnits, Order, OrderContext,
    OrderLine, OrderStatus, PaymentStatus, Shipment, Viewer,
};
use primitives::{
    CartId, CheckoutId, ConfirmationId, Currency, Id, KeyId, LineId, MerchantId, Money, OrderId,
    ProductId, Timestamp,
};
use serde_json::{Value, json};
use testkit::{StoreBuilder, TestDatabase};
use trust::{
    Cause, Computation, CorrectScores, Epoch, FollowFacts, MethodologyVersion, ROLL_UP_DELAY,
    RecountFacts, RollUpDays,
};
use uuid::Uuid;

pub(crate) const DAY: Duration = Duration::from_hours(24);

/// A store whose orders are promised within two days. Tests start on 2026-11-15 at 08:00 (UTC).
pub(crate) struct Purchases {
    pub(crate) test: TestDatabase,
    pub(crate) merchant: MerchantId,
}

/// A report of a payment.
pub(crate) struct Report {
    pub(crate) outcome: &'static str,
    pub(crate) reported_minor: Option<i64>,
    pub(crate) is_open: bool,
    /// Amounts that the report states beside those of the quote.
    pub(crate) parts: Value,
}

/// Returns a key of an account.
pub(crate) fn key(account: u128, number: u128) -> KeyId {
    KeyId::from_random(account * 100 + number)
}

/// Returns the id of the order and of the checkout with this number.
pub(crate) fn id<I: Id>(number: u128) -> I {
    I::from_random(number)
}

/// Returns an order of two units. Orders with different numbers have nothing unique in common.
pub(crate) fn order(number: u128, agent: KeyId, created_at: Timestamp) -> Order {
    let line = OrderLine {
        line: LineId::from_random(number),
        product: ProductId::from_random(1),
        variant: None,
        sku: String::from("MUG-1"),
        name: String::from("Mug"),
        quantity: 2,
        unit_minor: 1_250,
        total_minor: 2_500,
        canceled: 0,
        shipped: 0,
        returned: 0,
    };
    Order {
        id: OrderId::from_random(number),
        checkout: CheckoutId::from_random(number),
        cart: CartId::from_random(number),
        agent,
        agent_name: String::from("agent"),
        is_sandbox: false,
        status: OrderStatus::Pending,
        payment_provider: String::from("test"),
        payment_reference: format!("ref-{number}"),
        total: Money::new(2_990, Currency::EUR),
        lines: vec![line],
        terms: json!({ "shipping": { "days_max": 2 } }),
        quote_hash: [0xab; 32],
        confirmation: ConfirmationLevel::Hosted,
        confirmation_id: Some(ConfirmationId::from_random(number)),
        shipping_minor: Some(490),
        tax_minor: None,
        same_address: None,
        buyer: None,
        version: 1,
        payment: PaymentStatus::Paid,
        refunded_minor: 0,
        promised_by: None,
        delivered_at: None,
        returnable_until: None,
        destination: None,
        note: None,
        created_at,
        updated_at: created_at,
    }
}

impl Purchases {
    /// Opens the store, with accounts 1 and 2 that have two keys each.
    pub(crate) async fn open() -> Self {
        let test = TestDatabase::new().await;
        let merchant = MerchantId::from_random(1);
        StoreBuilder::new("attic").merchant(merchant).build(test.database()).await;
        let mut raw = test.raw().await;
        for account in 1..=2 {
            sqlx::query(
                "INSERT INTO platform.person (user_id, email, password_hash, plan, is_admin, created_at, sessions_from)
                 VALUES ($1, $2, '$argon2id$', 'FREE', false, '2026-11-01', '2026-11-01')",
            )
            .bind(Uuid::from_u128(account))
            .bind(format!("{account}@example.com"))
            .execute(&mut raw)
            .await
            .unwrap();
            for number in 1..=2 {
                let key = key(account, number);
                sqlx::query(
                    "INSERT INTO platform.agent_key (key_id, mac, user_id, prefix, name, scopes, created_at)
                     VALUES ($1, $2, $3, 'agnt_', 'agent', '{agent:checkout}', '2026-11-01')",
                )
                .bind(key)
                .bind(key.uuid().as_bytes().repeat(2))
                .bind(Uuid::from_u128(account))
                .execute(&mut raw)
                .await
                .unwrap();
            }
        }
        Self { test, merchant }
    }

    pub(crate) fn database(&self) -> &Database {
        self.test.database()
    }

    /// Sets the figures of a catalog of ten products, of which some are complete and consistent.
    pub(crate) async fn list_products(&self, good: i64) {
        sqlx::query(
            "INSERT INTO catalog_quality
                 (merchant_id, products, complete, consistent, missing_price, missing_image, missing_gtin,
                  foreign_currency, contradicting_stock, shared_gtin, computed_at)
             VALUES ($1, 10, $2, $2, 0, 0, 0, 0, 0, 0, '2026-11-15')
             ON CONFLICT (merchant_id) DO UPDATE SET complete = excluded.complete, consistent = excluded.consistent",
        )
        .bind(self.merchant)
        .bind(good)
        .execute(&mut self.test.raw().await)
        .await
        .unwrap();
    }

    /// Computes what is due.
    pub(crate) async fn compute(&self) {
        let computed = trust::compute_due(self.database(), MethodologyVersion::V20).await;
        assert!(computed.unwrap());
    }

    /// Computes the score on request.
    pub(crate) async fn recompute(&self) -> Computation {
        let mut work = Work::for_platform(self.database()).await.unwrap();
        let (merchant, cause) = (self.merchant, Cause::Requested);
        let in_force = MethodologyVersion::V20;
        let computed = trust::recompute(&mut work, merchant, cause, in_force).await.unwrap();
        work.commit().await.unwrap();
        computed
    }

    /// Computes the scores of stores that were marked.
    pub(crate) async fn correct(&self) {
        let mut work = Work::for_platform(self.database()).await.unwrap();
        jobs::enqueue_sweep::<CorrectScores>(&mut work).await.unwrap();
        work.commit().await.unwrap();
        let runner = Runner::new(self.database().clone(), RunnerSettings::default());
        let every = Duration::from_hours(9_999);
        let runner = runner.sweep::<CorrectScores>(every, MethodologyVersion::V20);
        assert_eq!(runner.run_until_idle().await.unwrap(), 1);
    }

    /// Counts facts again that could not be counted, if it is time.
    pub(crate) async fn recount(&self) {
        let mut work = Work::for_platform(self.database()).await.unwrap();
        jobs::enqueue_sweep::<RecountFacts>(&mut work).await.unwrap();
        work.commit().await.unwrap();
        let runner = Runner::new(self.database().clone(), RunnerSettings::default());
        let runner = runner.sweep::<RecountFacts>(Duration::from_hours(9_999), ());
        assert_eq!(runner.run_until_idle().await.unwrap(), 1);
    }

    /// Returns revisions and causes of the scores of the current epoch.
    pub(crate) async fn revisions(&self) -> Vec<(i32, String)> {
        let epoch = Epoch::of(self.database().local_now());
        sqlx::query_as(
            "SELECT revision, cause FROM trust_score WHERE merchant_id = $1 AND epoch = $2 ORDER BY revision",
        )
        .bind(self.merchant)
        .bind(epoch.0)
        .fetch_all(&mut self.test.raw().await)
        .await
        .unwrap()
    }

    pub(crate) async fn latest(&self) -> Computation {
        trust::latest(&self.reading(self.merchant), self.merchant).await.unwrap().unwrap()
    }

    pub(crate) fn advance(&self, span: Duration) {
        self.test.clock().advance(span);
    }

    pub(crate) fn acting(&self, actor: Actor, viewer: Viewer) -> OrderContext<'_> {
        let (database, merchant) = (self.database(), self.merchant);
        OrderContext { database, merchant, slug: "attic", actor, viewer, idempotency_key: None }
    }

    pub(crate) fn as_merchant(&self) -> OrderContext<'_> {
        self.acting(Actor::merchant(String::from("skey_1")), Viewer::Merchant)
    }

    pub(crate) fn as_agent(&self, key: KeyId) -> OrderContext<'_> {
        self.acting(Actor::agent(key), Viewer::Agent(vec![key]))
    }

    async fn work(&self) -> Work {
        Work::for_checkout(self.database(), self.merchant).await.unwrap()
    }

    /// Publishes an event of this store.
    pub(crate) async fn publish(&self, work: &mut Work, topic: &'static str, subject: Uuid) {
        let (merchant, payload) = (self.merchant, json!({}));
        let event = NewEvent { merchant, topic, subject, payload };
        jobs::publish(work, &[event]).await.unwrap();
    }

    async fn record(&self, work: &mut Work, number: u128, agent: KeyId, kind: &'static str) {
        let now = work.now();
        let checkout: CheckoutId = id(number);
        sqlx::query(
            "INSERT INTO agent_event (merchant_id, checkout_id, kind, agent_key_id, at) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(self.merchant)
        .bind(checkout)
        .bind(kind)
        .bind(agent)
        .bind(now)
        .execute(work.sql())
        .await
        .unwrap();
        self.publish(work, "checkout.changed", checkout.uuid()).await;
    }

    /// Starts a checkout.
    pub(crate) async fn start(&self, number: u128, agent: KeyId) {
        let mut work = self.work().await;
        self.record(&mut work, number, agent, "CHECKOUT_START").await;
        work.commit().await.unwrap();
    }

    /// Completes a checkout that was started.
    pub(crate) async fn complete(&self, number: u128, agent: KeyId) {
        self.complete_as(number, agent, |order| order).await;
    }

    /// Completes a checkout that was started with another order.
    pub(crate) async fn complete_as(
        &self,
        number: u128,
        agent: KeyId,
        with: impl FnOnce(Order) -> Order,
    ) {
        let mut work = self.work().await;
        let placed = with(order(number, agent, work.now()));
        orders::place(&mut work, self.merchant, "attic", &placed).await.unwrap();
        self.record(&mut work, number, agent, "CHECKOUT_COMPLETE").await;
        work.commit().await.unwrap();
    }

    /// Starts and completes a checkout.
    pub(crate) async fn buy(&self, number: u128, agent: KeyId) {
        self.start(number, agent).await;
        self.complete(number, agent).await;
    }

    /// Stores a report of a payment of 29.90.
    pub(crate) async fn report(&self, number: u128, agent: KeyId, report: Report) {
        let mut work = self.work().await;
        let now = work.now();
        let checkout: CheckoutId = id(number);
        sqlx::query(
            "INSERT INTO payment_report (merchant_id, checkout_id, reference, outcome, currency, expected_minor,
                                         reported_minor, is_open, at, agent_key_id, parts)
             VALUES ($1, $2, 'A-1', $3, 'EUR', 2990, $4, $5, $6, $7, $8)",
        )
        .bind(self.merchant)
        .bind(checkout)
        .bind(report.outcome)
        .bind(report.reported_minor)
        .bind(report.is_open)
        .bind(now)
        .bind(agent)
        .bind(report.parts)
        .execute(work.sql())
        .await
        .unwrap();
        self.publish(&mut work, "payment.reported", checkout.uuid()).await;
        work.commit().await.unwrap();
    }

    pub(crate) async fn ship(&self, number: u128) {
        let shipment = Shipment::default();
        orders::ship(&self.as_merchant(), id(number), None, shipment).await.unwrap();
    }

    /// Ships some units of an order.
    pub(crate) async fn ship_units(&self, number: u128, quantity: u32) {
        let items = vec![LineUnits { line: LineId::from_random(number), quantity }];
        let shipment = Shipment { items, ..Shipment::default() };
        orders::ship(&self.as_merchant(), id(number), None, shipment).await.unwrap();
    }

    pub(crate) async fn deliver(&self, number: u128) {
        orders::deliver(&self.as_merchant(), id(number), None, Vec::new()).await.unwrap();
    }

    /// Cancels units of an order as the merchant; all if `units` is `None`.
    pub(crate) async fn cancel(&self, number: u128, units: Option<u32>, reason: CancelReason) {
        let line = LineId::from_random(number);
        let items = units.map(|quantity| LineUnits { line, quantity }).into_iter().collect();
        let cancellation = Cancellation { items, reason, note: None };
        orders::cancel(&self.as_merchant(), id(number), None, cancellation).await.unwrap();
    }

    /// Cancels all that is left of an order as the agent that placed it.
    pub(crate) async fn cancel_as_agent(&self, number: u128, agent: KeyId) {
        let reason = CancelReason::BuyerRequest;
        let cancellation = Cancellation { items: Vec::new(), reason, note: None };
        orders::cancel(&self.as_agent(agent), id(number), None, cancellation).await.unwrap();
    }

    /// Reads the outbox.
    pub(crate) async fn follow(&self) {
        let mut work = Work::for_platform(self.database()).await.unwrap();
        jobs::enqueue(&mut work, &FollowFacts {}).await.unwrap();
        work.commit().await.unwrap();
        let runner = Runner::new(self.database().clone(), RunnerSettings::default());
        assert_eq!(runner.register::<FollowFacts>(()).run_until_idle().await.unwrap(), 1);
    }

    /// Computes the days that are due.
    pub(crate) async fn roll_up(&self) {
        let mut work = Work::for_platform(self.database()).await.unwrap();
        jobs::enqueue_sweep::<RollUpDays>(&mut work).await.unwrap();
        work.commit().await.unwrap();
        let runner = Runner::new(self.database().clone(), RunnerSettings::default());
        let runner = runner.sweep::<RollUpDays>(Duration::from_hours(9_999), ());
        assert_eq!(runner.run_until_idle().await.unwrap(), 1);
    }

    /// Reads the outbox and computes the days that changed.
    pub(crate) async fn settle(&self) {
        self.follow().await;
        self.advance(ROLL_UP_DELAY);
        self.roll_up().await;
    }

    /// Returns the counts of an account that are not 0, a text for each day.
    pub(crate) async fn days(&self, account: u128) -> Vec<String> {
        sqlx::query_scalar(
            "SELECT day || ': ' || string_agg(name || ' ' || value, ', ' ORDER BY name)
             FROM trust_agent_day AS counts,
                  jsonb_each_text(to_jsonb(counts) - '{merchant_id,day,account_id}'::text[]) AS counted (name, value)
             WHERE merchant_id = $1 AND account_id = $2 AND value <> '0'
             GROUP BY day ORDER BY day",
        )
        .bind(self.merchant)
        .bind(Uuid::from_u128(account))
        .fetch_all(&mut self.test.raw().await)
        .await
        .unwrap()
    }

    pub(crate) async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&mut self.test.raw().await).await.unwrap()
    }

    pub(crate) async fn execute(&self, sql: &'static str) {
        sqlx::raw_sql(sql).execute(&mut self.test.raw().await).await.unwrap();
    }

    /// Returns all rows and the number of delivered orders.
    pub(crate) async fn evidence(&self) -> Vec<String> {
        sqlx::query_scalar(
            "SELECT counts::text FROM trust_agent_day AS counts
             UNION ALL SELECT delivered::text FROM trust_tally ORDER BY 1",
        )
        .fetch_all(&mut self.test.raw().await)
        .await
        .unwrap()
    }

    /// Asserts that the rows are what follows from the facts.
    pub(crate) async fn check(&self) {
        let differences = trust::check_days(self.database(), self.merchant).await.unwrap();
        assert!(differences.is_empty(), "{differences:?}");
    }

    pub(crate) fn reading(&self, merchant: MerchantId) -> Reading {
        Reading::for_store(self.database(), merchant).unwrap()
    }
}
