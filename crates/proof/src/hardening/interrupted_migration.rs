//! `interrupted-migration`: the creation of an index was cut off and left an invalid one, or has to wait for an old
//! transaction: `souk migrate` completes the migration.

use std::time::Duration;

use sqlx::{Connection, PgConnection};
use testkit::TestDatabase;

use crate::engines::Engines;
use crate::report::{Failure, Tier, Trial, Verdict, ensure};
use crate::souk::{command, output};

/// The migration that is applied again, and its index.
const VERSION: i64 = 20_261_115_001_820;
const CREATE: &str = "CREATE INDEX CONCURRENTLY cart_by_id ON cart (cart_id)";

pub(crate) async fn prove(trial: Trial) -> Verdict {
    // The short form saves the time that engines take to start.
    if trial.tier == Tier::Fast {
        let test = TestDatabase::new().await;
        return replace_invalid_index(&test.url(), Tier::Fast).await;
    }
    let engines = Engines::start()?;
    replace_invalid_index(&engines.database_url, Tier::Full).await
}

async fn replace_invalid_index(url: &str, tier: Tier) -> Verdict {
    command(url, &["migrate"])?;
    let mut sql = PgConnection::connect(url).await?;
    forget(&mut sql).await?;
    // An old transaction holds the creation up until its statement timeout, as that of the service was.
    let mut old = old_transaction(url).await?;
    let mut impatient = PgConnection::connect(url).await?;
    sqlx::raw_sql("SET statement_timeout = '300ms'").execute(&mut impatient).await?;
    let cut_off = sqlx::raw_sql(CREATE).execute(&mut impatient).await;
    ensure(cut_off.is_err(), || String::from("the creation was not cut off"))?;
    sqlx::raw_sql("COMMIT").execute(&mut old).await?;
    ensure(!is_valid(&mut sql).await?, || String::from("no invalid index was left behind"))?;
    output(url, &["migrate"]).await?;
    ensure(is_valid(&mut sql).await?, || String::from("the index is still invalid"))?;
    if tier == Tier::Fast {
        return Ok(String::from("an invalid index was replaced by the next `souk migrate`"));
    }
    forget(&mut sql).await?;
    let seconds = 15;
    let mut old = old_transaction(url).await?;
    let wait = async {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        sqlx::raw_sql("COMMIT").execute(&mut old).await.map_err(Failure::from)
    };
    let (migrated, ended) = tokio::join!(output(url, &["migrate"]), wait);
    ended?;
    migrated?;
    ensure(is_valid(&mut sql).await?, || String::from("the index is invalid after the wait"))?;
    Ok(format!(
        "an invalid index was replaced by the next `souk migrate`; one that had to wait {seconds} seconds for an old \
         transaction was created"
    ))
}

/// Undoes the migration.
async fn forget(sql: &mut PgConnection) -> Result<(), Failure> {
    sqlx::raw_sql("DROP INDEX IF EXISTS cart_by_id").execute(&mut *sql).await?;
    let deleted = sqlx::query("DELETE FROM _sqlx_migrations WHERE version = $1");
    let deleted = deleted.bind(VERSION).execute(sql).await?;
    ensure(deleted.rows_affected() == 1, || format!("the migration {VERSION} is not applied"))
}

/// Opens a transaction that has written to the table.
async fn old_transaction(url: &str) -> Result<PgConnection, Failure> {
    let mut sql = PgConnection::connect(url).await?;
    sqlx::raw_sql("BEGIN; LOCK TABLE cart IN ROW EXCLUSIVE MODE").execute(&mut sql).await?;
    Ok(sql)
}

async fn is_valid(sql: &mut PgConnection) -> Result<bool, Failure> {
    let valid = "SELECT coalesce(bool_and(indisvalid), false) FROM pg_index JOIN pg_class ON oid = indexrelid
                 WHERE relname = 'cart_by_id'";
    Ok(sqlx::query_scalar(valid).fetch_one(sql).await?)
}
