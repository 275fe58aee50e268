//! Endpoints at a receiver, a worker, and deliveries that are queued with one transaction.

use std::time::{Duration, Instant};

use primitives::{EventId, MerchantId};
use testkit::TestDatabase;
use uuid::Uuid;

use super::{Cpu, Round};
use crate::engines::Engines;
use crate::report::{Failure, ensure};
use crate::webhooks::receiver::Receiver;
use crate::webhooks::site::{Site, Worker, merchant};

/// How long a round may take.
const ROUND_MAX: Duration = Duration::from_mins(5);
const IS_PENDING: &str = "SELECT EXISTS (SELECT FROM webhook_delivery WHERE dead_at IS NULL)";

/// The deliveries of a round: one event each, and the store that has it.
const FILL: [&str; 5] = [
    "INSERT INTO bench_batch (event_id, merchant_id)
     SELECT gen_random_uuid(), ($1::uuid[])[1 + number % cardinality($1::uuid[])] FROM generate_series(1, $2::integer) AS number",
    "INSERT INTO webhook_event (merchant_id, event_id, kind, subject, created_at)
     SELECT merchant_id, event_id, 'order.created', gen_random_uuid(), now() FROM bench_batch",
    "INSERT INTO webhook_body (bucket, merchant_id, event_id, body, created_at)
     SELECT webhook_bucket(now()), batch.merchant_id, batch.event_id,
            convert_to(replace(convert_from(template.body, 'UTF8'), replace(template.event_id::text, '-', ''),
                               replace(batch.event_id::text, '-', '')), 'UTF8'), now()
     FROM bench_batch AS batch, bench_template AS template",
    "INSERT INTO webhook_delivery (merchant_id, endpoint_id, event_at, event_id, due_at, attempts, starts)
     SELECT merchant_id, endpoint_id, now(), event_id, now(), 0, 0 FROM bench_batch JOIN webhook_endpoint USING (merchant_id)",
    "INSERT INTO webhook_wake (merchant_id) SELECT merchant_id FROM bench_batch",
];

/// The endpoints of stores.
const ENDPOINTS: &str = "SELECT count(*) FROM webhook_endpoint WHERE merchant_id = ANY ($1)";

/// Returns whether a statement is one of the benchmark itself.
pub(super) fn is_own(sql: &str) -> bool {
    sql.contains("bench_") || [IS_PENDING, ENDPOINTS].contains(&sql) || sql.starts_with("VACUUM")
}

/// Stores with an endpoint each, and a worker.
pub(super) struct Load {
    worker: Worker,
    pub(super) merchants: Vec<MerchantId>,
    /// The event whose body all bodies are like.
    pub(super) event: EventId,
    pub(super) site: Site,
}

impl Load {
    /// Creates this many stores with an endpoint each, in a new database.
    pub(super) async fn open(engines: &Engines, stores: usize) -> Result<Self, Failure> {
        let test = TestDatabase::on(&engines.database_url).await;
        let site = Site::open_in(test, Receiver::start_quiet()?).await?;
        let merchants: Vec<MerchantId> = (0..stores).map(merchant).collect();
        for (number, merchant) in merchants.iter().enumerate() {
            let host = format!("127.50.{}.{}", number / 250, number % 250 + 1);
            site.endpoint_at(*merchant, site.receiver.url_at(&host, "/ok")).await?;
        }
        let event = site.publish(merchants[0]).await?;
        let mut sql = site.raw().await;
        sqlx::raw_sql(
            "CREATE UNLOGGED TABLE bench_batch (event_id uuid NOT NULL, merchant_id uuid NOT NULL);
             CREATE TABLE bench_template AS SELECT event_id, body FROM webhook_body;
             GRANT SELECT ON bench_template TO PUBLIC",
        )
        .execute(&mut sql)
        .await?;
        // The lease is that of production.
        let worker = site.worker(&[("SOUK_WEBHOOK_LEASE_SECONDS", String::from("15"))])?;
        site.until_settled(ROUND_MAX).await?;
        Ok(Self { worker, merchants, event, site })
    }

    /// Queues deliveries of all stores in turn, and waits until none is pending.
    pub(super) async fn deliver(
        &self,
        engines: &Engines,
        deliveries: u32,
    ) -> Result<Round, Failure> {
        self.deliver_to(engines, &self.merchants, deliveries).await
    }

    /// Queues deliveries of these stores in turn, and waits until none is pending. A store with several endpoints has as many
    /// deliveries for each event; their number is about `deliveries`: events are rounded down.
    pub(super) async fn deliver_to(
        &self,
        engines: &Engines,
        merchants: &[MerchantId],
        deliveries: u32,
    ) -> Result<Round, Failure> {
        use sqlx::Connection;
        let mut sql = self.site.raw().await;
        let ids: Vec<Uuid> = merchants.iter().map(|merchant| merchant.uuid()).collect();
        let endpoints: i64 = sqlx::query_scalar(ENDPOINTS).bind(&ids).fetch_one(&mut sql).await?;
        let events = i64::from(deliveries) * i64::try_from(ids.len())? / endpoints.max(1);
        sqlx::raw_sql("TRUNCATE bench_batch").execute(&mut sql).await?;
        sqlx::raw_sql("VACUUM ANALYZE webhook_delivery, webhook_wake, webhook_queue")
            .execute(&mut sql)
            .await?;
        let mut transaction = sql.begin().await?;
        sqlx::query(FILL[0])
            .bind(&ids)
            .bind(i32::try_from(events)?)
            .execute(&mut *transaction)
            .await?;
        let mut queued = 0;
        for statement in &FILL[1..] {
            let done = sqlx::query(*statement).execute(&mut *transaction).await?;
            if statement.starts_with("INSERT INTO webhook_delivery") {
                queued = done.rows_affected();
            }
        }
        let (worker, receiver) = (self.worker.souk.pid(), self.site.receiver.pid());
        let expected = self.site.receiver.count().await? + queued;
        let before = Cpu::now(engines, worker, receiver)?;
        transaction.commit().await?;
        let since = Instant::now();
        // The table is read when all have arrived: before, its many changed rows would cost more than the deliveries.
        while self.site.receiver.count().await? < expected
            || sqlx::query_scalar::<_, bool>(IS_PENDING).fetch_one(&mut sql).await?
        {
            ensure(since.elapsed() < ROUND_MAX, || String::from("deliveries stay pending"))?;
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        Ok(before.until(&Cpu::now(engines, worker, receiver)?, u32::try_from(queued)?))
    }

    /// Returns the URLs of the endpoints.
    pub(super) async fn urls(&self) -> Result<Vec<String>, Failure> {
        let urls = sqlx::query_scalar("SELECT url FROM webhook_endpoint ORDER BY url");
        Ok(urls.fetch_all(&mut self.site.raw().await).await?)
    }

    /// Returns bodies of events.
    pub(super) async fn bodies(&self, count: u32) -> Result<Vec<Vec<u8>>, Failure> {
        let bodies =
            sqlx::query_scalar("SELECT body FROM webhook_body LIMIT $1").bind(i64::from(count));
        let bodies: Vec<Vec<u8>> = bodies.fetch_all(&mut self.site.raw().await).await?;
        ensure(bodies.len() == usize::try_from(count)?, || String::from("too few bodies"))?;
        Ok(bodies)
    }
}
