//! A test store with endpoints and events.

use std::collections::BTreeSet;
use std::time::Duration;

use database::Work;
use identity::{Actor, AuditEntry};
use jobs::{Job, Runner, RunnerSettings};
use primitives::{
    CartId, CheckoutId, Currency, EndpointId, EventId, Id, MerchantId, Money, OrderId, Timestamp,
    UserId,
};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use testkit::{StoreBuilder, TestDatabase};
use webhooks::{
    CheckoutAbandoned, Endpoint, EndpointError, EndpointWithSecret, EventKind, NewEndpoint,
    OrderCreated, SealingKey, WebhookEvent, Webhooks,
};

/// An address that is not resolved by name.
pub(crate) const URL: &str = "https://1.1.1.1/hooks/secret-path";

pub(crate) const DAY: Duration = Duration::from_hours(24);

/// Who changes endpoints.
pub(crate) fn actor() -> Actor {
    Actor::Person(UserId::from_random(9))
}

/// Returns the event of a new order.
pub(crate) fn order_created(number: u128) -> WebhookEvent {
    WebhookEvent::OrderCreated(OrderCreated {
        order: OrderId::from_random(number),
        checkout: CheckoutId::from_random(number),
        slug: String::from("attic"),
        total: Money::new(29_90, Currency::EUR),
        status: "pending",
        items: Vec::new(),
        confirmation: "hosted",
    })
}

/// Returns the event of an abandoned checkout.
pub(crate) fn checkout_abandoned(number: u128) -> WebhookEvent {
    let at = Timestamp::from_unix_micros(testkit::START);
    WebhookEvent::CheckoutAbandoned(CheckoutAbandoned {
        checkout: CheckoutId::from_random(number),
        cart: CartId::from_random(number),
        slug: String::from("attic"),
        total: Money::new(29_90, Currency::EUR),
        status: "expired",
        stage: "requires_escalation",
        items: Vec::new(),
        started_at: at,
        last_activity_at: at,
        reason_code: None,
        recovery_url: None,
    })
}

/// A row of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Queued {
    pub(crate) endpoint: EndpointId,
    pub(crate) event: EventId,
    pub(crate) due_at: Timestamp,
    pub(crate) attempts: i16,
    pub(crate) is_dead: bool,
}

impl FromRow<'_, PgRow> for Queued {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            endpoint: row.try_get("endpoint_id")?,
            event: row.try_get("event_id")?,
            due_at: row.try_get("due_at")?,
            attempts: row.try_get("attempts")?,
            is_dead: row.try_get("is_dead")?,
        })
    }
}

pub(crate) struct Shop {
    pub(crate) test: TestDatabase,
    pub(crate) merchant: MerchantId,
    pub(crate) webhooks: Webhooks,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let test = TestDatabase::new().await;
        let merchant = MerchantId::from_random(1);
        StoreBuilder::new("attic").merchant(merchant).build(test.database()).await;
        let client = outbound::Client::new(outbound::Settings::default()).unwrap();
        let key = SealingKey::new([7; 32]);
        let webhooks = Webhooks::new(test.database().clone(), key, client);
        Self { test, merchant, webhooks }
    }

    pub(crate) async fn another_merchant(&self) -> MerchantId {
        StoreBuilder::new("cellar").build(self.test.database()).await.merchant
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.test.database().local_now()
    }

    pub(crate) fn advance(&self, span: Duration) {
        self.test.clock().advance(span);
    }

    pub(crate) async fn create(
        &self,
        new: NewEndpoint,
    ) -> Result<EndpointWithSecret, EndpointError> {
        self.webhooks.create(self.merchant, actor(), new, None).await
    }

    /// Creates an endpoint that receives the default kinds of events.
    pub(crate) async fn endpoint(&self) -> Endpoint {
        self.create(NewEndpoint::new(URL)).await.unwrap().endpoint
    }

    /// Creates an endpoint that receives events of these kinds.
    pub(crate) async fn endpoint_for(&self, kinds: &[EventKind]) -> Endpoint {
        let kinds: BTreeSet<EventKind> = kinds.iter().copied().collect();
        let new = NewEndpoint { kinds: Some(kinds), ..NewEndpoint::new(URL) };
        self.create(new).await.unwrap().endpoint
    }

    pub(crate) async fn find(&self, id: EndpointId) -> Result<Endpoint, EndpointError> {
        self.webhooks.find(self.merchant, id).await
    }

    /// Publishes an event in a transaction of its own.
    pub(crate) async fn publish(&self, event: &WebhookEvent) -> EventId {
        let mut work = Work::for_checkout(self.test.database(), self.merchant).await.unwrap();
        let id = webhooks::publish(&mut work, self.merchant, event).await.unwrap();
        work.commit().await.unwrap();
        id
    }

    /// Returns the queue, in the order of the events.
    pub(crate) async fn queue(&self) -> Vec<Queued> {
        let select = sqlx::query_as(
            "SELECT endpoint_id, event_id, due_at, attempts, dead_at IS NOT NULL AS is_dead
             FROM webhook_delivery ORDER BY event_at, event_id, endpoint_id",
        );
        select.fetch_all(&mut self.test.raw().await).await.unwrap()
    }

    /// Returns the events that are queued for an endpoint.
    pub(crate) async fn queued_for(&self, endpoint: EndpointId) -> Vec<EventId> {
        let queue = self.queue().await;
        queue.into_iter().filter(|row| row.endpoint == endpoint).map(|row| row.event).collect()
    }

    /// Deletes all wakes and returns how many there were.
    pub(crate) async fn take_wakes(&self) -> u64 {
        self.execute("DELETE FROM webhook_wake").await
    }

    /// Records an attempt now, and what follows from it, as a dispatcher does.
    pub(crate) async fn attempt(&self, endpoint: EndpointId, event: EventId, outcome: &str) {
        let sql = &mut self.test.raw().await;
        sqlx::query(
            "INSERT INTO webhook_attempt (bucket, merchant_id, endpoint_id, event_at, event_id, number, attempted_at,
                                          status, latency_ms, response, outcome)
             SELECT webhook_bucket($1), merchant_id, endpoint_id, event_at, event_id, attempts + 1, $1,
                    CASE $4 WHEN 'delivered' THEN 204 ELSE 500 END, 12, 'oops', $4
             FROM webhook_delivery WHERE endpoint_id = $2 AND event_id = $3",
        )
        .bind(self.now())
        .bind(endpoint)
        .bind(event)
        .bind(outcome)
        .execute(&mut *sql)
        .await
        .unwrap();
        let follow_up = match outcome {
            "delivered" => {
                "DELETE FROM webhook_delivery WHERE endpoint_id = $1 AND event_id = $2 AND $3::timestamptz IS NOT NULL"
            }
            "dead" => {
                "UPDATE webhook_delivery SET attempts = attempts + 1, dead_at = $3
                 WHERE endpoint_id = $1 AND event_id = $2"
            }
            _ => {
                "UPDATE webhook_delivery SET attempts = attempts + 1, due_at = $3::timestamptz + interval '1 hour'
                 WHERE endpoint_id = $1 AND event_id = $2"
            }
        };
        let now = self.now();
        let done = sqlx::query(follow_up).bind(endpoint).bind(event).bind(now).execute(sql).await;
        assert_eq!(done.unwrap().rows_affected(), 1);
    }

    /// Lets every endpoint have failed so often in a row, with a probe that was due a minute ago if there are any failures, and what
    /// is pending wait for five hours or more. Deletes all wakes.
    pub(crate) async fn wait_for_hours(&self, failures: i32) {
        let sql = &mut self.test.raw().await;
        sqlx::query(
            "INSERT INTO webhook_health (merchant_id, endpoint_id, last_success_at, consecutive_failures, probe_at)
             SELECT merchant_id, endpoint_id, $2, $1, CASE WHEN $1 >= 5 THEN $2::timestamptz - interval '1 minute' END
             FROM webhook_endpoint",
        )
        .bind(failures)
        .bind(self.now())
        .execute(&mut *sql)
        .await
        .unwrap();
        sqlx::query("UPDATE webhook_delivery SET due_at = $1::timestamptz + interval '5 hours'")
            .bind(self.now())
            .execute(&mut *sql)
            .await
            .unwrap();
        self.take_wakes().await;
    }

    /// Runs a job, and those that are due.
    pub(crate) async fn run<J: Job<Dependencies = ()>>(&self, job: &J) {
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        jobs::enqueue(&mut work, job).await.unwrap();
        work.commit().await.unwrap();
        self.run_due::<J>().await;
    }

    /// Runs the jobs of a kind that are due.
    pub(crate) async fn run_due<J: Job<Dependencies = ()>>(&self) {
        let runner = Runner::new(self.test.database().clone(), RunnerSettings::default());
        runner.register::<J>(()).run_until_idle().await.unwrap();
    }

    /// Returns the entries of the audit log about an endpoint, the newest first.
    pub(crate) async fn audit(&self, endpoint: EndpointId) -> Vec<AuditEntry> {
        let whom = endpoint.to_string();
        identity::audit_entries(self.test.database(), &whom, 100).await.unwrap()
    }

    /// Executes SQL as the owner of the schema.
    pub(crate) async fn execute(&self, sql: &'static str) -> u64 {
        let done = sqlx::query(sql).execute(&mut self.test.raw().await).await.unwrap();
        done.rows_affected()
    }

    pub(crate) async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&mut self.test.raw().await).await.unwrap()
    }
}
