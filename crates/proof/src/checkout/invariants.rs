//! What has to be true of all stock, sessions and orders, whatever happened.

use database::Reading;
use primitives::{Id, MerchantId};
use sqlx::PgConnection;

use super::shop::{Shop, merchant};
use crate::report::{Failure, ensure};

/// What there is in the end.
#[derive(Debug)]
pub(crate) struct Books {
    pub(crate) sessions: i64,
    pub(crate) holding: i64,
    pub(crate) orders: i64,
    pub(crate) abandoned: i64,
}

async fn one(sql: &mut PgConnection, query: &'static str) -> Result<i64, Failure> {
    Ok(sqlx::query_scalar(query).fetch_one(sql).await?)
}

const UNITS_HELD: &str = "SELECT coalesce(sum((line->>'quantity')::bigint), 0)::bigint
     FROM checkout_session, jsonb_array_elements(lines) AS line WHERE is_holding AND NOT is_sandbox";
const UNITS_ORDERED: &str = "SELECT coalesce(sum((line->>'quantity')::bigint), 0)::bigint
     FROM placed_order, jsonb_array_elements(lines) AS line WHERE NOT is_sandbox";

/// Things that must not exist, by what they would be.
const NEVER: [(&str, &str); 9] = [
    ("an order without its one event", "SELECT count(*) FROM placed_order WHERE NOT is_sandbox AND 1 <>
        (SELECT count(*) FROM outbox WHERE topic = 'order.created' AND subject = order_id)"),
    ("an event without its order", "SELECT count(*) FROM outbox WHERE topic = 'order.created'
        AND NOT EXISTS (SELECT FROM placed_order WHERE order_id = subject)"),
    ("an outbox row without its bytes", "SELECT count(*) FROM outbox WHERE topic IN ('order.created', 'checkout.abandoned')
        AND 1 <> (SELECT count(*) FROM webhook_event WHERE kind = topic AND webhook_event.subject = outbox.subject)"),
    ("a cart with two orders", "SELECT count(*) FROM (SELECT cart_id FROM placed_order GROUP BY cart_id HAVING count(*) > 1) AS twice"),
    ("a completed session without its order", "SELECT count(*) FROM checkout_session AS session WHERE status = 'completed'
        AND NOT EXISTS (SELECT FROM placed_order WHERE placed_order.order_id = session.order_id
                        AND placed_order.checkout_id = session.checkout_id AND placed_order.total_minor = session.total_minor)"),
    ("an order whose session is not completed", "SELECT count(*) FROM placed_order WHERE NOT EXISTS
        (SELECT FROM checkout_session WHERE checkout_session.order_id = placed_order.order_id AND status = 'completed')"),
    ("an abandoned session without its one event", "SELECT count(*) FROM checkout_session WHERE status IN ('canceled', 'expired')
        AND NOT is_sandbox AND 1 <> (SELECT count(*) FROM outbox WHERE topic = 'checkout.abandoned' AND subject = checkout_id)"),
    ("a session without its one start", "SELECT count(*) FROM checkout_session WHERE NOT is_sandbox AND 1 <>
        (SELECT count(*) FROM agent_event WHERE agent_event.checkout_id = checkout_session.checkout_id AND kind = 'CHECKOUT_START')"),
    ("an order without its one completion", "SELECT count(*) FROM placed_order WHERE NOT is_sandbox AND 1 <>
        (SELECT count(*) FROM agent_event WHERE agent_event.checkout_id = placed_order.checkout_id AND kind = 'CHECKOUT_COMPLETE')"),
];

/// Looks at everything.
pub(crate) async fn check(shop: &Shop) -> Result<Books, Failure> {
    let mut raw = shop.test.raw().await;
    let held = one(&mut raw, "SELECT coalesce(sum(held), 0)::bigint FROM product").await?;
    let in_holds = one(&mut raw, UNITS_HELD).await?;
    ensure(held == in_holds, || format!("{held} units are held, and {in_holds} by sessions"))?;
    let left =
        one(&mut raw, "SELECT coalesce(sum(stock_quantity), 0)::bigint FROM product").await?;
    let ordered = one(&mut raw, UNITS_ORDERED).await?;
    let gone = shop.stocked - left;
    ensure(gone == ordered, || format!("{gone} units are gone, and {ordered} are in orders"))?;
    let short = one(&mut raw, "SELECT count(*) FROM product WHERE held > stock_quantity").await?;
    ensure(short == 0, || format!("{short} products are promised more often than there are"))?;
    for (what, query) in NEVER {
        let found = one(&mut raw, query).await?;
        ensure(found == 0, || format!("{found} times: {what}"))?;
    }
    alone(shop).await?;
    Ok(Books {
        sessions: one(&mut raw, "SELECT count(*) FROM checkout_session").await?,
        holding: one(&mut raw, "SELECT count(*) FROM checkout_session WHERE is_holding").await?,
        orders: one(&mut raw, "SELECT count(*) FROM placed_order").await?,
        abandoned: one(&mut raw, "SELECT count(*) FROM outbox WHERE topic = 'checkout.abandoned'")
            .await?,
    })
}

/// Whether another merchant sees nothing of it, and this one everything.
async fn alone(shop: &Shop) -> Result<(), Failure> {
    let database = shop.test.database().clone();
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
        for (place, who) in [MerchantId::from_random(2), merchant()].into_iter().enumerate() {
            let mut snapshot = Reading::for_store(&database, who)?.open().await?;
            seen[place] = sqlx::query_scalar(sqlx::AssertSqlSafe(count.clone()))
                .fetch_one(&mut *snapshot)
                .await?;
            snapshot.close().await?;
        }
        let all: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(count))
            .fetch_one(&mut shop.test.raw().await)
            .await?;
        ensure(seen == [0, all], || {
            format!("{table}: of {all} rows a stranger sees {}, the owner {}", seen[0], seen[1])
        })?;
    }
    Ok(())
}
