//! The connection pool with its clock, random source and cell directory.

use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use primitives::{MerchantId, Timestamp};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{Postgres, Transaction};

use crate::cells::Directory;
use crate::error::is_begin_on_standby;
use crate::migrations::{self, MIGRATOR};
use crate::store_permits::{Permit, Permits};
use crate::tenant::{Access, Tenant};
use crate::{CellName, Clock, DatabaseError, RandomSource};

/// Connection settings.
#[derive(Clone)]
pub struct Settings {
    /// `postgres://user:password@host:port/database`
    pub url: String,
    /// Maximum number of connections of this process.
    pub connections_max: u32,
    /// How long a caller waits for a connection before it gets `service_unavailable`.
    pub acquire_timeout: Duration,
    /// The cell this process serves.
    pub cell: CellName,
    pub clock: Clock,
    pub random_source: RandomSource,
}

/// A handle to PostgreSQL. Cheap to clone; clones share the pool.
#[derive(Clone)]
pub struct Database {
    pool: PgPool,
    /// Options of connections without the timeouts of serving.
    connect_options: Arc<PgConnectOptions>,
    acquire_timeout: Duration,
    permits: Permits,
    /// When idle connections were last closed because the server is not the primary.
    discarded_at: Arc<Mutex<Option<Instant>>>,
    cell: CellName,
    clock: Clock,
    random_source: RandomSource,
    directory: Arc<RwLock<Arc<Directory>>>,
}

/// Creates a pool for serving.
fn pool(
    connect_options: &PgConnectOptions,
    connections_max: u32,
    acquire_timeout: Duration,
) -> PgPool {
    // One stuck statement or idle transaction delays vacuum in the whole cluster, and makes readers of the outbox
    // read the same rows again.
    let options = connect_options.clone().options([
        ("statement_timeout", "10s"),
        ("lock_timeout", "5s"),
        ("idle_in_transaction_session_timeout", "10s"),
        // Statements are short. Where plan types are disabled, the planner overestimates their cost, and
        // compiling one takes a hundred times as long as running it.
        ("jit", "off"),
    ]);
    PgPoolOptions::new()
        .max_connections(connections_max)
        .acquire_timeout(acquire_timeout)
        // A ping before each use would cost a round trip; `begin` replaces a closed connection.
        .test_before_acquire(false)
        .connect_lazy_with(options)
}

/// An open transaction.
pub(crate) struct Opened {
    pub(crate) transaction: Transaction<'static, Postgres>,
    /// Held for as long as the transaction is open.
    pub(crate) permit: Permit,
}

/// Usage of the pool.
#[derive(Debug, Clone, Copy)]
pub struct PoolState {
    /// Open connections, idle ones included.
    pub open: u32,
    pub idle: u32,
}

impl Database {
    /// Creates the pool without connecting: connections open on first use, so that this succeeds while PostgreSQL is
    /// unavailable.
    pub fn connect_lazy(settings: Settings) -> Result<Self, DatabaseError> {
        let connect_options = PgConnectOptions::from_str(&settings.url)?.application_name("souk");
        let acquire_timeout = settings.acquire_timeout;
        Ok(Self {
            pool: pool(&connect_options, settings.connections_max, acquire_timeout),
            connect_options: Arc::new(connect_options),
            acquire_timeout,
            permits: Permits::new(settings.connections_max, acquire_timeout),
            discarded_at: Arc::default(),
            cell: settings.cell,
            clock: settings.clock,
            random_source: settings.random_source,
            directory: Arc::default(),
        })
    }

    /// Returns a handle with a pool of its own of so many connections, for tests: with a single one, code that opens a
    /// transaction inside another one waits for itself.
    #[must_use]
    pub fn with_connections(&self, connections_max: u32) -> Self {
        Self {
            pool: pool(&self.connect_options, connections_max, self.acquire_timeout),
            permits: Permits::new(connections_max, self.acquire_timeout),
            ..self.clone()
        }
    }

    /// Applies pending migrations, on a connection of its own without the timeouts of serving. Safe to call from several
    /// processes at once.
    pub async fn migrate(&self) -> Result<(), DatabaseError> {
        Ok(migrations::run(&MIGRATOR, &self.connect_options).await?)
    }

    /// Returns whether all migrations of this binary have been applied.
    pub async fn is_migrated(&self) -> Result<bool, DatabaseError> {
        let newest = MIGRATOR.iter().map(|migration| migration.version).max();
        let applied: Option<i64> =
            sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations WHERE success")
                .fetch_one(&self.pool)
                .await
                .or_else(|error| match &error {
                    // undefined_table: no migration has ever run
                    sqlx::Error::Database(error) if error.code().as_deref() == Some("42P01") => {
                        Ok(None)
                    }
                    _ => Err(error),
                })?;
        Ok(applied >= newest)
    }

    /// Returns a number that changes with every added migration.
    #[must_use]
    pub fn schema_fingerprint() -> u64 {
        MIGRATOR.iter().flat_map(|migration| migration.checksum.iter()).fold(0, |sum: u64, byte| {
            sum.rotate_left(5).wrapping_mul(31).wrapping_add(u64::from(*byte))
        })
    }

    /// Reloads the cell directory. The server calls it at startup and every few seconds.
    pub async fn refresh_directory(&self) -> Result<(), DatabaseError> {
        let mut opened = self.begin(Tenant::Platform, Access::Read).await?;
        let directory = Directory::load(&mut opened.transaction).await?;
        opened.transaction.commit().await?;
        *self.directory.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(directory);
        Ok(())
    }

    /// Returns `WrongCell` if the cached directory assigns the merchant to another cell.
    pub(crate) fn check_cell(&self, merchant: MerchantId) -> Result<(), DatabaseError> {
        let directory = Arc::clone(&self.directory.read().unwrap_or_else(PoisonError::into_inner));
        directory.check(&self.cell, merchant)
    }

    /// Opens a transaction, once there is a permit for it. A pooled connection may have been closed since its last
    /// use (a restart of PostgreSQL closes all of them); nothing has run yet, so that another connection is tried.
    pub(crate) async fn begin(
        &self,
        tenant: Tenant,
        access: Access,
    ) -> Result<Opened, DatabaseError> {
        let permit = self.permits.acquire(tenant, access).await?;
        let attempts_max = self.pool.size() + 1;
        let mut attempt = 1;
        loop {
            let error = match self.pool.begin_with(tenant.begin(access)).await {
                Ok(transaction) => return Ok(Opened { transaction, permit }),
                Err(error) => error,
            };
            if is_begin_on_standby(&error) {
                self.discard_idle_connections().await;
                return Err(DatabaseError::Unavailable(error));
            }
            let error = DatabaseError::from(error);
            if !error.is_connection_lost() || attempt == attempts_max {
                return Err(error);
            }
            attempt += 1;
        }
    }

    /// Closes the idle connections, at most once per second: they may all lead to a server that is no longer the primary,
    /// while new ones lead to the new primary.
    async fn discard_idle_connections(&self) {
        {
            let mut discarded_at = self.discarded_at.lock().unwrap_or_else(PoisonError::into_inner);
            if discarded_at.is_some_and(|at| at.elapsed() < Duration::from_secs(1)) {
                return;
            }
            *discarded_at = Some(Instant::now());
        }
        tracing::warn!("PostgreSQL is not the primary: the pooled connections are replaced");
        for _ in 0..self.pool.size() {
            let Some(connection) = self.pool.try_acquire() else { return };
            // A connection that cannot be closed properly is dropped all the same.
            let _ = connection.close().await;
        }
    }

    /// Returns the cell this process serves.
    #[must_use]
    pub fn cell(&self) -> &CellName {
        &self.cell
    }

    /// Returns the time of this process: for display and ages, never for business rules.
    #[must_use]
    pub fn local_now(&self) -> Timestamp {
        self.clock.local_now()
    }

    pub(crate) fn pool(&self) -> &PgPool {
        &self.pool
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn random_source(&self) -> &RandomSource {
        &self.random_source
    }

    /// Returns the usage of the pool.
    #[must_use]
    pub fn pool_state(&self) -> PoolState {
        let idle = u32::try_from(self.pool.num_idle()).unwrap_or(u32::MAX);
        PoolState { open: self.pool.size(), idle }
    }

    /// Closes every connection, after waiting for those in use.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}
