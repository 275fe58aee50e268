//! Calls in flight. A rate limit lets a caller send its whole quota in one second; a concurrency limit does not.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use primitives::Plan;

use crate::caller::Caller;

/// Counts the calls in flight of each caller in this process. Callers without calls in flight have no entry.
#[derive(Debug, Clone, Default)]
pub struct ConcurrencyLimit {
    in_flight: Arc<Mutex<HashMap<Caller, usize>>>,
}

/// A permit for one call, released on drop: also when the client disconnects.
#[derive(Debug)]
pub struct ConcurrencyPermit {
    limit: ConcurrencyLimit,
    caller: Caller,
}

impl ConcurrencyLimit {
    /// Returns the number of calls one caller may have in flight in one process.
    #[must_use]
    pub const fn for_plan(plan: Plan) -> usize {
        match plan {
            Plan::Free | Plan::Starter => 8,
            Plan::Growth => 16,
            Plan::Pro => 32,
            Plan::Enterprise => 128,
        }
    }

    /// Acquires a permit, or returns `None` if the caller has `max` calls in flight.
    #[must_use]
    pub fn try_acquire(&self, caller: &Caller, max: usize) -> Option<ConcurrencyPermit> {
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        let count = in_flight.entry(caller.clone()).or_insert(0);
        if *count >= max {
            return None;
        }
        *count += 1;
        Some(ConcurrencyPermit { limit: self.clone(), caller: caller.clone() })
    }
}

impl Drop for ConcurrencyPermit {
    fn drop(&mut self) {
        let mut in_flight = self.limit.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = in_flight.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                in_flight.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_is_released_on_drop() {
        let limit = ConcurrencyLimit::default();
        let caller = Caller::address(primitives::ClientAddress("192.0.2.1".parse().unwrap()));
        let first = limit.try_acquire(&caller, 1);
        assert!(first.is_some() && limit.try_acquire(&caller, 1).is_none());
        drop(first);
        assert!(limit.try_acquire(&caller, 1).is_some());
        assert!(limit.in_flight.lock().unwrap().is_empty());
    }
}
