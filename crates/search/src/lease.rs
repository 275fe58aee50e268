//! The lease on a shard: who may publish it. It lasts by the database's clock, and whoever takes it
//! takes a new token, so that a writer that slept through its end cannot publish any more.

use std::time::Duration;

use database::{Database, Work};
use primitives::{JobId, Timestamp};
use tokio::sync::watch;
use uuid::Uuid;

use crate::IndexError;
use crate::manifest::Place;
use crate::table::{self, Held};

/// How often a lease is renewed, at the longest: with it, readers hear how old the index is.
const BEAT_MAX: Duration = Duration::from_millis(500);

/// The right to publish a shard, until it is lost.
pub(crate) struct Lease {
    database: Database,
    pub(crate) place: Place,
    pub(crate) token: Uuid,
    duration: Duration,
    /// Everything that was committed before this moment is published.
    caught_up: watch::Sender<Option<Timestamp>>,
    /// When a reader found what is published broken.
    damage_seen: watch::Sender<Option<Timestamp>>,
}

impl Lease {
    /// Takes the lease, if nobody has it.
    pub(crate) async fn take(
        database: &Database,
        place: Place,
        duration: Duration,
    ) -> Result<Option<(Self, Held)>, IndexError> {
        let mut work = Work::for_platform(database).await?;
        // Sixteen bytes nobody else has; that they come as the id of something is of no importance.
        let token = work.new_id::<JobId>().uuid();
        let until = work.now().plus(duration);
        let held = table::take_lease(&mut work, place, token, until).await?;
        work.commit().await?;
        let lease = |held| {
            let (caught_up, damage_seen) = (watch::Sender::new(None), watch::Sender::new(None));
            let database = database.clone();
            (Self { database, place, token, duration, caught_up, damage_seen }, held)
        };
        Ok(held.map(lease))
    }

    /// Renews the lease again and again; comes back when it is lost.
    pub(crate) async fn keep(&self) {
        loop {
            tokio::time::sleep(BEAT_MAX.min(self.duration / 4)).await;
            match self.renew().await {
                Ok(true) => {}
                Ok(false) => return,
                // Nobody can take it while the database is away, and if somebody did since, the next
                // renewal tells.
                Err(error) => tracing::warn!(%error, place = ?self.place, "a lease is not renewed"),
            }
        }
    }

    async fn renew(&self) -> Result<bool, IndexError> {
        let caught_up = *self.caught_up.borrow();
        let mut work = Work::for_platform(&self.database).await?;
        let until = work.now().plus(self.duration);
        let renewed =
            table::renew_lease(&mut work, self.place, self.token, until, caught_up).await?;
        work.commit().await?;
        let Some(beat) = renewed else { return Ok(false) };
        self.damage_seen.send_if_modified(|seen| {
            let is_new = *seen != beat.damage_seen_at;
            *seen = beat.damage_seen_at;
            is_new
        });
        Ok(true)
    }

    /// Notes that everything committed before a moment is published.
    pub(crate) fn note_caught_up(&self, moment: Timestamp) {
        self.caught_up.send_replace(Some(moment));
    }

    /// Whether a reader found what is published broken.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damage_seen.borrow().is_some()
    }

    /// Forgets the damage, until the next renewal tells of it.
    pub(crate) fn note_mended(&self) {
        self.damage_seen.send_replace(None);
    }

    /// Gives the lease back, so that the next writer need not wait for its end.
    pub(crate) async fn release(&self) {
        let released = async {
            let mut work = Work::for_platform(&self.database).await?;
            table::release_lease(&mut work, self.place, self.token).await?;
            work.commit().await?;
            Ok::<(), IndexError>(())
        };
        if let Err(error) = released.await {
            tracing::warn!(%error, place = ?self.place, "the next writer waits for a lease to end");
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
    const PLACE: Place = Place { generation: 1, shard: 0 };

    async fn take(test: &TestDatabase) -> Option<(Lease, Held)> {
        Lease::take(test.database(), PLACE, DURATION).await.unwrap()
    }

    async fn publish(lease: &Lease, built_on: i64) -> bool {
        let mut work = Work::for_platform(&lease.database).await.unwrap();
        let moment = work.moment().await.unwrap();
        let (place, token) = (lease.place, lease.token);
        let manifest = &crate::checksum::of_bytes(b"a manifest");
        let publication = Publication { place, token, built_on, manifest, is_mended: false };
        let published = table::publish(&mut work, &publication, moment).await.unwrap();
        work.commit().await.unwrap();
        published
    }

    #[tokio::test]
    async fn only_its_holder_publishes() {
        let test = TestDatabase::new().await;
        generation::ensure(test.database(), 1).await.unwrap();
        let (first, held) = take(&test).await.unwrap();
        assert_eq!((held.version, held.manifest), (0, None));
        assert!(take(&test).await.is_none(), "it is held");
        assert!(publish(&first, 0).await);
        assert!(!publish(&first, 0).await, "nothing is published twice on the same state");
        // The first sleeps; nobody has taken over, but its time is up.
        test.clock().advance(DURATION);
        assert!(!publish(&first, 1).await, "the lease has ended");
        assert!(first.renew().await.unwrap(), "nobody took it");
        assert!(publish(&first, 1).await);
        // It sleeps again, and this time somebody takes over.
        test.clock().advance(DURATION);
        let (second, held) = take(&test).await.unwrap();
        assert_eq!(held.version, 2);
        assert!(!publish(&first, 2).await, "it is another's");
        assert!(!first.renew().await.unwrap());
        first.release().await;
        assert!(take(&test).await.is_none(), "only the holder gives it back");
        assert!(publish(&second, 2).await);
        second.release().await;
        assert!(!publish(&second, 3).await);
        assert!(take(&test).await.is_some());
    }

    #[tokio::test]
    async fn a_retired_generation_is_nobodys() {
        let test = TestDatabase::new().await;
        generation::ensure(test.database(), 1).await.unwrap();
        let (lease, _) = take(&test).await.unwrap();
        generation::rebuild(test.database(), 2).await.unwrap();
        assert!(!lease.renew().await.unwrap());
        test.clock().advance(DURATION);
        assert!(take(&test).await.is_none());
    }
}
