//! Deliveries and attempts as merchants see them.

use std::collections::HashMap;
use std::ops::Range;

use primitives::{EndpointId, EventId, MerchantId, Timestamp};
use sqlx::PgConnection;

use crate::{
    Attempt, AttemptOutcome, DeliveriesFilter, Delivery, DeliveryStatus, EndpointError,
    EndpointHealth, EventKind, EventPosition,
};

/// Returns whether the store has the endpoint.
pub(crate) async fn exists(
    sql: &mut PgConnection,
    merchant: MerchantId,
    endpoint: EndpointId,
) -> sqlx::Result<bool> {
    let found = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM webhook_endpoint WHERE merchant_id = $1 AND endpoint_id = $2) AS "exists!""#,
        merchant as MerchantId,
        endpoint as EndpointId,
    );
    found.fetch_one(sql).await
}

/// Returns the time of an event.
pub(crate) async fn event_at(
    sql: &mut PgConnection,
    merchant: MerchantId,
    event: EventId,
) -> sqlx::Result<Option<Timestamp>> {
    let found = sqlx::query_scalar!(
        r#"SELECT created_at AS "created_at: Timestamp" FROM webhook_event WHERE merchant_id = $1 AND event_id = $2"#,
        merchant as MerchantId,
        event as EventId,
    );
    found.fetch_optional(sql).await
}

/// Which deliveries are listed.
pub(crate) struct Selected<'filter> {
    /// Times of their events, both inclusive.
    pub(crate) range: Range<Timestamp>,
    /// Only deliveries after this position.
    pub(crate) after: EventPosition,
    pub(crate) filter: &'filter DeliveriesFilter,
}

/// A row of a list, at its position.
pub(crate) struct Listed {
    pub(crate) position: EventPosition,
    /// `None` if it is listed elsewhere, or its event is gone.
    pub(crate) delivery: Option<Delivery>,
}

struct DeliveryRow {
    event: EventId,
    kind: Option<EventKind>,
    event_at: Timestamp,
    status: DeliveryStatus,
    attempts: i16,
    due_at: Option<Timestamp>,
    /// Whether the queue has the event too.
    is_queued_again: bool,
}

impl From<DeliveryRow> for Listed {
    fn from(row: DeliveryRow) -> Self {
        let DeliveryRow { event, kind, event_at, status, attempts, due_at, is_queued_again } = row;
        let delivery = kind.filter(|_| !is_queued_again).map(|kind| Delivery {
            event,
            kind,
            event_at,
            status,
            attempts,
            next_attempt_at: due_at,
            attempt_log: Vec::new(),
        });
        Self { position: EventPosition { at: event_at, id: event }, delivery }
    }
}

/// Returns pending deliveries and dead letters of an endpoint, those of the newest events first.
pub(crate) async fn queued(
    sql: &mut PgConnection,
    merchant: MerchantId,
    endpoint: EndpointId,
    selected: &Selected<'_>,
) -> sqlx::Result<Vec<Listed>> {
    let Selected { range, after, filter } = selected;
    let rows = sqlx::query_as!(
        DeliveryRow,
        r#"SELECT queued.event_id AS "event: EventId", event.kind AS "kind?: EventKind",
                  queued.event_at AS "event_at: Timestamp", queued.attempts,
                  CASE WHEN queued.dead_at IS NULL THEN 'pending' ELSE 'dead' END AS "status!: DeliveryStatus",
                  CASE WHEN queued.dead_at IS NULL AND endpoint.status = 'enabled'
                       THEN greatest(queued.due_at, health.probe_at) END AS "due_at: Timestamp",
                  false AS "is_queued_again!"
           FROM (SELECT event_at, event_id, attempts, due_at, dead_at FROM webhook_delivery
                 WHERE merchant_id = $1 AND endpoint_id = $2 AND event_at >= $3 AND event_at <= $4
                   AND (event_at, event_id) < ($5, $6) AND ($7::uuid IS NULL OR event_id = $7)
                   AND ($8::boolean IS NULL OR (dead_at IS NOT NULL) = $8)
                 ORDER BY event_at DESC, event_id DESC LIMIT $9) AS queued
           JOIN webhook_endpoint AS endpoint ON endpoint.merchant_id = $1 AND endpoint.endpoint_id = $2
           LEFT JOIN webhook_health AS health ON health.merchant_id = $1 AND health.endpoint_id = $2
           LEFT JOIN webhook_event AS event ON event.merchant_id = $1 AND event.event_id = queued.event_id
           ORDER BY queued.event_at DESC, queued.event_id DESC"#,
        merchant as MerchantId,
        endpoint as EndpointId,
        range.start as Timestamp,
        range.end as Timestamp,
        after.at as Timestamp,
        after.id as EventId,
        filter.event as Option<EventId>,
        filter.status.map(|status| status == DeliveryStatus::Dead),
        i64::from(filter.limit),
    );
    Ok(rows.fetch_all(sql).await?.into_iter().map(Listed::from).collect())
}

/// Returns the attempts by which events were delivered to an endpoint, those of the newest events first, and of an event the newest
/// first. The rows are limited before anything is joined: an endpoint may have millions.
pub(crate) async fn delivered(
    sql: &mut PgConnection,
    merchant: MerchantId,
    endpoint: EndpointId,
    selected: &Selected<'_>,
) -> sqlx::Result<Vec<Listed>> {
    let Selected { range, after, filter } = selected;
    let rows = sqlx::query_as!(
        DeliveryRow,
        r#"SELECT attempt.event_id AS "event: EventId", event.kind AS "kind?: EventKind",
                  attempt.event_at AS "event_at: Timestamp", 'delivered' AS "status!: DeliveryStatus",
                  attempt.number AS attempts, NULL::timestamptz AS "due_at: Timestamp",
                  EXISTS (SELECT FROM webhook_delivery AS again
                          WHERE again.merchant_id = $1 AND again.endpoint_id = $2
                            AND again.event_at = attempt.event_at AND again.event_id = attempt.event_id)
                      AS "is_queued_again!"
           FROM (SELECT event_at, event_id, attempted_at, number FROM webhook_attempt
                 WHERE merchant_id = $1 AND endpoint_id = $2 AND event_at >= $3 AND event_at <= $4
                   AND (event_at, event_id) < ($5, $6) AND ($7::uuid IS NULL OR event_id = $7)
                   AND outcome = 'delivered'
                 ORDER BY event_at DESC, event_id DESC, attempted_at DESC LIMIT $8) AS attempt
           LEFT JOIN webhook_event AS event ON event.merchant_id = $1 AND event.event_id = attempt.event_id
           ORDER BY attempt.event_at DESC, attempt.event_id DESC, attempt.attempted_at DESC"#,
        merchant as MerchantId,
        endpoint as EndpointId,
        range.start as Timestamp,
        range.end as Timestamp,
        after.at as Timestamp,
        after.id as EventId,
        filter.event as Option<EventId>,
        i64::from(filter.limit),
    );
    Ok(rows.fetch_all(sql).await?.into_iter().map(Listed::from).collect())
}

struct AttemptRow {
    event: EventId,
    number: i16,
    attempted_at: Timestamp,
    outcome: AttemptOutcome,
    status: Option<i16>,
    error: Option<String>,
    latency_ms: i32,
    response: Option<Vec<u8>>,
    next_at: Option<Timestamp>,
}

impl From<AttemptRow> for Attempt {
    fn from(row: AttemptRow) -> Self {
        Self {
            number: row.number,
            at: row.attempted_at,
            outcome: row.outcome,
            status: row.status,
            error: row.error,
            latency_ms: row.latency_ms,
            response: row.response,
            next_at: row.next_at,
        }
    }
}

/// Adds the newest attempt to each delivery.
pub(crate) async fn add_newest(
    sql: &mut PgConnection,
    merchant: MerchantId,
    endpoint: EndpointId,
    deliveries: &mut [Delivery],
) -> sqlx::Result<()> {
    let (times, ids): (Vec<Timestamp>, Vec<EventId>) =
        deliveries.iter().map(|it| (it.event_at, it.event)).unzip();
    let rows = sqlx::query_as!(
        AttemptRow,
        r#"SELECT attempt.event_id AS "event!: EventId", attempt.number AS "number!",
                  attempt.attempted_at AS "attempted_at!: Timestamp", attempt.outcome AS "outcome!: AttemptOutcome",
                  attempt.status AS "status?", attempt.error AS "error?", attempt.latency_ms AS "latency_ms!",
                  attempt.response AS "response?", attempt.next_at AS "next_at?: Timestamp"
           FROM unnest($3::timestamptz[], $4::uuid[]) AS wanted (event_at, event_id)
           CROSS JOIN LATERAL (
               SELECT event_id, number, attempted_at, outcome, status, error, latency_ms, response, next_at
               FROM webhook_attempt
               WHERE merchant_id = $1 AND endpoint_id = $2 AND event_at = wanted.event_at
                 AND event_id = wanted.event_id
               ORDER BY attempted_at DESC, number DESC LIMIT 1
           ) AS attempt"#,
        merchant as MerchantId,
        endpoint as EndpointId,
        &times as &[Timestamp],
        &ids as &[EventId],
    );
    let rows = rows.fetch_all(sql).await?;
    let mut found: HashMap<EventId, Attempt> =
        rows.into_iter().map(|row| (row.event, row.into())).collect();
    for delivery in deliveries {
        delivery.attempt_log.extend(found.remove(&delivery.event));
    }
    Ok(())
}

/// Most attempts of a delivery that are returned.
const ATTEMPTS_MAX: i64 = 100;

/// Returns the attempts of a delivery, the newest first.
pub(crate) async fn attempts(
    sql: &mut PgConnection,
    merchant: MerchantId,
    endpoint: EndpointId,
    event: EventPosition,
) -> sqlx::Result<Vec<Attempt>> {
    let rows = sqlx::query_as!(
        AttemptRow,
        r#"SELECT event_id AS "event: EventId", number, attempted_at AS "attempted_at: Timestamp",
                  outcome AS "outcome: AttemptOutcome", status, error, latency_ms, response,
                  next_at AS "next_at: Timestamp"
           FROM webhook_attempt
           WHERE merchant_id = $1 AND endpoint_id = $2 AND event_at = $3 AND event_id = $4
           ORDER BY attempted_at DESC, number DESC LIMIT $5"#,
        merchant as MerchantId,
        endpoint as EndpointId,
        event.at as Timestamp,
        event.id as EventId,
        ATTEMPTS_MAX,
    );
    Ok(rows.fetch_all(sql).await?.into_iter().map(Attempt::from).collect())
}

/// Returns the health of an endpoint, or `None` if the store has no such endpoint. Deliveries of events since `oldest` are counted.
pub(crate) async fn health(
    sql: &mut PgConnection,
    merchant: MerchantId,
    endpoint: EndpointId,
    oldest: Timestamp,
) -> Result<Option<EndpointHealth>, EndpointError> {
    let found = sqlx::query_as!(
        EndpointHealth,
        r#"SELECT health.last_attempt_at AS "last_attempt_at?: Timestamp",
                  health.last_success_at AS "last_success_at?: Timestamp",
                  health.failing_since AS "failing_since?: Timestamp",
                  coalesce(health.consecutive_failures, 0) AS "consecutive_failures!",
                  CASE WHEN endpoint.status = 'enabled' THEN health.probe_at END AS "probe_at?: Timestamp",
                  (SELECT count(*) FROM (SELECT FROM webhook_delivery
                                         WHERE merchant_id = $1 AND endpoint_id = $2 AND dead_at IS NULL
                                           AND event_at >= $4 LIMIT $3) AS counted) AS "pending!",
                  (SELECT count(*) FROM (SELECT FROM webhook_delivery
                                         WHERE merchant_id = $1 AND endpoint_id = $2 AND dead_at IS NOT NULL
                                           AND event_at >= $4 LIMIT $3) AS counted) AS "dead!"
           FROM webhook_endpoint AS endpoint
           LEFT JOIN webhook_health AS health
             ON health.merchant_id = endpoint.merchant_id AND health.endpoint_id = endpoint.endpoint_id
           WHERE endpoint.merchant_id = $1 AND endpoint.endpoint_id = $2"#,
        merchant as MerchantId,
        endpoint as EndpointId,
        EndpointHealth::COUNTED_MAX,
        oldest as Timestamp,
    );
    Ok(found.fetch_optional(sql).await?)
}
