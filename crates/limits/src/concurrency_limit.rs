//! Calls in flight: a window lets a caller send all of its share in one second, this does not.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use primitives::Plan;

use crate::caller::Caller;

/// Places of each caller in this process. Who has no call in flight has no entry.
#[derive(Debug, Clone, Default)]
pub struct Places {
    taken: Arc<Mutex<HashMap<Caller, usize>>>,
}

/// A place, given back when dropped: also when the client goes away.
#[derive(Debug)]
pub struct Place {
    places: Places,
    caller: Caller,
}

impl Places {
    /// How many calls of one caller may be in flight in one process.
    #[must_use]
    pub const fn of_plan(plan: Plan) -> usize {
        match plan {
            Plan::Free | Plan::Starter => 8,
            Plan::Growth => 16,
            Plan::Pro => 32,
            Plan::Enterprise => 128,
        }
    }

    /// A place, if one is left.
    #[must_use]
    pub fn enter(&self, caller: &Caller, places: usize) -> Option<Place> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(caller.clone()).or_insert(0);
        if *count >= places {
            return None;
        }
        *count += 1;
        Some(Place { places: self.clone(), caller: caller.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_given_back() {
        let places = Places::default();
        let caller = Caller::address(primitives::ClientAddress("192.0.2.1".parse().unwrap()));
        let first = places.enter(&caller, 1);
        assert!(first.is_some() && places.enter(&caller, 1).is_none());
        drop(first);
        assert!(places.enter(&caller, 1).is_some());
        assert!(places.taken.lock().unwrap().is_empty());
    }
}
