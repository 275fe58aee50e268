//! Reading: nothing is opened until SQL is about to run.

use std::ops::{Deref, DerefMut};

use primitives::{MerchantId, Timestamp};
use sqlx::{PgConnection, Postgres, Transaction};

use crate::tenant::{Access, Tenant};
use crate::{Clock, Database, DatabaseError};

/// The right to read one store's rows, or the platform's. Cheap to make and to clone.
#[derive(Clone)]
pub struct Reading {
    database: Database,
    tenant: Tenant,
}

impl Reading {
    /// Reads one store, under row-level security. Refuses a merchant of another cell.
    pub fn for_store(database: &Database, merchant: MerchantId) -> Result<Self, DatabaseError> {
        database.check_cell(merchant)?;
        Ok(Self { database: database.clone(), tenant: Tenant::Store(merchant) })
    }

    /// Reads across stores. `tidy` lists who may.
    #[must_use]
    pub fn for_platform(database: &Database) -> Self {
        Self { database: database.clone(), tenant: Tenant::Platform }
    }

    /// Opens a read-only transaction, to be kept just around the SQL.
    pub async fn open(&self) -> Result<Snapshot, DatabaseError> {
        let transaction = self.database.begin(self.tenant, Access::Read).await?;
        Ok(Snapshot { transaction, clock: self.database.clock().clone() })
    }

    /// The moment as this process sees it: for ages shown to people, never for a rule.
    #[must_use]
    pub fn local_now(&self) -> Timestamp {
        self.database.local_now()
    }
}

/// An open read-only transaction; a `PgConnection` to the SQL of a `table.rs`.
pub struct Snapshot {
    transaction: Transaction<'static, Postgres>,
    clock: Clock,
}

impl Snapshot {
    /// The moment at which it was opened, on the database's clock: for rules such as an expiry.
    pub async fn now(&mut self) -> Result<Timestamp, DatabaseError> {
        if let Some(fixed) = self.clock.fixed_moment() {
            return Ok(fixed);
        }
        let now = sqlx::query_scalar!(r#"SELECT now() AS "now!""#)
            .fetch_one(&mut *self.transaction)
            .await?;
        Ok(now.into())
    }

    /// Ends it and gives the connection back at once.
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
