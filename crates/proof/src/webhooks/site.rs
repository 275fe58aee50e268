//! Stores with webhook endpoints in a database of their own, a receiver, and workers that deliver.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use database::{Database, Work};
use identity::{Actor, Secret};
use outbound::{Client, Policy, Settings};
use primitives::{Currency, EndpointId, EventId, Id, MerchantId, Money, UserId};
use sqlx::PgConnection;
use testkit::{StoreBuilder, TestDatabase};
use webhooks::{EventKind, NewEndpoint, OrderCreated, SealingKey, WebhookEvent, Webhooks};

use super::receiver::Receiver;
use crate::identity::metric;
use crate::report::{Failure, ensure};
use crate::souk::{OPERATOR_ADDRESS, Souk, free_port};

/// The secret of servers without `SOUK_SECRET`.
const SECRET: &str = "souk-development-secret-that-protects-nothing";
/// The lease of workers, in seconds: the shortest that can be configured.
pub(super) const LEASE_SECONDS: u64 = 2;
/// How long a check waits for something that takes a moment.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Environment variables of a process.
pub(super) type Environment = Vec<(&'static str, String)>;

const PENDING: &str = "SELECT count(*) FROM webhook_delivery WHERE dead_at IS NULL";

/// Stores, their receiver and their database.
pub(crate) struct Site {
    pub(crate) receiver: Receiver,
    pub(super) webhooks: Webhooks,
    pub(crate) database: Database,
    // Last, because it can be dropped only once nobody uses it.
    pub(crate) test: TestDatabase,
}

/// An endpoint that was registered.
#[derive(Debug, Clone)]
pub(crate) struct Registered {
    pub(crate) merchant: MerchantId,
    pub(crate) id: EndpointId,
    /// The signing secret, `whsec_…`.
    pub(crate) secret: String,
}

/// A `souk work` whose metrics can be read.
pub(crate) struct Worker {
    pub(super) souk: Souk,
    operator_port: u16,
}

impl Worker {
    /// Returns the value of a metric; `None` while the process does not serve any.
    pub(super) async fn metric(&self, name: &str) -> Option<f64> {
        metric(self.operator_port, name).await.ok()
    }

    /// Waits until a metric has a value.
    pub(super) async fn until_metric(
        &self,
        name: &str,
        is_met: impl Fn(f64) -> bool,
    ) -> Result<f64, Failure> {
        let since = Instant::now();
        loop {
            let value = self.metric(name).await;
            if let Some(value) = value.filter(|value| is_met(*value)) {
                return Ok(value);
            }
            ensure(since.elapsed() < PATIENCE, || format!("{name} stays {value:?}"))?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Ends the worker as an operator does (SIGTERM): it releases its stores, so that the next one need not wait for its lease.
    pub(super) async fn stop(mut self) -> Result<(), Failure> {
        self.souk.signal("TERM")?;
        let code = self.souk.wait(PATIENCE).await?;
        ensure(code == Some(0), || format!("a worker that was told to stop exited with {code:?}"))
    }
}

/// Returns the environment that lets webhooks be sent to receivers on this machine, without TLS.
pub(super) fn loopback() -> Environment {
    vec![
        ("SOUK_OUTBOUND_ALLOW", String::from("127.0.0.0/8")),
        ("SOUK_OUTBOUND_HTTP", String::from("on")),
    ]
}

/// Returns the client of requests to receivers on this machine.
pub(super) fn loopback_client() -> Result<Client, Failure> {
    let policy = Policy { allow_http: true, allowed_networks: vec!["127.0.0.0/8".parse()?] };
    Ok(Client::new(Settings { policy, ..Settings::default() })?)
}

/// Returns the merchant with this number. No store of it exists: deliveries need none.
pub(super) fn merchant(number: usize) -> MerchantId {
    MerchantId::from_random(0x5eed_0000 + number as u128)
}

/// Runs a worker at a database.
pub(super) fn worker(url: &str, settings: &[(&'static str, String)]) -> Result<Worker, Failure> {
    let operator_port = free_port()?;
    let mut environment = worker_environment(operator_port).to_vec();
    environment.extend_from_slice(settings);
    Ok(Worker { souk: Souk::work_with(url, &environment)?, operator_port })
}

fn worker_environment(operator_port: u16) -> [(&'static str, String); 2] {
    [
        ("SOUK_OPERATOR_LISTEN", format!("{OPERATOR_ADDRESS}:{operator_port}")),
        ("SOUK_WEBHOOK_LEASE_SECONDS", LEASE_SECONDS.to_string()),
    ]
}

impl Site {
    pub(crate) async fn open() -> Result<Self, Failure> {
        Self::open_in(TestDatabase::new().await, Receiver::start()?).await
    }

    pub(super) async fn open_in(test: TestDatabase, receiver: Receiver) -> Result<Self, Failure> {
        let database = test.another_process();
        database.refresh_directory().await?;
        let sealing = SealingKey::new(Secret::new(SECRET)?.derived_key(SealingKey::PURPOSE));
        let webhooks = Webhooks::new(database.clone(), sealing, loopback_client()?);
        Ok(Self { receiver, webhooks, database, test })
    }

    /// Starts a worker that delivers to this machine.
    pub(crate) fn worker(&self, settings: &[(&'static str, String)]) -> Result<Worker, Failure> {
        let mut environment = loopback();
        environment.extend_from_slice(settings);
        worker(&self.test.url(), &environment)
    }

    /// Starts a worker that delivers to this machine, with its log written to a file.
    pub(super) fn worker_logging(
        &self,
        settings: &[(&'static str, String)],
        log: &std::path::Path,
    ) -> Result<Worker, Failure> {
        let operator_port = free_port()?;
        let mut environment = loopback();
        environment.extend(worker_environment(operator_port));
        environment.extend_from_slice(settings);
        let souk = Souk::work_logging(&self.test.url(), &environment, log)?;
        Ok(Worker { souk, operator_port })
    }

    /// Creates a store.
    pub(super) async fn store(&self, slug: &str) -> MerchantId {
        StoreBuilder::new(slug).score(0.9).build(&self.database).await.merchant
    }

    /// Registers a path of the receiver for all kinds of events.
    pub(crate) async fn endpoint(
        &self,
        merchant: MerchantId,
        path: &str,
    ) -> Result<Registered, Failure> {
        self.endpoint_at(merchant, self.receiver.url(path)).await
    }

    /// Registers a URL for all kinds of events.
    pub(super) async fn endpoint_at(
        &self,
        merchant: MerchantId,
        url: String,
    ) -> Result<Registered, Failure> {
        let kinds: BTreeSet<EventKind> = EventKind::selectable().collect();
        let new = NewEndpoint { kinds: Some(kinds), ..NewEndpoint::new(url) };
        let made = self.webhooks.create(merchant, actor(), new, None).await?;
        let secret = made.secret.ok_or("an endpoint without a secret")?.text();
        Ok(Registered { merchant, id: made.endpoint.id, secret })
    }

    /// Rotates the secret of an endpoint and returns the new one.
    pub(super) async fn rotate(&self, endpoint: &Registered) -> Result<String, Failure> {
        let Registered { merchant, id, .. } = *endpoint;
        let made = self.webhooks.rotate_secret(merchant, actor(), id, None).await?;
        Ok(made.secret.ok_or("a rotation without a secret")?.text())
    }

    /// Publishes the event of a new order, as a purchase does.
    pub(super) async fn publish(&self, merchant: MerchantId) -> Result<EventId, Failure> {
        publish(&self.database, merchant).await
    }

    pub(crate) async fn raw(&self) -> PgConnection {
        self.test.raw().await
    }

    /// Returns the result of a query that counts.
    pub(super) async fn count(&self, query: &'static str) -> Result<i64, Failure> {
        Ok(sqlx::query_scalar(query).fetch_one(&mut self.raw().await).await?)
    }

    /// Waits until a query that counts has a result.
    pub(super) async fn until_count(
        &self,
        what: &str,
        query: &'static str,
        expected: i64,
        limit: Duration,
    ) -> Result<(), Failure> {
        self.until(what, query, |count| count == expected, limit).await
    }

    /// Waits until the result of a query that counts fulfils a condition.
    pub(super) async fn until(
        &self,
        what: &str,
        query: &'static str,
        is_met: impl Fn(i64) -> bool,
        limit: Duration,
    ) -> Result<(), Failure> {
        let (mut sql, since) = (self.raw().await, Instant::now());
        loop {
            let count: i64 = sqlx::query_scalar(query).fetch_one(&mut sql).await?;
            if is_met(count) {
                return Ok(());
            }
            ensure(since.elapsed() < limit, || format!("{what}: still {count} after {limit:?}"))?;
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Waits until nothing is pending.
    pub(super) async fn until_settled(&self, limit: Duration) -> Result<(), Failure> {
        self.until_count("pending deliveries", PENDING, 0, limit).await
    }

    /// Waits until nothing is pending, however much there is, as long as it becomes less within `stalled_max`.
    pub(super) async fn until_drained(&self, stalled_max: Duration) -> Result<(), Failure> {
        let (mut sql, mut since, mut least) = (self.raw().await, Instant::now(), i64::MAX);
        while least > 0 {
            let pending: i64 = sqlx::query_scalar(PENDING).fetch_one(&mut sql).await?;
            if pending < least {
                (since, least) = (Instant::now(), pending);
            }
            ensure(since.elapsed() < stalled_max, || {
                format!("{pending} pending deliveries do not become fewer")
            })?;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    }
}

fn actor() -> Actor {
    Actor::Person(UserId::from_random(9))
}

/// Publishes the event of a new order.
pub(super) async fn publish(database: &Database, merchant: MerchantId) -> Result<EventId, Failure> {
    let mut work = Work::for_checkout(database, merchant).await?;
    let event = WebhookEvent::OrderCreated(OrderCreated {
        order: work.new_id(),
        checkout: work.new_id(),
        slug: String::from("attic"),
        total: Money::new(29_90, Currency::EUR),
        status: "pending",
        items: Vec::new(),
        confirmation: "hosted",
    });
    let id = webhooks::publish(&mut work, merchant, &event).await?;
    work.commit().await?;
    Ok(id)
}
