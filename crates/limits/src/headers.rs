//! Headers of responses that report limits and when to retry (docs/contract/limits.md#headers).

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName};
use serde_json::Value;

use crate::quota_decision::QuotaDecision;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

impl QuotaDecision {
    /// Writes the rate limit headers.
    pub fn write_headers(&self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, self.limit.into());
        headers.insert(REMAINING, self.remaining.into());
        headers.insert(RESET, self.reset.into());
        if !self.is_admitted() {
            headers.insert(RETRY_AFTER, self.retry_after_seconds.into());
        }
    }
}

/// Writes the headers of an error envelope that say when to retry, from its details: those of a rate limit, and
/// `Retry-After` of an overload. Without a window there is no reset, and the client retries after one second
/// (docs/contract/errors.md#retry-429).
pub fn write_error_headers(envelope: &Value, headers: &mut HeaderMap) {
    let figure = |name: &str| envelope["details"][name].as_u64();
    if let Some(seconds) = figure("retry_after_seconds") {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if let Some(reset) = figure("reset") {
        headers.insert(LIMIT, figure("limit").unwrap_or(0).into());
        headers.insert(REMAINING, 0.into());
        headers.insert(RESET, reset.into());
    }
}

#[cfg(test)]
mod tests {
    use primitives::Failure;

    use super::*;
    use crate::error::LimitExceeded;
    use crate::quota_request::{Bucket, Class, QuotaRequest};

    fn decision(count: u64) -> QuotaDecision {
        QuotaDecision::new(&QuotaRequest::tier(Class::Read, "mcp", 30), &[count], 100, 130)
    }

    fn read(headers: &HeaderMap) -> Vec<Option<&str>> {
        let names = [LIMIT, REMAINING, RESET, RETRY_AFTER];
        names.iter().map(|name| headers.get(name).map(|it| it.to_str().unwrap())).collect()
    }

    #[test]
    fn a_response_reports_the_remaining_quota() {
        let mut headers = HeaderMap::new();
        decision(3).write_headers(&mut headers);
        assert_eq!(read(&headers), [Some("30"), Some("26"), Some("130"), None]);
    }

    #[test]
    fn a_rejection_has_the_same_headers_from_its_decision_and_its_details() {
        let expected = [Some("30"), Some("0"), Some("130"), Some("30")];
        let (mut by_decision, mut by_details) = (HeaderMap::new(), HeaderMap::new());
        assert_eq!(decision(30).exceeded, Some(Bucket::Tier));
        decision(30).write_headers(&mut by_decision);
        write_error_headers(
            &Failure::from(LimitExceeded::Rate(decision(30))).envelope("req_1"),
            &mut by_details,
        );
        assert_eq!((read(&by_decision), read(&by_details)), (expected.to_vec(), expected.to_vec()));
    }

    #[test]
    fn an_overload_says_when_to_retry() {
        let mut headers = HeaderMap::new();
        let envelope = serde_json::json!({ "details": { "retry_after_seconds": 30 } });
        write_error_headers(&envelope, &mut headers);
        assert_eq!(read(&headers), [None, None, None, Some("30")]);
    }

    #[test]
    fn a_concurrency_rejection_has_no_window() {
        let mut headers = HeaderMap::new();
        let failure = Failure::from(LimitExceeded::Concurrency { limit: 8 });
        write_error_headers(&failure.envelope("req_1"), &mut headers);
        assert_eq!(read(&headers), [None, None, None, Some("1")]);
    }
}
