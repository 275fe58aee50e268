//! The facts themselves: orders, checkouts and reports of payments, which their owners keep (docs/contract/trust.md#facts).
//!
//! Every query reads an index by store and time, then rows by their keys. Facts of sandboxes and of orders whose payment
//! failed do not count, nor those of keys without an account. An order is *short* once the merchant canceled units as out of
//! stock, and *withdrawn* once the agent or the buyer canceled all of it. A day is *settled* six hours after its end: it counts
//! from then on, and what happens later changes it only where a rule says so (docs/decisions/0034-units-of-trust.md).

use std::collections::BTreeMap;

use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::evidence::{EPOCH_SECONDS, SETTLING_STEPS};
use crate::{AccountRef, AgentDay, Day, DayCounts};

// The statements say '30 hours' for the time from the beginning of a day until it is settled.
const _: () = assert!(EPOCH_SECONDS * SETTLING_STEPS == 6 * 60 * 60);

/// Days of a store.
#[derive(Clone, Copy)]
struct StoreDays {
    merchant: MerchantId,
    from: Timestamp,
    to: Timestamp,
}

/// Counts by account and day.
type Counts = BTreeMap<(Uuid, Day), DayCounts>;

/// Counts the facts of one day of a store by account, ordered by account. Times promised after `now` are not judged.
pub(crate) async fn facts_of_day(
    sql: &mut PgConnection,
    merchant: MerchantId,
    day: Day,
    now: Timestamp,
) -> sqlx::Result<Vec<AgentDay>> {
    facts_of_days(sql, merchant, (day, day), now).await
}

/// Counts the facts of a store from one day to another, both included, by account and day, in this order.
pub(crate) async fn facts_of_days(
    sql: &mut PgConnection,
    merchant: MerchantId,
    (first, last): (Day, Day),
    now: Timestamp,
) -> sqlx::Result<Vec<AgentDay>> {
    read_by_index(sql).await?;
    let of = StoreDays { merchant, from: first.start(), to: last.end() };
    let mut counts = Counts::new();
    add_checkouts(sql, of, &mut counts).await?;
    add_orders(sql, of, &mut counts).await?;
    add_late_and_lost(sql, of, now, &mut counts).await?;
    add_entries(sql, of, &mut counts).await?;
    add_reports(sql, of, &mut counts).await?;
    let row = |((account, day), counts)| AgentDay { day, account: AccountRef(account), counts };
    Ok(counts.into_iter().map(row).collect())
}

/// Lets the transaction read by indexes alone. For a store that has most orders of the cell, plans would read whole tables: a
/// day is estimated as a share of them, and joined by hashing all orders of the store.
async fn read_by_index(sql: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!(
        "SELECT set_config('plan_cache_mode', 'force_generic_plan', true) AS plan_cache_mode,
                set_config('enable_seqscan', 'off', true) AS seq_scan,
                set_config('enable_hashjoin', 'off', true) AS hash_join,
                set_config('enable_mergejoin', 'off', true) AS merge_join"
    )
    .fetch_one(sql)
    .await?;
    Ok(())
}

/// Adds the checkouts that were started: all, those that became an order before the day was settled, and those of them that are
/// not short. A checkout whose order is withdrawn counts as if it had not been started, also if that happened later: otherwise
/// purchases that cost nothing would give weight to the account's unpaid days.
async fn add_checkouts(
    sql: &mut PgConnection,
    of: StoreDays,
    counts: &mut Counts,
) -> sqlx::Result<()> {
    let rows = sqlx::query!(
        r#"SELECT owned.user_id AS "account!", checkout.day AS "day!", count(*)::int AS "started!",
                  (count(*) FILTER (WHERE checkout.is_completed))::int AS "completed!",
                  (count(*) FILTER (WHERE checkout.is_completed AND checkout.is_short IS NOT TRUE))::int AS "kept!"
           FROM (SELECT started.agent_key_id, (started.at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS day,
                        completed.checkout_id IS NOT NULL AS is_completed, history.is_short
                 FROM agent_event AS started
                 LEFT JOIN placed_order AS placed
                     ON placed.merchant_id = $1 AND placed.checkout_id = started.checkout_id
                    AND NOT placed.is_sandbox AND placed.status <> 'failed'
                 LEFT JOIN agent_event AS completed
                     ON completed.merchant_id = $1 AND completed.checkout_id = placed.checkout_id
                    AND completed.kind = 'CHECKOUT_COMPLETE'
                    AND completed.at < date_trunc('day', started.at, 'UTC') + interval '30 hours'
                 CROSS JOIN LATERAL (
                     SELECT bool_or(entry.kind = 'lines_canceled' AND entry.actor = 'merchant'
                                    AND entry.reason = 'out_of_stock') AS is_short,
                            bool_or(entry.kind = 'status_changed' AND entry.status = 'canceled'
                                    AND entry.actor IN ('agent', 'buyer'))
                            AND NOT bool_or(entry.kind = 'lines_canceled' AND entry.actor NOT IN ('agent', 'buyer'))
                                AS is_withdrawn
                     FROM order_history AS entry
                     WHERE entry.merchant_id = $1 AND entry.order_id = placed.order_id) AS history
                 WHERE started.merchant_id = $1 AND started.kind = 'CHECKOUT_START'
                   AND started.at >= $2 AND started.at < $3 AND history.is_withdrawn IS NOT TRUE) AS checkout
           JOIN platform.agent_key AS owned ON owned.key_id = checkout.agent_key_id
           WHERE owned.user_id IS NOT NULL
           GROUP BY owned.user_id, checkout.day"#,
        of.merchant as MerchantId,
        of.from as Timestamp,
        of.to as Timestamp,
    )
    .fetch_all(sql)
    .await?;
    for row in rows {
        let counts = counts.entry((row.account, Day(row.day))).or_default();
        counts.started += row.started.unsigned_abs();
        counts.completed += row.completed.unsigned_abs();
        counts.kept += row.kept.unsigned_abs();
    }
    Ok(())
}

/// Adds the orders that were placed, without those that were withdrawn before the day was settled, and the total of all in the
/// currency of the store: refunds are deducted from it when a score is computed.
async fn add_orders(
    sql: &mut PgConnection,
    of: StoreDays,
    counts: &mut Counts,
) -> sqlx::Result<()> {
    let rows = sqlx::query!(
        r#"SELECT owned.user_id AS "account!", (placed.created_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS "day!",
                  (count(*) FILTER (WHERE history.is_withdrawn IS NOT TRUE))::int AS "orders!",
                  coalesce(sum(placed.total_minor) FILTER (
                      WHERE placed.currency = (SELECT currency FROM store WHERE merchant_id = $1)), 0)::bigint
                      AS "amount_minor!"
           FROM placed_order AS placed
           JOIN platform.agent_key AS owned ON owned.key_id = placed.agent_key_id
           CROSS JOIN LATERAL (
               SELECT bool_or(entry.kind = 'status_changed' AND entry.status = 'canceled'
                              AND entry.actor IN ('agent', 'buyer')
                              AND entry.occurred_at < date_trunc('day', placed.created_at, 'UTC') + interval '30 hours')
                      AND NOT bool_or(entry.kind = 'lines_canceled' AND entry.actor NOT IN ('agent', 'buyer')) AS is_withdrawn
               FROM order_history AS entry
               WHERE placed.status = 'canceled' AND entry.merchant_id = $1 AND entry.order_id = placed.order_id) AS history
           WHERE placed.merchant_id = $1 AND NOT placed.is_sandbox AND placed.status <> 'failed'
             AND placed.created_at >= $2 AND placed.created_at < $3 AND owned.user_id IS NOT NULL
           GROUP BY owned.user_id, 2"#,
        of.merchant as MerchantId,
        of.from as Timestamp,
        of.to as Timestamp,
    )
    .fetch_all(sql)
    .await?;
    for row in rows {
        let counts = counts.entry((row.account, Day(row.day))).or_default();
        counts.orders += row.orders.unsigned_abs();
        counts.amount_minor += row.amount_minor;
    }
    Ok(())
}

/// Adds the orders that were neither delivered nor canceled nor short at their promised time, and the disputes that were lost.
async fn add_late_and_lost(
    sql: &mut PgConnection,
    of: StoreDays,
    now: Timestamp,
    counts: &mut Counts,
) -> sqlx::Result<()> {
    let rows = sqlx::query!(
        r#"WITH fact (agent_key_id, at, is_late) AS (
               SELECT agent_key_id, promised_by, true FROM placed_order AS placed
               WHERE merchant_id = $1 AND NOT is_sandbox AND status <> 'failed'
                 AND promised_by >= $2 AND promised_by < $3 AND promised_by <= $4
                 AND (delivered_at IS NULL OR delivered_at > promised_by)
                 AND NOT EXISTS (
                     SELECT FROM order_history AS ended
                     WHERE ended.merchant_id = $1 AND ended.order_id = placed.order_id
                       AND ended.occurred_at <= placed.promised_by
                       AND ((ended.kind = 'status_changed' AND ended.status = 'canceled')
                         OR (ended.kind = 'lines_canceled' AND ended.actor = 'merchant' AND ended.reason = 'out_of_stock')))
               UNION ALL
               SELECT placed.agent_key_id, dispute.resolved_at, false
               FROM order_dispute AS dispute
               JOIN placed_order AS placed ON placed.merchant_id = $1 AND placed.order_id = dispute.order_id
               WHERE dispute.merchant_id = $1 AND dispute.status = 'resolved'
                 AND dispute.resolved_at >= $2 AND dispute.resolved_at < $3
                 AND (dispute.resolution = 'buyer' OR (dispute.resolution = 'agreement' AND dispute.refund_minor > 0))
                 AND NOT placed.is_sandbox AND placed.status <> 'failed'
           )
           SELECT owned.user_id AS "account!", (fact.at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS "day!",
                  (count(*) FILTER (WHERE fact.is_late))::int AS "late!",
                  (count(*) FILTER (WHERE NOT fact.is_late))::int AS "disputes_lost!"
           FROM fact JOIN platform.agent_key AS owned ON owned.key_id = fact.agent_key_id
           WHERE owned.user_id IS NOT NULL
           GROUP BY owned.user_id, 2"#,
        of.merchant as MerchantId,
        of.from as Timestamp,
        of.to as Timestamp,
        now as Timestamp,
    )
    .fetch_all(sql)
    .await?;
    for row in rows {
        let counts = counts.entry((row.account, Day(row.day))).or_default();
        counts.late += row.late.unsigned_abs();
        counts.disputes_lost += row.disputes_lost.unsigned_abs();
    }
    Ok(())
}

/// Adds what the histories of orders say: those that were shipped and are not short, those that became short, those that were
/// delivered, and those of them that were delivered by their promised time and are not short. An order that becomes short is
/// late, unless its promised time has passed and it is late already.
async fn add_entries(
    sql: &mut PgConnection,
    of: StoreDays,
    counts: &mut Counts,
) -> sqlx::Result<()> {
    let rows = sqlx::query!(
        r#"WITH short AS NOT MATERIALIZED (
               SELECT order_id, sequence FROM order_history
               WHERE merchant_id = $1 AND kind = 'lines_canceled' AND actor = 'merchant' AND reason = 'out_of_stock'
           ), entry AS (
               SELECT entry.kind, entry.status, entry.occurred_at, placed.agent_key_id,
                      placed.promised_by, placed.delivered_at,
                      EXISTS (SELECT FROM short WHERE short.order_id = entry.order_id) AS is_short
               FROM order_history AS entry
               JOIN placed_order AS placed ON placed.merchant_id = $1 AND placed.order_id = entry.order_id
               WHERE entry.merchant_id = $1 AND entry.occurred_at >= $2 AND entry.occurred_at < $3
                 AND ((entry.kind = 'status_changed' AND entry.status IN ('shipped', 'delivered'))
                   OR (entry.kind = 'lines_canceled' AND entry.actor = 'merchant' AND entry.reason = 'out_of_stock'))
                 -- An order is shipped and delivered once, and becomes short once.
                 AND (entry.kind = 'status_changed'
                   OR NOT EXISTS (SELECT FROM short
                                  WHERE short.order_id = entry.order_id AND short.sequence < entry.sequence))
                 AND NOT placed.is_sandbox AND placed.status <> 'failed'
           )
           SELECT owned.user_id AS "account!", (entry.occurred_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS "day!",
                  (count(*) FILTER (WHERE kind = 'status_changed' AND status = 'shipped' AND NOT is_short))::int AS "in_stock!",
                  (count(*) FILTER (WHERE kind = 'lines_canceled'))::int AS "out_of_stock!",
                  (count(*) FILTER (WHERE kind = 'status_changed' AND status = 'delivered'))::int AS "delivered!",
                  (count(*) FILTER (WHERE kind = 'status_changed' AND status = 'delivered' AND NOT is_short
                                      AND delivered_at <= promised_by))::int AS "on_time!",
                  (count(*) FILTER (WHERE kind = 'lines_canceled'
                                      AND (promised_by < occurred_at
                                           AND (delivered_at IS NULL OR delivered_at > promised_by)) IS NOT TRUE))::int
                      AS "late!"
           FROM entry JOIN platform.agent_key AS owned ON owned.key_id = entry.agent_key_id
           WHERE owned.user_id IS NOT NULL
           GROUP BY owned.user_id, 2"#,
        of.merchant as MerchantId,
        of.from as Timestamp,
        of.to as Timestamp,
    )
    .fetch_all(sql)
    .await?;
    for row in rows {
        let counts = counts.entry((row.account, Day(row.day))).or_default();
        counts.in_stock += row.in_stock.unsigned_abs();
        counts.out_of_stock += row.out_of_stock.unsigned_abs();
        counts.delivered += row.delivered.unsigned_abs();
        counts.on_time += row.on_time.unsigned_abs();
        counts.late += row.late.unsigned_abs();
    }
    Ok(())
}

/// Adds the checkouts that the merchant reported as paid with the amount of the quote, and those with another one. The first
/// report of another amount decides about a checkout, otherwise the first report.
async fn add_reports(
    sql: &mut PgConnection,
    of: StoreDays,
    counts: &mut Counts,
) -> sqlx::Result<()> {
    let rows = sqlx::query!(
        r#"SELECT owned.user_id AS "account!", (report.at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS "day!",
                  (count(*) FILTER (WHERE NOT report.is_different))::int AS "price_equal!",
                  (count(*) FILTER (WHERE report.is_different))::int AS "price_different!"
           FROM (SELECT DISTINCT ON (checkout_id) agent_key_id, at,
                        reported_minor <> expected_minor OR outcome = 'amount_mismatch' AS is_different
                 FROM payment_report
                 WHERE merchant_id = $1 AND NOT is_open AND reported_minor IS NOT NULL
                   AND checkout_id IN (SELECT checkout_id FROM payment_report
                                       WHERE merchant_id = $1 AND at >= $2 AND at < $3)
                 ORDER BY checkout_id, is_different DESC, at) AS report
           JOIN platform.agent_key AS owned ON owned.key_id = report.agent_key_id
           WHERE report.at >= $2 AND report.at < $3 AND owned.user_id IS NOT NULL
           GROUP BY owned.user_id, 2"#,
        of.merchant as MerchantId,
        of.from as Timestamp,
        of.to as Timestamp,
    )
    .fetch_all(sql)
    .await?;
    for row in rows {
        let counts = counts.entry((row.account, Day(row.day))).or_default();
        counts.price_equal += row.price_equal.unsigned_abs();
        counts.price_different += row.price_different.unsigned_abs();
    }
    Ok(())
}

/// Returns the days of a store since a day that have facts or rows, in their order.
pub(crate) async fn days_with_facts(
    sql: &mut PgConnection,
    merchant: MerchantId,
    since: Day,
    now: Timestamp,
) -> sqlx::Result<Vec<Day>> {
    let days = sqlx::query_scalar!(
        r#"SELECT day - DATE '1970-01-01' AS "day!"
           FROM (SELECT (at AT TIME ZONE 'UTC')::date AS day
                 FROM (SELECT at FROM agent_event
                       WHERE merchant_id = $1 AND kind = 'CHECKOUT_START' AND at >= $2
                       UNION ALL
                       SELECT created_at FROM placed_order WHERE merchant_id = $1 AND NOT is_sandbox AND created_at >= $2
                       UNION ALL
                       SELECT promised_by FROM placed_order
                       WHERE merchant_id = $1 AND NOT is_sandbox AND promised_by >= $2 AND promised_by <= $3
                       UNION ALL
                       SELECT occurred_at FROM order_history
                       WHERE merchant_id = $1 AND occurred_at >= $2
                         AND ((kind = 'status_changed' AND status IN ('shipped', 'delivered'))
                           OR (kind = 'lines_canceled' AND actor = 'merchant' AND reason = 'out_of_stock'))
                       UNION ALL
                       SELECT at FROM payment_report WHERE merchant_id = $1 AND at >= $2
                       UNION ALL
                       SELECT resolved_at FROM order_dispute
                       WHERE merchant_id = $1 AND status = 'resolved' AND resolved_at >= $2) AS fact (at)
                 UNION
                 SELECT day FROM trust_agent_day WHERE merchant_id = $1 AND day >= DATE '1970-01-01' + $4::int) AS days
           ORDER BY day"#,
        merchant as MerchantId,
        since.start() as Timestamp,
        now as Timestamp,
        since.0,
    )
    .fetch_all(sql)
    .await?;
    Ok(days.into_iter().map(Day).collect())
}
