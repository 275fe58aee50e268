//! What came of it.

use crate::charge::{Bucket, Charge};

/// Whether a call is admitted, and what is left: of the bucket that refused it, else of the one with the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// Which bucket refused; none if the call is admitted.
    pub refused_by: Option<Bucket>,
    /// Calls in a window.
    pub limit: u32,
    /// Calls left in this one.
    pub remaining: u32,
    /// When it ends, in seconds since 1970.
    pub reset: u64,
    /// Seconds until then, at least one.
    pub wait: u64,
    /// Whether this process counted alone.
    pub degraded: bool,
}

impl Verdict {
    /// Out of the counts before the call.
    pub(crate) fn of(charge: &Charge, counts: &[u64], now: u64, reset: u64) -> Self {
        let limits = || charge.buckets.iter().map(|(bucket, _, limit)| (*bucket, *limit));
        let left = |limit: u32, count: u64| u64::from(limit).saturating_sub(count);
        let full = limits().zip(counts).find(|((_, limit), count)| left(*limit, **count) == 0);
        let wait = reset.saturating_sub(now).max(1);
        if let Some(((bucket, limit), _)) = full {
            let refused_by = Some(bucket);
            return Self { refused_by, limit, remaining: 0, reset, wait, degraded: false };
        }
        let tightest = limits().zip(counts).map(|((_, limit), count)| (left(limit, *count), limit));
        let (left, limit) = tightest.min().unwrap_or((1, 0));
        let remaining = u32::try_from(left.saturating_sub(1)).unwrap_or(u32::MAX);
        Self { refused_by: None, limit, remaining, reset, wait, degraded: false }
    }

    /// Whether the call may go on.
    #[must_use]
    pub fn is_admitted(&self) -> bool {
        self.refused_by.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::Class;

    fn verdict(tier: u64, tool: u64) -> Verdict {
        let charge = Charge::tier(Class::Read, "mcp", 30).and_tool(None, "search_products", 20);
        Verdict::of(&charge, &[tier, tool], 100, 130)
    }

    #[test]
    fn the_tighter_bucket_is_told() {
        let both = verdict(0, 0);
        assert_eq!((both.limit, both.remaining, both.reset, both.wait), (20, 19, 130, 30));
        let tier = verdict(29, 3);
        assert_eq!((tier.limit, tier.remaining, tier.refused_by), (30, 0, None));
    }

    #[test]
    fn the_whole_share_speaks_before_that_of_a_tool() {
        assert_eq!(verdict(30, 20).refused_by, Some(Bucket::Tier));
        assert_eq!(verdict(29, 20).refused_by, Some(Bucket::Tool));
        assert_eq!(verdict(29, 20).limit, 20);
    }
}
