//! The decision of the limiter about a call.

use crate::quota_request::{Bucket, QuotaRequest};

/// Whether a call is admitted, and the state of one bucket: the one that rejected the call, else the one with the least
/// remaining quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaDecision {
    /// The bucket that rejected the call; `None` if the call is admitted.
    pub exceeded: Option<Bucket>,
    /// Calls per window.
    pub limit: u32,
    /// Calls left in this window.
    pub remaining: u32,
    /// End of the window, in seconds since the Unix epoch.
    pub reset: u64,
    /// Seconds until the window ends, at least one.
    pub retry_after_seconds: u64,
    /// Whether the decision was made in degraded mode, without Redis.
    pub degraded: bool,
}

impl QuotaDecision {
    /// Decides by the counts before the call, in the order of the quotas.
    pub(crate) fn new(request: &QuotaRequest, counts: &[u64], now: u64, reset: u64) -> Self {
        let limits = || request.quotas.iter().map(|quota| (quota.bucket, quota.limit));
        let left = |limit: u32, count: u64| u64::from(limit).saturating_sub(count);
        let full = limits().zip(counts).find(|((_, limit), count)| left(*limit, **count) == 0);
        let retry_after_seconds = reset.saturating_sub(now).max(1);
        let decision = |exceeded, limit, remaining| Self {
            exceeded,
            limit,
            remaining,
            reset,
            retry_after_seconds,
            degraded: false,
        };
        if let Some(((bucket, limit), _)) = full {
            return decision(Some(bucket), limit, 0);
        }
        let tightest = limits().zip(counts).map(|((_, limit), count)| (left(limit, *count), limit));
        let (left, limit) = tightest.min().unwrap_or((1, 0));
        let remaining = u32::try_from(left.saturating_sub(1)).unwrap_or(u32::MAX);
        decision(None, limit, remaining)
    }

    /// Returns whether the call is admitted.
    #[must_use]
    pub fn is_admitted(&self) -> bool {
        self.exceeded.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quota_request::Class;

    fn decide(tier: u64, tool: u64) -> QuotaDecision {
        let request =
            QuotaRequest::tier(Class::Read, "mcp", 30).and_tool(None, "search_products", 20);
        QuotaDecision::new(&request, &[tier, tool], 100, 130)
    }

    #[test]
    fn the_bucket_with_the_least_remaining_quota_is_reported() {
        let both = decide(0, 0);
        assert_eq!((both.limit, both.remaining, both.reset), (20, 19, 130));
        assert_eq!(both.retry_after_seconds, 30);
        let tier = decide(29, 3);
        assert_eq!((tier.limit, tier.remaining, tier.exceeded), (30, 0, None));
    }

    #[test]
    fn the_tier_is_reported_before_the_tool() {
        assert_eq!(decide(30, 20).exceeded, Some(Bucket::Tier));
        assert_eq!(decide(29, 20).exceeded, Some(Bucket::Tool));
        assert_eq!(decide(29, 20).limit, 20);
    }
}
