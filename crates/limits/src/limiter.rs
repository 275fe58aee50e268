//! Redis if it is well, this process alone if it is not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use redis::RedisError;

use crate::caller::Caller;
use crate::charge::Charge;
use crate::local::Local;
use crate::shared::Shared;
use crate::verdict::Verdict;

/// So many failures within so long, and Redis is not asked any more.
const FAILURES_MAX: usize = 5;
const FAILURES_WITHIN: Duration = Duration::from_secs(1);
/// How often one call tries whether it is back.
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// Decides who may call. Cheap to clone.
#[derive(Clone)]
pub struct Limiter {
    shared: Arc<Shared>,
    local: Arc<Local>,
    breaker: Arc<Breaker>,
}

impl Limiter {
    /// On the Redis at this address, which need not be there. Those of one name count together.
    pub fn new(redis_url: &str, name: &str) -> Result<Self, RedisError> {
        Ok(Self {
            shared: Arc::new(Shared::new(redis_url, name)?),
            local: Arc::new(Local::new()),
            breaker: Arc::default(),
        })
    }

    /// Connects, if Redis is there: the first call need not wait for it.
    pub async fn connect(&self) {
        if let Err(error) = self.shared.connect().await {
            tracing::warn!(%error, "Redis is away: limits are counted by each process alone");
        }
    }

    /// Takes one from every bucket of the charge, or nothing from any.
    pub async fn take(&self, caller: &Caller, charge: &Charge) -> Verdict {
        if self.breaker.lets_through() {
            match self.shared.take(caller, charge).await {
                Ok(verdict) => {
                    self.breaker.is_well();
                    return verdict;
                }
                Err(away) => self.breaker.failed(&away.to_string()),
            }
        }
        metrics::counter!("souk_limits_alone_total").increment(1);
        self.local.take(caller, charge, seconds())
    }

    /// Whether this process counts alone.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.breaker.open.load(Ordering::Relaxed)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "Redis is away, and no request waits for PostgreSQL here"
)]
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Keeps a Redis that is away from costing every call its deadline.
#[derive(Default)]
struct Breaker {
    open: AtomicBool,
    state: Mutex<BreakerState>,
}

#[derive(Default)]
struct BreakerState {
    failures: Vec<Instant>,
    probed_at: Option<Instant>,
}

impl Breaker {
    fn lets_through(&self) -> bool {
        if !self.open.load(Ordering::Relaxed) {
            return true;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = state.probed_at.is_none_or(|then| then.elapsed() >= PROBE_EVERY);
        if is_due {
            state.probed_at = Some(Instant::now());
        }
        is_due
    }

    fn is_well(&self) {
        if !self.open.swap(false, Ordering::Relaxed) {
            return;
        }
        self.state.lock().unwrap_or_else(PoisonError::into_inner).failures.clear();
        metrics::gauge!("souk_limits_degraded").set(0.0);
        tracing::info!("Redis is back: limits are shared again");
    }

    fn failed(&self, why: &str) {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures.retain(|then| now.duration_since(*then) < FAILURES_WITHIN);
        state.failures.push(now);
        if state.failures.len() < FAILURES_MAX || self.open.swap(true, Ordering::Relaxed) {
            return;
        }
        state.probed_at = Some(now);
        metrics::gauge!("souk_limits_degraded").set(1.0);
        tracing::warn!(why, "Redis is away: limits are counted by each process alone");
    }
}
