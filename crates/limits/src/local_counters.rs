//! Counts of this process, for degraded mode: windows of the same form as in Redis.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use moka::sync::Cache;

use crate::caller::{Caller, WINDOW};
use crate::quota_decision::QuotaDecision;
use crate::quota_request::QuotaRequest;

/// Maximum number of callers with counts.
const CALLERS_MAX: u64 = 100_000;

#[derive(Default)]
struct Counts {
    window: u64,
    taken: HashMap<String, u64>,
}

pub(crate) struct LocalCounters {
    /// By name.
    callers: Cache<String, Arc<Mutex<Counts>>>,
}

impl LocalCounters {
    pub(crate) fn new() -> Self {
        let callers = Cache::builder()
            .max_capacity(CALLERS_MAX)
            .time_to_idle(Duration::from_secs(2 * WINDOW))
            .build();
        Self { callers }
    }

    /// Counts a call at `now`, in seconds since the Unix epoch.
    pub(crate) fn take(&self, caller: &Caller, request: &QuotaRequest, now: u64) -> QuotaDecision {
        let mut degraded = request.clone();
        for quota in &mut degraded.quotas {
            quota.limit = request.class.degraded_limit(quota.limit);
        }
        let degraded = caller.expand(&degraded).into_owned();
        let counts = self.callers.get_with_by_ref(caller.name(), Arc::default);
        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let window = now.saturating_sub(caller.offset()) / WINDOW;
        // If the clock was set back by less than a window, the reported window continues.
        let is_current = window == counts.window || window + 1 == counts.window;
        if !is_current {
            *counts = Counts { window, taken: HashMap::new() };
        }
        let taken: Vec<u64> = degraded
            .quotas
            .iter()
            .map(|quota| counts.taken.get(&quota.key).copied().unwrap_or(0))
            .collect();
        let reset = (counts.window + 1) * WINDOW + caller.offset();
        let decision = QuotaDecision::new(&degraded, &taken, now, reset);
        if decision.is_admitted() {
            for quota in degraded.quotas {
                *counts.taken.entry(quota.key).or_insert(0) += 1;
            }
        }
        QuotaDecision { degraded: true, ..decision }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota_request::{Bucket, Class};

    fn caller() -> Caller {
        Caller::address(primitives::ClientAddress("192.0.2.1".parse().unwrap()))
    }

    #[test]
    fn each_window_admits_its_limit() {
        let (local, request) = (LocalCounters::new(), QuotaRequest::tier(Class::Read, "mcp", 3));
        let start = 1_000 * WINDOW + caller().offset();
        let admitted = |at| local.take(&caller(), &request, at).is_admitted();
        assert_eq!((0..5).map(|_| admitted(start)).filter(|it| *it).count(), 3);
        assert!(!admitted(start + WINDOW - 1));
        assert!(admitted(start + WINDOW));
        let set_back = local.take(&caller(), &request, start);
        assert_eq!((set_back.remaining, set_back.reset), (1, start + 2 * WINDOW));
    }

    #[test]
    fn each_class_has_its_own_degraded_limit() {
        let take = |class, limit| {
            let (local, request) = (LocalCounters::new(), QuotaRequest::tier(class, "x", limit));
            let taken = (0..100).map(|_| local.take(&caller(), &request, 0).is_admitted());
            taken.filter(|it| *it).count()
        };
        assert_eq!(take(Class::Read, 30), 30);
        assert_eq!(take(Class::Write, 30), 15);
        assert_eq!(take(Class::Credential, 30), 5);
        assert_eq!(take(Class::Payment, 30), 2);
        assert_eq!(take(Class::Write, 1), 1);
    }

    #[test]
    fn the_networks_of_a_site_share_a_larger_quota() {
        let (local, request) = (LocalCounters::new(), QuotaRequest::tier(Class::Read, "mcp", 3));
        let admitted = |network: u16| {
            let address =
                primitives::ClientAddress(format!("2001:db8:1:{network:x}::1").parse().unwrap());
            local.take(&Caller::address(address), &request, 0).is_admitted()
        };
        assert_eq!((0..5).filter(|_| admitted(1)).count(), 3);
        assert_eq!((2..100).filter(|network| admitted(*network)).count(), 48 - 3);
    }

    #[test]
    fn a_rejected_call_consumes_no_quota() {
        let local = LocalCounters::new();
        let call = |tool| {
            let request = QuotaRequest::tier(Class::Read, "mcp", 10).and_tool(None, tool, 2);
            local.take(&caller(), &request, 0)
        };
        for _ in 0..7 {
            call("a");
        }
        assert_eq!(call("a").exceeded, Some(Bucket::Tool));
        assert_eq!((0..20).filter(|_| call("b").is_admitted()).count(), 2);
        let request = QuotaRequest::tier(Class::Read, "mcp", 10);
        assert_eq!(local.take(&caller(), &request, 0).remaining, 5);
    }
}
