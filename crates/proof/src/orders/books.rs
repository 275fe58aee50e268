//! The invariants of orders and what belongs to them, which hold after any sequence of changes. They are read with SQL alone.

use std::collections::BTreeSet;

use sqlx::PgConnection;

use crate::report::{Failure, ensure};

/// Row counts at the time of the check.
#[derive(Debug, Clone, Copy)]
pub(super) struct Totals {
    pub(super) orders: i64,
    /// Entries of the history.
    pub(super) entries: i64,
    /// Entries that are changes of a status; each has one event.
    pub(super) transitions: i64,
    pub(super) refunds: i64,
    pub(super) returns: i64,
    /// Minor units of all orders.
    pub(super) paid_minor: i64,
    pub(super) refunded_minor: i64,
}

/// Violations of the history, and the query that counts each.
const HISTORY: [(&str, &str); 6] = [
    ("an order whose history has a gap, or is shorter or longer than its version", "SELECT count(*) FROM placed_order AS o
        LEFT JOIN LATERAL (SELECT count(*) AS entries, min(sequence) AS first, max(sequence) AS last FROM order_history AS h
                           WHERE (h.merchant_id, h.order_id) = (o.merchant_id, o.order_id)) AS h ON true
        WHERE o.version <> 1 + h.entries OR (h.entries > 0 AND (h.first <> 2 OR h.last <> o.version))"),
    ("an entry that does not begin at the status of the entry before it", "SELECT count(*) FROM
        (SELECT previous_status, lag(status) OVER (PARTITION BY merchant_id, order_id ORDER BY sequence) AS before
         FROM order_history) AS entry WHERE before IS NOT NULL AND before <> previous_status"),
    ("a history that begins at a status that no new order has", "SELECT count(*) FROM order_history
        WHERE sequence = 2 AND previous_status NOT IN ('pending', 'manual_review')"),
    ("an order with another status than its newest entry", "SELECT count(*) FROM placed_order AS o JOIN order_history AS h
        ON (h.merchant_id, h.order_id, h.sequence) = (o.merchant_id, o.order_id, o.version) WHERE h.status <> o.status"),
    ("an entry of another kind that changes the status, or a change of the status to itself", "SELECT count(*) FROM order_history
        WHERE (kind = 'status_changed') = (previous_status = status)"),
    ("an entry without an actor it could have", "SELECT count(*) FROM order_history
        WHERE (actor IN ('agent', 'merchant', 'platform')) <> (actor_id IS NOT NULL)"),
];

/// The events with their bodies as JSON, in a table that has an index by order. Among a hundred thousand events of one store,
/// `webhook_event` would be read as a whole for each entry of the history.
const EVENTS_OF_ORDERS: &str = "DROP TABLE IF EXISTS event_of_order;
    CREATE TEMPORARY TABLE event_of_order AS
        SELECT merchant_id, subject, kind, convert_from(stored.body, 'UTF8')::jsonb AS body
        FROM webhook_event JOIN webhook_body AS stored USING (merchant_id, event_id)
        WHERE kind NOT IN ('checkout.abandoned', 'webhook.test', 'trust.score_changed');
    CREATE INDEX ON event_of_order (subject, kind);
    ANALYZE event_of_order, order_history, placed_order, outbox, order_refund, order_fulfillment, order_return";

/// Violations of the events, and the query that counts each. Orders of sandboxes and of the demo data have none.
const EVENTS: [(&str, &str); 4] = [
    ("an entry without exactly one event of its sequence", "SELECT count(*) FROM
        (SELECT h.merchant_id, h.order_id, h.sequence, CASE kind WHEN 'status_changed' THEN 'order.status_changed'
                    WHEN 'updated' THEN 'order.updated' WHEN 'lines_canceled' THEN 'order.updated'
                    WHEN 'payment_changed' THEN 'order.updated' WHEN 'refunded' THEN 'order.refunded' WHEN 'return_requested' THEN 'return.created'
                    WHEN 'return_changed' THEN 'return.updated' WHEN 'dispute_opened' THEN 'dispute.opened'
                    WHEN 'dispute_changed' THEN CASE WHEN details ->> 'dispute_status' IN ('resolved', 'withdrawn')
                                                     THEN 'dispute.resolved' END END AS event,
                h.previous_status, h.status, h.actor, h.kind
         FROM order_history AS h JOIN placed_order AS o USING (merchant_id, order_id)
         WHERE NOT o.is_sandbox AND o.payment_provider <> 'demo') AS entry
        WHERE event IS NOT NULL AND 1 <> (SELECT count(*) FROM event_of_order AS e
            WHERE (e.merchant_id, e.subject, e.kind) = (entry.merchant_id, entry.order_id, entry.event)
              AND (e.body ->> 'sequence')::int = entry.sequence AND e.body ->> 'status' = entry.status
              AND e.body ->> 'changedBy' = entry.actor
              AND (entry.kind <> 'status_changed' OR e.body ->> 'previousStatus' = entry.previous_status))"),
    ("an event without its entry", "SELECT count(*) FROM event_of_order AS e
        WHERE e.kind <> 'order.created' AND NOT EXISTS (SELECT FROM order_history AS h
            WHERE (h.merchant_id, h.order_id, h.sequence) = (e.merchant_id, e.subject, (e.body ->> 'sequence')::int))"),
    ("an outbox row of an order without its webhook event", "SELECT count(*) FROM
        (SELECT topic, subject, count(*) AS rows FROM outbox
         WHERE (topic LIKE 'order.%' AND topic <> 'order.changed') OR topic LIKE 'return.%' OR topic LIKE 'dispute.%'
         GROUP BY topic, subject) AS published
        WHERE rows <> (SELECT count(*) FROM event_of_order AS e WHERE e.kind = topic AND e.subject = published.subject)"),
    ("a webhook event of an order without its outbox row", "SELECT count(*) FROM event_of_order AS e
        WHERE NOT EXISTS (SELECT FROM outbox WHERE topic = e.kind AND outbox.subject = e.subject)"),
];

/// Violations of quantities and amounts, and the query that counts each.
const BOOKS: [(&str, &str); 8] = [
    ("an order that refunded more than was paid, or another sum than its refunds", "SELECT count(*) FROM placed_order AS o
        WHERE refunded_minor > total_minor OR refunded_minor <> (SELECT coalesce(sum(amount_minor), 0) FROM order_refund AS r
            WHERE (r.merchant_id, r.order_id) = (o.merchant_id, o.order_id))"),
    ("a refund without exactly one entry of its amount", "SELECT count(*) FROM order_refund AS r WHERE 1 <> (SELECT count(*) FROM order_history AS h
        WHERE (h.merchant_id, h.order_id, h.kind) = (r.merchant_id, r.order_id, 'refunded')
          AND split_part(h.details ->> 'refund_id', '_', 2) = replace(r.refund_id::text, '-', '')
          AND (h.details ->> 'amount_minor')::bigint = r.amount_minor)"),
    ("a line whose shipped units differ from its shipments", "SELECT count(*) FROM placed_order AS o, jsonb_array_elements(o.lines) AS line
        WHERE coalesce((line ->> 'shipped')::bigint, 0) <> (SELECT coalesce(sum((item ->> 'quantity')::bigint), 0)
            FROM order_fulfillment AS f, jsonb_array_elements(f.items) AS item
            WHERE (f.merchant_id, f.order_id) = (o.merchant_id, o.order_id) AND item ->> 'line' = line ->> 'line')"),
    ("a line whose canceled units differ from its cancellations", "SELECT count(*) FROM placed_order AS o, jsonb_array_elements(o.lines) AS line
        WHERE coalesce((line ->> 'canceled')::bigint, 0) <> (SELECT coalesce(sum((item ->> 'quantity')::bigint), 0)
            FROM order_history AS h, jsonb_array_elements(h.details -> 'items') AS item
            WHERE (h.merchant_id, h.order_id, h.kind) = (o.merchant_id, o.order_id, 'lines_canceled')
              AND item ->> 'line_id' = line ->> 'line')"),
    ("a line whose returned units differ from its returns", "SELECT count(*) FROM placed_order AS o, jsonb_array_elements(o.lines) AS line
        WHERE coalesce((line ->> 'returned')::bigint, 0) <> (SELECT coalesce(sum((item ->> 'quantity')::bigint), 0)
            FROM order_return AS r, jsonb_array_elements(r.items) AS item
            WHERE (r.merchant_id, r.order_id) = (o.merchant_id, o.order_id) AND item ->> 'line' = line ->> 'line'
              AND r.status NOT IN ('declined', 'canceled', 'rejected') AND r.decline_reason IS NULL)"),
    ("a line with more units returned than delivered", "SELECT count(*) FROM placed_order AS o, jsonb_array_elements(o.lines) AS line
        WHERE coalesce((line ->> 'returned')::bigint, 0) > (SELECT coalesce(sum((item ->> 'quantity')::bigint), 0)
            FROM order_fulfillment AS f, jsonb_array_elements(f.items) AS item WHERE f.delivered_at IS NOT NULL
              AND (f.merchant_id, f.order_id) = (o.merchant_id, o.order_id) AND item ->> 'line' = line ->> 'line')"),
    ("an order whose status does not follow from its quantities", "SELECT count(*) FROM placed_order AS o,
        LATERAL (SELECT sum(coalesce((line ->> 'shipped')::bigint, 0)) AS shipped,
                        sum((line ->> 'quantity')::bigint - coalesce((line ->> 'canceled')::bigint, 0)
                            - coalesce((line ->> 'shipped')::bigint, 0)) AS unshipped FROM jsonb_array_elements(o.lines) AS line) AS units
        WHERE NOT CASE WHEN status IN ('shipped', 'delivered', 'completed') THEN shipped > 0 AND unshipped = 0
                       WHEN status = 'partially_shipped' THEN shipped > 0 AND unshipped > 0
                       WHEN status = 'canceled' THEN shipped = 0 AND unshipped = 0
                       ELSE shipped = 0 AND unshipped > 0 END"),
    ("an order that is delivered with a parcel that is not, or the reverse", "SELECT count(*) FROM placed_order AS o
        WHERE (status IN ('delivered', 'completed')) <> (status IN ('shipped', 'delivered', 'completed') AND NOT EXISTS
            (SELECT FROM order_fulfillment AS f WHERE (f.merchant_id, f.order_id) = (o.merchant_id, o.order_id) AND delivered_at IS NULL))
          OR (status IN ('delivered', 'completed')) <> (returnable_until IS NOT NULL)"),
];

async fn one(sql: &mut PgConnection, query: &'static str) -> Result<i64, Failure> {
    Ok(sqlx::query_scalar(query).fetch_one(sql).await?)
}

/// Checks all invariants of all orders and returns the totals.
pub(super) async fn check(sql: &mut PgConnection) -> Result<Totals, Failure> {
    sqlx::raw_sql(EVENTS_OF_ORDERS).execute(&mut *sql).await?;
    for (what, query) in HISTORY.iter().chain(&EVENTS).chain(&BOOKS) {
        let found = one(sql, query).await?;
        ensure(found == 0, || format!("{what}: {found}"))?;
    }
    Ok(Totals {
        orders: one(sql, "SELECT count(*) FROM placed_order").await?,
        entries: one(sql, "SELECT count(*) FROM order_history").await?,
        transitions: one(sql, "SELECT count(*) FROM order_history WHERE kind = 'status_changed'")
            .await?,
        refunds: one(sql, "SELECT count(*) FROM order_refund").await?,
        returns: one(sql, "SELECT count(*) FROM order_return").await?,
        paid_minor: one(sql, "SELECT coalesce(sum(total_minor), 0)::bigint FROM placed_order")
            .await?,
        refunded_minor: one(sql, "SELECT coalesce(sum(amount_minor), 0)::bigint FROM order_refund")
            .await?,
    })
}

/// Edges: status before and after.
pub(super) type Edges = BTreeSet<(String, String)>;

/// Returns the edges of orders that are in the history.
pub(super) async fn edges(sql: &mut PgConnection) -> Result<Edges, Failure> {
    let query =
        "SELECT DISTINCT previous_status, status FROM order_history WHERE kind = 'status_changed'";
    Ok(sqlx::query_as(query).fetch_all(sql).await?.into_iter().collect())
}

/// Returns the edges of returns that are in the events, after [`check`] on the same connection. What the history says of a
/// return must be the same.
pub(super) async fn return_edges(sql: &mut PgConnection) -> Result<Edges, Failure> {
    let of_events = "SELECT DISTINCT body ->> 'previousReturnStatus', body ->> 'returnStatus' FROM event_of_order
        WHERE kind = 'return.updated'";
    let of_history = "SELECT DISTINCT before, status FROM
        (SELECT details ->> 'return_status' AS status, lag(details ->> 'return_status')
             OVER (PARTITION BY details ->> 'return_id' ORDER BY sequence) AS before
         FROM order_history WHERE kind IN ('return_requested', 'return_changed')) AS entry WHERE before IS NOT NULL";
    let events: Edges = sqlx::query_as(of_events).fetch_all(&mut *sql).await?.into_iter().collect();
    let history: Edges = sqlx::query_as(of_history).fetch_all(sql).await?.into_iter().collect();
    ensure(events == history, || format!("events: {events:?}, history: {history:?}"))?;
    Ok(events)
}
