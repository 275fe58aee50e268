//! Wrong keys, counted by where they came from: whoever tries keys is put off after a few. It is this process'
//! own count, so that it holds whatever else is away.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use moka::sync::Cache;
use primitives::ClientAddress;
use tokio::sync::Notify;

/// Wrong keys of one address within a window.
pub(crate) const WRONG_MAX: u32 = 5;
const WINDOW: Duration = Duration::from_mins(1);
/// Addresses that are remembered.
const ADDRESSES_MAX: u64 = 100_000;

/// The attempts of all addresses. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Attempts {
    addresses: Cache<IpAddr, Arc<Address>>,
}

#[derive(Default)]
struct Address {
    counts: Mutex<Counts>,
    ended: Notify,
}

#[derive(Default)]
struct Counts {
    /// When the window began: with its first wrong key.
    began: Option<Instant>,
    wrong: u32,
    looking: u32,
}

/// Too many were wrong.
#[derive(Debug)]
pub(crate) struct PutOff {
    pub(crate) wait: Duration,
}

/// A key that is being looked up.
pub(crate) struct Attempt {
    address: Arc<Address>,
}

impl Attempts {
    pub(crate) fn new() -> Self {
        let addresses = Cache::builder().max_capacity(ADDRESSES_MAX).time_to_idle(2 * WINDOW);
        Self { addresses: addresses.build() }
    }

    /// Waits until a key from this address may be looked up. As many are looked up at once as could be wrong, so
    /// that no more than that ever are.
    pub(crate) async fn begin(&self, from: ClientAddress) -> Result<Attempt, PutOff> {
        let address = self.addresses.get_with(from.line(), Arc::default);
        loop {
            let ended = address.ended.notified();
            {
                let mut counts = address.counts();
                counts.forget_old();
                if let Some(began) = counts.began.filter(|_| counts.wrong >= WRONG_MAX) {
                    return Err(PutOff { wait: WINDOW.saturating_sub(began.elapsed()) });
                }
                if counts.wrong + counts.looking < WRONG_MAX {
                    counts.looking += 1;
                    return Ok(Attempt { address: Arc::clone(&address) });
                }
            }
            ended.await;
        }
    }
}

impl Address {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn forget_old(&mut self) {
        if self.began.is_some_and(|began| began.elapsed() >= WINDOW) {
            (self.began, self.wrong) = (None, 0);
        }
    }
}

impl Attempt {
    /// The key was wrong.
    pub(crate) fn was_wrong(&self) {
        let mut counts = self.address.counts();
        counts.forget_old();
        counts.wrong += 1;
        counts.began.get_or_insert_with(Instant::now);
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.address.counts().looking -= 1;
        self.address.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(last: u8) -> ClientAddress {
        ClientAddress(IpAddr::from([192, 0, 2, last]))
    }

    #[tokio::test]
    async fn five_wrong_keys_of_an_address_and_no_more_however_many_come_at_once() {
        let attempts = Attempts::new();
        let tries = (0..100).map(|_| {
            let attempts = attempts.clone();
            tokio::spawn(async move {
                let attempt = attempts.begin(from(1)).await?;
                tokio::task::yield_now().await;
                attempt.was_wrong();
                Ok::<_, PutOff>(())
            })
        });
        let mut looked_up = 0;
        for tried in tries.collect::<Vec<_>>() {
            looked_up += u32::from(tried.await.unwrap().is_ok());
        }
        assert_eq!(looked_up, WRONG_MAX);
        assert!(attempts.begin(from(2)).await.is_ok());
    }

    #[tokio::test]
    async fn right_keys_only_wait_for_each_other() {
        let attempts = Attempts::new();
        let tries = (0..100).map(|_| {
            let attempts = attempts.clone();
            tokio::spawn(async move {
                let _attempt = attempts.begin(from(1)).await?;
                tokio::task::yield_now().await;
                Ok::<_, PutOff>(())
            })
        });
        for tried in tries.collect::<Vec<_>>() {
            assert!(tried.await.unwrap().is_ok());
        }
    }
}
