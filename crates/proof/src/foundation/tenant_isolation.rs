//! (d) Row-level security is a wall between tenants: whatever a query forgets, it reaches no row of
//! another merchant.
//!
//! The tables come from the catalog, so a new one is tried as soon as its migration exists. Each
//! gets a row of merchant A and a row of merchant B; then the store role tries without any filter.

mod rows;

use database::{Database, Reading, Work};
use primitives::{Id, MerchantId};
use rand::RngExt;
use sqlx::{AssertSqlSafe, PgConnection};
use testkit::TestDatabase;

use crate::foundation::tenants::rows::Table;
use crate::report::{Failure, Trial, Verdict, ensure};

/// Tables that carry a merchant and belong to none: the queue and the log of the whole cell.
const CELL_WIDE: [&str; 3] = ["dead_job", "job", "outbox"];

struct Scene {
    database: Database,
    /// Round all walls.
    sql: PgConnection,
    ours: MerchantId,
    theirs: MerchantId,
    tries: usize,
    /// Tries that reached the row of ours, so that the wall is not just a missing grant.
    reached_ours: usize,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    let mut dice = trial.dice(4);
    let mut merchant = || MerchantId::from_random(dice.random());
    let (ours, theirs) = (merchant(), merchant());
    let (database, sql) = (test.database().clone(), test.raw().await);
    let mut scene = Scene { database, sql, ours, theirs, tries: 0, reached_ours: 0 };
    let tables = scene.walled_tables().await?;
    rows::loosen(&mut scene.sql).await?;
    for table in &tables {
        scene.try_table(table).await.map_err(|why| format!("{}: {why}", table.name))?;
    }
    ensure(scene.reached_ours > 0, || String::from("nothing was reached at all"))?;
    Ok(format!(
        "{} tables with a merchant, all walled off: {} tries without a filter reached our row {} \
         times and another's never",
        tables.len(),
        scene.tries,
        scene.reached_ours,
    ))
}

impl Scene {
    /// Every table with a merchant has its wall, or is known to be the cell's.
    async fn walled_tables(&mut self) -> Result<Vec<Table>, Failure> {
        let mut tables = rows::tables_with_merchant(&mut self.sql).await?;
        tables.retain(|table| !CELL_WIDE.contains(&table.name.as_str()));
        for table in &tables {
            ensure(table.walled, || format!("{} has no forced row-level security", table.name))?;
        }
        ensure(tables.iter().any(|table| table.name == "idempotency"), || {
            String::from("the tables were not found")
        })?;
        Ok(tables)
    }

    async fn try_table(&mut self, table: &Table) -> Result<(), Failure> {
        for (number, merchant) in [(1, self.ours), (2, self.theirs)] {
            let insert = table.insert(merchant, number)?;
            sqlx::raw_sql(AssertSqlSafe(insert)).execute(&mut self.sql).await?;
        }
        self.read(table).await?;
        self.read_without_merchant(table).await?;
        self.write(table).await?;
        self.delete(table).await
    }

    /// All rows, and theirs by name: one of ours and none of theirs.
    async fn read(&mut self, table: &Table) -> Result<(), Failure> {
        let all = format!("SELECT count(*) FROM {}", table.name);
        let of_them = format!("{all} WHERE merchant_id = '{}'", self.theirs.uuid());
        for (query, expected) in [(all, 1), (of_them, 0)] {
            let mut snapshot = Reading::for_store(&self.database, self.ours)?.open().await?;
            let by_reading = count(&mut snapshot, &query).await?;
            snapshot.close().await?;
            let mut work = Work::for_store(&self.database, self.ours).await?;
            let by_work = count(work.sql(), &query).await?;
            for found in [by_reading, by_work] {
                self.tries += 1;
                self.reached_ours += usize::from(found == Some(1));
                ensure(found.is_none_or(|found| found == expected), || {
                    format!("{query} found {found:?}, not {expected}")
                })?;
            }
        }
        Ok(())
    }

    /// The role alone, and the role with an empty merchant, as after a transaction: no rows.
    async fn read_without_merchant(&mut self, table: &Table) -> Result<(), Failure> {
        let query = format!("SELECT count(*) FROM {}", table.name);
        for setting in ["SELECT 1", "SET LOCAL souk.merchant_id = ''"] {
            let begin = format!("BEGIN; SET LOCAL ROLE souk_store; {setting}");
            sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut self.sql).await?;
            let found = count(&mut self.sql, &query).await;
            sqlx::raw_sql("ROLLBACK").execute(&mut self.sql).await?;
            self.tries += 1;
            let found = found?;
            ensure(found.unwrap_or(0) == 0, || {
                format!("without a merchant {found:?} rows are seen")
            })?;
        }
        Ok(())
    }

    /// Changing all rows changes ours; a row of theirs can be neither made nor become one.
    async fn write(&mut self, table: &Table) -> Result<(), Failure> {
        let update = format!("UPDATE {} SET merchant_id = merchant_id", table.name);
        let changed = self.execute(&update).await?;
        ensure(changed.is_none_or(|rows| rows == 1), || format!("{update} changed {changed:?}"))?;
        let give_away = format!("UPDATE {} SET merchant_id = '{}'", table.name, self.theirs.uuid());
        for forbidden in [give_away, table.insert(self.theirs, 3)?] {
            let done = self.execute(&forbidden).await?;
            ensure(done.is_none(), || format!("{forbidden} was not refused"))?;
        }
        Ok(())
    }

    /// Deleting everything leaves theirs.
    async fn delete(&mut self, table: &Table) -> Result<(), Failure> {
        let deleted = self.execute(&format!("DELETE FROM {}", table.name)).await?;
        ensure(deleted.is_none_or(|rows| rows == 1), || format!("DELETE took {deleted:?} rows"))?;
        let theirs = format!(
            "SELECT count(*) FROM {} WHERE merchant_id = '{}'",
            table.name,
            self.theirs.uuid()
        );
        let left = count(&mut self.sql, &theirs).await?;
        ensure(left == Some(1), || String::from("a row of another merchant is gone"))
    }

    /// Runs a statement as the store and commits it. Nothing, if it was refused.
    async fn execute(&mut self, statement: &str) -> Result<Option<u64>, Failure> {
        self.tries += 1;
        let mut work = Work::for_store(&self.database, self.ours).await?;
        let done = sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(work.sql()).await;
        match unless_refused(done)? {
            Some(done) => {
                work.commit().await?;
                self.reached_ours += usize::from(done.rows_affected() == 1);
                Ok(Some(done.rows_affected()))
            }
            None => Ok(None),
        }
    }
}

/// Nothing, if the role may not read the table at all.
async fn count(sql: &mut PgConnection, query: &str) -> Result<Option<i64>, Failure> {
    let counted = sqlx::query_scalar(AssertSqlSafe(query.to_owned())).fetch_one(sql).await;
    unless_refused(counted)
}

/// `insufficient_privilege` is the answer of a missing grant and of a policy alike.
fn unless_refused<T>(result: sqlx::Result<T>) -> Result<Option<T>, Failure> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(sqlx::Error::Database(refusal)) if refusal.code().as_deref() == Some("42501") => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
