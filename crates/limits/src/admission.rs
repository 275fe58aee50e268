//! Admission control: a concurrency permit, then the quotas of the call.

use crate::caller::Caller;
use crate::concurrency_limit::{ConcurrencyLimit, ConcurrencyPermit};
use crate::error::LimitExceeded;
use crate::limiter::Limiter;
use crate::quota_decision::QuotaDecision;
use crate::quota_request::QuotaRequest;
use crate::quotas::IPV6_SITE_SHARE;

/// Admits or rejects calls. Cheap to clone.
#[derive(Clone)]
pub struct AdmissionControl(Option<Limits>);

#[derive(Clone)]
struct Limits {
    limiter: Limiter,
    concurrency: ConcurrencyLimit,
}

/// An admitted call. Its concurrency permit is released on drop.
#[derive(Debug)]
#[must_use = "a call holds its permit for as long as it runs"]
pub struct AdmissionPermit {
    /// `None` if calls are unlimited.
    pub decision: Option<QuotaDecision>,
    _permits: Option<Permits>,
}

/// The permit of the caller, and that of its site for an IPv6 client.
type Permits = (ConcurrencyPermit, Option<ConcurrencyPermit>);

impl AdmissionControl {
    /// Counts calls with this limiter.
    #[must_use]
    pub fn new(limiter: Limiter) -> Self {
        Self(Some(Limits { limiter, concurrency: ConcurrencyLimit::default() }))
    }

    /// Connects to Redis in advance.
    pub async fn connect(&self) {
        if let Some(limits) = &self.0 {
            limits.limiter.connect().await;
        }
    }

    /// Admits every call: for tests of other features, and to measure the cost of counting.
    #[must_use]
    pub fn unlimited() -> Self {
        Self(None)
    }

    /// Admits a call, or rejects it with the limit that is exceeded. A call rejected for concurrency consumes no quota.
    pub async fn admit(
        &self,
        caller: &Caller,
        concurrency_max: usize,
        request: &QuotaRequest,
    ) -> Result<AdmissionPermit, LimitExceeded> {
        let Some(limits) = &self.0 else {
            return Ok(AdmissionPermit { decision: None, _permits: None });
        };
        let Some(permits) = limits.try_acquire(caller, concurrency_max) else {
            count_rejection("concurrency");
            return Err(LimitExceeded::Concurrency { limit: concurrency_max });
        };
        let decision = limits.limiter.take(caller, request).await;
        match decision.exceeded {
            None => Ok(AdmissionPermit { decision: Some(decision), _permits: Some(permits) }),
            Some(bucket) => {
                count_rejection(bucket.as_str());
                Err(LimitExceeded::Rate(decision))
            }
        }
    }
}

impl Limits {
    fn try_acquire(&self, caller: &Caller, max: usize) -> Option<Permits> {
        let own = self.concurrency.try_acquire(caller, max)?;
        let Some(site) = caller.site() else { return Some((own, None)) };
        let site_max = max.saturating_mul(IPV6_SITE_SHARE.into());
        Some((own, Some(self.concurrency.try_acquire(&site, site_max)?)))
    }
}

fn count_rejection(bucket: &'static str) {
    metrics::counter!("souk_limits_rejected_total", "bucket" => bucket).increment(1);
}
