//! The pool, and what hangs on it: clock, dice and the directory of cells.

use std::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use primitives::{MerchantId, Timestamp};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{Postgres, Transaction};

use crate::cells::Directory;
use crate::migrations::MIGRATOR;
use crate::tenant::{Access, Tenant};
use crate::{CellName, Clock, DatabaseError, Dice};

/// How to reach PostgreSQL.
#[derive(Clone)]
pub struct Settings {
    /// `postgres://user:password@host:port/database`
    pub url: String,
    /// Connections this process may hold.
    pub connections_max: u32,
    /// How long a caller waits for a connection before it hears `service_unavailable`.
    pub acquire_timeout: Duration,
    /// The cell this process serves.
    pub cell: CellName,
    /// Where moments come from.
    pub clock: Clock,
    /// Where randomness comes from.
    pub dice: Dice,
}

/// The door to PostgreSQL. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Database {
    pool: PgPool,
    cell: CellName,
    clock: Clock,
    dice: Dice,
    directory: Arc<RwLock<Arc<Directory>>>,
}

/// How busy the pool is.
#[derive(Debug, Clone, Copy)]
pub struct PoolState {
    /// Connections open.
    pub open: u32,
    /// Connections waiting for work.
    pub idle: u32,
}

impl Database {
    /// Prepares the pool; connections open when they are first needed, so this works while the
    /// engine is away.
    pub fn prepare(settings: Settings) -> Result<Self, DatabaseError> {
        // One stuck statement or forgotten transaction keeps vacuum from its work in the whole
        // cluster, and makes readers of the outbox look twice.
        let options =
            PgConnectOptions::from_str(&settings.url)?.application_name("souk").options([
                ("statement_timeout", "10s"),
                ("lock_timeout", "5s"),
                ("idle_in_transaction_session_timeout", "10s"),
                // Our statements are short. Where the planner is told what not to do, it takes them for
                // dear, and compiling one costs a hundred times what running it does.
                ("jit", "off"),
            ]);
        let pool = PgPoolOptions::new()
            .max_connections(settings.connections_max)
            .acquire_timeout(settings.acquire_timeout)
            // A ping before each use would cost a round trip; `begin` replaces a dead connection.
            .test_before_acquire(false)
            .connect_lazy_with(options);
        Ok(Self {
            pool,
            cell: settings.cell,
            clock: settings.clock,
            dice: settings.dice,
            directory: Arc::default(),
        })
    }

    /// Applies the migrations that are missing. Safe to call from several processes at once.
    pub async fn migrate(&self) -> Result<(), DatabaseError> {
        MIGRATOR.run(&self.pool).await.map_err(|error| sqlx::Error::Migrate(Box::new(error)))?;
        Ok(())
    }

    /// Whether the schema is the one this binary was built for, or a newer one.
    pub async fn is_migrated(&self) -> Result<bool, DatabaseError> {
        let newest = MIGRATOR.iter().map(|migration| migration.version).max();
        let applied: Option<i64> =
            sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations WHERE success")
                .fetch_one(&self.pool)
                .await
                .or_else(|error| match &error {
                    // undefined_table: nothing was ever migrated here
                    sqlx::Error::Database(refusal)
                        if refusal.code().as_deref() == Some("42P01") =>
                    {
                        Ok(None)
                    }
                    _ => Err(error),
                })?;
        Ok(applied >= newest)
    }

    /// A number that changes with every migration that is added.
    #[must_use]
    pub fn schema_fingerprint() -> u64 {
        MIGRATOR.iter().flat_map(|migration| migration.checksum.iter()).fold(0, |sum: u64, byte| {
            sum.rotate_left(5).wrapping_mul(31).wrapping_add(u64::from(*byte))
        })
    }

    /// Reads the directory of cells again. The server calls it at start and every few seconds.
    pub async fn refresh_directory(&self) -> Result<(), DatabaseError> {
        let mut transaction = self.begin(Tenant::Platform, Access::Read).await?;
        let directory = Directory::load(&mut transaction).await?;
        transaction.commit().await?;
        *self.directory.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(directory);
        Ok(())
    }

    /// Refuses a merchant of another cell, by the cached directory.
    pub(crate) fn check_cell(&self, merchant: MerchantId) -> Result<(), DatabaseError> {
        let directory = Arc::clone(&self.directory.read().unwrap_or_else(PoisonError::into_inner));
        directory.check(&self.cell, merchant)
    }

    /// Opens a transaction. A pooled connection may have died since its last use (an engine
    /// restart kills them all at once); nothing has run yet, so another one is tried.
    pub(crate) async fn begin(
        &self,
        tenant: Tenant,
        access: Access,
    ) -> Result<Transaction<'static, Postgres>, DatabaseError> {
        let tries_max = self.pool.size() + 1;
        let mut tries = 1;
        loop {
            let begun =
                self.pool.begin_with(tenant.begin(access)).await.map_err(DatabaseError::from);
            match begun {
                Err(error) if error.lost_connection() && tries < tries_max => tries += 1,
                _ => return begun,
            }
        }
    }

    /// The cell this process serves.
    #[must_use]
    pub fn cell(&self) -> &CellName {
        &self.cell
    }

    /// The moment as this process sees it: for showing and for ages, never for a rule.
    #[must_use]
    pub fn local_now(&self) -> Timestamp {
        self.clock.local_moment()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn dice(&self) -> &Dice {
        &self.dice
    }

    /// How busy the pool is.
    #[must_use]
    pub fn pool_state(&self) -> PoolState {
        let idle = u32::try_from(self.pool.num_idle()).unwrap_or(u32::MAX);
        PoolState { open: self.pool.size(), idle }
    }

    /// Closes every connection; waits for the ones in use.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}
