//! A fresh database per test.

use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use database::{CellName, Clock, Database, RandomSource, Settings};
use primitives::Timestamp;

use crate::Template;
use crate::template::{connect, run, with_database};

/// The time at which every test starts, in microseconds since the Unix epoch: 2026-11-15T08:00:00Z.
pub const START: i64 = 1_794_729_600_000_000;

/// The database of one test, dropped with it.
pub struct TestDatabase {
    server: String,
    name: String,
    clock: Clock,
    database: Database,
}

impl TestDatabase {
    /// Creates a migrated, empty database of cell `cell-1`.
    pub async fn new() -> Self {
        Self::of_cell("cell-1").await
    }

    /// Creates a migrated, empty database of another cell.
    pub async fn of_cell(cell: &str) -> Self {
        Self::copy_of(&Template::EMPTY, cell, |_| async {}).await
    }

    /// Creates a copy of a template; `fill` inserts its content if the template does not exist.
    pub async fn copy_of<F, Filled>(template: &Template, cell: &str, fill: F) -> Self
    where
        F: FnOnce(Database) -> Filled,
        Filled: Future<Output = ()>,
    {
        Self::copy_on(server_url(), template, cell, fill).await
    }

    /// Creates a migrated, empty database on another server.
    pub async fn on(server: &str) -> Self {
        Self::copy_on(server.to_owned(), &Template::EMPTY, "cell-1", |_| async {}).await
    }

    async fn copy_on<F, Filled>(server: String, template: &Template, cell: &str, fill: F) -> Self
    where
        F: FnOnce(Database) -> Filled,
        Filled: Future<Output = ()>,
    {
        let template_name = template.ensure(&server, async |url| {
            let draft = open(url, "cell-1", Clock::fixed(start()), 0);
            draft.migrate().await.expect("the migrations apply");
            draft.refresh_directory().await.expect("the cell directory can be read");
            fill(draft.clone()).await;
            draft.close().await;
        });
        let template = template_name.await;
        let name = unique_name();
        let mut admin = connect(&server).await;
        run(&mut admin, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
        let clock = Clock::fixed(start());
        let database = open(with_database(&server, &name), cell, clock.clone(), 7);
        database.refresh_directory().await.expect("the cell directory can be read");
        Self { server, name, clock, database }
    }

    /// Returns the database handle.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Returns its fixed clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Returns its URL, for tests that connect directly.
    #[must_use]
    pub fn url(&self) -> String {
        with_database(&self.server, &self.name)
    }

    /// Removes the record of the last migration, as if the schema were older.
    pub async fn forget_last_migration(&self) {
        let last = "DELETE FROM _sqlx_migrations WHERE version = (SELECT max(version) FROM _sqlx_migrations)";
        run(&mut self.raw().await, last).await;
    }

    /// Opens a direct connection as the owner of the schema, without row-level security.
    pub async fn raw(&self) -> sqlx::PgConnection {
        use sqlx::Connection;
        sqlx::PgConnection::connect(&self.url()).await.expect("the test database responds")
    }

    /// Returns a handle like that of another process: its own pool, the system clock and system randomness.
    #[must_use]
    pub fn another_process(&self) -> Database {
        let cell = self.database.cell().clone();
        connect_lazy(self.url(), cell, Clock::system(), RandomSource::system())
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        // `drop` cannot await, and the runtime of the test is ending, so that a separate thread does it.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime starts").block_on(async {
                let mut admin = connect(&server).await;
                run(&mut admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
            });
        });
        let is_dropped = dropped.join().is_ok() || std::thread::panicking();
        assert!(is_dropped, "the test database could not be dropped");
    }
}

fn start() -> Timestamp {
    Timestamp::from_unix_micros(START)
}

fn open(url: String, cell: &str, clock: Clock, seed: u64) -> Database {
    let cell = CellName::from_str(cell).expect("the cell has a valid name");
    connect_lazy(url, cell, clock, RandomSource::seeded(seed))
}

fn connect_lazy(
    url: String,
    cell: CellName,
    clock: Clock,
    random_source: RandomSource,
) -> Database {
    let acquire_timeout = Duration::from_secs(10);
    let settings =
        Settings { url, connections_max: 20, acquire_timeout, cell, clock, random_source };
    Database::connect_lazy(settings).expect("DATABASE_URL is a URL of PostgreSQL")
}

#[expect(clippy::disallowed_methods, reason = "tests have no configuration but this one address")]
fn server_url() -> String {
    std::env::var("DATABASE_URL")
        .unwrap_or_else(|_| String::from("postgres://souk@127.0.0.1:25329/souk"))
}

/// Returns a unique database name, across processes and within one.
fn unique_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let nanos = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("souk_test_{}_{count}_{nanos}", std::process::id())
}
