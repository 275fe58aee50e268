//! A store whose endpoints are at a loopback receiver, and dispatchers.

use std::time::Duration;

use outbound::{Client, Policy};
use primitives::{EventId, MerchantId, Timestamp};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};
use testkit::StoreBuilder;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use webhooks::{
    Dispatcher, DispatcherSettings, EndpointWithSecret, NewEndpoint, SealingKey, Webhooks,
};

use crate::receiver::{Behavior, Receiver};
use crate::shop::{Shop, actor, order_created};

/// How long a test waits for a condition.
const PATIENCE: Duration = Duration::from_secs(20);
/// The lease of the dispatchers.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// A pending delivery or a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) event: EventId,
    pub(crate) due_at: Timestamp,
    pub(crate) attempts: i16,
    pub(crate) starts: i16,
    pub(crate) lone_starts: i16,
    pub(crate) is_dead: bool,
}

impl FromRow<'_, PgRow> for Stored {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            event: row.try_get("event_id")?,
            due_at: row.try_get("due_at")?,
            attempts: row.try_get("attempts")?,
            starts: row.try_get("starts")?,
            lone_starts: row.try_get("lone_starts")?,
            is_dead: row.try_get("is_dead")?,
        })
    }
}

/// A recorded attempt: number, outcome, status, error and response.
pub(crate) type Recorded = (i16, String, Option<i16>, Option<String>, Option<Vec<u8>>);

/// A dispatcher that runs until it is stopped or killed.
pub(crate) struct Running {
    task: JoinHandle<()>,
    stop: watch::Sender<bool>,
}

impl Running {
    /// Starts a dispatcher.
    pub(crate) fn start(dispatcher: Dispatcher) -> Self {
        let (stop, stopped) = watch::channel(false);
        Self { task: tokio::spawn(dispatcher.run(stopped)), stop }
    }

    /// Stops it as SIGTERM does, and waits until it has ended.
    pub(crate) async fn stop(self) {
        self.stop.send(true).unwrap();
        self.task.await.unwrap();
    }

    /// Tells it to stop.
    pub(crate) fn tell_to_stop(&self) {
        self.stop.send(true).unwrap();
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(self) {
        self.task.await.unwrap();
    }

    /// Ends it without anything that it would do at the end.
    pub(crate) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

pub(crate) struct Dispatching {
    pub(crate) shop: Shop,
    pub(crate) receiver: Receiver,
    client: Client,
}

impl Dispatching {
    pub(crate) async fn open() -> Self {
        let mut shop = Shop::open().await;
        // Loopback addresses, without TLS.
        let allowed_networks = vec!["127.0.0.0/8".parse().unwrap()];
        let policy = Policy { allow_http: true, allowed_networks };
        let settings = outbound::Settings { policy, ..outbound::Settings::default() };
        let client = Client::new(settings).unwrap();
        let database = shop.test.database().clone();
        shop.webhooks = Webhooks::new(database, SealingKey::new([7; 32]), client.clone());
        Self { shop, receiver: Receiver::start().await, client }
    }

    /// Creates an endpoint at a path of the receiver.
    pub(crate) async fn endpoint(&self, path: &str) -> EndpointWithSecret {
        self.endpoint_of(self.shop.merchant, path).await
    }

    pub(crate) async fn endpoint_of(&self, merchant: MerchantId, path: &str) -> EndpointWithSecret {
        let new = NewEndpoint::new(self.receiver.url(path));
        self.shop.webhooks.create(merchant, actor(), new, None).await.unwrap()
    }

    /// Creates another store.
    pub(crate) async fn store(&self, slug: &str) -> MerchantId {
        StoreBuilder::new(slug).build(self.shop.test.database()).await.merchant
    }

    /// Creates an endpoint to which an event was delivered.
    pub(crate) async fn healthy_endpoint(&self, path: &str) -> EndpointWithSecret {
        let created = self.endpoint(path).await;
        self.publish(1000).await;
        self.deliver().await;
        assert_eq!(self.receiver.count(path), 1);
        created
    }

    pub(crate) async fn publish(&self, number: u128) -> EventId {
        self.shop.publish(&order_created(number)).await
    }

    pub(crate) async fn publish_for(&self, merchant: MerchantId, number: u128) -> EventId {
        let database = self.shop.test.database();
        let mut work = database::Work::for_checkout(database, merchant).await.unwrap();
        let id = webhooks::publish(&mut work, merchant, &order_created(number)).await.unwrap();
        work.commit().await.unwrap();
        id
    }

    /// Publishes events to an endpoint that waits for permits, and starts a dispatcher, which has then sent the first one.
    pub(crate) async fn start_gated(&self, dispatcher: Dispatcher, events: u128) -> Running {
        self.endpoint("/a").await;
        self.receiver.set("/a", Behavior::Gated);
        for number in 1..=events {
            self.publish(number).await;
        }
        let dispatcher = Running::start(dispatcher);
        self.receiver.until(|receiver| receiver.count("/a") == 1).await;
        dispatcher
    }

    pub(crate) fn dispatcher(&self) -> Dispatcher {
        self.dispatcher_with(SealingKey::new([7; 32]), 64)
    }

    pub(crate) fn dispatcher_with(&self, sealing: SealingKey, slots: usize) -> Dispatcher {
        let settings = DispatcherSettings { slots, lease: LEASE };
        let database = self.shop.test.database().clone();
        Dispatcher::new(database, sealing, self.client.clone(), settings)
    }

    /// Returns a dispatcher that renews its lease soon.
    pub(crate) fn dispatcher_with_lease(&self, lease: Duration) -> Dispatcher {
        let settings = DispatcherSettings { slots: 64, lease };
        let database = self.shop.test.database().clone();
        Dispatcher::new(database, SealingKey::new([7; 32]), self.client.clone(), settings)
    }

    /// Delivers what is due, and returns the number of attempts.
    pub(crate) async fn deliver(&self) -> usize {
        self.dispatcher().run_until_idle().await.unwrap()
    }

    /// Gives all stores to another dispatcher, whose lease is valid.
    pub(crate) async fn replace_owner(&self) {
        let other = "INSERT INTO webhook_worker VALUES ('00000000-0000-0000-0000-000000000001', 'infinity')";
        self.shop.execute(other).await;
        let owned = "UPDATE webhook_queue SET owner = '00000000-0000-0000-0000-000000000001'";
        self.shop.execute(owned).await;
    }

    /// Lets a path respond with a status from now on.
    pub(crate) fn respond(&self, path: &str, status: u16) {
        self.receiver.set(path, Behavior::Status(status));
    }

    /// Returns pending deliveries and dead letters, in the order of their due times.
    pub(crate) async fn queue(&self) -> Vec<Stored> {
        sqlx::query_as(
            "SELECT event_id, due_at, attempts, starts, lone_starts, dead_at IS NOT NULL AS is_dead
             FROM webhook_delivery ORDER BY due_at, event_id",
        )
        .fetch_all(&mut self.shop.test.raw().await)
        .await
        .unwrap()
    }

    /// Returns the attempts, in their order.
    pub(crate) async fn attempts(&self) -> Vec<Recorded> {
        sqlx::query_as(
            "SELECT number, outcome, status, error, response FROM webhook_attempt
             ORDER BY attempted_at, event_id, number",
        )
        .fetch_all(&mut self.shop.test.raw().await)
        .await
        .unwrap()
    }

    /// Waits until a query that counts has a result.
    pub(crate) async fn until_count(&self, sql: &'static str, expected: i64) {
        let mut connection = self.shop.test.raw().await;
        let wait = async {
            loop {
                let count: i64 = sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap();
                if count == expected {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        let reached = tokio::time::timeout(PATIENCE, wait).await;
        assert!(reached.is_ok(), "the count was never {expected}");
    }
}
