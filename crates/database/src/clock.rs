//! The clock of a process.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use primitives::Timestamp;

/// The source of the current time. In production a `Work` reads the database's clock; tests use a fixed one.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// Creates the clock for production.
    #[must_use]
    pub fn system() -> Self {
        Self(None)
    }

    /// Creates a clock that stays at `now` until it is advanced. Clones share it.
    #[must_use]
    pub fn fixed(now: Timestamp) -> Self {
        Self(Some(Arc::new(AtomicI64::new(now.unix_micros()))))
    }

    /// Advances a fixed clock. Does nothing to the system clock.
    pub fn advance(&self, span: Duration) {
        if let Some(fixed) = &self.0 {
            let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
            fixed.fetch_add(micros, Ordering::SeqCst);
        }
    }

    /// Returns the time of a fixed clock, or `None` for the system clock.
    pub(crate) fn fixed_now(&self) -> Option<Timestamp> {
        let fixed = self.0.as_ref()?;
        Some(Timestamp::from_unix_micros(fixed.load(Ordering::SeqCst)))
    }

    /// Returns the time of this process: for display and ages, never for business rules.
    #[must_use]
    pub fn local_now(&self) -> Timestamp {
        self.fixed_now().unwrap_or_else(system_now)
    }
}

#[expect(clippy::disallowed_methods, reason = "the only place that reads the process clock")]
fn system_now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_micros(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
}
