//! Invalid keys, counted by client network: clients that guess keys are throttled. Each process counts on its own, so
//! that this works without Redis and PostgreSQL.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use moka::sync::Cache;
use primitives::ClientAddress;
use tokio::sync::Notify;

/// Invalid keys of one network within a window.
pub(crate) const INVALID_MAX: u32 = 5;
const WINDOW: Duration = Duration::from_mins(1);
/// Maximum number of networks with counts.
const NETWORKS_MAX: u64 = 100_000;

/// The attempts of all networks. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Attempts {
    networks: Cache<IpAddr, Arc<Network>>,
}

#[derive(Default)]
struct Network {
    counts: Mutex<Counts>,
    ended: Notify,
}

#[derive(Default)]
struct Counts {
    /// Time of the first invalid key of the window.
    window_start: Option<Instant>,
    invalid: u32,
    in_progress: u32,
}

/// Too many keys were invalid.
#[derive(Debug)]
pub(crate) struct Throttled {
    pub(crate) wait: Duration,
}

/// A lookup in progress.
pub(crate) struct Attempt {
    network: Arc<Network>,
}

impl Attempts {
    pub(crate) fn new() -> Self {
        let networks = Cache::builder().max_capacity(NETWORKS_MAX).time_to_idle(2 * WINDOW);
        Self { networks: networks.build() }
    }

    /// Waits until a key from this address may be looked up. Lookups in progress count as invalid until they end, so that
    /// the limit holds for concurrent requests.
    pub(crate) async fn begin(&self, from: ClientAddress) -> Result<Attempt, Throttled> {
        let network = self.networks.get_with(from.network(), Arc::default);
        loop {
            let ended = network.ended.notified();
            {
                let mut counts = network.counts();
                counts.expire();
                if let Some(window_start) =
                    counts.window_start.filter(|_| counts.invalid >= INVALID_MAX)
                {
                    return Err(Throttled { wait: WINDOW.saturating_sub(window_start.elapsed()) });
                }
                if counts.invalid + counts.in_progress < INVALID_MAX {
                    counts.in_progress += 1;
                    return Ok(Attempt { network: Arc::clone(&network) });
                }
            }
            ended.await;
        }
    }
}

impl Network {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn expire(&mut self) {
        if self.window_start.is_some_and(|window_start| window_start.elapsed() >= WINDOW) {
            (self.window_start, self.invalid) = (None, 0);
        }
    }
}

impl Attempt {
    /// Records that the key was invalid.
    pub(crate) fn was_invalid(&self) {
        let mut counts = self.network.counts();
        counts.expire();
        counts.invalid += 1;
        counts.window_start.get_or_insert_with(Instant::now);
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.network.counts().in_progress -= 1;
        self.network.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(last: u8) -> ClientAddress {
        ClientAddress(IpAddr::from([192, 0, 2, last]))
    }

    #[tokio::test]
    async fn at_most_five_invalid_keys_of_an_address_are_looked_up() {
        let attempts = Attempts::new();
        let attempts_made = (0..100).map(|_| {
            let attempts = attempts.clone();
            tokio::spawn(async move {
                let attempt = attempts.begin(from(1)).await?;
                tokio::task::yield_now().await;
                attempt.was_invalid();
                Ok::<_, Throttled>(())
            })
        });
        let mut looked_up = 0;
        for attempt in attempts_made.collect::<Vec<_>>() {
            looked_up += u32::from(attempt.await.unwrap().is_ok());
        }
        assert_eq!(looked_up, INVALID_MAX);
        assert!(attempts.begin(from(2)).await.is_ok());
    }

    #[tokio::test]
    async fn concurrent_valid_keys_are_not_throttled() {
        let attempts = Attempts::new();
        let attempts_made = (0..100).map(|_| {
            let attempts = attempts.clone();
            tokio::spawn(async move {
                let _attempt = attempts.begin(from(1)).await?;
                tokio::task::yield_now().await;
                Ok::<_, Throttled>(())
            })
        });
        for attempt in attempts_made.collect::<Vec<_>>() {
            assert!(attempt.await.unwrap().is_ok());
        }
    }
}
