//! What an answer's head says of limits (spec §8).

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName};
use serde_json::Value;

use crate::verdict::Verdict;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

impl Verdict {
    /// Says what is left.
    pub fn write(&self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, self.limit.into());
        headers.insert(REMAINING, self.remaining.into());
        headers.insert(RESET, self.reset.into());
        if !self.is_admitted() {
            headers.insert(RETRY_AFTER, self.wait.into());
        }
    }
}

/// Says in the head what the envelope of a refusal for too many calls says in its details. Where nothing is
/// known of a window there is no reset, and a caller waits a second (spec §7).
pub fn write_refusal(envelope: &Value, headers: &mut HeaderMap) {
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
    use crate::charge::{Bucket, Charge, Class};
    use crate::refusal::Limited;

    fn verdict(count: u64) -> Verdict {
        Verdict::of(&Charge::tier(Class::Read, "mcp", 30), &[count], 100, 130)
    }

    fn read(headers: &HeaderMap) -> Vec<Option<&str>> {
        let names = [LIMIT, REMAINING, RESET, RETRY_AFTER];
        names.iter().map(|name| headers.get(name).map(|it| it.to_str().unwrap())).collect()
    }

    #[test]
    fn an_answer_says_what_is_left() {
        let mut headers = HeaderMap::new();
        verdict(3).write(&mut headers);
        assert_eq!(read(&headers), [Some("30"), Some("26"), Some("130"), None]);
    }

    #[test]
    fn a_refusal_says_the_same_by_its_verdict_and_by_its_details() {
        let told = [Some("30"), Some("0"), Some("130"), Some("30")];
        let (mut by_verdict, mut by_details) = (HeaderMap::new(), HeaderMap::new());
        assert_eq!(verdict(30).refused_by, Some(Bucket::Tier));
        verdict(30).write(&mut by_verdict);
        write_refusal(
            &Failure::from(Limited::Rate(verdict(30))).envelope("req_1"),
            &mut by_details,
        );
        assert_eq!((read(&by_verdict), read(&by_details)), (told.to_vec(), told.to_vec()));
    }

    #[test]
    fn too_many_at_once_have_no_window() {
        let mut headers = HeaderMap::new();
        let failure = Failure::from(Limited::Concurrency { places: 8 });
        write_refusal(&failure.envelope("req_1"), &mut headers);
        assert_eq!(read(&headers), [None, None, None, Some("1")]);
    }
}
