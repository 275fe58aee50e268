//! Too much.

use primitives::{Details, ErrorCode, Problem};

use crate::charge::Bucket;
use crate::verdict::Verdict;

/// A call that was not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Limited {
    /// A bucket is empty.
    #[error("{} calls a minute are allowed here, and they are used up", .0.limit)]
    Rate(Verdict),
    /// Too many calls at once.
    #[error("{places} calls at once are allowed here")]
    Concurrency {
        /// How many may be in flight.
        places: usize,
    },
}

impl Problem for Limited {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Rate(Verdict { refused_by: Some(Bucket::Tool), .. }) => {
                ErrorCode::ToolLimitExceeded
            }
            Self::Rate(_) | Self::Concurrency { .. } => ErrorCode::RateLimitExceeded,
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Rate(verdict) => {
                details.insert("bucket", verdict.refused_by.map_or("tier", Bucket::name));
                details.insert("limit", verdict.limit);
                details.insert("reset", verdict.reset);
                details.insert("retry_after_seconds", verdict.wait);
                details.insert("hint", match verdict.refused_by {
                    Some(Bucket::Tool) => "wait until reset, a Unix time in seconds; other tools have shares of their own",
                    _ => "wait until reset, a Unix time in seconds; each key has a share of its own: POST /api/v1/agent-keys",
                });
            }
            Self::Concurrency { .. } => {
                details.insert("bucket", "concurrency");
                details.insert("retry_after_seconds", 1);
                details.insert("hint", "wait for an answer before the next call");
            }
        }
    }
}
