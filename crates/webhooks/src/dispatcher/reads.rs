//! Reads the stores that a process delivers for, and releases those that have nothing to send.

use std::time::Duration;

use database::DatabaseError;
use primitives::MerchantId;
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::Dispatcher;
use crate::dispatcher::ownership::{self, Lease};
use crate::dispatcher::session::Session;
use crate::table::delivery::Wanted;

/// Stores that are claimed or released at a time, and at most read in one step.
pub(super) const STORES_PER_STEP: usize = 500;
/// Stores that are read by one statement, which limits the rows that it returns.
pub(super) const STORES_PER_READ: usize = 100;
/// By how much fewer are read, or released, by the next statement after one failed.
const FEWER: usize = 4;
/// For how long stores are read in one step, and at most two statements longer: results and starts wait.
const READING_MAX: Duration = Duration::from_secs(1);

impl Session<'_> {
    /// Reads stores from the database, as many as fit into the time and until the lease is to be renewed. Returns whether there was
    /// one to be read.
    pub(super) async fn read(&mut self, owner: Uuid) -> bool {
        self.failed_read = None;
        let has_listed = self.memory.stores.has_listed();
        let until = Instant::now() + READING_MAX.min(self.dispatcher.settings.lease / 6);
        let mut count = 0;
        while count < STORES_PER_STEP && self.may_read() && Instant::now() < until {
            let limit = self.reads.size().min(STORES_PER_STEP - count);
            let stores = self.memory.stores.take_listed(limit, self.memory.now);
            if stores.is_empty() {
                break;
            }
            count += stores.len();
            self.read_stores(owner, &stores).await;
        }
        // Then stores of which some could not be read: at least once in a step, and until a read fails.
        while self.may_read() {
            let stores = self.memory.stores.take_listed_apart(self.reads.size(), self.memory.now);
            let is_read = !stores.is_empty() && self.read_stores(owner, &stores).await;
            if !is_read || Instant::now() >= until {
                break;
            }
        }
        has_listed
    }

    /// Returns whether the lease is not to be renewed first, and the database answers.
    fn may_read(&self) -> bool {
        self.failed_read.is_none() && !self.lease.as_ref().is_some_and(Lease::is_renewal_due)
    }

    /// Reads stores by one statement, and returns whether that succeeded. Otherwise they are to be read again, with fewer others. One
    /// that cannot be read alone is left as it is for a while, unless the database is unavailable.
    async fn read_stores(&mut self, owner: Uuid, stores: &[MerchantId]) -> bool {
        let share = self.memory.stores.share();
        let skipped = self.memory.stores.skipped(stores);
        let wanted = Wanted { merchants: stores, skipped: &skipped };
        let Dispatcher { database, settings, .. } = self.dispatcher;
        let since = Instant::now();
        let error = match ownership::load(database, wanted, share, settings.lease).await {
            Ok(loaded) => {
                self.reads.succeed(stores.len());
                for report in self.memory.refill(owner, stores, &loaded, share) {
                    self.submit(report);
                }
                return true;
            }
            Err(error) => error,
        };
        let now = self.memory.now;
        match (&error, stores) {
            (DatabaseError::Unavailable(_), _) => {
                for merchant in stores {
                    self.memory.stores.mark_for_read(*merchant);
                }
                self.failed_read = Some(error);
            }
            (_, [merchant]) => {
                tracing::error!(%error, %merchant, "the webhooks of a store cannot be read; they are read again in a minute or later");
                self.memory.stores.read_later(*merchant, since.elapsed(), now);
            }
            _ => {
                tracing::warn!(%error, stores = stores.len(), "the webhooks of stores were not read; fewer are read at a time");
                // It is the database that is slow, more often than one of them.
                if matches!(error, DatabaseError::Contended(_)) {
                    self.reads.fail(stores.len());
                }
                self.memory.stores.read_with_few(stores, (stores.len() / FEWER).max(1));
            }
        }
        false
    }

    /// Releases stores that have nothing to send. Those that take too long, because the database is slow, are released later.
    pub(super) async fn release_idle(&mut self, all: bool) -> Result<(), DatabaseError> {
        let Some(owner) = self.owner() else { return Ok(()) };
        if self.release_backoff.wait_until(Instant::now()).is_some() {
            return Ok(());
        }
        let idle = self.memory.stores.idle(all, self.releases.size());
        if idle.is_empty() {
            return Ok(());
        }
        let Dispatcher { database, settings, .. } = self.dispatcher;
        let lease = settings.lease;
        let released =
            ownership::release(database, owner, &idle, lease, &mut self.is_doubtful).await;
        for release in &idle {
            let is_released = released.as_ref().is_ok_and(|it| it.contains(&release.merchant));
            if is_released {
                self.memory.stores.remove(release.merchant);
            } else {
                self.memory.stores.review(release.merchant, self.memory.now);
            }
        }
        match released {
            Ok(_) => {
                self.releases.succeed(idle.len());
                self.release_backoff.succeed();
            }
            Err(error @ DatabaseError::Contended(_)) => {
                tracing::warn!(%error, stores = idle.len(), "idle stores were not released; fewer are released at a time");
                self.releases.fail(idle.len());
                self.release_backoff.fail(Instant::now());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// How many stores a statement is given: fewer after one that took too long, and more again after others that did not.
pub(super) struct Batches {
    size: usize,
    max: usize,
}

impl Batches {
    pub(super) const fn new(max: usize) -> Self {
        Self { size: max, max }
    }

    const fn size(&self) -> usize {
        self.size
    }

    /// Notes that a statement with so many stores took too long.
    fn fail(&mut self, count: usize) {
        self.size = (count / FEWER).max(1);
    }

    /// Notes that a statement with so many stores did not. Only one with as many as it may have shows that more are possible.
    fn succeed(&mut self, count: usize) {
        if count >= self.size {
            self.size = (self.size * 2).min(self.max);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_become_smaller_until_they_succeed_and_then_larger() {
        let mut batches = Batches::new(100);
        let sizes = [(); 5].map(|()| {
            batches.fail(batches.size());
            batches.size()
        });
        assert_eq!(sizes, [25, 6, 1, 1, 1]);
        let sizes = [(); 8].map(|()| {
            batches.succeed(batches.size() - 1);
            batches.succeed(batches.size());
            batches.size()
        });
        assert_eq!(sizes, [2, 4, 8, 16, 32, 64, 100, 100]);
    }
}
