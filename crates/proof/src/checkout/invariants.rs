//! The invariants of stock, sessions and orders, which hold after any sequence of events.

use database::Reading;
use primitives::{Id, MerchantId};
use sqlx::PgConnection;

use super::store::{TestStore, merchant};
use crate::report::{Failure, ensure};

/// Row counts at the time of the check.
#[derive(Debug)]
pub(crate) struct Totals {
    pub(crate) sessions: i64,
    /// Sessions that hold units.
    pub(crate) holding: i64,
    pub(crate) orders: i64,
    /// Events `checkout.abandoned`.
    pub(crate) abandoned: i64,
}

async fn one(sql: &mut PgConnection, query: &'static str) -> Result<i64, Failure> {
    Ok(sqlx::query_scalar(query).fetch_one(sql).await?)
}

const UNITS_HELD: &str = "SELECT coalesce(sum((line->>'quantity')::bigint), 0)::bigint
     FROM checkout_session, jsonb_array_elements(lines) AS line WHERE is_holding AND NOT is_sandbox";
const UNITS_ORDERED: &str = "SELECT coalesce(sum((line->>'quantity')::bigint), 0)::bigint
     FROM placed_order, jsonb_array_elements(lines) AS line WHERE NOT is_sandbox";

/// Violations, and the query that counts each.
const VIOLATIONS: [(&str, &str); 9] = [
    ("an order without exactly one event", "SELECT count(*) FROM placed_order WHERE NOT is_sandbox AND 1 <>
        (SELECT count(*) FROM outbox WHERE topic = 'order.created' AND subject = order_id)"),
    ("an event without its order", "SELECT count(*) FROM outbox WHERE topic = 'order.created'
        AND NOT EXISTS (SELECT FROM placed_order WHERE order_id = subject)"),
    ("an outbox row without exactly one webhook event", "SELECT count(*) FROM outbox WHERE topic IN ('order.created', 'checkout.abandoned')
        AND 1 <> (SELECT count(*) FROM webhook_event WHERE kind = topic AND webhook_event.subject = outbox.subject)"),
    ("a cart with two orders", "SELECT count(*) FROM (SELECT cart_id FROM placed_order GROUP BY cart_id HAVING count(*) > 1) AS twice"),
    ("a completed session without its order", "SELECT count(*) FROM checkout_session AS session WHERE status = 'completed'
        AND NOT EXISTS (SELECT FROM placed_order WHERE placed_order.order_id = session.order_id
                        AND placed_order.checkout_id = session.checkout_id AND placed_order.total_minor = session.total_minor)"),
    ("an order whose session is neither completed nor paid late", "SELECT count(*) FROM placed_order WHERE NOT EXISTS
        (SELECT FROM checkout_session AS session WHERE session.order_id = placed_order.order_id AND
             (session.status = 'completed' OR (placed_order.status = 'manual_review' AND session.status IN ('canceled', 'expired'))))"),
    ("an abandoned session without exactly one event", "SELECT count(*) FROM checkout_session WHERE status IN ('canceled', 'expired')
        AND order_id IS NULL AND NOT is_sandbox AND 1 <> (SELECT count(*) FROM outbox WHERE topic = 'checkout.abandoned' AND subject = checkout_id)"),
    ("a session without exactly one start event", "SELECT count(*) FROM checkout_session WHERE NOT is_sandbox AND 1 <>
        (SELECT count(*) FROM agent_event WHERE agent_event.checkout_id = checkout_session.checkout_id AND kind = 'CHECKOUT_START')"),
    ("an order without exactly one completion event", "SELECT count(*) FROM placed_order WHERE NOT is_sandbox AND 1 <>
        (SELECT count(*) FROM agent_event WHERE agent_event.checkout_id = placed_order.checkout_id AND kind = 'CHECKOUT_COMPLETE')"),
];

/// Checks all invariants and returns the totals.
pub(crate) async fn check(store: &TestStore) -> Result<Totals, Failure> {
    let mut raw = store.test.raw().await;
    let held = one(&mut raw, "SELECT coalesce(sum(held), 0)::bigint FROM product").await?;
    let in_holds = one(&mut raw, UNITS_HELD).await?;
    ensure(held == in_holds, || {
        format!("products have {held} units held, sessions hold {in_holds}")
    })?;
    let left =
        one(&mut raw, "SELECT coalesce(sum(stock_quantity), 0)::bigint FROM product").await?;
    let ordered = one(&mut raw, UNITS_ORDERED).await?;
    let sold = store.initial_units - left;
    ensure(sold == ordered, || format!("stock fell by {sold} units, orders have {ordered}"))?;
    let short = one(&mut raw, "SELECT count(*) FROM product WHERE held > stock_quantity").await?;
    ensure(short == 0, || format!("{short} products are oversold"))?;
    for (what, query) in VIOLATIONS {
        let found = one(&mut raw, query).await?;
        ensure(found == 0, || format!("{what}: {found}"))?;
    }
    check_isolation(store).await?;
    Ok(Totals {
        sessions: one(&mut raw, "SELECT count(*) FROM checkout_session").await?,
        holding: one(&mut raw, "SELECT count(*) FROM checkout_session WHERE is_holding").await?,
        orders: one(&mut raw, "SELECT count(*) FROM placed_order").await?,
        abandoned: one(&mut raw, "SELECT count(*) FROM outbox WHERE topic = 'checkout.abandoned'")
            .await?,
    })
}

/// Fails unless another merchant sees no row, and this one all of them.
async fn check_isolation(store: &TestStore) -> Result<(), Failure> {
    let database = store.test.database().clone();
    let tables = [
        "cart",
        "checkout_session",
        "confirmation",
        "placed_order",
        "payment",
        "webhook_event",
        "agent_event",
    ];
    for table in tables {
        let count = format!("SELECT count(*) FROM {table}");
        let mut seen = [0_i64; 2];
        for (index, who) in [MerchantId::from_random(2), merchant()].into_iter().enumerate() {
            let query = sqlx::query_scalar(sqlx::AssertSqlSafe(count.clone()));
            seen[index] = Reading::for_store(&database, who)?
                .run(async |sql| -> Result<i64, Failure> { Ok(query.fetch_one(&mut **sql).await?) })
                .await?;
        }
        let all: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(count))
            .fetch_one(&mut store.test.raw().await)
            .await?;
        ensure(seen == [0, all], || {
            let [other, owner] = seen;
            format!("{table}: of {all} rows another merchant sees {other}, the owner {owner}")
        })?;
    }
    Ok(())
}
