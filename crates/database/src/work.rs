//! Writing: one transaction, one moment, one source of randomness.

use std::time::{Duration, Instant};

use primitives::{Id, MerchantId, Timestamp};
use rand::Rng;
use rand::rngs::StdRng;
use sqlx::{PgConnection, Postgres, Transaction};
use time::OffsetDateTime;

use crate::cells::shard_of;
use crate::tenant::{Access, Tenant};
use crate::{Database, DatabaseError};

/// How long a `Work` may last. A long one keeps vacuum and the outbox's readers busy.
pub(crate) const LIFETIME_MAX: Duration = Duration::from_secs(10);

/// One request's or one job step's worth of writing: everything in it happens at the same moment
/// and is committed together, or not at all. Dropping it undoes it.
pub struct Work {
    transaction: Transaction<'static, Postgres>,
    now: Timestamp,
    random: StdRng,
    opened: Instant,
    clock: crate::Clock,
}

impl Work {
    /// Opens a work for one store, under row-level security. Refuses a merchant of another cell,
    /// by the directory's rows as this transaction sees them.
    pub async fn for_store(
        database: &Database,
        merchant: MerchantId,
    ) -> Result<Self, DatabaseError> {
        let mut transaction = database.begin(Tenant::Store(merchant), Access::Write).await?;
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
        .fetch_one(&mut *transaction)
        .await?;
        if row.cell.as_deref() != Some(database.cell().as_str()) {
            return Err(DatabaseError::WrongCell { epoch: row.epoch });
        }
        Ok(Self::opened(database, transaction, row.now))
    }

    /// Opens a work across stores. `tidy` lists who may.
    pub async fn for_platform(database: &Database) -> Result<Self, DatabaseError> {
        let mut transaction = database.begin(Tenant::Platform, Access::Write).await?;
        let now =
            sqlx::query_scalar!(r#"SELECT now() AS "now!""#).fetch_one(&mut *transaction).await?;
        Ok(Self::opened(database, transaction, now))
    }

    fn opened(
        database: &Database,
        transaction: Transaction<'static, Postgres>,
        now: OffsetDateTime,
    ) -> Self {
        Self {
            transaction,
            now: database.clock().fixed_moment().unwrap_or_else(|| now.into()),
            random: database.dice().fork(),
            opened: Instant::now(),
            clock: database.clock().clone(),
        }
    }

    /// The moment at which all of this happens.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The moment it is by now, on the database's clock: for leases that may have run out since
    /// the work was opened. Everything else uses `now`.
    pub async fn moment(&mut self) -> Result<Timestamp, DatabaseError> {
        if let Some(fixed) = self.clock.fixed_moment() {
            return Ok(fixed);
        }
        let moment = sqlx::query_scalar!(r#"SELECT clock_timestamp() AS "moment!""#)
            .fetch_one(&mut *self.transaction)
            .await?;
        Ok(moment.into())
    }

    /// A new id.
    pub fn new_id<I: Id>(&mut self) -> I {
        I::from_random(
            u128::from(self.random.next_u64()) << 64 | u128::from(self.random.next_u64()),
        )
    }

    /// The dice.
    pub fn random(&mut self) -> &mut StdRng {
        &mut self.random
    }

    /// The connection, for the SQL of a `table.rs`.
    pub fn sql(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }

    /// Makes everything in it true. A work that is older than it may be is undone instead.
    pub async fn commit(self) -> Result<(), DatabaseError> {
        if self.opened.elapsed() > LIFETIME_MAX {
            self.transaction.rollback().await?;
            return Err(DatabaseError::TooLong);
        }
        self.transaction.commit().await?;
        Ok(())
    }

    /// Undoes everything in it, and waits until that is done.
    pub async fn abandon(self) -> Result<(), DatabaseError> {
        self.transaction.rollback().await?;
        Ok(())
    }
}
