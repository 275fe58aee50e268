//! The lease on a shard: its holder may publish. It expires by the database's clock, and each acquisition has a new
//! token, so that a writer that missed the expiry can no longer publish.

use std::time::Duration;

use database::{Database, Work};
use primitives::{JobId, Timestamp};
use tokio::sync::watch;
use uuid::Uuid;

use crate::IndexError;
use crate::manifest::ShardId;
use crate::table::{self, CaughtUpTimes, LeasedShard};

/// Maximum interval between renewals. A renewal also publishes the age of the shard to readers.
const RENEWAL_INTERVAL_MAX: Duration = Duration::from_millis(500);

/// The exclusive right to publish a shard, until it is lost.
pub(crate) struct Lease {
    database: Database,
    pub(crate) shard_id: ShardId,
    pub(crate) token: Uuid,
    duration: Duration,
    /// Every change committed before these times is published.
    caught_up: watch::Sender<Option<CaughtUpTimes>>,
    /// When a reader reported that the published version is damaged.
    damage_seen: watch::Sender<Option<Timestamp>>,
}

impl Lease {
    /// Acquires the lease, or returns `None` if it is held.
    pub(crate) async fn acquire(
        database: &Database,
        shard_id: ShardId,
        duration: Duration,
    ) -> Result<Option<(Self, LeasedShard)>, IndexError> {
        let mut work = Work::for_platform(database).await?;
        // Sixteen unique bytes; the type of the id does not matter.
        let token = work.new_id::<JobId>().uuid();
        let until = work.now().plus(duration);
        let held = table::acquire_lease(&mut work, shard_id, token, until).await?;
        work.commit().await?;
        let lease = |held| {
            let (caught_up, damage_seen) = (watch::Sender::new(None), watch::Sender::new(None));
            let database = database.clone();
            (Self { database, shard_id, token, duration, caught_up, damage_seen }, held)
        };
        Ok(held.map(lease))
    }

    /// Renews the lease periodically; returns when it is lost.
    pub(crate) async fn renew_until_lost(&self) {
        loop {
            tokio::time::sleep(RENEWAL_INTERVAL_MAX.min(self.duration / 4)).await;
            match self.renew().await {
                Ok(true) => {}
                Ok(false) => return,
                // While the database is unavailable no writer can acquire it. If another writer did since, the next
                // renewal fails.
                Err(error) => {
                    tracing::warn!(%error, shard_id = ?self.shard_id, "renewing the lease failed; it is retried");
                }
            }
        }
    }

    async fn renew(&self) -> Result<bool, IndexError> {
        let caught_up = self.caught_up.borrow().clone();
        let mut work = Work::for_platform(&self.database).await?;
        let until = work.now().plus(self.duration);
        let renewed =
            table::renew_lease(&mut work, self.shard_id, self.token, until, caught_up.as_ref())
                .await?;
        work.commit().await?;
        let Some(renewal) = renewed else { return Ok(false) };
        self.damage_seen.send_if_modified(|seen| {
            let is_new = *seen != renewal.damage_seen_at;
            *seen = renewal.damage_seen_at;
            is_new
        });
        Ok(true)
    }

    /// Sets the times before which every committed change is published. The next renewal stores them.
    pub(crate) fn set_caught_up(&self, times: CaughtUpTimes) {
        self.caught_up.send_replace(Some(times));
    }

    /// Returns whether a reader reported damage.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damage_seen.borrow().is_some()
    }

    /// Clears the reported damage, until the next renewal reads it again.
    pub(crate) fn clear_damage(&self) {
        self.damage_seen.send_replace(None);
    }

    /// Releases the lease, so that the next writer need not wait for its expiry.
    pub(crate) async fn release(&self) {
        let released = async {
            let mut work = Work::for_platform(&self.database).await?;
            table::release_lease(&mut work, self.shard_id, self.token).await?;
            work.commit().await?;
            Ok::<(), IndexError>(())
        };
        if let Err(error) = released.await {
            tracing::warn!(%error, shard_id = ?self.shard_id, "releasing the lease failed; the next writer waits for its expiry");
        }
    }
}

#[cfg(test)]
mod tests {
    use testkit::TestDatabase;

    use super::*;
    use crate::generation;
    use crate::table::Publication;

    const DURATION: Duration = Duration::from_secs(5);
    const SHARD_ID: ShardId = ShardId { generation: 1, shard: 0 };

    async fn acquire(test: &TestDatabase) -> Option<(Lease, LeasedShard)> {
        Lease::acquire(test.database(), SHARD_ID, DURATION).await.unwrap()
    }

    async fn publish(lease: &Lease, built_on: i64) -> bool {
        let mut work = Work::for_platform(&lease.database).await.unwrap();
        let now = work.clock_timestamp().await.unwrap();
        let (shard_id, token) = (lease.shard_id, lease.token);
        let manifest = &crate::checksum::of_bytes(b"a manifest");
        let publication = Publication { shard_id, token, built_on, manifest, is_repaired: false };
        let published = table::publish(&mut work, &publication, now).await.unwrap();
        work.commit().await.unwrap();
        published
    }

    #[tokio::test]
    async fn only_the_holder_of_the_lease_publishes() {
        let test = TestDatabase::new().await;
        generation::ensure(test.database(), 1).await.unwrap();
        let (first, held) = acquire(&test).await.unwrap();
        assert_eq!((held.version, held.manifest), (0, None));
        assert!(acquire(&test).await.is_none(), "it is held");
        assert!(publish(&first, 0).await);
        assert!(!publish(&first, 0).await, "a version is published only once");
        // The lease of the first expires; no other writer has acquired it.
        test.clock().advance(DURATION);
        assert!(!publish(&first, 1).await, "the lease has expired");
        assert!(first.renew().await.unwrap(), "no other writer acquired it");
        assert!(publish(&first, 1).await);
        // The lease expires again, and another writer acquires it.
        test.clock().advance(DURATION);
        let (second, held) = acquire(&test).await.unwrap();
        assert_eq!(held.version, 2);
        assert!(!publish(&first, 2).await, "another writer holds the lease");
        assert!(!first.renew().await.unwrap());
        first.release().await;
        assert!(acquire(&test).await.is_none(), "only the holder can release it");
        assert!(publish(&second, 2).await);
        second.release().await;
        assert!(!publish(&second, 3).await);
        assert!(acquire(&test).await.is_some());
    }

    #[tokio::test]
    async fn a_retired_generation_cannot_be_leased() {
        let test = TestDatabase::new().await;
        generation::ensure(test.database(), 1).await.unwrap();
        let (lease, _) = acquire(&test).await.unwrap();
        generation::rebuild(test.database(), 2).await.unwrap();
        assert!(!lease.renew().await.unwrap());
        test.clock().advance(DURATION);
        assert!(acquire(&test).await.is_none());
    }
}
