//! Purchases of other people, and the past: what no API can make. Rows are copied and moved by SQL; everything else happens over
//! HTTP.

use primitives::{KeyId, OrderId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::orders::copy;
use crate::report::{Failure, ensure};

/// Copies a bought order for other buyers, each with an account, a key and a checkout of its own. Returns the copies.
pub(super) async fn copy_for_others(
    sql: &mut PgConnection,
    bought: OrderId,
    buyers: usize,
) -> Result<Vec<OrderId>, Failure> {
    let copies = copy(sql, bought, buyers, "pending").await?;
    let key: KeyId =
        sqlx::query_scalar("SELECT agent_key_id FROM placed_order WHERE order_id = $1")
            .bind(bought.uuid())
            .fetch_one(&mut *sql)
            .await?;
    for statement in BUYERS {
        let made = sqlx::query(statement).bind(key.uuid()).bind(i32::try_from(buyers)?);
        let made = made.execute(&mut *sql).await?.rows_affected();
        ensure(made == u64::try_from(buyers)?, || format!("{made} rows instead of {buyers}"))?;
    }
    for statement in PURCHASES {
        let ids = uuids(&copies);
        sqlx::query(statement).bind(ids).bind(bought.uuid()).execute(&mut *sql).await?;
    }
    Ok(copies)
}

/// Accounts with a key each, copies of the owner of a key (`$1`) and of the key. `$2` is their number.
const BUYERS: [&str; 2] = [
    "INSERT INTO platform.person
     SELECT (jsonb_populate_record(owner, jsonb_build_object(
         'user_id', md5('buyer ' || n)::uuid, 'email', 'buyer-' || n || '@example.com'))).*
     FROM platform.person AS owner, generate_series(1, $2::integer) AS made (n)
     WHERE owner.user_id = (SELECT user_id FROM platform.agent_key WHERE key_id = $1)",
    "INSERT INTO platform.agent_key
     SELECT (jsonb_populate_record(issued, jsonb_build_object(
         'key_id', md5('key ' || n)::uuid, 'user_id', md5('buyer ' || n)::uuid,
         'mac', '\\x' || md5('one ' || n) || md5('other ' || n)))).*
     FROM platform.agent_key AS issued, generate_series(1, $2::integer) AS made (n)
     WHERE issued.key_id = $1",
];

/// Gives the copies (`$1`) of an order (`$2`) to these buyers, and each a checkout like that of the order.
const PURCHASES: [&str; 2] = [
    "UPDATE placed_order SET agent_key_id = md5('key ' || n)::uuid
     FROM unnest($1::uuid[]) WITH ORDINALITY AS given (id, n)
     WHERE placed_order.order_id = given.id AND placed_order.order_id <> $2",
    "INSERT INTO agent_event (merchant_id, checkout_id, kind, agent_key_id, at)
     SELECT copied.merchant_id, copied.checkout_id, event.kind, copied.agent_key_id, event.at
     FROM placed_order AS copied, placed_order AS bought
     JOIN agent_event AS event ON event.merchant_id = bought.merchant_id AND event.checkout_id = bought.checkout_id
     WHERE copied.order_id = ANY ($1) AND bought.order_id = $2",
];

/// Moves orders with all that happened to them into the past: each by some days, at least three and at most sixty-two, so that
/// all of them count as a whole. The products were last pushed nine days ago.
pub(super) async fn move_into_the_past(
    sql: &mut PgConnection,
    orders: &[OrderId],
) -> Result<(), Failure> {
    for statement in PAST {
        sqlx::query(statement).bind(uuids(orders)).execute(&mut *sql).await?;
    }
    sqlx::query("UPDATE product SET pushed_at = now() - interval '9 days'").execute(sql).await?;
    Ok(())
}

const PAST: [&str; 3] = [
    "UPDATE agent_event SET at = at - (3 + n % 60) * interval '1 day'
     FROM unnest($1::uuid[]) WITH ORDINALITY AS given (id, n), placed_order
     WHERE placed_order.order_id = given.id AND agent_event.merchant_id = placed_order.merchant_id
       AND agent_event.checkout_id = placed_order.checkout_id",
    "UPDATE order_history SET occurred_at = occurred_at - (3 + n % 60) * interval '1 day'
     FROM unnest($1::uuid[]) WITH ORDINALITY AS given (id, n)
     WHERE order_history.order_id = given.id",
    "UPDATE placed_order SET created_at = created_at - (3 + n % 60) * interval '1 day',
         promised_by = promised_by - (3 + n % 60) * interval '1 day'
     FROM unnest($1::uuid[]) WITH ORDINALITY AS given (id, n)
     WHERE placed_order.order_id = given.id",
];

fn uuids(orders: &[OrderId]) -> Vec<Uuid> {
    orders.iter().map(|order| order.uuid()).collect()
}
