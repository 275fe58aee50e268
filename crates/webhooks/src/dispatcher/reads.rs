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
/// For how long stores are read in one step, and a statement longer: results and starts wait.
const READING_MAX: Duration = Duration::from_secs(1);
/// When a store is read again that could not be read.
const UNREADABLE_PAUSE: Duration = Duration::from_mins(1);

impl Session<'_> {
    /// Reads stores from the database, as many as fit into the time and until the lease is to be renewed. Returns whether there was
    /// one to be read.
    pub(super) async fn read(&mut self, owner: Uuid) -> bool {
        let mut listed = self.memory.stores.take_listed(STORES_PER_STEP, self.memory.now);
        // Those that are read with few others come first: each read answers for some of them.
        listed.sort_by_key(|merchant| self.read_with.get(merchant).copied().unwrap_or(usize::MAX));
        let (mut unread, mut failed) = (listed.as_slice(), Vec::new());
        let until = Instant::now() + READING_MAX;
        while let Some(first) = unread.first() {
            let together = self.read_with.get(first).copied().unwrap_or(usize::MAX);
            let count = self.reads.size().min(together).min(unread.len());
            let (stores, rest) = unread.split_at(count);
            unread = rest;
            if !self.read_stores(owner, stores).await {
                failed.extend(stores);
            }
            let is_renewal_due = self.lease.as_ref().is_some_and(Lease::is_renewal_due);
            if self.failed_read.is_some() || is_renewal_due || Instant::now() >= until {
                break;
            }
        }
        // The next step begins with others than those that fail.
        for merchant in unread.iter().chain(failed) {
            self.memory.stores.mark_for_read(*merchant);
        }
        !listed.is_empty()
    }

    /// Reads stores by one statement. If that fails, they are to be read again, with fewer others. One that cannot be read alone
    /// is left as it is for a while, unless the database is unavailable. Returns whether none of them is to be read again now.
    async fn read_stores(&mut self, owner: Uuid, stores: &[MerchantId]) -> bool {
        let share = self.memory.stores.share();
        let skipped = self.memory.stores.skipped(stores);
        let wanted = Wanted { merchants: stores, skipped: &skipped };
        let Dispatcher { database, settings, .. } = self.dispatcher;
        let error = match ownership::load(database, wanted, share, settings.lease).await {
            Ok(loaded) => {
                self.reads.succeed();
                self.read_with.retain(|merchant, _| !stores.contains(merchant));
                for report in self.memory.refill(owner, stores, &loaded, share) {
                    self.submit(report);
                }
                return true;
            }
            Err(error) => error,
        };
        if matches!(error, DatabaseError::Unavailable(_)) {
            self.failed_read = Some(error);
            return false;
        }
        if let [merchant] = stores {
            tracing::error!(%error, %merchant, "the webhooks of a store cannot be read; they are read again in a minute");
            let now = self.memory.now;
            self.memory.stores.read_later(*merchant, now.plus(UNREADABLE_PAUSE), now);
            return true;
        }
        tracing::warn!(%error, stores = stores.len(), "the webhooks of stores were not read; fewer are read at a time");
        // It is the database that is slow, more often than one of them.
        if matches!(error, DatabaseError::Contended(_)) {
            self.reads.fail(stores.len());
        }
        let fewer = (stores.len() / FEWER).max(1);
        self.read_with.extend(stores.iter().map(|merchant| (*merchant, fewer)));
        false
    }

    /// Releases stores that have nothing to send. Those that take too long, because the database is slow, are released later.
    pub(super) async fn release_idle(&mut self, all: bool) -> Result<(), DatabaseError> {
        let Some(owner) = self.owner() else { return Ok(()) };
        let idle = self.memory.stores.idle(all, self.releases.size());
        if idle.is_empty() {
            return Ok(());
        }
        let (database, is_doubtful) = (&self.dispatcher.database, &mut self.is_doubtful);
        let released = ownership::release(database, owner, &idle, is_doubtful).await;
        for release in &idle {
            let is_released = released.as_ref().is_ok_and(|it| it.contains(&release.merchant));
            if is_released {
                self.memory.stores.remove(release.merchant);
            } else {
                self.memory.stores.review(release.merchant, self.memory.now);
            }
        }
        match released {
            Ok(_) => self.releases.succeed(),
            Err(error @ DatabaseError::Contended(_)) => {
                tracing::warn!(%error, stores = idle.len(), "idle stores were not released; fewer are released at a time");
                self.releases.fail(idle.len());
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

    fn succeed(&mut self) {
        self.size = (self.size * 2).min(self.max);
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
            batches.succeed();
            batches.size()
        });
        assert_eq!(sizes, [2, 4, 8, 16, 32, 64, 100, 100]);
    }
}
