//! Statements read no more than they need.

use primitives::Timestamp;

use crate::market::Market;

#[tokio::test]
async fn pushed_orders_that_have_ended_are_found_without_reading_the_others() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    let mut raw = market.test.raw().await;
    let now: Timestamp = market.database().local_now();
    sqlx::query(
        "INSERT INTO pushed_order
             (merchant_id, external_id, order_id, status, currency, total_minor, lines, placed_at, pushed_at)
         SELECT $1, n::text, md5(n::text)::uuid, CASE WHEN n <= 10 THEN 'delivered' ELSE 'pending' END, 'EUR', 100,
                '[]', $2::timestamptz + n * interval '1 second', $2
         FROM generate_series(1, 20000) AS n",
    )
    .bind(merchant)
    .bind(now)
    .execute(&mut raw)
    .await
    .unwrap();
    sqlx::query("ANALYZE pushed_order").execute(&mut raw).await.unwrap();
    // The orders of the statement of the state of a store.
    let statement = include_str!("../../src/table/state.rs");
    let begin = statement.find("SELECT pushed.status FROM pushed_order").unwrap();
    let length = statement[begin..].find(") AS newest").unwrap();
    let store = format!("'{}'", merchant.uuid());
    let newest = statement[begin..begin + length].replace("store.merchant_id", &store);
    let explain = sqlx::AssertSqlSafe(format!("EXPLAIN {newest}"));
    let plan: Vec<String> = sqlx::query_scalar(explain).fetch_all(&mut raw).await.unwrap();
    let plan = plan.join("\n");
    assert!(plan.contains("pushed_order_ended"), "{plan}");
}
