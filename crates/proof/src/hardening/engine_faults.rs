//! `engine-faults`: PostgreSQL is out of disk space, memory or connections, or read-only after a failover: callers get 503
//! with `Retry-After`, reads go on, and writes work again as soon as there is a primary.

use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::{Connection, PgConnection};

use super::deployment::{demo_database, plain_post, product_of};
use crate::engines::Engines;
use crate::http::{Client, tool_call};
use crate::identity::{Account, agent_key_for};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, command};

const STORE: &str = "kivikiri";
/// SQLSTATE of the faults: disk full, out of memory, too many connections, shutdown, crash, startup, read-only, I/O error.
const CODES: [&str; 8] = ["53100", "53200", "53300", "57P01", "57P02", "57P03", "25006", "58030"];
/// Longest time until writes work again after a promotion.
const RECOVERY_MAX: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy)]
enum Part {
    /// Statements fail.
    Faults,
    /// The server becomes a standby and is promoted. It needs engines of its own, which take seconds to start.
    Failover,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let mut findings = Vec::new();
    for part in trial.rotate(vec![Part::Faults, Part::Failover], 1) {
        findings.push(match part {
            Part::Faults => fail_statements().await?,
            Part::Failover => fail_over(trial.time_max(RECOVERY_MAX)).await?,
        });
    }
    Ok(findings.join("; "))
}

/// A server, and an agent that creates carts.
struct Buyer {
    souk: Souk,
    key: String,
}

impl Buyer {
    async fn start(url: &str) -> Result<Self, Failure> {
        let souk = Souk::serve(url, &[]).await?;
        let account = Account::create(url, "buyer@example.com", "ENTERPRISE").await?;
        let token = account.log_in(souk.port).await?;
        let (_, key) = agent_key_for(souk.port, &token, &["agent:read", "agent:cart"]).await?;
        let buyer = Self { souk, key };
        buyer.expect(200).await?;
        Ok(buyer)
    }

    /// Creates a cart and checks the status; 503 has to say when to retry.
    async fn expect(&self, status: u16) -> Result<(), Failure> {
        let items = json!([{ "product_id": product_of(STORE)?, "quantity": 1 }]);
        let body = tool_call("create_cart", &json!({ "items": items }));
        let request = plain_post(STORE, &[("X-Agent-Api-Key", &self.key)], &body);
        let answer = Client::exchange(self.souk.port, &request).await?;
        let retry_after = answer.headers.contains_key("retry-after");
        ensure(answer.status == status && (status != 503 || retry_after), || {
            format!(
                "expected {status}, got {} (Retry-After: {retry_after}): {}",
                answer.status, answer.body
            )
        })
    }

    /// Reads a product and returns the status.
    async fn read(&self) -> Result<u16, Failure> {
        let body = tool_call("get_product_details", &json!({ "product_id": product_of(STORE)? }));
        Ok(Client::exchange(self.souk.port, &plain_post(STORE, &[], &body)).await?.status)
    }
}

async fn fail_statements() -> Verdict {
    let test = demo_database().await;
    let buyer = Buyer::start(&test.url()).await?;
    let mut sql = test.raw().await;
    for code in CODES {
        raise_on_insert(&mut sql, code).await?;
        buyer.expect(503).await.map_err(|why| format!("{code}: {why}"))?;
    }
    sqlx::raw_sql("DROP TRIGGER fault ON cart").execute(&mut sql).await?;
    buyer.expect(200).await?;
    Ok(format!(
        "{} faults of PostgreSQL: 503 with Retry-After each, then writes again",
        CODES.len()
    ))
}

async fn fail_over(most: Duration) -> Verdict {
    let engines = Engines::start()?;
    let url = &engines.database_url;
    command(url, &["migrate"])?;
    command(url, &["seed"])?;
    let buyer = Buyer::start(url).await?;
    engines.demote().await?;
    let since = Instant::now();
    while buyer.read().await? != 200 {
        ensure(since.elapsed() < most, || String::from("reads fail on a standby"))?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    buyer.expect(503).await.map_err(|why| format!("on a standby: {why}"))?;
    let mut sql = PgConnection::connect(url).await?;
    sqlx::query("SELECT pg_promote()").execute(&mut sql).await?;
    let since = Instant::now();
    while let Err(why) = buyer.expect(200).await {
        ensure(since.elapsed() < most, || format!("after the promotion: {why}"))?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(format!(
        "on a standby reads are answered and writes get 503; writes again {} ms after the promotion",
        since.elapsed().as_millis()
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
