//! What a process may deliver: its lease, the stores it takes, and the starts it records under them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use database::{Database, DatabaseError, Reading, Snapshot, Work};
use primitives::{MerchantId, Timestamp};
use rand::Rng;
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::endpoint_queue::{LOADED_UNPROVEN_MAX, loaded_healthy_max};
use crate::dispatcher::health::SLOW;
use crate::schedule::Jitter;
use crate::signature::ClockSkew;
use crate::table::delivery::{self, Bodies, DeliveryKey, Loaded, Startable, Started, Wanted};
use crate::table::{self, queue};

/// Wakes that are processed at a time.
const WAKES_MAX: i64 = 5_000;
/// After this time an expired lease that covers nothing is deleted: longer than any transaction.
const LEASE_KEPT: Duration = Duration::from_hours(1);

/// How long a transaction waits for a lock.
pub(super) const LOCK_MAX: Duration = Duration::from_secs(1);
/// How long a statement that reads stores may take: nothing starts meanwhile, and the lease is not renewed. One that reads several gives
/// up sooner, because they are then read with fewer others. One that releases stores has as long.
const READ_MAX: Duration = Duration::from_secs(1);
const READ_ALONE_MAX: Duration = Duration::from_secs(2);

/// Until when a lease is valid, by the clock of this process. Before that, no other process takes its stores. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Deadline(watch::Sender<Instant>);

impl Deadline {
    pub(super) fn new(at: Instant) -> Self {
        Self(watch::Sender::new(at))
    }

    fn set(&self, at: Instant) {
        self.0.send_replace(at);
    }

    /// Lets it pass now.
    pub(super) fn cut(&self) {
        self.set(Instant::now());
    }

    pub(super) fn has_passed(&self) -> bool {
        Instant::now() >= *self.0.borrow()
    }

    /// Waits until it has passed.
    pub(super) async fn passed(&self) {
        let mut changes = self.0.subscribe();
        while !self.has_passed() {
            let at = *changes.borrow_and_update();
            tokio::select! {
                () = tokio::time::sleep_until(at) => {}
                _ = changes.changed() => {}
            }
        }
    }
}

/// The lease of a process on all stores that it delivers for, under an id that is used once.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) owner: Uuid,
    duration: Duration,
    pub(super) deadline: Deadline,
    renew_at: Instant,
    /// Nothing is signed unless it is tolerable.
    pub(super) skew: ClockSkew,
}

impl Lease {
    /// Starts a lease.
    pub(super) async fn acquire(
        database: &Database,
        duration: Duration,
    ) -> Result<(Self, Timestamp), DatabaseError> {
        let asked = Instant::now();
        let mut work = Work::for_platform(database).await?;
        let random = work.random();
        let owner =
            Uuid::from_u128(u128::from(random.next_u64()) << 64 | u128::from(random.next_u64()));
        let now = work.now();
        queue::insert_lease(&mut work, owner, now.plus(duration)).await?;
        queue::release_orphans(&mut work).await?;
        let skew = measure_skew(database, &mut work).await?;
        work.commit().await?;
        let lease = Self {
            owner,
            duration,
            deadline: Deadline::new(asked + duration),
            renew_at: asked + duration / 3,
            skew,
        };
        Ok((lease, now))
    }

    pub(super) fn is_over(&self) -> bool {
        self.deadline.has_passed()
    }

    pub(super) fn is_renewal_due(&self) -> bool {
        Instant::now() >= self.renew_at
    }

    /// Extends the lease. Returns the stores that are under it, or `None` if it has expired.
    pub(super) async fn renew(
        &mut self,
        database: &Database,
    ) -> Result<Option<HashSet<MerchantId>>, DatabaseError> {
        let asked = Instant::now();
        let mut work = Work::for_platform(database).await?;
        let now = work.now();
        if !queue::renew_lease(&mut work, self.owner, now.plus(self.duration)).await? {
            work.rollback().await?;
            return Ok(None);
        }
        let skew = measure_skew(database, &mut work).await?;
        work.commit().await?;
        if self.is_over() {
            // It expired before the transaction ended: others may have taken the stores.
            return Ok(None);
        }
        self.skew = skew;
        self.deadline.set(asked + self.duration);
        self.renew_at = asked + self.duration / 3;
        let mut work = open(database).await?;
        queue::purge_leases(&mut work, now.minus(LEASE_KEPT)).await?;
        queue::release_orphans(&mut work).await?;
        work.commit().await?;
        Ok(Some(owned(database, self.owner).await?))
    }
}

/// Commits a transaction that changes which stores are owned. Sets `is_doubtful` if that fails: it may be committed all the
/// same.
async fn commit_ownership(work: Work, is_doubtful: &mut bool) -> Result<(), DatabaseError> {
    work.commit().await.inspect_err(|_| *is_doubtful = true)
}

/// Opens a transaction of a dispatcher.
async fn open(database: &Database) -> Result<Work, DatabaseError> {
    open_within(database, LOCK_MAX).await
}

/// Opens a transaction that waits for a lock for at most so long.
pub(super) async fn open_within(
    database: &Database,
    lock_max: Duration,
) -> Result<Work, DatabaseError> {
    let mut work = Work::for_platform(database).await?;
    table::prepare(work.sql(), lock_max).await?;
    Ok(work)
}

/// Returns the stores that an owner has. A process that is paused while it reads many rows locks none.
async fn owned(database: &Database, owner: Uuid) -> Result<HashSet<MerchantId>, DatabaseError> {
    let platform = Reading::for_platform(database);
    platform.run(async |sql| Ok(queue::owned(sql, owner).await?)).await
}

/// Compares the clock of this process with that of the database, and reports the difference.
async fn measure_skew(database: &Database, work: &mut Work) -> Result<ClockSkew, DatabaseError> {
    let before = database.local_now();
    let stored = work.clock_timestamp().await?;
    let skew = ClockSkew::measure(before, stored, database.local_now());
    metrics::gauge!("souk_webhook_clock_skew_seconds").set(skew.seconds());
    if !skew.is_tolerable() {
        tracing::error!(
            seconds = skew.seconds(),
            "no webhook is sent: the clocks of this process and of the database differ by more than 30 seconds"
        );
    }
    Ok(skew)
}

/// The stores that are to be read.
pub(super) struct Taken {
    pub(super) now: Timestamp,
    pub(super) merchants: Vec<MerchantId>,
    /// Whether there was a wake or a due store.
    pub(super) found_any: bool,
}

/// Processes wakes and claims at most `claim_max` stores that are due. It is one transaction: a wake that is deleted
/// has made its store due, or the store is returned, or there is another wake of it, or none of this has happened. If that is
/// not known, `is_doubtful` is set.
pub(super) async fn take(
    database: &Database,
    owner: Uuid,
    claim_max: usize,
    is_doubtful: &mut bool,
) -> Result<Taken, DatabaseError> {
    let mut work = open(database).await?;
    let now = work.now();
    let mut merchants = Vec::new();
    let mut woken = queue::take_wakes(&mut work, WAKES_MAX).await?;
    let mut found_any = !woken.is_empty();
    if found_any {
        woken.sort_unstable();
        woken.dedup();
        let woken = queue::wake(&mut work, owner, &woken, claim_max > 0).await?;
        merchants = woken.own;
        if !woken.skipped.is_empty() {
            queue::wake_again(&mut work, &woken.skipped).await?;
        }
    }
    let limit = i64::try_from(claim_max).unwrap_or(i64::MAX);
    let claimed = queue::claim(&mut work, owner, limit).await?;
    found_any |= !claimed.is_empty();
    merchants.extend(claimed);
    commit_ownership(work, is_doubtful).await?;
    Ok(Taken { now, merchants, found_any })
}

/// Reads stores, in ascending order of the endpoints, of which `share` deliveries may wait if they are healthy. Not in the
/// transaction that claims them: a process that is paused while it reads many rows locks none.
pub(super) async fn load(
    database: &Database,
    wanted: Wanted<'_>,
    share: usize,
    lease: Duration,
) -> Result<Vec<Loaded>, DatabaseError> {
    let rows = |count| i64::try_from(count).unwrap_or(i64::MAX);
    let (limit, unproven_limit) = (rows(loaded_healthy_max(share)), rows(LOADED_UNPROVEN_MAX));
    let read = async |sql: &mut Snapshot| -> Result<_, DatabaseError> {
        table::prepare_read(sql, read_max(wanted.merchants.len(), lease)).await?;
        Ok(delivery::load(sql, wanted, limit, unproven_limit, SLOW).await?)
    };
    Reading::for_platform(database).run(read).await
}

/// Returns how long a statement that reads so many stores may take. If the lease is to be renewed after a third of it, as soon as the
/// statement has begun, another third is left when it ends.
fn read_max(stores: usize, lease: Duration) -> Duration {
    match stores {
        0 | 1 => READ_ALONE_MAX.min(lease / 3),
        _ => READ_MAX.min(lease / 6),
    }
}

/// Starts of deliveries.
pub(super) struct Starts {
    pub(super) now: Timestamp,
    /// When it was `now`, by the clock of this process.
    pub(super) since: Instant,
    /// Stores that are still those of the owner.
    pub(super) owned: HashSet<MerchantId>,
    pub(super) started: HashMap<DeliveryKey, (Started, Jitter)>,
    pub(super) bodies: Bodies,
}

/// Records the start of deliveries of stores that are under a valid lease, and reads what their attempts need: the
/// bodies first, which are long, before anything is locked.
pub(super) async fn start(
    database: &Database,
    owner: Uuid,
    deliveries: &[Startable],
    is_alone: bool,
) -> Result<Starts, DatabaseError> {
    let mut work = open(database).await?;
    let (now, since) = (work.now(), Instant::now());
    let bodies = delivery::bodies(work.sql(), deliveries.iter().map(|it| &it.key)).await?;
    let stores = stores_of(deliveries.iter().map(|it| &it.key));
    let leased = queue::lock_leased(&mut work, owner, &stores).await?;
    let is_own = |it: &&Startable| leased.contains(&it.key.endpoint.merchant);
    let own: Vec<Startable> = deliveries.iter().filter(is_own).copied().collect();
    let started = delivery::start(&mut work, &own, is_alone).await?;
    let with_jitter = |started: Started| {
        let jitter = Jitter::random(work.random());
        (started.key, (started, jitter))
    };
    let started = started.into_iter().map(with_jitter).collect();
    let still_own = if leased.len() == stores.len() {
        leased
    } else {
        // Another process may have locked the row of a store without taking it.
        queue::owned_of(&mut work, owner, &stores).await?
    };
    work.commit().await?;
    Ok(Starts { now, since, owned: still_own, started, bodies })
}

/// Returns the stores of deliveries, each once.
pub(super) fn stores_of<'key>(
    deliveries: impl IntoIterator<Item = &'key DeliveryKey>,
) -> Vec<MerchantId> {
    let mut merchants: Vec<MerchantId> =
        deliveries.into_iter().map(|key| key.endpoint.merchant).collect();
    merchants.sort_unstable();
    merchants.dedup();
    merchants
}

/// Releases stores: any process may deliver for them. Returns those that it did. If that is not known, `is_doubtful` is set.
pub(super) async fn release(
    database: &Database,
    owner: Uuid,
    releases: &[queue::Release],
    lease: Duration,
    is_doubtful: &mut bool,
) -> Result<HashSet<MerchantId>, DatabaseError> {
    let mut work = open(database).await?;
    database::set_statement_timeout(work.sql(), READ_MAX.min(lease / 6)).await?;
    let done = queue::release(&mut work, owner, releases).await?;
    commit_ownership(work, is_doubtful).await?;
    Ok(done)
}

/// Releases all stores and ends the lease.
pub(super) async fn end(database: &Database, owner: Uuid) -> Result<(), DatabaseError> {
    let stores = owned(database, owner).await?;
    let release = |merchant| queue::Release { merchant, not_before: None };
    let releases: Vec<queue::Release> = stores.into_iter().map(release).collect();
    let mut work = open(database).await?;
    queue::release(&mut work, owner, &releases).await?;
    queue::delete_lease(&mut work, owner).await?;
    work.commit().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_outlasts_the_reads_that_begin_before_it_is_to_be_renewed() {
        let of = |lease| [100, 1].map(|stores| read_max(stores, Duration::from_secs(lease)));
        for lease in [2, 3, 6, 15, 600] {
            let [together, alone] = of(lease);
            assert!(together < alone && alone * 3 <= Duration::from_secs(lease), "{lease}");
        }
        assert_eq!(of(15), [READ_MAX, READ_ALONE_MAX]);
    }
}
