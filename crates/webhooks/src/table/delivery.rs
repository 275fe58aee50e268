//! Deliveries as the dispatcher sees them: loading and starting.

use database::Work;
use primitives::{EndpointId, EventId, MerchantId, Timestamp};

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
    /// Attempts that failed.
    pub(crate) attempts: i16,
    /// Attempts that began.
    pub(crate) starts: i16,
}

/// What is known about an endpoint from its attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredHealth {
    pub(crate) last_success_at: Option<Timestamp>,
    pub(crate) failing_since: Option<Timestamp>,
    pub(crate) consecutive_failures: i32,
    pub(crate) probe_at: Option<Timestamp>,
}

/// An enabled endpoint with its first deliveries.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub(crate) key: EndpointKey,
    /// `None` if nothing was sent since it was created, enabled or moved.
    pub(crate) health: Option<StoredHealth>,
    /// The first ones by due time, due or not.
    pub(crate) pending: Vec<Pending>,
}

struct LoadedRow {
    merchant: MerchantId,
    endpoint: EndpointId,
    last_success_at: Option<Timestamp>,
    failing_since: Option<Timestamp>,
    consecutive_failures: Option<i32>,
    probe_at: Option<Timestamp>,
    event_at: Option<Timestamp>,
    event: Option<EventId>,
    due_at: Option<Timestamp>,
    attempts: Option<i16>,
    starts: Option<i16>,
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
        })
    }

    fn pending(&self) -> Option<Pending> {
        Some(Pending {
            event_at: self.event_at?,
            event: self.event?,
            due_at: self.due_at?,
            attempts: self.attempts?,
            starts: self.starts?,
        })
    }
}

/// Returns the enabled endpoints of stores, each with its first `limit` pending deliveries.
pub(crate) async fn load(
    work: &mut Work,
    merchants: &[MerchantId],
    limit: i64,
) -> sqlx::Result<Vec<Loaded>> {
    let rows = sqlx::query_as!(
        LoadedRow,
        r#"SELECT endpoint.merchant_id AS "merchant: MerchantId", endpoint.endpoint_id AS "endpoint: EndpointId",
                  health.last_success_at AS "last_success_at?: Timestamp",
                  health.failing_since AS "failing_since?: Timestamp",
                  health.consecutive_failures AS "consecutive_failures?", health.probe_at AS "probe_at?: Timestamp",
                  first.event_at AS "event_at?: Timestamp", first.event_id AS "event?: EventId",
                  first.due_at AS "due_at?: Timestamp", first.attempts AS "attempts?", first.starts AS "starts?"
           FROM webhook_endpoint AS endpoint
           LEFT JOIN webhook_health AS health
             ON health.merchant_id = endpoint.merchant_id AND health.endpoint_id = endpoint.endpoint_id
           LEFT JOIN LATERAL (
               SELECT event_at, event_id, due_at, attempts, starts FROM webhook_delivery AS delivery
               WHERE delivery.merchant_id = endpoint.merchant_id AND delivery.endpoint_id = endpoint.endpoint_id
                 AND delivery.dead_at IS NULL
               ORDER BY delivery.due_at LIMIT $2) AS first ON true
           WHERE endpoint.merchant_id = ANY ($1) AND endpoint.status = 'enabled'
           ORDER BY endpoint.merchant_id, endpoint.endpoint_id, first.due_at"#,
        merchants as &[MerchantId],
        limit,
    )
    .fetch_all(work.sql())
    .await?;
    let mut loaded: Vec<Loaded> = Vec::new();
    for row in rows {
        let key = row.key();
        if loaded.last().is_none_or(|last| last.key != key) {
            loaded.push(Loaded { key, health: row.health(), pending: Vec::new() });
        }
        if let Some(last) = loaded.last_mut() {
            last.pending.extend(row.pending());
        }
    }
    Ok(loaded)
}

/// A delivery whose start is recorded, with everything that an attempt needs, as it is now.
pub(crate) struct Started {
    pub(crate) key: DeliveryKey,
    pub(crate) attempts: i16,
    pub(crate) starts: i16,
    pub(crate) url: String,
    /// The version of the endpoint.
    pub(crate) version: i32,
    pub(crate) secret: Vec<u8>,
    pub(crate) former_secret: Option<Vec<u8>>,
    pub(crate) former_secret_until: Option<Timestamp>,
    /// `None` if its retention has ended.
    pub(crate) body: Option<Vec<u8>>,
}

struct StartedRow {
    merchant: MerchantId,
    endpoint: EndpointId,
    event_at: Timestamp,
    event: EventId,
    attempts: i16,
    starts: i16,
    url: String,
    version: i32,
    secret: Vec<u8>,
    former_secret: Option<Vec<u8>>,
    former_secret_until: Option<Timestamp>,
    body: Option<Vec<u8>>,
}

impl From<StartedRow> for Started {
    fn from(row: StartedRow) -> Self {
        let endpoint = EndpointKey { merchant: row.merchant, endpoint: row.endpoint };
        Self {
            key: DeliveryKey { endpoint, event_at: row.event_at, event: row.event },
            attempts: row.attempts,
            starts: row.starts,
            url: row.url,
            version: row.version,
            secret: row.secret,
            former_secret: row.former_secret,
            former_secret_until: row.former_secret_until,
            body: row.body,
        }
    }
}

/// Records that attempts of deliveries begin, and returns them with the data of their endpoint and event. Those that do not
/// exist any more, and those of disabled or deleted endpoints, are left out.
pub(crate) async fn start(
    work: &mut Work,
    deliveries: &[DeliveryKey],
) -> sqlx::Result<Vec<Started>> {
    let Keys { merchants, endpoints, event_times, events } = Keys::of(deliveries.iter());
    let rows = sqlx::query_as!(
        StartedRow,
        r#"WITH marked AS (
               UPDATE webhook_delivery AS delivery SET starts = delivery.starts + 1
               FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::uuid[])
                    AS given (merchant_id, endpoint_id, event_at, event_id)
               JOIN webhook_endpoint AS endpoint
                 ON endpoint.merchant_id = given.merchant_id AND endpoint.endpoint_id = given.endpoint_id
                AND endpoint.status = 'enabled'
               WHERE delivery.merchant_id = given.merchant_id AND delivery.endpoint_id = given.endpoint_id
                 AND delivery.event_at = given.event_at AND delivery.event_id = given.event_id
                 AND delivery.dead_at IS NULL
               RETURNING delivery.merchant_id, delivery.endpoint_id, delivery.event_at, delivery.event_id,
                         delivery.attempts, delivery.starts, endpoint.url, endpoint.version, endpoint.secret,
                         endpoint.former_secret, endpoint.former_secret_until
           )
           SELECT marked.merchant_id AS "merchant: MerchantId", marked.endpoint_id AS "endpoint: EndpointId",
                  marked.event_at AS "event_at: Timestamp", marked.event_id AS "event: EventId",
                  marked.attempts, marked.starts, marked.url, marked.version, marked.secret,
                  marked.former_secret AS "former_secret?",
                  marked.former_secret_until AS "former_secret_until?: Timestamp", stored.body AS "body?"
           FROM marked
           LEFT JOIN LATERAL (
               SELECT webhook_body.body FROM webhook_body
               WHERE webhook_body.bucket = webhook_bucket(marked.event_at)
                 AND webhook_body.merchant_id = marked.merchant_id AND webhook_body.event_id = marked.event_id
               LIMIT 1) AS stored ON true"#,
        &merchants as &[MerchantId],
        &endpoints as &[EndpointId],
        &event_times as &[Timestamp],
        &events as &[EventId],
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
