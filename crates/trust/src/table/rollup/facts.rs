//! The facts themselves: orders, checkouts and reports of payments, which their owners keep (docs/contract/trust.md#facts).
//!
//! Every query reads an index by store and time, then rows by their keys. Views say which orders are late, short or void, and
//! what the agent or the buyer withdrew (migration `trust_facts`). Facts of sandboxes and of orders whose payment failed do not
//! count, nor those of keys without an account. A day is *settled* six hours after its end and counts from then on; it *matures*
//! ten days after its end. An order that is withdrawn before its day is settled does not count, one that is withdrawn before its
//! day matures does not last, and later it changes nothing: what an account does never removes a fact of a settled day
//! (docs/decisions/0034-units-of-trust.md). Of an order whose payment became known after its checkout had ended, nothing good
//! counts: only the merchant says that it was bought.

use std::collections::BTreeMap;

use primitives::{KeyId, MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::evidence::{EPOCH_SECONDS, MATURITY_DAYS, SETTLING_STEPS, STARTS_MAX};
use crate::{AccountRef, AgentDay, Day, DayCounts};

// The statements say '30 hours' for the time from the beginning of a day until it is settled, and '264 hours' until it matures.
// What has matured counts six hours later, as what is settled: by then its rows have been computed.
const _: () = assert!(EPOCH_SECONDS * SETTLING_STEPS == 6 * 60 * 60);
const _: () = assert!((1 + MATURITY_DAYS) * 24 == 264);

/// Days of a store, the first and the last one included.
#[derive(Clone, Copy)]
struct StoreDays {
    merchant: MerchantId,
    first: Day,
    last: Day,
}

/// Counts by account and day.
type Counts = BTreeMap<(Uuid, Day), DayCounts>;

/// Counts the facts of one day of a store by account, ordered by account. What has to be delivered after `now` is not judged.
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
    let of = StoreDays { merchant, first, last };
    let mut counts = Counts::new();
    let agents = starting_agents(sql, of).await?;
    add_checkouts(sql, merchant, &agents, &mut counts).await?;
    add_orders(sql, of, &mut counts).await?;
    add_failures(sql, of, now, &mut counts).await?;
    add_deliveries(sql, of, &mut counts).await?;
    add_prices(sql, of, &mut counts).await?;
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

/// An agent that started checkouts on a day.
struct StartingAgent {
    /// Days since 1970-01-01.
    day: i32,
    key: KeyId,
}

/// Returns the agents that started checkouts on each day. The index is entered once for each of them, however many checkouts it
/// has: whoever starts a million does not delay the counts of all others.
async fn starting_agents(
    sql: &mut PgConnection,
    of: StoreDays,
) -> sqlx::Result<Vec<StartingAgent>> {
    sqlx::query_as!(
        StartingAgent,
        r#"WITH RECURSIVE agent (day, key_id) AS (
               (SELECT (event.at AT TIME ZONE 'UTC')::date, event.agent_key_id FROM agent_event AS event
                WHERE event.merchant_id = $1 AND event.kind = 'CHECKOUT_START'
                  AND (event.at AT TIME ZONE 'UTC')::date >= DATE '1970-01-01' + $2::int
                  AND (event.at AT TIME ZONE 'UTC')::date <= DATE '1970-01-01' + $3::int
                ORDER BY (event.at AT TIME ZONE 'UTC')::date, event.agent_key_id LIMIT 1)
               UNION ALL
               SELECT next.day, next.key_id
               FROM agent CROSS JOIN LATERAL (
                   SELECT (event.at AT TIME ZONE 'UTC')::date AS day, event.agent_key_id AS key_id FROM agent_event AS event
                   WHERE event.merchant_id = $1 AND event.kind = 'CHECKOUT_START'
                     AND ((event.at AT TIME ZONE 'UTC')::date, event.agent_key_id) > (agent.day, agent.key_id)
                     AND (event.at AT TIME ZONE 'UTC')::date <= DATE '1970-01-01' + $3::int
                   ORDER BY (event.at AT TIME ZONE 'UTC')::date, event.agent_key_id LIMIT 1) AS next
           )
           SELECT day - DATE '1970-01-01' AS "day!", key_id AS "key!: KeyId" FROM agent"#,
        of.merchant as MerchantId,
        of.first.0,
        of.last.0,
    )
    .fetch_all(sql)
    .await
}

/// Adds the checkouts that were started, the first ones of each account and day, without those that were withdrawn before the day
/// was settled and those whose order is void: all, those that became an order before the day was settled, and of these those that
/// were not withdrawn before the day matures, and those of whose order the merchant canceled nothing.
async fn add_checkouts(
    sql: &mut PgConnection,
    merchant: MerchantId,
    agents: &[StartingAgent],
    counts: &mut Counts,
) -> sqlx::Result<()> {
    let days: Vec<i32> = agents.iter().map(|agent| agent.day).collect();
    let keys: Vec<KeyId> = agents.iter().map(|agent| agent.key).collect();
    let rows = sqlx::query!(
        r#"SELECT started.account_id AS "account!", started.day AS "day!", count(*)::int AS "started!",
                  count(completed.at)::int AS "completed!",
                  (count(completed.at) FILTER (
                      WHERE (withdrawn.at < started.begins_at + interval '264 hours') IS NOT TRUE))::int AS "lasting!",
                  (count(completed.at) FILTER (WHERE cut.is_void IS NULL))::int AS "kept!"
           FROM (SELECT owned.user_id AS account_id, agent.day, event.checkout_id,
                        date_trunc('day', event.at, 'UTC') AS begins_at,
                        row_number() OVER (PARTITION BY owned.user_id, agent.day ORDER BY event.at, event.checkout_id) AS number
                 FROM unnest($2::int[], $3::uuid[]) AS agent (day, key_id)
                 JOIN platform.agent_key AS owned ON owned.key_id = agent.key_id AND owned.user_id IS NOT NULL
                 CROSS JOIN LATERAL (
                     SELECT event.checkout_id, event.at FROM agent_event AS event
                     WHERE event.merchant_id = $1 AND event.kind = 'CHECKOUT_START' AND event.agent_key_id = agent.key_id
                       AND (event.at AT TIME ZONE 'UTC')::date = DATE '1970-01-01' + agent.day
                     -- All columns of the index, so that it is read in its order, and no further than the limit.
                     ORDER BY (event.at AT TIME ZONE 'UTC')::date, event.agent_key_id, event.at, event.checkout_id
                     LIMIT $4) AS event) AS started
           LEFT JOIN placed_order AS placed
               ON placed.merchant_id = $1 AND placed.checkout_id = started.checkout_id
              AND NOT placed.is_sandbox AND placed.status <> 'failed'
           LEFT JOIN agent_event AS completed
               ON completed.merchant_id = $1 AND completed.checkout_id = placed.checkout_id AND NOT placed.is_paid_late
              AND completed.kind = 'CHECKOUT_COMPLETE' AND completed.at < started.begins_at + interval '30 hours'
           LEFT JOIN trust_buyer_cancellation AS withdrawn
               ON placed.status = 'canceled' AND withdrawn.merchant_id = $1 AND withdrawn.order_id = placed.order_id
           LEFT JOIN LATERAL (SELECT is_void FROM trust_merchant_canceled_order
                              WHERE merchant_id = $1 AND order_id = placed.order_id LIMIT 1) AS cut ON true
           -- A payment that became known late does not take back that the checkout was not completed.
           WHERE started.number <= $4 AND (cut.is_void AND NOT placed.is_paid_late) IS NOT TRUE
             AND (withdrawn.at < started.begins_at + interval '30 hours') IS NOT TRUE
           GROUP BY started.account_id, started.day"#,
        merchant as MerchantId,
        &days,
        &keys as &[KeyId],
        STARTS_MAX,
    )
    .fetch_all(sql)
    .await?;
    for row in rows {
        let counts = counts.entry((row.account, Day(row.day))).or_default();
        counts.started += row.started.unsigned_abs();
        counts.completed += row.completed.unsigned_abs();
        counts.lasting += row.lasting.unsigned_abs();
        counts.kept += row.kept.unsigned_abs();
    }
    Ok(())
}

/// Adds the orders that were placed, without those that were withdrawn before the day was settled and those that are void, and
/// the total of all in the currency of the store: refunds are deducted from it when a score is computed. A merchant may report
/// any total, so that sums are limited.
async fn add_orders(
    sql: &mut PgConnection,
    of: StoreDays,
    counts: &mut Counts,
) -> sqlx::Result<()> {
    let rows = sqlx::query!(
        r#"SELECT owned.user_id AS "account!", (placed.created_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS "day!",
                  (count(*) FILTER (
                      WHERE cut.is_void IS NOT TRUE AND NOT placed.is_paid_late
                        AND (withdrawn.at < date_trunc('day', placed.created_at, 'UTC') + interval '30 hours') IS NOT TRUE
                  ))::int AS "orders!",
                  least(coalesce(sum(placed.total_minor) FILTER (
                      WHERE NOT placed.is_paid_late AND placed.currency = (SELECT currency FROM store WHERE merchant_id = $1)), 0),
                      9000000000000000000)::bigint AS "amount_minor!"
           FROM placed_order AS placed
           JOIN platform.agent_key AS owned ON owned.key_id = placed.agent_key_id
           LEFT JOIN trust_buyer_cancellation AS withdrawn
               ON placed.status = 'canceled' AND withdrawn.merchant_id = $1 AND withdrawn.order_id = placed.order_id
           LEFT JOIN LATERAL (SELECT is_void FROM trust_merchant_canceled_order
                              WHERE merchant_id = $1 AND order_id = placed.order_id LIMIT 1) AS cut ON true
           WHERE placed.merchant_id = $1 AND NOT placed.is_sandbox AND placed.status <> 'failed'
             AND placed.created_at >= $2 AND placed.created_at < $3 AND owned.user_id IS NOT NULL
           GROUP BY owned.user_id, 2"#,
        of.merchant as MerchantId,
        of.first.start() as Timestamp,
        of.last.end() as Timestamp,
    )
    .fetch_all(sql)
    .await?;
    for row in rows {
        let counts = counts.entry((row.account, Day(row.day))).or_default();
        counts.orders += row.orders.unsigned_abs();
        counts.amount_minor = counts.amount_minor.saturating_add(row.amount_minor);
    }
    Ok(())
}

/// Adds the orders that are late or short, and the disputes that were lost.
async fn add_failures(
    sql: &mut PgConnection,
    of: StoreDays,
    now: Timestamp,
    counts: &mut Counts,
) -> sqlx::Result<()> {
    let rows = sqlx::query!(
        r#"WITH fact (kind, agent_key_id, at) AS (
               SELECT 'late', agent_key_id, at FROM trust_late_order
               WHERE merchant_id = $1 AND at >= $2 AND at < $3 AND at <= $4
               UNION ALL
               SELECT 'short', agent_key_id, at FROM trust_out_of_stock_order WHERE merchant_id = $1 AND at >= $2 AND at < $3
               UNION ALL
               SELECT 'lost', agent_key_id, at FROM trust_lost_dispute WHERE merchant_id = $1 AND at >= $2 AND at < $3
           )
           SELECT owned.user_id AS "account!", (fact.at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS "day!",
                  (count(*) FILTER (WHERE fact.kind = 'late'))::int AS "late!",
                  (count(*) FILTER (WHERE fact.kind = 'short'))::int AS "out_of_stock!",
                  (count(*) FILTER (WHERE fact.kind = 'lost'))::int AS "disputes_lost!"
           FROM fact JOIN platform.agent_key AS owned ON owned.key_id = fact.agent_key_id
           WHERE owned.user_id IS NOT NULL
           GROUP BY owned.user_id, 2"#,
        of.merchant as MerchantId,
        of.first.start() as Timestamp,
        of.last.end() as Timestamp,
        now as Timestamp,
    )
    .fetch_all(sql)
    .await?;
    for row in rows {
        let counts = counts.entry((row.account, Day(row.day))).or_default();
        counts.late += row.late.unsigned_abs();
        counts.out_of_stock += row.out_of_stock.unsigned_abs();
        counts.disputes_lost += row.disputes_lost.unsigned_abs();
    }
    Ok(())
}

/// Adds the orders whose units were all shipped, those that were delivered, and those that were delivered in time; the first and
/// the last without those of which the merchant canceled units. An order is shipped once, and delivered once.
async fn add_deliveries(
    sql: &mut PgConnection,
    of: StoreDays,
    counts: &mut Counts,
) -> sqlx::Result<()> {
    let rows = sqlx::query!(
        r#"SELECT owned.user_id AS "account!", (entry.occurred_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS "day!",
                  (count(*) FILTER (WHERE entry.status = 'shipped' AND NOT entry.is_cut))::int AS "in_stock!",
                  (count(*) FILTER (WHERE entry.status = 'delivered'))::int AS "delivered!",
                  (count(*) FILTER (WHERE entry.status = 'delivered' AND NOT entry.is_cut
                                      AND entry.occurred_at <= entry.due_by))::int AS "on_time!"
           FROM (SELECT entry.status, entry.occurred_at, placed.agent_key_id, placed.due_by,
                        EXISTS (SELECT FROM trust_cancellation AS cut
                                WHERE cut.merchant_id = $1 AND cut.order_id = entry.order_id) AS is_cut
                 FROM order_history AS entry
                 JOIN trust_order AS placed ON placed.merchant_id = $1 AND placed.order_id = entry.order_id
                 WHERE entry.merchant_id = $1 AND entry.occurred_at >= $2 AND entry.occurred_at < $3
                   AND entry.kind = 'status_changed' AND entry.status IN ('shipped', 'delivered')
                   AND placed.status <> 'failed' AND NOT placed.is_paid_late) AS entry
           JOIN platform.agent_key AS owned ON owned.key_id = entry.agent_key_id
           WHERE owned.user_id IS NOT NULL
           GROUP BY owned.user_id, 2"#,
        of.merchant as MerchantId,
        of.first.start() as Timestamp,
        of.last.end() as Timestamp,
    )
    .fetch_all(sql)
    .await?;
    for row in rows {
        let counts = counts.entry((row.account, Day(row.day))).or_default();
        counts.in_stock += row.in_stock.unsigned_abs();
        counts.delivered += row.delivered.unsigned_abs();
        counts.on_time += row.on_time.unsigned_abs();
    }
    Ok(())
}

/// Adds the checkouts that were charged the price of the quote, and those that were charged another one. The first evidence of
/// another price decides about a checkout, otherwise the first evidence. The price of the quote counts only if the order remains:
/// otherwise a merchant would report what it cancels later.
async fn add_prices(
    sql: &mut PgConnection,
    of: StoreDays,
    counts: &mut Counts,
) -> sqlx::Result<()> {
    let rows = sqlx::query!(
        r#"SELECT owned.user_id AS "account!", (price.at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' AS "day!",
                  (count(*) FILTER (WHERE NOT price.is_different AND price.is_credited))::int AS "price_equal!",
                  (count(*) FILTER (WHERE price.is_different))::int AS "price_different!"
           FROM (SELECT DISTINCT checkout_id FROM trust_price WHERE merchant_id = $1 AND at >= $2 AND at < $3) AS stated
           CROSS JOIN LATERAL (
               SELECT agent_key_id, at, is_credited, is_different FROM trust_price
               WHERE merchant_id = $1 AND checkout_id = stated.checkout_id
               ORDER BY is_different DESC, at LIMIT 1) AS price
           JOIN platform.agent_key AS owned ON owned.key_id = price.agent_key_id
           WHERE price.at >= $2 AND price.at < $3 AND owned.user_id IS NOT NULL
           GROUP BY owned.user_id, 2"#,
        of.merchant as MerchantId,
        of.first.start() as Timestamp,
        of.last.end() as Timestamp,
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

/// Returns the days of a store, from one day to another, both included, that have facts or rows, in their order.
pub(crate) async fn days_with_facts(
    sql: &mut PgConnection,
    merchant: MerchantId,
    (first, last): (Day, Day),
    now: Timestamp,
) -> sqlx::Result<Vec<Day>> {
    let days = sqlx::query_scalar!(
        r#"SELECT day - DATE '1970-01-01' AS "day!"
           FROM (SELECT (at AT TIME ZONE 'UTC')::date AS day
                 FROM (SELECT created_at FROM placed_order
                       WHERE merchant_id = $1 AND NOT is_sandbox AND created_at >= $2 AND created_at < $4
                       UNION ALL
                       SELECT due_by FROM trust_order
                       WHERE merchant_id = $1 AND due_by >= $2 AND due_by < $4 AND due_by <= $3
                       UNION ALL
                       SELECT occurred_at FROM order_history
                       WHERE merchant_id = $1 AND occurred_at >= $2 AND occurred_at < $4
                         AND ((kind = 'status_changed' AND status IN ('shipped', 'delivered'))
                           OR (kind = 'lines_canceled' AND actor = 'merchant'))
                       UNION ALL
                       SELECT at FROM payment_report WHERE merchant_id = $1 AND at >= $2 AND at < $4
                       UNION ALL
                       SELECT resolved_at FROM order_dispute
                       WHERE merchant_id = $1 AND status = 'resolved' AND resolved_at >= $2
                         AND resolved_at < $4) AS fact (at)
                 UNION
                 SELECT DATE '1970-01-01' + number FROM generate_series($5::int, $6::int) AS number
                 WHERE EXISTS (SELECT FROM agent_event AS event
                               WHERE event.merchant_id = $1 AND event.kind = 'CHECKOUT_START'
                                 AND (event.at AT TIME ZONE 'UTC')::date = DATE '1970-01-01' + number)
                 UNION
                 SELECT day FROM trust_agent_day
                 WHERE merchant_id = $1 AND day BETWEEN DATE '1970-01-01' + $5::int AND DATE '1970-01-01' + $6::int) AS days
           ORDER BY day"#,
        merchant as MerchantId,
        first.start() as Timestamp,
        now as Timestamp,
        last.end() as Timestamp,
        first.0,
        last.0,
    )
    .fetch_all(sql)
    .await?;
    Ok(days.into_iter().map(Day).collect())
}
