#![doc = include_str!("../README.md")]

mod admission;
mod caller;
mod concurrency_limit;
mod error;
mod headers;
mod limiter;
mod local_counters;
mod quota_decision;
mod quota_request;
mod redis_counters;

pub use admission::{AdmissionControl, AdmissionPermit};
pub use caller::Caller;
pub use concurrency_limit::{ConcurrencyLimit, ConcurrencyPermit};
pub use error::LimitExceeded;
pub use headers::write_error_headers;
pub use limiter::Limiter;
pub use quota_decision::QuotaDecision;
pub use quota_request::{Bucket, Class, QuotaRequest, tier_limit};
