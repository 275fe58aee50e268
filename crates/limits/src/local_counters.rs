//! Counts of this process alone, while Redis is away: windows of the same form.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use moka::sync::Cache;

use crate::caller::{Caller, WINDOW};
use crate::charge::Charge;
use crate::verdict::Verdict;

/// Callers whose counts are kept.
const CALLERS_MAX: u64 = 100_000;

#[derive(Default)]
struct Counts {
    window: u64,
    taken: HashMap<String, u64>,
}

pub(crate) struct Local {
    callers: Cache<Caller, Arc<Mutex<Counts>>>,
}

impl Local {
    pub(crate) fn new() -> Self {
        let callers = Cache::builder()
            .max_capacity(CALLERS_MAX)
            .time_to_idle(Duration::from_secs(2 * WINDOW))
            .build();
        Self { callers }
    }

    /// At a second since 1970.
    pub(crate) fn take(&self, caller: &Caller, charge: &Charge, now: u64) -> Verdict {
        let mut alone = charge.clone();
        for (_, _, limit) in &mut alone.buckets {
            *limit = charge.class.alone(*limit);
        }
        let counts = self.callers.get_with_by_ref(caller, Arc::default);
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let window = now.saturating_sub(caller.offset()) / WINDOW;
        // A window that was told goes on if the clock was set back a little.
        let goes_on = window == counts.window || window + 1 == counts.window;
        if !goes_on {
            *counts = Counts { window, taken: HashMap::new() };
        }
        let taken: Vec<u64> = alone
            .buckets
            .iter()
            .map(|(_, name, _)| counts.taken.get(name).copied().unwrap_or(0))
            .collect();
        let reset = (counts.window + 1) * WINDOW + caller.offset();
        let verdict = Verdict::of(&alone, &taken, now, reset);
        if verdict.is_admitted() {
            for (_, name, _) in alone.buckets {
                *counts.taken.entry(name).or_insert(0) += 1;
            }
        }
        Verdict { degraded: true, ..verdict }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::{Bucket, Class};

    fn caller() -> Caller {
        Caller::address(primitives::ClientAddress("192.0.2.1".parse().unwrap()))
    }

    #[test]
    fn a_window_admits_its_figure_and_the_next_one_again() {
        let (local, charge) = (Local::new(), Charge::tier(Class::Read, "mcp", 3));
        let start = 1_000 * WINDOW + caller().offset();
        let admitted = |at| local.take(&caller(), &charge, at).is_admitted();
        assert_eq!((0..5).map(|_| admitted(start)).filter(|it| *it).count(), 3);
        assert!(!admitted(start + WINDOW - 1));
        assert!(admitted(start + WINDOW));
        let set_back = local.take(&caller(), &charge, start);
        assert_eq!((set_back.remaining, set_back.reset), (1, start + 2 * WINDOW));
    }

    #[test]
    fn each_class_has_its_share() {
        let take = |class, limit| {
            let (local, charge) = (Local::new(), Charge::tier(class, "x", limit));
            let taken = (0..100).map(|_| local.take(&caller(), &charge, 0).is_admitted());
            taken.filter(|it| *it).count()
        };
        assert_eq!(take(Class::Read, 30), 30);
        assert_eq!(take(Class::Write, 30), 15);
        assert_eq!(take(Class::Credential, 30), 5);
        assert_eq!(take(Class::Payment, 30), 2);
        assert_eq!(take(Class::Write, 1), 1);
    }

    #[test]
    fn a_refused_call_takes_nothing() {
        let local = Local::new();
        let call = |tool| {
            let charge = Charge::tier(Class::Read, "mcp", 10).and_tool(None, tool, 2);
            local.take(&caller(), &charge, 0)
        };
        for _ in 0..7 {
            call("a");
        }
        assert_eq!(call("a").refused_by, Some(Bucket::Tool));
        assert_eq!((0..20).filter(|_| call("b").is_admitted()).count(), 2);
        let charge = Charge::tier(Class::Read, "mcp", 10);
        assert_eq!(local.take(&caller(), &charge, 0).remaining, 5);
    }
}
