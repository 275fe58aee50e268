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
mod quotas;
mod redis_counters;

pub use admission::{AdmissionControl, AdmissionPermit};
pub use caller::Caller;
pub use concurrency_limit::{ConcurrencyLimit, ConcurrencyPermit};
pub use error::LimitExceeded;
pub use headers::write_error_headers;
pub use limiter::Limiter;
pub use quota_decision::QuotaDecision;
pub use quota_request::{Bucket, Class, QuotaRequest};
pub use quotas::{
    CREDENTIAL_PER_MINUTE, DEMO_STORE_PER_MINUTE, PERSON_PER_MINUTE, PUBLIC_PAGE_PER_MINUTE,
    PUBLIC_PER_MINUTE, PURCHASE_PAGE_PER_MINUTE, QuotaClass, STORE_PER_MINUTE, tier_limit,
    tool_quota,
};
