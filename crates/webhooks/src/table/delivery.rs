//! Deliveries as the dispatcher sees them: loading and starting.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use bytes::Bytes;
use database::Work;
use futures::TryStreamExt;
use primitives::{EndpointId, EventId, MerchantId, Timestamp};
use sqlx::PgConnection;

use crate::bucket;
use crate::dispatcher::StartCounts;

/// An endpoint of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct EndpointKey {
    pub(crate) merchant: MerchantId,
    pub(crate) endpoint: EndpointId,
}

/// An event at an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DeliveryKey {
    pub(crate) endpoint: EndpointKey,
    pub(crate) event_at: Timestamp,
    pub(crate) event: EventId,
}

impl DeliveryKey {
    pub(crate) fn of(endpoint: EndpointKey, pending: &Pending) -> Self {
        Self { endpoint, event_at: pending.event_at, event: pending.event }
    }
}

/// A pending delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) event_at: Timestamp,
    pub(crate) event: EventId,
    pub(crate) due_at: Timestamp,
    pub(crate) counts: StartCounts,
}

impl Pending {
    /// Returns whether its first attempt is due since the event: it was not attempted, and not queued again later.
    pub(crate) fn is_first(&self) -> bool {
        self.counts.attempts == 0 && self.due_at == self.event_at
    }
}

/// What is known about an endpoint from its attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredHealth {
    pub(crate) last_success_at: Option<Timestamp>,
    pub(crate) failing_since: Option<Timestamp>,
    pub(crate) consecutive_failures: i32,
    pub(crate) probe_at: Option<Timestamp>,
    /// Of the last requests, smoothed; `None` before the first one that counts (`Health::record_latency`).
    pub(crate) latency: Option<Duration>,
}

/// An enabled endpoint with its first deliveries.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub(crate) key: EndpointKey,
    /// Another one after the endpoint was moved or enabled, or got another secret: what was sent before says nothing about it.
    pub(crate) health_version: i32,
    /// `None` if nothing was sent since it was created, enabled or moved.
    pub(crate) health: Option<StoredHealth>,
    /// The first ones by due time, due or not.
    pub(crate) pending: Vec<Pending>,
}

struct LoadedRow {
    merchant: MerchantId,
    endpoint: EndpointId,
    health_version: i32,
    last_success_at: Option<Timestamp>,
    failing_since: Option<Timestamp>,
    consecutive_failures: Option<i32>,
    probe_at: Option<Timestamp>,
    latency_ms: Option<i32>,
    event_at: Option<Timestamp>,
    event: Option<EventId>,
    due_at: Option<Timestamp>,
    attempts: Option<i16>,
    starts: Option<i16>,
    lone_starts: Option<i16>,
}

impl LoadedRow {
    fn key(&self) -> EndpointKey {
        EndpointKey { merchant: self.merchant, endpoint: self.endpoint }
    }

    fn health(&self) -> Option<StoredHealth> {
        Some(StoredHealth {
            last_success_at: self.last_success_at,
            failing_since: self.failing_since,
            consecutive_failures: self.consecutive_failures?,
            probe_at: self.probe_at,
            latency: self.latency_ms.map(|it| Duration::from_millis(u64::from(it.unsigned_abs()))),
        })
    }

    fn pending(&self) -> Option<Pending> {
        Some(Pending {
            event_at: self.event_at?,
            event: self.event?,
            due_at: self.due_at?,
            counts: StartCounts {
                attempts: self.attempts?,
                starts: self.starts?,
                lone_starts: self.lone_starts?,
            },
        })
    }
}

/// What is to be read. An endpoint of which nothing is known is never left out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'read> {
    pub(crate) merchants: &'read [MerchantId],
    /// Endpoints of them that are left out.
    pub(crate) skipped: &'read [EndpointId],
}

/// Returns the enabled endpoints of stores with their first pending deliveries: `limit` of an endpoint whose last attempt
/// succeeded and whose last requests were not `slow` (`Health::class`), `unproven_limit` of any other. The health of each is read
/// by its key: a join of some hundred would read the health of all endpoints there are.
pub(crate) async fn load(
    sql: &mut PgConnection,
    wanted: Wanted<'_>,
    limit: i64,
    unproven_limit: i64,
    slow: Duration,
) -> sqlx::Result<Vec<Loaded>> {
    let slow_ms = i32::try_from(slow.as_millis()).unwrap_or(i32::MAX);
    let mut rows = sqlx::query_as!(
        LoadedRow,
        r#"SELECT endpoint.merchant_id AS "merchant: MerchantId", endpoint.endpoint_id AS "endpoint: EndpointId",
                  endpoint.health_version, health.last_success_at AS "last_success_at?: Timestamp",
                  health.failing_since AS "failing_since?: Timestamp",
                  health.consecutive_failures AS "consecutive_failures?", health.probe_at AS "probe_at?: Timestamp",
                  health.latency_ms AS "latency_ms?",
                  first.event_at AS "event_at?: Timestamp", first.event_id AS "event?: EventId",
                  first.due_at AS "due_at?: Timestamp", first.attempts AS "attempts?", first.starts AS "starts?",
                  first.lone_starts AS "lone_starts?"
           FROM webhook_endpoint AS endpoint
           LEFT JOIN LATERAL (
               SELECT last_success_at, failing_since, consecutive_failures, probe_at, latency_ms
               FROM webhook_health AS health
               WHERE health.merchant_id = endpoint.merchant_id AND health.endpoint_id = endpoint.endpoint_id
               LIMIT 1) AS health ON true
           LEFT JOIN LATERAL (
               SELECT * FROM (
                   SELECT event_at, event_id, due_at, attempts, starts, lone_starts FROM webhook_delivery AS delivery
                   WHERE delivery.merchant_id = endpoint.merchant_id AND delivery.endpoint_id = endpoint.endpoint_id
                     AND delivery.dead_at IS NULL
                   ORDER BY delivery.due_at LIMIT $2) AS most
               LIMIT CASE WHEN health.last_success_at IS NOT NULL AND health.consecutive_failures = 0
                               AND coalesce(health.latency_ms, 0) <= $4
                          THEN $2::bigint ELSE $3::bigint END) AS first ON true
           WHERE endpoint.merchant_id = ANY ($1) AND endpoint.status = 'enabled' AND endpoint.endpoint_id <> ALL ($5)
           ORDER BY endpoint.merchant_id, endpoint.endpoint_id, first.due_at"#,
        wanted.merchants as &[MerchantId],
        limit,
        unproven_limit,
        slow_ms,
        wanted.skipped as &[EndpointId],
    )
    .fetch(sql);
    let mut loaded: Vec<Loaded> = Vec::new();
    while let Some(row) = rows.try_next().await? {
        let key = row.key();
        if loaded.last().is_none_or(|last| last.key != key) {
            let (health_version, health) = (row.health_version, row.health());
            loaded.push(Loaded { key, health_version, health, pending: Vec::new() });
        }
        if let Some(last) = loaded.last_mut() {
            last.pending.extend(row.pending());
        }
    }
    Ok(loaded)
}

/// The bodies of events.
pub(crate) type Bodies = HashMap<(MerchantId, EventId), Bytes>;

struct BodyRow {
    merchant: MerchantId,
    event: EventId,
    body: Vec<u8>,
}

/// Returns the bodies of the events of deliveries, each once. Missing ones are left out.
///
/// The buckets are passed, so that the partitions are selected when the statement is planned.
pub(crate) async fn bodies(
    sql: &mut PgConnection,
    deliveries: impl Iterator<Item = &DeliveryKey>,
) -> sqlx::Result<Bodies> {
    let wanted: BTreeSet<(MerchantId, EventId, Timestamp)> =
        deliveries.map(|key| (key.endpoint.merchant, key.event, key.event_at)).collect();
    let merchants: Vec<MerchantId> = wanted.iter().map(|(merchant, ..)| *merchant).collect();
    let events: Vec<EventId> = wanted.iter().map(|(_, event, _)| *event).collect();
    let buckets: BTreeSet<i16> = wanted.iter().map(|(.., at)| bucket::of(*at)).collect();
    let buckets: Vec<i16> = buckets.into_iter().collect();
    let rows = sqlx::query_as!(
        BodyRow,
        r#"SELECT stored.merchant_id AS "merchant: MerchantId", stored.event_id AS "event: EventId", stored.body
           FROM unnest($1::uuid[], $2::uuid[]) AS given (merchant_id, event_id)
           JOIN webhook_body AS stored
             ON stored.merchant_id = given.merchant_id AND stored.event_id = given.event_id
            AND stored.bucket = ANY ($3::smallint[])"#,
        &merchants as &[MerchantId],
        &events as &[EventId],
        &buckets,
    );
    let rows = rows.fetch_all(sql).await?.into_iter();
    Ok(rows.map(|row| ((row.merchant, row.event), Bytes::from(row.body))).collect())
}

/// A delivery whose attempt is to begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Startable {
    pub(crate) key: DeliveryKey,
    /// As it was loaded. If the row has other attempts or starts, something else has decided about it, and it is not started.
    pub(crate) counts: StartCounts,
}

/// A delivery whose start is recorded, with the data of its endpoint, as it is now.
pub(crate) struct Started {
    pub(crate) key: DeliveryKey,
    /// With this start.
    pub(crate) counts: StartCounts,
    pub(crate) url: String,
    /// Of the health of the endpoint.
    pub(crate) health_version: i32,
    pub(crate) secret: Vec<u8>,
    pub(crate) former_secret: Option<Vec<u8>>,
    pub(crate) former_secret_until: Option<Timestamp>,
}

struct StartedRow {
    merchant: MerchantId,
    endpoint: EndpointId,
    event_at: Timestamp,
    event: EventId,
    attempts: i16,
    starts: i16,
    lone_starts: i16,
    url: String,
    health_version: i32,
    secret: Vec<u8>,
    former_secret: Option<Vec<u8>>,
    former_secret_until: Option<Timestamp>,
}

impl From<StartedRow> for Started {
    fn from(row: StartedRow) -> Self {
        let endpoint = EndpointKey { merchant: row.merchant, endpoint: row.endpoint };
        Self {
            key: DeliveryKey { endpoint, event_at: row.event_at, event: row.event },
            counts: StartCounts {
                attempts: row.attempts,
                starts: row.starts,
                lone_starts: row.lone_starts,
            },
            url: row.url,
            health_version: row.health_version,
            secret: row.secret,
            former_secret: row.former_secret,
            former_secret_until: row.former_secret_until,
        }
    }
}

/// Records that attempts of deliveries begin, beside which nothing else runs if `is_alone` is set, and returns them
/// with the data of their endpoint. Those that do not exist any more, those of disabled or deleted endpoints, and those
/// that another transaction has locked, or just changed, are left out: whoever changes a delivery wakes its store.
///
/// Each row is found by its key and then changed at its place, for the reason given at [`settle`](super::settlement::settle). That it
/// is pending is no condition on the table: it would permit the index of pending rows, by which all of the endpoint are read.
pub(crate) async fn start(
    work: &mut Work,
    deliveries: &[Startable],
    is_alone: bool,
) -> sqlx::Result<Vec<Started>> {
    let Keys { merchants, endpoints, event_times, events } =
        Keys::of(deliveries.iter().map(|it| &it.key));
    let attempts: Vec<i16> = deliveries.iter().map(|it| it.counts.attempts).collect();
    let starts: Vec<i16> = deliveries.iter().map(|it| it.counts.starts).collect();
    let rows = sqlx::query_as!(
        StartedRow,
        r#"WITH given AS MATERIALIZED (
               SELECT key.merchant_id, key.endpoint_id, stored.place, stored.is_pending
               FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::uuid[], $6::smallint[], $7::smallint[])
                    AS key (merchant_id, endpoint_id, event_at, event_id, attempts, starts)
               CROSS JOIN LATERAL (
                   SELECT delivery.ctid AS place, delivery.attempts, delivery.starts, delivery.dead_at IS NULL AS is_pending
                   FROM webhook_delivery AS delivery
                   WHERE delivery.merchant_id = key.merchant_id AND delivery.endpoint_id = key.endpoint_id
                     AND delivery.event_at = key.event_at AND delivery.event_id = key.event_id
                   FOR NO KEY UPDATE SKIP LOCKED) AS stored
               WHERE stored.attempts = key.attempts AND stored.starts = key.starts
           )
           UPDATE webhook_delivery AS delivery
           SET starts = delivery.starts + 1,
               lone_starts = CASE WHEN $5 THEN delivery.lone_starts + 1 ELSE delivery.lone_starts END
           FROM given
           JOIN webhook_endpoint AS endpoint
             ON endpoint.merchant_id = given.merchant_id AND endpoint.endpoint_id = given.endpoint_id
            AND endpoint.status = 'enabled'
           WHERE delivery.ctid = given.place AND given.is_pending
           RETURNING delivery.merchant_id AS "merchant: MerchantId", delivery.endpoint_id AS "endpoint: EndpointId",
                     delivery.event_at AS "event_at: Timestamp", delivery.event_id AS "event: EventId",
                     delivery.attempts, delivery.starts, delivery.lone_starts, endpoint.url, endpoint.health_version,
                     endpoint.secret, endpoint.former_secret AS "former_secret?",
                     endpoint.former_secret_until AS "former_secret_until?: Timestamp""#,
        &merchants as &[MerchantId],
        &endpoints as &[EndpointId],
        &event_times as &[Timestamp],
        &events as &[EventId],
        is_alone,
        &attempts,
        &starts,
    )
    .fetch_all(work.sql())
    .await?;
    Ok(rows.into_iter().map(Started::from).collect())
}

/// The columns of delivery keys, for `unnest`.
pub(super) struct Keys {
    pub(super) merchants: Vec<MerchantId>,
    pub(super) endpoints: Vec<EndpointId>,
    pub(super) event_times: Vec<Timestamp>,
    pub(super) events: Vec<EventId>,
}

impl Keys {
    pub(super) fn of<'key>(keys: impl ExactSizeIterator<Item = &'key DeliveryKey>) -> Self {
        let count = keys.len();
        let mut columns = Self {
            merchants: Vec::with_capacity(count),
            endpoints: Vec::with_capacity(count),
            event_times: Vec::with_capacity(count),
            events: Vec::with_capacity(count),
        };
        for key in keys {
            columns.merchants.push(key.endpoint.merchant);
            columns.endpoints.push(key.endpoint.endpoint);
            columns.event_times.push(key.event_at);
            columns.events.push(key.event);
        }
        columns
    }
}
