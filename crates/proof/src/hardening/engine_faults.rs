//! `engine-faults`: PostgreSQL is out of disk space, memory or connections, or read-only after a failover: callers get 503
//! with `Retry-After`, reads go on, and writes work again as soon as there is a primary.

use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::demo_stores::{DemoStores, plain_post, product_of, send};
use crate::report::{Failure, Trial, Verdict, ensure};

const STORE: &str = "kivikiri";
/// SQLSTATE of the faults: disk full, out of memory, too many connections, shutdown, crash, startup, read-only, I/O error.
const CODES: [&str; 8] = ["53100", "53200", "53300", "57P01", "57P02", "57P03", "25006", "58030"];
/// Longest time until writes work again after a promotion.
const RECOVERY_MAX: Duration = Duration::from_secs(5);

pub(crate) async fn prove(_: Trial) -> Verdict {
    let demo = DemoStores::start().await?;
    let key =
        demo.agent_key("buyer@example.com", "ENTERPRISE", &["agent:read", "agent:cart"]).await?;
    expect(&demo, &key, 200).await?;
    let mut sql = PgConnection::connect(&demo.engines.database_url).await?;
    for code in CODES {
        raise_on_insert(&mut sql, code).await?;
        expect(&demo, &key, 503).await.map_err(|why| format!("{code}: {why}"))?;
    }
    sqlx::raw_sql("DROP TRIGGER fault ON cart").execute(&mut sql).await?;
    expect(&demo, &key, 200).await?;
    drop(sql);
    demo.engines.demote().await?;
    let since = Instant::now();
    while read(&demo).await? != 200 {
        ensure(since.elapsed() < RECOVERY_MAX, || String::from("reads fail on a standby"))?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    expect(&demo, &key, 503).await.map_err(|why| format!("on a standby: {why}"))?;
    let mut sql = PgConnection::connect(&demo.engines.database_url).await?;
    sqlx::query("SELECT pg_promote()").execute(&mut sql).await?;
    let since = Instant::now();
    while let Err(why) = expect(&demo, &key, 200).await {
        ensure(since.elapsed() < RECOVERY_MAX, || format!("after the promotion: {why}"))?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(format!(
        "{} faults of PostgreSQL: 503 with Retry-After each; on a standby reads are answered and writes get 503; writes \
         again {} ms after the promotion",
        CODES.len(),
        since.elapsed().as_millis(),
    ))
}

/// Makes every insert into `cart` fail with this SQLSTATE.
async fn raise_on_insert(sql: &mut PgConnection, code: &str) -> Result<(), Failure> {
    let statements = format!(
        "CREATE OR REPLACE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE EXCEPTION 'a fault' USING ERRCODE = '{code}'; END $$;
         CREATE OR REPLACE TRIGGER fault BEFORE INSERT ON cart FOR EACH ROW EXECUTE FUNCTION fault()"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements)).execute(sql).await?;
    Ok(())
}

/// Creates a cart and checks the status; 503 has to say when to retry.
async fn expect(demo: &DemoStores, key: &str, status: u16) -> Result<(), Failure> {
    let items = json!([{ "product_id": product_of(STORE)?, "quantity": 1 }]);
    let params = json!({ "name": "create_cart", "arguments": { "items": items } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = plain_post(STORE, &[("X-Agent-Api-Key", key)], &body);
    let answer = send(demo.souk.port, &request).await?;
    let retry_after = answer.headers.iter().any(|(name, _)| name == "retry-after");
    ensure(answer.status == status && (status != 503 || retry_after), || {
        format!(
            "expected {status}, got {} (Retry-After: {retry_after}): {}",
            answer.status, answer.body
        )
    })
}

/// Reads a product and returns the status.
async fn read(demo: &DemoStores) -> Result<u16, Failure> {
    let params =
        json!({ "name": "get_product_details", "arguments": { "product_id": product_of(STORE)? } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    Ok(send(demo.souk.port, &plain_post(STORE, &[], &body)).await?.status)
}
