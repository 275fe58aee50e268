//! Where moments come from.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use primitives::Timestamp;

/// The clock of a process. In production a `Work` asks the database; a test fixes the moment.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The real clock.
    #[must_use]
    pub fn real() -> Self {
        Self(None)
    }

    /// A clock that stands at one moment until it is advanced. Clones share it.
    #[must_use]
    pub fn fixed(moment: Timestamp) -> Self {
        Self(Some(Arc::new(AtomicI64::new(moment.unix_micros()))))
    }

    /// Moves a fixed clock; a real one cannot be moved.
    pub fn advance(&self, span: Duration) {
        if let Some(fixed) = &self.0 {
            let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
            fixed.fetch_add(micros, Ordering::SeqCst);
        }
    }

    /// The fixed moment, if there is one.
    pub(crate) fn fixed_moment(&self) -> Option<Timestamp> {
        let fixed = self.0.as_ref()?;
        Some(Timestamp::from_unix_micros(fixed.load(Ordering::SeqCst)))
    }

    /// The moment as this process sees it: for showing and for ages, never for a rule.
    pub(crate) fn local_moment(&self) -> Timestamp {
        self.fixed_moment().unwrap_or_else(system_moment)
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one home of the process clock")]
fn system_moment() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_micros(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
}
