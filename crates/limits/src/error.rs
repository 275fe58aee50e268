//! Rejections of admission control.

use primitives::{Details, ErrorCode, Problem};

use crate::quota_decision::QuotaDecision;
use crate::quota_request::Bucket;

/// A limit that rejected a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitExceeded {
    #[error("rate limit exceeded: {} calls per minute", .0.limit)]
    Rate(QuotaDecision),
    #[error("concurrency limit exceeded: {limit} calls in flight")]
    Concurrency {
        /// Calls that may be in flight.
        limit: usize,
    },
}

impl Problem for LimitExceeded {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Rate(QuotaDecision { exceeded: Some(Bucket::Tool), .. }) => {
                ErrorCode::ToolLimitExceeded
            }
            Self::Rate(_) | Self::Concurrency { .. } => ErrorCode::RateLimitExceeded,
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Rate(decision) => {
                let bucket = decision.exceeded.unwrap_or(Bucket::Tier);
                details.insert("bucket", bucket.as_str());
                details.insert("limit", decision.limit);
                details.insert("reset", decision.reset);
                details.insert("retry_after_seconds", decision.retry_after_seconds);
                let hint = match bucket {
                    Bucket::Tool => {
                        "retry after reset (Unix time in seconds); other tools have their own quotas"
                    }
                    Bucket::Tier => {
                        "retry after reset (Unix time in seconds); each key has its own quota: \
                         POST /api/v1/agent-keys"
                    }
                };
                details.insert("hint", hint);
            }
            Self::Concurrency { .. } => {
                details.insert("bucket", "concurrency");
                details.insert("retry_after_seconds", 1);
                details.insert("hint", "wait for a response before sending the next request");
            }
        }
    }
}
