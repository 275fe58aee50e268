//! `tenant-isolation`: row-level security isolates tenants: a query without a filter reaches no row
//! of another merchant.
//!
//! The tables are read from the system catalog, so a new one is covered as soon as its migration
//! exists. Each gets a row of merchant A and a row of merchant B; then the roles of a store and of a
//! checkout run statements without any filter.

mod rows;

use database::{Database, Reading, Work};
use primitives::{Id, MerchantId};
use rand::RngExt;
use sqlx::{AssertSqlSafe, PgConnection};
use testkit::TestDatabase;

use crate::foundation::tenant_isolation::rows::Table;
use crate::report::{Failure, Trial, Verdict, ensure};

/// Tables with a `merchant_id` that belong to the whole cell: the queue and the outbox.
const CELL_WIDE: [&str; 4] = ["dead_job", "job", "outbox", "sweep_failure"];

/// A role that is bound to one merchant.
#[derive(Debug, Clone, Copy)]
enum Role {
    Store,
    Checkout,
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::Store => "souk_store",
            Self::Checkout => "souk_checkout",
        }
    }
}

struct Harness {
    role: Role,
    database: Database,
    /// A superuser connection, not subject to row-level security.
    sql: PgConnection,
    ours: MerchantId,
    theirs: MerchantId,
    statements: usize,
    /// Statements that reached our own row: the policy applies, not just a missing grant.
    reached_ours: usize,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    let mut rng = trial.rng(4);
    let mut merchant = || MerchantId::from_random(rng.random());
    let (ours, theirs) = (merchant(), merchant());
    let (database, sql) = (test.database().clone(), test.raw().await);
    let role = Role::Store;
    let mut harness = Harness { role, database, sql, ours, theirs, statements: 0, reached_ours: 0 };
    let tables = harness.isolated_tables().await?;
    rows::drop_constraints(&mut harness.sql).await?;
    for role in [Role::Store, Role::Checkout] {
        harness.role = role;
        for table in &tables {
            let checked = harness.check_table(table).await;
            checked.map_err(|why| format!("{} as {}: {why}", table.name, role.name()))?;
        }
    }
    ensure(harness.reached_ours > 0, || String::from("no statement reached any row"))?;
    Ok(format!(
        "{} tables with a merchant, all with row-level security: {} statements of two roles without a filter \
         reached our row {} times and the other merchant's never",
        tables.len(),
        harness.statements,
        harness.reached_ours,
    ))
}

impl Harness {
    /// Fails unless every table with a merchant has row-level security or is cell-wide.
    async fn isolated_tables(&mut self) -> Result<Vec<Table>, Failure> {
        let mut tables = rows::tables_with_merchant(&mut self.sql).await?;
        tables.retain(|table| !CELL_WIDE.contains(&table.name.as_str()));
        for table in &tables {
            ensure(table.isolated, || format!("{} has no forced row-level security", table.name))?;
        }
        ensure(tables.iter().any(|table| table.name == "idempotency"), || {
            String::from("the tables were not found")
        })?;
        Ok(tables)
    }

    async fn check_table(&mut self, table: &Table) -> Result<(), Failure> {
        let empty = format!("TRUNCATE {} CASCADE", table.name);
        sqlx::raw_sql(AssertSqlSafe(empty)).execute(&mut self.sql).await?;
        for (number, merchant) in [(1, self.ours), (2, self.theirs)] {
            let insert = table.insert(merchant, number)?;
            sqlx::raw_sql(AssertSqlSafe(insert)).execute(&mut self.sql).await?;
        }
        self.read(table).await?;
        self.read_without_merchant(table).await?;
        self.write(table).await?;
        self.delete(table).await
    }

    /// Reads all rows, and those of the other merchant by id: finds ours and none of theirs.
    async fn read(&mut self, table: &Table) -> Result<(), Failure> {
        let all = format!("SELECT count(*) FROM {}", table.name);
        let of_them = format!("{all} WHERE merchant_id = '{}'", self.theirs.uuid());
        for (query, expected) in [(all, 1), (of_them, 0)] {
            let reading = Reading::for_store(&self.database, self.ours)?;
            let by_reading = reading.run(async |sql| count(sql, &query).await).await?;
            let mut work = self.work().await?;
            let by_work = count(work.sql(), &query).await?;
            for found in [by_reading, by_work] {
                self.statements += 1;
                self.reached_ours += usize::from(found == Some(1));
                ensure(found.is_none_or(|found| found == expected), || {
                    format!("{query} found {found:?}, expected {expected}")
                })?;
            }
        }
        Ok(())
    }

    /// Reads with the role alone, and with an empty merchant, as after a transaction: finds no rows.
    async fn read_without_merchant(&mut self, table: &Table) -> Result<(), Failure> {
        let query = format!("SELECT count(*) FROM {}", table.name);
        for setting in ["SELECT 1", "SET LOCAL souk.merchant_id = ''"] {
            let begin = format!("BEGIN; SET LOCAL ROLE {}; {setting}", self.role.name());
            sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut self.sql).await?;
            let found = count(&mut self.sql, &query).await;
            sqlx::raw_sql("ROLLBACK").execute(&mut self.sql).await?;
            self.statements += 1;
            let found = found?;
            ensure(found.unwrap_or(0) == 0, || {
                format!("without a merchant {found:?} rows are visible")
            })?;
        }
        Ok(())
    }

    /// Updating all rows changes ours only; a row of theirs can neither be inserted nor result from
    /// an update.
    async fn write(&mut self, table: &Table) -> Result<(), Failure> {
        let update = format!("UPDATE {} SET merchant_id = merchant_id", table.name);
        let changed = self.execute(&update).await?;
        ensure(changed.is_none_or(|rows| rows == 1), || format!("{update} changed {changed:?}"))?;
        let give_away = format!("UPDATE {} SET merchant_id = '{}'", table.name, self.theirs.uuid());
        for forbidden in [give_away, table.insert(self.theirs, 3)?] {
            let done = self.execute(&forbidden).await?;
            ensure(done.is_none(), || format!("{forbidden} was not rejected"))?;
        }
        Ok(())
    }

    /// Deleting all rows leaves theirs. An order is deleted only if it is of a sandbox, which those of this check are not.
    async fn delete(&mut self, table: &Table) -> Result<(), Failure> {
        let deleted = self.execute(&format!("DELETE FROM {}", table.name)).await?;
        let expected = u64::from(table.name != "placed_order");
        ensure(deleted.is_none_or(|rows| rows == expected), || {
            format!("DELETE removed {deleted:?} rows")
        })?;
        let theirs = format!(
            "SELECT count(*) FROM {} WHERE merchant_id = '{}'",
            table.name,
            self.theirs.uuid()
        );
        let left = count(&mut self.sql, &theirs).await?;
        ensure(left == Some(1), || String::from("a row of another merchant was deleted"))
    }

    /// Opens a transaction of our merchant with the role.
    async fn work(&self) -> Result<Work, Failure> {
        Ok(match self.role {
            Role::Store => Work::for_store(&self.database, self.ours).await?,
            Role::Checkout => Work::for_checkout(&self.database, self.ours).await?,
        })
    }

    /// Runs a statement with the role and commits it. Returns `None` if permission was denied.
    async fn execute(&mut self, statement: &str) -> Result<Option<u64>, Failure> {
        self.statements += 1;
        let mut work = self.work().await?;
        let done = sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(work.sql()).await;
        match unless_denied(done)? {
            Some(done) => {
                work.commit().await?;
                self.reached_ours += usize::from(done.rows_affected() == 1);
                Ok(Some(done.rows_affected()))
            }
            None => Ok(None),
        }
    }
}

/// Returns `None` if the role may not read the table at all.
async fn count(sql: &mut PgConnection, query: &str) -> Result<Option<i64>, Failure> {
    let counted = sqlx::query_scalar(AssertSqlSafe(query.to_owned())).fetch_one(sql).await;
    unless_denied(counted)
}

/// Returns `None` for `insufficient_privilege`, the error of a missing grant and of a policy alike.
fn unless_denied<T>(result: sqlx::Result<T>) -> Result<Option<T>, Failure> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("42501") => Ok(None),
        Err(error) => Err(error.into()),
    }
}
