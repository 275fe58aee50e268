//! Write access: one transaction, one timestamp, one random generator.

use std::time::{Duration, Instant};

use primitives::{Id, MerchantId, Timestamp};
use rand::Rng;
use rand::rngs::StdRng;
use sqlx::{PgConnection, Postgres, Transaction};
use time::OffsetDateTime;

use crate::cells::shard_of;
use crate::pool::Opened;
use crate::store_permits::Permit;
use crate::tenant::{Access, Tenant};
use crate::{Database, DatabaseError};

/// Maximum lifetime of a `Work`. A long transaction delays vacuum and makes readers of the outbox read rows again.
pub(crate) const LIFETIME_MAX: Duration = Duration::from_secs(10);

/// The unit of work of one request or one job step: everything in it has the same timestamp and is committed together,
/// or not at all. Dropping it rolls it back.
pub struct Work {
    transaction: Transaction<'static, Postgres>,
    _permit: Permit,
    tenant: Tenant,
    now: Timestamp,
    random: StdRng,
    opened: Instant,
    clock: crate::Clock,
}

impl Work {
    /// Opens a transaction for one store, under row-level security. Returns `WrongCell` if the directory, as this
    /// transaction sees it, assigns the merchant to another cell.
    pub async fn for_store(
        database: &Database,
        merchant: MerchantId,
    ) -> Result<Self, DatabaseError> {
        Self::for_tenant(database, Tenant::Store(merchant), merchant).await
    }

    /// Opens a transaction for a purchase at one store: as [`for_store`](Self::for_store), with the right to write orders
    /// and the evidence of checkouts, which a transaction for the store lacks.
    pub async fn for_checkout(
        database: &Database,
        merchant: MerchantId,
    ) -> Result<Self, DatabaseError> {
        Self::for_tenant(database, Tenant::Checkout(merchant), merchant).await
    }

    /// Opens a transaction for a change of an order after its purchase: with the rights of
    /// [`for_checkout`](Self::for_checkout), and not on the connections that are reserved for purchases.
    pub async fn for_orders(
        database: &Database,
        merchant: MerchantId,
    ) -> Result<Self, DatabaseError> {
        Self::for_tenant(database, Tenant::Orders(merchant), merchant).await
    }

    async fn for_tenant(
        database: &Database,
        tenant: Tenant,
        merchant: MerchantId,
    ) -> Result<Self, DatabaseError> {
        let mut opened = database.begin(tenant, Access::Write).await?;
        let row = sqlx::query!(
            r#"SELECT now() AS "now!",
                      (SELECT epoch FROM platform.cell_epoch) AS "epoch!",
                      coalesce(
                          (SELECT cell FROM platform.cell_override WHERE merchant_id = $1),
                          (SELECT cell FROM platform.cell_shard WHERE shard = $2)
                      ) AS cell"#,
            merchant.uuid(),
            i16::try_from(shard_of(merchant)).unwrap_or(-1),
        )
        .fetch_one(&mut *opened.transaction)
        .await?;
        if row.cell.as_deref() != Some(database.cell().as_str()) {
            return Err(DatabaseError::WrongCell { epoch: row.epoch });
        }
        Ok(Self::opened(database, opened, tenant, row.now))
    }

    /// Opens a transaction across stores. `tidy` lists the crates that may.
    pub async fn for_platform(database: &Database) -> Result<Self, DatabaseError> {
        let mut opened = database.begin(Tenant::Platform, Access::Write).await?;
        let now = sqlx::query_scalar!(r#"SELECT now() AS "now!""#)
            .fetch_one(&mut *opened.transaction)
            .await?;
        Ok(Self::opened(database, opened, Tenant::Platform, now))
    }

    fn opened(database: &Database, opened: Opened, tenant: Tenant, now: OffsetDateTime) -> Self {
        Self {
            transaction: opened.transaction,
            _permit: opened.permit,
            tenant,
            now: database.clock().fixed_now().unwrap_or_else(|| now.into()),
            random: database.random_source().fork(),
            opened: Instant::now(),
            clock: database.clock().clone(),
        }
    }

    /// Runs `write` with the role of the platform, and returns to the role of this work: for the few rows of a store that
    /// its own role may not write, in the transaction that checks the cell and writes the others. `tidy` lists the files
    /// that may.
    pub async fn as_platform<T, E, F>(&mut self, write: F) -> Result<T, E>
    where
        F: AsyncFnOnce(&mut Self) -> Result<T, E>,
        E: From<DatabaseError>,
    {
        self.set_role(Tenant::Platform).await?;
        let result = write(self).await;
        // Also after an error. If that was one of SQL, the transaction can only be rolled back, and this fails too.
        let restored = self.set_role(self.tenant).await;
        let value = result?;
        restored?;
        Ok(value)
    }

    async fn set_role(&mut self, tenant: Tenant) -> Result<(), DatabaseError> {
        sqlx::raw_sql(tenant.set_role()).execute(&mut *self.transaction).await?;
        Ok(())
    }

    /// Returns the transaction timestamp, at which everything in this work happens.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the current time of the database: for leases that may have expired since the work was opened.
    /// Everything else uses [`now`](Self::now).
    pub async fn clock_timestamp(&mut self) -> Result<Timestamp, DatabaseError> {
        if let Some(fixed) = self.clock.fixed_now() {
            return Ok(fixed);
        }
        let now = sqlx::query_scalar!(r#"SELECT clock_timestamp() AS "moment!""#)
            .fetch_one(&mut *self.transaction)
            .await?;
        Ok(now.into())
    }

    /// Generates an id.
    pub fn new_id<I: Id>(&mut self) -> I {
        I::from_random(
            u128::from(self.random.next_u64()) << 64 | u128::from(self.random.next_u64()),
        )
    }

    /// Returns the random generator.
    pub fn random(&mut self) -> &mut StdRng {
        &mut self.random
    }

    /// Returns the connection, for the SQL of a `table.rs`.
    pub fn sql(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }

    /// Commits. A work older than its maximum lifetime is rolled back instead, with `TransactionTimeout`.
    pub async fn commit(self) -> Result<(), DatabaseError> {
        if self.opened.elapsed() > LIFETIME_MAX {
            self.transaction.rollback().await?;
            return Err(DatabaseError::TransactionTimeout);
        }
        self.transaction.commit().await?;
        Ok(())
    }

    /// Rolls back, and waits until that is done.
    pub async fn rollback(self) -> Result<(), DatabaseError> {
        self.transaction.rollback().await?;
        Ok(())
    }
}
