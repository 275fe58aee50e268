//! Read access: no transaction is opened until SQL is about to run.

use std::ops::{Deref, DerefMut};

use primitives::{MerchantId, Timestamp};
use sqlx::{PgConnection, Postgres, Transaction};

use crate::pool::Opened;
use crate::store_permits::Permit;
use crate::tenant::{Access, Tenant};
use crate::{Clock, Database, DatabaseError};

/// Read access to the rows of one store or of the platform. Cheap to create and to clone.
#[derive(Clone)]
pub struct Reading {
    database: Database,
    tenant: Tenant,
}

impl Reading {
    /// Reads one store, under row-level security. Returns `WrongCell` for a merchant of another cell.
    pub fn for_store(database: &Database, merchant: MerchantId) -> Result<Self, DatabaseError> {
        database.check_cell(merchant)?;
        Ok(Self { database: database.clone(), tenant: Tenant::Store(merchant) })
    }

    /// Reads across stores. `tidy` lists the crates that may.
    #[must_use]
    pub fn for_platform(database: &Database) -> Self {
        Self { database: database.clone(), tenant: Tenant::Platform }
    }

    /// Opens a read-only transaction. Prefer [`run`](Self::run), which also ends it.
    pub async fn open(&self) -> Result<Snapshot, DatabaseError> {
        let Opened { transaction, permit } = self.database.begin(self.tenant, Access::Read).await?;
        Ok(Snapshot { transaction, _permit: permit, clock: self.database.clock().clone() })
    }

    /// Runs `read` inside a read-only transaction and ends the transaction afterwards.
    ///
    /// The connection is held for as long as `read` runs, so that it should do SQL and nothing else.
    pub async fn run<T, E, F>(&self, read: F) -> Result<T, E>
    where
        F: AsyncFnOnce(&mut Snapshot) -> Result<T, E>,
        E: From<DatabaseError>,
    {
        let mut snapshot = self.open().await?;
        let value = read(&mut snapshot).await?;
        snapshot.close().await?;
        Ok(value)
    }

    /// Returns the time of this process: for display and ages, never for business rules.
    #[must_use]
    pub fn local_now(&self) -> Timestamp {
        self.database.local_now()
    }
}

/// An open read-only transaction. Dereferences to `PgConnection` for the SQL of a `table.rs`.
pub struct Snapshot {
    transaction: Transaction<'static, Postgres>,
    _permit: Permit,
    clock: Clock,
}

impl Snapshot {
    /// Returns the transaction timestamp of the database, for rules such as an expiry.
    pub async fn now(&mut self) -> Result<Timestamp, DatabaseError> {
        if let Some(fixed) = self.clock.fixed_now() {
            return Ok(fixed);
        }
        let now = sqlx::query_scalar!(r#"SELECT now() AS "now!""#)
            .fetch_one(&mut *self.transaction)
            .await?;
        Ok(now.into())
    }

    /// Ends the transaction and returns the connection to the pool.
    pub async fn close(self) -> Result<(), DatabaseError> {
        self.transaction.commit().await?;
        Ok(())
    }
}

impl Deref for Snapshot {
    type Target = PgConnection;
    fn deref(&self) -> &PgConnection {
        &self.transaction
    }
}

impl DerefMut for Snapshot {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }
}
