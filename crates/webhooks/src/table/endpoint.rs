//! Endpoints, and what follows from a change of one.

use std::collections::BTreeSet;

use database::Work;
use primitives::{EndpointId, MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::table::delivery::EndpointKey;
use crate::{DisabledReason, Endpoint, EndpointStatus, EventKind};

struct Row {
    id: EndpointId,
    url: String,
    description: String,
    kinds: Vec<String>,
    status: EndpointStatus,
    disabled_reason: Option<DisabledReason>,
    disabled_at: Option<Timestamp>,
    from_settings: bool,
    former_secret_until: Option<Timestamp>,
    version: i32,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl TryFrom<Row> for Endpoint {
    type Error = sqlx::Error;
    fn try_from(row: Row) -> sqlx::Result<Self> {
        let kinds: Result<BTreeSet<EventKind>, _> = row.kinds.iter().map(|it| it.parse()).collect();
        Ok(Self {
            id: row.id,
            url: row.url,
            description: row.description,
            kinds: kinds.map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
            status: row.status,
            disabled_reason: row.disabled_reason,
            disabled_at: row.disabled_at,
            from_settings: row.from_settings,
            former_secret_until: row.former_secret_until,
            version: row.version,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

/// Selects endpoints of a store.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Selection {
    All,
    One(EndpointId),
    /// The one of `webhook_url`.
    OfSettings,
}

/// Returns endpoints of a store, the oldest first.
pub(crate) async fn select(
    sql: &mut PgConnection,
    merchant: MerchantId,
    selection: Selection,
) -> sqlx::Result<Vec<Endpoint>> {
    let (id, of_settings) = match selection {
        Selection::All => (None, false),
        Selection::One(id) => (Some(id), false),
        Selection::OfSettings => (None, true),
    };
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT endpoint_id AS "id: EndpointId", url, description, kinds, status AS "status: EndpointStatus",
                  disabled_reason AS "disabled_reason: DisabledReason", disabled_at AS "disabled_at: Timestamp",
                  from_settings, former_secret_until AS "former_secret_until: Timestamp", version,
                  created_at AS "created_at: Timestamp", updated_at AS "updated_at: Timestamp"
           FROM webhook_endpoint
           WHERE merchant_id = $1 AND ($2::uuid IS NULL OR endpoint_id = $2) AND (from_settings OR NOT $3)
           ORDER BY created_at, endpoint_id"#,
        merchant as MerchantId,
        id as Option<EndpointId>,
        of_settings,
    );
    rows.fetch_all(sql).await?.into_iter().map(Endpoint::try_from).collect()
}

/// Locks an endpoint until the transaction ends, and returns it.
pub(crate) async fn lock(
    work: &mut Work,
    merchant: MerchantId,
    id: EndpointId,
) -> sqlx::Result<Option<Endpoint>> {
    let locked = sqlx::query!(
        "SELECT slot FROM webhook_endpoint WHERE merchant_id = $1 AND endpoint_id = $2 FOR UPDATE",
        merchant as MerchantId,
        id as EndpointId,
    );
    if locked.fetch_optional(work.sql()).await?.is_none() {
        return Ok(None);
    }
    Ok(select(work.sql(), merchant, Selection::One(id)).await?.pop())
}

/// Inserts an enabled endpoint at a free slot. Returns `false` if there is none, or if another transaction took it.
pub(crate) async fn insert(
    work: &mut Work,
    merchant: MerchantId,
    endpoint: &Endpoint,
    secret: &[u8],
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "INSERT INTO webhook_endpoint
             (merchant_id, endpoint_id, slot, url, description, kinds, status, from_settings, secret, version,
              created_at, updated_at)
         SELECT $1, $2, free.slot, $3, $4, $5, 'enabled', $6, $7, $8, $9, $9
         FROM (SELECT number::smallint AS slot FROM generate_series(1, $10::integer) AS number
               EXCEPT SELECT slot FROM webhook_endpoint WHERE merchant_id = $1
               ORDER BY slot LIMIT 1) AS free
         ON CONFLICT (merchant_id, slot) DO NOTHING",
        merchant as MerchantId,
        endpoint.id as EndpointId,
        endpoint.url,
        endpoint.description,
        &names(&endpoint.kinds),
        endpoint.from_settings,
        secret,
        endpoint.version,
        endpoint.created_at as Timestamp,
        i32::try_from(Endpoint::COUNT_MAX).unwrap_or(i32::MAX),
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

pub(crate) async fn count(work: &mut Work, merchant: MerchantId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM webhook_endpoint WHERE merchant_id = $1"#,
        merchant as MerchantId,
    )
    .fetch_one(work.sql())
    .await
}

/// Stores what merchants change about an endpoint. The row is locked.
pub(crate) async fn update(
    work: &mut Work,
    merchant: MerchantId,
    endpoint: &Endpoint,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE webhook_endpoint
         SET url = $3, description = $4, kinds = $5, status = $6, disabled_reason = $7, disabled_at = $8, version = $9,
             updated_at = $10
         WHERE merchant_id = $1 AND endpoint_id = $2",
        merchant as MerchantId,
        endpoint.id as EndpointId,
        endpoint.url,
        endpoint.description,
        &names(&endpoint.kinds),
        endpoint.status.as_str(),
        endpoint.disabled_reason.map(DisabledReason::as_str),
        endpoint.disabled_at as Option<Timestamp>,
        endpoint.version,
        endpoint.updated_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Replaces the secret of an endpoint. The present one becomes the former one. A process that could not read it, and therefore
/// sends nothing, sees another version of the health. That is so at most once an hour: results of requests in flight do not count
/// then, and a receiver that hangs must not look healthy because its secret is rotated during each request.
pub(crate) async fn rotate_secret(
    work: &mut Work,
    merchant: MerchantId,
    endpoint: &Endpoint,
    secret: &[u8],
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE webhook_endpoint
         SET former_secret = secret, former_secret_until = $3, secret = $4, version = $5, updated_at = $6,
             health_version = CASE WHEN former_secret_until > $3::timestamptz - interval '1 hour' THEN health_version ELSE $5 END
         WHERE merchant_id = $1 AND endpoint_id = $2",
        merchant as MerchantId,
        endpoint.id as EndpointId,
        endpoint.former_secret_until as Option<Timestamp>,
        secret,
        endpoint.version,
        endpoint.updated_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Deletes an endpoint and what is known about its health. Its deliveries remain.
pub(crate) async fn delete(
    work: &mut Work,
    merchant: MerchantId,
    id: EndpointId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "WITH forgotten AS (DELETE FROM webhook_health WHERE merchant_id = $1 AND endpoint_id = $2)
         DELETE FROM webhook_endpoint WHERE merchant_id = $1 AND endpoint_id = $2",
        merchant as MerchantId,
        id as EndpointId,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Forgets the results of earlier attempts, and of those in flight. Called after the endpoint was updated.
pub(crate) async fn reset_health(
    work: &mut Work,
    merchant: MerchantId,
    id: EndpointId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "WITH forgotten AS (DELETE FROM webhook_health WHERE merchant_id = $1 AND endpoint_id = $2)
         UPDATE webhook_endpoint SET health_version = version WHERE merchant_id = $1 AND endpoint_id = $2",
        merchant as MerchantId,
        id as EndpointId,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Closes the pause of an open circuit, so that a dispatcher tries the endpoint at once and not only when the next probe is due. The
/// time is written even if a probe is due already: one that is being sent does not count as the requested one
/// ([`put_health`](super::settlement::put_health)). Returns whether the endpoint fails.
pub(crate) async fn probe_now(
    work: &mut Work,
    merchant: MerchantId,
    id: EndpointId,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE webhook_health SET probe_at = CASE WHEN probe_at IS NOT NULL THEN $3::timestamptz END
         WHERE merchant_id = $1 AND endpoint_id = $2 AND consecutive_failures > 0",
        merchant as MerchantId,
        id as EndpointId,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A part of the endpoints that fail.
#[derive(Debug)]
pub(crate) struct ProbedPage {
    /// Endpoints that were looked at.
    pub(crate) seen: i64,
    /// The last one of them; `None` if there was none.
    pub(crate) last: Option<EndpointKey>,
    /// Endpoints with a delivery that is due now.
    pub(crate) probed: i64,
}

struct ProbedRow {
    seen: i64,
    merchant: Option<MerchantId>,
    endpoint: Option<EndpointId>,
    probed: i64,
}

/// Lets the first pending delivery to every enabled endpoint that fails be due, of one store or of all, even if it is in flight: it is
/// attempted again then. Closes the pauses of open circuits, and wakes the stores. Looks at `limit` endpoints that fail, in the order of their keys, after a given one. One whose health
/// is being recorded is left out, and counts as looked at.
pub(crate) async fn probe_failing(
    work: &mut Work,
    store: Option<MerchantId>,
    after: Option<EndpointKey>,
    limit: i64,
) -> sqlx::Result<ProbedPage> {
    let now = work.now();
    let start = |id: Option<Uuid>| id.unwrap_or(Uuid::nil());
    let row = sqlx::query_as!(
        ProbedRow,
        r#"WITH page AS MATERIALIZED (
               SELECT merchant_id, endpoint_id FROM webhook_health
               WHERE consecutive_failures > 0 AND ($1::uuid IS NULL OR merchant_id = $1)
                 AND (merchant_id, endpoint_id) > ($3::uuid, $4::uuid)
               ORDER BY merchant_id, endpoint_id LIMIT $5
           ), failing AS MATERIALIZED (
               SELECT health.merchant_id, health.endpoint_id FROM page
               JOIN webhook_health AS health
                 ON health.merchant_id = page.merchant_id AND health.endpoint_id = page.endpoint_id
               WHERE health.consecutive_failures > 0
                 AND EXISTS (SELECT FROM webhook_endpoint AS endpoint
                             WHERE endpoint.merchant_id = page.merchant_id AND endpoint.endpoint_id = page.endpoint_id
                               AND endpoint.status = 'enabled')
               FOR NO KEY UPDATE OF health SKIP LOCKED
           ), probed AS (
               UPDATE webhook_health AS health SET probe_at = $2 FROM failing
               WHERE health.merchant_id = failing.merchant_id AND health.endpoint_id = failing.endpoint_id
                 AND health.probe_at IS NOT NULL
           ), first AS MATERIALIZED (
               SELECT failing.merchant_id, stored.place FROM failing
               CROSS JOIN LATERAL (
                   SELECT delivery.ctid AS place FROM webhook_delivery AS delivery
                   WHERE delivery.merchant_id = failing.merchant_id AND delivery.endpoint_id = failing.endpoint_id
                     AND delivery.dead_at IS NULL
                   ORDER BY delivery.due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) AS stored
           ), advanced AS (
               UPDATE webhook_delivery AS delivery SET due_at = $2 FROM first
               WHERE delivery.ctid = first.place AND (delivery.due_at > $2 OR delivery.starts > delivery.attempts)
           ), woken AS (
               INSERT INTO webhook_wake (merchant_id) SELECT DISTINCT merchant_id FROM first
           )
           SELECT (SELECT count(*) FROM page) AS "seen!", (SELECT count(*) FROM first) AS "probed!",
                  last.merchant_id AS "merchant?: MerchantId", last.endpoint_id AS "endpoint?: EndpointId"
           FROM (SELECT 1) AS single
           LEFT JOIN (SELECT merchant_id, endpoint_id FROM page ORDER BY merchant_id DESC, endpoint_id DESC LIMIT 1)
                AS last ON true"#,
        store as Option<MerchantId>,
        now as Timestamp,
        start(after.map(|key| key.merchant.uuid())),
        start(after.map(|key| key.endpoint.uuid())),
        limit,
    )
    .fetch_one(work.sql())
    .await?;
    let last = row.merchant.zip(row.endpoint);
    let last = last.map(|(merchant, endpoint)| EndpointKey { merchant, endpoint });
    Ok(ProbedPage { seen: row.seen, last, probed: row.probed })
}

/// Adds the store to those that dispatchers deliver for. An insert alone would wait for a dispatcher that is changing
/// the row.
pub(crate) async fn ensure_queue(work: &mut Work, merchant: MerchantId) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO webhook_queue (merchant_id)
         SELECT $1 WHERE NOT EXISTS (SELECT FROM webhook_queue WHERE merchant_id = $1)
         ON CONFLICT DO NOTHING",
        merchant as MerchantId,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Lets a dispatcher read the store again once the transaction has committed.
pub(crate) async fn wake(work: &mut Work, merchant: MerchantId) -> sqlx::Result<()> {
    sqlx::query!("INSERT INTO webhook_wake (merchant_id) VALUES ($1)", merchant as MerchantId,)
        .execute(work.sql())
        .await?;
    Ok(())
}

fn names(kinds: &BTreeSet<EventKind>) -> Vec<String> {
    kinds.iter().map(ToString::to_string).collect()
}
