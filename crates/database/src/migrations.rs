//! The embedded migrations, and how they are applied while the service runs. `build.rs` makes cargo rebuild the crate when
//! the folder changes.

use std::time::Duration;

use sqlx::migrate::{Migrate, MigrateError, Migration, Migrator};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

/// All migrations; forward-only.
pub(crate) static MIGRATOR: Migrator = sqlx::migrate!("./migrations");

/// How long a migration waits for the lock on a table. While it waits, so does every query of that table.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause before a migration that could not get its locks is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(2);
/// Tries of one migration: with their pauses five minutes.
const TRIES_MAX: u32 = 100;

/// Applies pending migrations one by one, on a connection of its own. Statements take as long as they need, and locks are
/// waited for only briefly and in several tries, so that traffic is never stopped for long.
pub(crate) async fn run(migrator: &Migrator, options: &PgConnectOptions) -> sqlx::Result<()> {
    let mut sql = options.clone().application_name("souk migrate").connect().await?;
    let applied = run_on(migrator, &mut sql).await;
    // Closing the connection releases the lock of migrators.
    sql.close().await?;
    applied.map_err(|error| sqlx::Error::Migrate(Box::new(error)))
}

async fn run_on(migrator: &Migrator, sql: &mut PgConnection) -> Result<(), MigrateError> {
    // What the server or the role sets by default is for serving.
    execute(sql, "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0").await?;
    // Another process that migrates is waited for.
    set_lock_timeout(sql, Duration::ZERO).await?;
    sql.lock().await?;
    sql.ensure_migrations_table(&migrator.table_name).await?;
    let applied = sql.list_applied_migrations(&migrator.table_name).await?;
    let is_applied = |version| applied.iter().any(|migration| migration.version == version);
    for migration in migrator.iter().filter(|migration| !is_applied(migration.version)) {
        apply(migrator, sql, migration).await?;
    }
    // Nothing is left to apply: this compares what was applied with the embedded files.
    migrator.run_direct(None, sql, false).await
}

async fn apply(
    migrator: &Migrator,
    sql: &mut PgConnection,
    migration: &Migration,
) -> Result<(), MigrateError> {
    if migration.no_tx {
        // `CREATE INDEX CONCURRENTLY` stops no traffic and has to wait for older transactions, however long they take.
        set_lock_timeout(sql, Duration::ZERO).await?;
        drop_remains(sql, migration).await?;
        return migrator.run_direct(Some(migration.version), sql, false).await;
    }
    set_lock_timeout(sql, LOCK_TIMEOUT).await?;
    let mut tries = 1;
    loop {
        match migrator.run_direct(Some(migration.version), sql, false).await {
            Err(error) if is_lock_conflict(&error) && tries < TRIES_MAX => {
                tracing::warn!(
                    version = migration.version,
                    tries,
                    "a table is in use; the migration is tried again"
                );
            }
            result => return result,
        }
        tries += 1;
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

/// Drops the index that an interrupted run of the migration left behind. It is usually invalid: PostgreSQL would maintain
/// it, not use it, and refuse to create it again.
async fn drop_remains(sql: &mut PgConnection, migration: &Migration) -> sqlx::Result<()> {
    for name in created_indexes(migration.sql.as_str()) {
        let found: Option<String> = sqlx::query_scalar(
            "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'i' AND relname = $1",
        )
        .bind(name)
        .fetch_optional(&mut *sql)
        .await?;
        if let Some(index) = found {
            tracing::warn!(index, "dropping the index that an interrupted migration left behind");
            execute(sql, &format!("DROP INDEX CONCURRENTLY {index}")).await?;
        }
    }
    Ok(())
}

/// Returns the names of the indexes that a migration creates concurrently.
fn created_indexes(migration: &str) -> Vec<&str> {
    let lines = migration.lines().filter(|line| !line.trim_start().starts_with("--"));
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let is = |word: Option<&&str>, one_of: &[&str]| {
        word.is_some_and(|word| one_of.iter().any(|it| word.eq_ignore_ascii_case(it)))
    };
    let mut names = Vec::new();
    for at in 1..words.len() {
        let is_created = is(words.get(at - 1), &["CREATE", "UNIQUE"])
            && is(words.get(at), &["INDEX"])
            && is(words.get(at + 1), &["CONCURRENTLY"]);
        if is_created {
            let after = words[at + 2..].iter();
            names.extend(after.copied().find(|word| !is(Some(word), &["IF", "NOT", "EXISTS"])));
        }
    }
    names
}

async fn set_lock_timeout(sql: &mut PgConnection, timeout: Duration) -> sqlx::Result<()> {
    execute(sql, &format!("SET lock_timeout = {}", timeout.as_millis())).await
}

async fn execute(sql: &mut PgConnection, statement: &str) -> sqlx::Result<()> {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(sql).await?;
    Ok(())
}

/// Whether a lock was not available in time, or a deadlock was resolved by ending the migration.
fn is_lock_conflict(error: &MigrateError) -> bool {
    let (MigrateError::ExecuteMigration(error, _) | MigrateError::Execute(error)) = error else {
        return false;
    };
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    matches!(code.as_deref(), Some("55P03" | "40P01"))
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;
    use std::time::Instant;

    use sqlx::SqlSafeStr;
    use sqlx::migrate::MigrationType;
    use testkit::TestDatabase;

    use super::*;

    #[test]
    fn the_indexes_of_a_migration_are_found() {
        let text = "-- no-transaction\n-- CREATE INDEX CONCURRENTLY not_this ON a (b);\n\
                    CREATE UNIQUE INDEX CONCURRENTLY one ON a (b);\n\
                    create index concurrently if not exists two\n  ON a (c);";
        assert_eq!(created_indexes(text), ["one", "two"]);
        assert!(created_indexes("CREATE INDEX three ON a (b)").is_empty());
        assert!(created_indexes("DROP INDEX CONCURRENTLY job_due").is_empty());
    }

    /// Migrations of a table `thing`, beside those of the service.
    fn migrator(statements: &[&'static str]) -> Migrator {
        let migrations = statements.iter().zip(1..).map(|(statement, version)| {
            let is_concurrent = statement.contains("CONCURRENTLY");
            let sql = statement.into_sql_str();
            Migration::new(version, "test".into(), MigrationType::Simple, sql, is_concurrent)
        });
        let mut migrator = Migrator::with_migrations(migrations.collect());
        migrator.dangerous_set_table_name("test_migrations");
        migrator
    }

    fn options(test: &TestDatabase) -> PgConnectOptions {
        PgConnectOptions::from_str(&test.url()).unwrap()
    }

    const TABLE: &str = "CREATE TABLE thing (a integer)";

    #[tokio::test]
    async fn an_interrupted_index_is_created_again() {
        let test = TestDatabase::new().await;
        let statements = [TABLE, "CREATE INDEX CONCURRENTLY thing_a ON thing (a)"];
        run(&migrator(&statements[..1]), &options(&test)).await.unwrap();
        // An older transaction holds the creation up until its timeout.
        let mut older = test.raw().await;
        execute(&mut older, "BEGIN; INSERT INTO thing VALUES (1)").await.unwrap();
        let mut impatient = test.raw().await;
        execute(&mut impatient, "SET statement_timeout = 200").await.unwrap();
        execute(&mut impatient, statements[1]).await.unwrap_err();
        execute(&mut older, "COMMIT").await.unwrap();
        let is_valid = async || {
            sqlx::query_scalar::<_, bool>(
                "SELECT indisvalid FROM pg_index WHERE indexrelid = 'thing_a'::regclass",
            )
            .fetch_one(&mut test.raw().await)
            .await
            .unwrap()
        };
        assert!(!is_valid().await);
        run(&migrator(&statements), &options(&test)).await.unwrap();
        assert!(is_valid().await);
    }

    #[tokio::test]
    async fn a_migration_does_not_stop_queries_while_it_waits_for_a_lock() {
        let test = TestDatabase::new().await;
        let statements = [TABLE, "ALTER TABLE thing ADD COLUMN b integer"];
        run(&migrator(&statements[..1]), &options(&test)).await.unwrap();
        let mut reader = test.raw().await;
        execute(&mut reader, "BEGIN; SELECT FROM thing").await.unwrap();
        let (migrator, options) = (migrator(&statements), options(&test));
        let migration = tokio::spawn(async move { run(&migrator, &options).await });
        let (since, mut longest) = (Instant::now(), Duration::ZERO);
        while since.elapsed() < Duration::from_secs(4) {
            let asked = Instant::now();
            execute(&mut test.raw().await, "SELECT FROM thing").await.unwrap();
            longest = longest.max(asked.elapsed());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(!migration.is_finished(), "the lock was not needed");
        assert!(longest < LOCK_TIMEOUT * 2, "a query waited {longest:?}");
        execute(&mut reader, "COMMIT").await.unwrap();
        migration.await.unwrap().unwrap();
        execute(&mut test.raw().await, "SELECT b FROM thing").await.unwrap();
    }
}
