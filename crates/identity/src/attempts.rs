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
/// Keys of one network that may wait for a lookup, so that one network cannot take the places of all.
const WAITING_MAX: u32 = 256;
/// How long one may wait. A lookup takes milliseconds, or PostgreSQL is slow or unavailable.
const WAIT_MAX: Duration = Duration::from_secs(2);
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
    /// Attempts that wait for those in progress.
    waiting: u32,
}

/// Why a key is not looked up.
#[derive(Debug)]
pub(crate) enum Rejection {
    /// Too many keys were invalid.
    Throttled { wait: Duration },
    /// Too many keys of the network wait already, or for too long.
    Busy,
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
    pub(crate) async fn begin(&self, from: ClientAddress) -> Result<Attempt, Rejection> {
        let network = self.networks.get_with(from.network(), Arc::default);
        let (mut waiting, deadline) = (None, tokio::time::Instant::now() + WAIT_MAX);
        loop {
            let ended = network.ended.notified();
            {
                let mut counts = network.counts();
                counts.expire();
                if let Some(window_start) =
                    counts.window_start.filter(|_| counts.invalid >= INVALID_MAX)
                {
                    let wait = WINDOW.saturating_sub(window_start.elapsed());
                    return Err(Rejection::Throttled { wait });
                }
                if counts.invalid + counts.in_progress < INVALID_MAX {
                    counts.in_progress += 1;
                    return Ok(Attempt { network: Arc::clone(&network) });
                }
                if waiting.is_none() {
                    if counts.waiting >= WAITING_MAX {
                        return Err(Rejection::Busy);
                    }
                    counts.waiting += 1;
                    waiting = Some(Waiting { network: Arc::clone(&network) });
                }
            }
            if tokio::time::timeout_at(deadline, ended).await.is_err() {
                return Err(Rejection::Busy);
            }
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

/// An attempt that waits; dropped when it begins or its request ends.
struct Waiting {
    network: Arc<Network>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.network.counts().waiting -= 1;
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
                Ok::<_, Rejection>(())
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
    async fn keys_do_not_wait_for_a_database_that_does_not_answer() {
        let attempts = Attempts::new();
        let mut held = Vec::new();
        for _ in 0..INVALID_MAX {
            held.push(attempts.begin(from(1)).await.unwrap());
        }
        let waiting = (0..WAITING_MAX + 10).map(|_| {
            let attempts = attempts.clone();
            tokio::spawn(async move {
                let since = Instant::now();
                let refused = matches!(attempts.begin(from(1)).await, Err(Rejection::Busy));
                (refused, since.elapsed())
            })
        });
        let mut at_once = 0;
        for waited in waiting.collect::<Vec<_>>() {
            let (refused, time) = waited.await.unwrap();
            assert!(refused && time < WAIT_MAX * 2, "{time:?}");
            at_once += u32::from(time < WAIT_MAX / 2);
        }
        assert_eq!(at_once, 10);
        assert!(attempts.begin(from(2)).await.is_ok(), "another network is not affected");
        drop(held);
        assert!(attempts.begin(from(1)).await.is_ok());
    }

    #[tokio::test]
    async fn concurrent_valid_keys_are_not_throttled() {
        let attempts = Attempts::new();
        let attempts_made = (0..100).map(|_| {
            let attempts = attempts.clone();
            tokio::spawn(async move {
                let _attempt = attempts.begin(from(1)).await?;
                tokio::task::yield_now().await;
                Ok::<_, Rejection>(())
            })
        });
        for attempt in attempts_made.collect::<Vec<_>>() {
            assert!(attempt.await.unwrap().is_ok());
        }
    }
}
