//! Queuing events again. Those of a release that did not deliver have their body in the header, from which it is copied.

use std::collections::BTreeSet;

use database::Work;
use primitives::{EndpointId, EventId, MerchantId, Timestamp};

use crate::{EventKind, EventPosition};

/// Queues an event for an endpoint, due now: one that was delivered or never sent, and a dead letter, from the first attempt
/// on; a pending one without waiting for its next attempt. Returns `false` if the store has no such event since `oldest`.
pub(crate) async fn one(
    work: &mut Work,
    merchant: MerchantId,
    endpoint: EndpointId,
    event: EventId,
    oldest: Timestamp,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "WITH event AS (
             SELECT merchant_id, event_id, created_at, body FROM webhook_event
             WHERE merchant_id = $1 AND event_id = $3 AND created_at >= $5
               AND (kind <> 'webhook.test' OR subject = $2)
         ), moved AS (
             INSERT INTO webhook_body (bucket, merchant_id, event_id, body, created_at)
             SELECT webhook_bucket(created_at), merchant_id, event_id, body, created_at FROM event
             WHERE body IS NOT NULL
             ON CONFLICT DO NOTHING
         ), queued AS (
             INSERT INTO webhook_delivery (merchant_id, endpoint_id, event_at, event_id, due_at, attempts, starts)
             SELECT merchant_id, $2::uuid, created_at, event_id, $4::timestamptz, 0, 0 FROM event
             ON CONFLICT (merchant_id, endpoint_id, event_at, event_id) DO UPDATE SET
                 due_at = excluded.due_at, dead_at = NULL,
                 attempts = CASE WHEN webhook_delivery.dead_at IS NULL THEN webhook_delivery.attempts ELSE 0 END,
                 starts = CASE WHEN webhook_delivery.dead_at IS NULL THEN webhook_delivery.starts ELSE 0 END,
                 lone_starts = CASE WHEN webhook_delivery.dead_at IS NULL THEN webhook_delivery.lone_starts ELSE 0 END
             RETURNING event_id
         )
         INSERT INTO webhook_wake (merchant_id) SELECT $1 WHERE EXISTS (SELECT FROM queued)",
        merchant as MerchantId,
        endpoint as EndpointId,
        event as EventId,
        now as Timestamp,
        oldest as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Puts the delivery of an event before everything that is pending at the endpoint, so that it is the next one that is attempted
/// and the probe of an open circuit. One that is being attempted stays where it is: its result would be taken for the requested one.
pub(crate) async fn put_first(
    work: &mut Work,
    merchant: MerchantId,
    endpoint: EndpointId,
    event: EventId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE webhook_delivery AS requested
         SET due_at = least(requested.due_at, (
             SELECT pending.due_at - interval '1 microsecond' FROM webhook_delivery AS pending
             WHERE pending.merchant_id = $1 AND pending.endpoint_id = $2 AND pending.dead_at IS NULL
               AND pending.event_id <> $3
             ORDER BY pending.due_at LIMIT 1))
         FROM webhook_event AS event
         WHERE event.merchant_id = $1 AND event.event_id = $3 AND requested.merchant_id = $1
           AND requested.endpoint_id = $2 AND requested.event_at = event.created_at AND requested.event_id = $3
           AND requested.dead_at IS NULL AND requested.starts = requested.attempts",
        merchant as MerchantId,
        endpoint as EndpointId,
        event as EventId,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Lets the first pending delivery to an endpoint be due now: if it is in flight, again when that has failed.
pub(crate) async fn advance_first(
    work: &mut Work,
    merchant: MerchantId,
    endpoint: EndpointId,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "WITH first AS MATERIALIZED (
             SELECT event_at, event_id FROM webhook_delivery
             WHERE merchant_id = $1 AND endpoint_id = $2 AND dead_at IS NULL
             ORDER BY due_at LIMIT 1)
         UPDATE webhook_delivery AS pending SET due_at = $3 FROM first
         WHERE pending.merchant_id = $1 AND pending.endpoint_id = $2 AND pending.event_at = first.event_at
           AND pending.event_id = first.event_id AND pending.dead_at IS NULL
           AND (pending.due_at > $3 OR pending.starts > pending.attempts)",
        merchant as MerchantId,
        endpoint as EndpointId,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// A part of the events of a range.
pub(crate) struct Page {
    /// The last event that was looked at; `None` if there was none.
    pub(crate) last: Option<EventPosition>,
    /// Events that were looked at.
    pub(crate) seen: i64,
    /// Events that were queued.
    pub(crate) queued: i64,
}

impl Page {
    /// Returns where the next part begins; `None` if this is the last one of the range.
    pub(crate) fn next(&self, limit: i64) -> Option<EventPosition> {
        self.last.filter(|_| self.seen >= limit)
    }
}

/// What is looked at in one statement.
pub(crate) struct Range<'range> {
    pub(crate) after: EventPosition,
    pub(crate) until: Timestamp,
    pub(crate) kinds: &'range BTreeSet<EventKind>,
    /// Most events to look at.
    pub(crate) limit: i64,
}

struct PageRow {
    seen: i64,
    queued: i64,
    last_at: Option<Timestamp>,
    last_id: Option<EventId>,
}

/// Queues the events of a range that an endpoint has not received: those of its kinds that were never delivered to it, and all
/// dead letters. Pending and delivered ones stay as they are, and pending ones are not locked: results of them are being recorded.
pub(crate) async fn range(
    work: &mut Work,
    merchant: MerchantId,
    endpoint: EndpointId,
    range: &Range<'_>,
) -> sqlx::Result<Page> {
    let now = work.now();
    let kinds: Vec<String> = range.kinds.iter().map(ToString::to_string).collect();
    let row = sqlx::query_as!(
        PageRow,
        r#"WITH page AS MATERIALIZED (
             SELECT event_id, created_at, kind, body FROM webhook_event
             WHERE merchant_id = $1 AND created_at >= $3 AND (created_at, event_id) > ($3, $4) AND created_at < $5
             ORDER BY created_at, event_id LIMIT $6
         ), received AS MATERIALIZED (
             SELECT event_id FROM webhook_attempt
             WHERE merchant_id = $1 AND endpoint_id = $2 AND outcome = 'delivered'
               AND event_at >= (SELECT min(created_at) FROM page) AND event_at <= (SELECT max(created_at) FROM page)
         ), moved AS (
             INSERT INTO webhook_body (bucket, merchant_id, event_id, body, created_at)
             SELECT webhook_bucket(created_at), $1::uuid, event_id, body, created_at FROM page WHERE body IS NOT NULL
             ON CONFLICT DO NOTHING
         ), queued AS (
             INSERT INTO webhook_delivery (merchant_id, endpoint_id, event_at, event_id, due_at, attempts, starts)
             SELECT $1::uuid, $2::uuid, created_at, event_id, $7::timestamptz, 0, 0 FROM page
             WHERE (kind = ANY ($8::text[])
                    AND NOT EXISTS (SELECT FROM received WHERE received.event_id = page.event_id)
                    AND NOT EXISTS (SELECT FROM webhook_delivery AS pending
                                    WHERE pending.merchant_id = $1 AND pending.endpoint_id = $2
                                      AND pending.event_at = page.created_at AND pending.event_id = page.event_id
                                      AND pending.dead_at IS NULL))
                OR EXISTS (SELECT FROM webhook_delivery AS dead
                           WHERE dead.merchant_id = $1 AND dead.endpoint_id = $2 AND dead.event_at = page.created_at
                             AND dead.event_id = page.event_id AND dead.dead_at IS NOT NULL)
             ON CONFLICT (merchant_id, endpoint_id, event_at, event_id) DO UPDATE SET
                 due_at = excluded.due_at, attempts = 0, starts = 0, lone_starts = 0, dead_at = NULL
             WHERE webhook_delivery.dead_at IS NOT NULL
             RETURNING event_id
         ), wake AS (
             INSERT INTO webhook_wake (merchant_id) SELECT $1 WHERE EXISTS (SELECT FROM queued)
         )
         SELECT (SELECT count(*) FROM page) AS "seen!", (SELECT count(*) FROM queued) AS "queued!",
                newest.created_at AS "last_at?: Timestamp", newest.event_id AS "last_id?: EventId"
         FROM (SELECT 1) AS single
         LEFT JOIN (SELECT created_at, event_id FROM page ORDER BY created_at DESC, event_id DESC LIMIT 1) AS newest
           ON true"#,
        merchant as MerchantId,
        endpoint as EndpointId,
        range.after.at as Timestamp,
        range.after.id as EventId,
        range.until as Timestamp,
        range.limit,
        now as Timestamp,
        &kinds,
    )
    .fetch_one(work.sql())
    .await?;
    let last = row.last_at.zip(row.last_id).map(|(at, id)| EventPosition { at, id });
    Ok(Page { last, seen: row.seen, queued: row.queued })
}
