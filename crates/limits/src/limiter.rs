//! Counts calls in Redis, or in this process while Redis is unavailable.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use redis::RedisError;

use crate::caller::Caller;
use crate::local_counters::LocalCounters;
use crate::quota_decision::QuotaDecision;
use crate::quota_request::QuotaRequest;
use crate::redis_counters::RedisCounters;

/// Failures within `FAILURE_WINDOW` that open the circuit breaker.
const FAILURES_MAX: usize = 5;
const FAILURE_WINDOW: Duration = Duration::from_secs(1);
/// How often one call probes Redis while the circuit breaker is open.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// Counts calls against their quotas. Cheap to clone.
#[derive(Clone)]
pub struct Limiter {
    redis: Arc<RedisCounters>,
    local: Arc<LocalCounters>,
    breaker: Arc<CircuitBreaker>,
}

impl Limiter {
    /// Creates a limiter on the Redis at this URL, which need not be reachable. Limiters of the same name share counts.
    pub fn new(redis_url: &str, name: &str) -> Result<Self, RedisError> {
        Ok(Self {
            redis: Arc::new(RedisCounters::new(redis_url, name)?),
            local: Arc::new(LocalCounters::new()),
            breaker: Arc::default(),
        })
    }

    /// Connects to Redis if it is reachable, so that the first call does not wait for the connection.
    pub async fn connect(&self) {
        if let Err(error) = self.redis.connect().await {
            tracing::warn!(%error, "Redis is unavailable: rate limits are counted per process until it responds");
        }
    }

    /// Counts a call against every quota of the request, or against none if one of them is exceeded.
    pub async fn take(&self, caller: &Caller, request: &QuotaRequest) -> QuotaDecision {
        if self.breaker.allows_call() {
            match self.redis.take(caller, request).await {
                Ok(decision) => {
                    self.breaker.record_success();
                    return decision;
                }
                Err(error) => self.breaker.record_failure(&error.to_string()),
            }
        }
        metrics::counter!("souk_limits_degraded_calls_total").increment(1);
        self.local.take(caller, request, unix_seconds())
    }

    /// Returns whether the limiter is in degraded mode, counting in this process only.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.breaker.open.load(Ordering::Relaxed)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "Redis is unavailable, and no request waits for PostgreSQL here"
)]
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Prevents every call from waiting for the timeout of an unavailable Redis.
#[derive(Default)]
struct CircuitBreaker {
    open: AtomicBool,
    state: Mutex<BreakerState>,
}

#[derive(Default)]
struct BreakerState {
    failures: Vec<Instant>,
    probed_at: Option<Instant>,
}

impl CircuitBreaker {
    fn allows_call(&self) -> bool {
        if !self.open.load(Ordering::Relaxed) {
            return true;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = state.probed_at.is_none_or(|then| then.elapsed() >= PROBE_INTERVAL);
        if is_due {
            state.probed_at = Some(Instant::now());
        }
        is_due
    }

    fn record_success(&self) {
        if !self.open.swap(false, Ordering::Relaxed) {
            return;
        }
        self.state.lock().unwrap_or_else(PoisonError::into_inner).failures.clear();
        metrics::gauge!("souk_limits_degraded").set(0.0);
        tracing::info!("Redis responds again: rate limits are shared by all processes");
    }

    fn record_failure(&self, error: &str) {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failures.retain(|then| now.duration_since(*then) < FAILURE_WINDOW);
        state.failures.push(now);
        if state.failures.len() < FAILURES_MAX || self.open.swap(true, Ordering::Relaxed) {
            return;
        }
        state.probed_at = Some(now);
        metrics::gauge!("souk_limits_degraded").set(1.0);
        tracing::warn!(
            error,
            "Redis is unavailable: rate limits are counted per process; one call per second probes it"
        );
    }
}
