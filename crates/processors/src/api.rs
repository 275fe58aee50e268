//! Requests to the API of a processor, and what a response means before its content is read.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use outbound::{Client, Destination, RequestError, Response};
use serde::de::DeserializeOwned;
use url::Url;

use crate::error::{InvalidRequest, ProcessorError, Refusal, UnknownOutcome};
use crate::processors::InvalidEndpoint;

/// Longest id of an object of a processor.
const REFERENCE_MAX_BYTES: usize = 255;

/// Longest time for which a processor can ask to wait.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);

/// The API at an address.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    client: Client,
    /// Without a slash at the end.
    base: String,
}

/// What an error response means.
pub(crate) enum ErrorMeaning {
    Refused(Refusal),
    CredentialsRefused,
    Unknown(UnknownOutcome),
}

impl Api {
    pub(crate) fn new(client: Client, base: &str) -> Result<Self, InvalidEndpoint> {
        let destination = Destination::parse(base, client.policy())?;
        let url = Url::parse(destination.as_str()).map_err(|_| InvalidEndpoint::NotABase)?;
        if url.path() != "/" || url.query().is_some() {
            return Err(InvalidEndpoint::NotABase);
        }
        Ok(Self { client, base: url.origin().ascii_serialization() })
    }

    pub(crate) async fn get(
        &self,
        path: &str,
        headers: HeaderMap,
    ) -> Result<Response, RequestError> {
        let destination = self.destination(path)?;
        self.client.get(&destination, headers).await
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        headers: HeaderMap,
        body: impl Into<Bytes>,
    ) -> Result<Response, RequestError> {
        let destination = self.destination(path)?;
        self.client.post(&destination, headers, body.into()).await
    }

    pub(crate) fn allows_http(&self) -> bool {
        self.client.policy().allow_http
    }

    fn destination(&self, path: &str) -> Result<Destination, RequestError> {
        let url = format!("{}{path}", self.base);
        Destination::parse(&url, self.client.policy()).map_err(|_| RequestError::AddressRefused)
    }
}

/// Returns the body of a successful response. `meaning` reads the error object of the processor; without one, a response with an
/// error status came from something in between, and says nothing about the outcome.
pub(crate) fn body(
    response: &Response,
    meaning: impl FnOnce(StatusCode, &[u8]) -> Option<ErrorMeaning>,
) -> Result<&[u8], ProcessorError> {
    let status = response.status;
    let unknown = |outcome| Err(ProcessorError::Unknown(outcome));
    match status {
        StatusCode::TOO_MANY_REQUESTS => {
            let retry_after = response.retry_after.as_deref().and_then(retry_after);
            return Err(ProcessorError::RateLimited { retry_after });
        }
        StatusCode::UNAUTHORIZED => return Err(ProcessorError::CredentialsRefused),
        StatusCode::CONFLICT => return unknown(UnknownOutcome::InProgress),
        StatusCode::REQUEST_TIMEOUT => return unknown(UnknownOutcome::ServerError(408)),
        status if status.is_server_error() => {
            return unknown(UnknownOutcome::ServerError(status.as_u16()));
        }
        _ => {}
    }
    if response.is_truncated {
        return Err(ProcessorError::malformed());
    }
    if status.is_success() {
        return Ok(&response.body);
    }
    if !status.is_client_error() {
        return Err(ProcessorError::malformed());
    }
    match meaning(status, &response.body) {
        Some(ErrorMeaning::Refused(refusal)) => Err(ProcessorError::Refused(refusal)),
        Some(ErrorMeaning::CredentialsRefused) => Err(ProcessorError::CredentialsRefused),
        Some(ErrorMeaning::Unknown(outcome)) => unknown(outcome),
        None => Err(ProcessorError::malformed()),
    }
}

/// Reads a successful response.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ProcessorError> {
    serde_json::from_slice(body).map_err(|_| ProcessorError::malformed())
}

/// Returns the text if it can be the id of an object of a processor, so that it can be a segment of a path.
pub(crate) fn reference(text: &str) -> Result<&str, InvalidRequest> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let is_valid = (1..=REFERENCE_MAX_BYTES).contains(&text.len()) && text.bytes().all(is_part);
    if is_valid { Ok(text) } else { Err(InvalidRequest::Reference) }
}

/// Returns headers with the credentials, which the HTTP library does not log.
pub(crate) fn authorized(authorization: &str) -> Result<HeaderMap, InvalidRequest> {
    let mut value =
        HeaderValue::from_str(authorization).map_err(|_| InvalidRequest::Credentials)?;
    value.set_sensitive(true);
    Ok(HeaderMap::from_iter([(AUTHORIZATION, value)]))
}

/// Returns the text as the value of a header. Ours contain ids only.
pub(crate) fn header_value(text: &str) -> Result<HeaderValue, InvalidRequest> {
    HeaderValue::from_str(text).map_err(|_| InvalidRequest::Reference)
}

/// Reads the header `Retry-After`. Dates are ignored: the processors send seconds.
fn retry_after(text: &str) -> Option<Duration> {
    let seconds = text.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}

/// Cuts a text to a number of bytes, between characters, and removes control characters.
pub(crate) fn line(text: &str, max_bytes: usize) -> String {
    let mut line = String::new();
    let visible =
        text.chars().map(|character| if character.is_control() { ' ' } else { character });
    for character in visible {
        if line.len() + character.len_utf8() > max_bytes {
            break;
        }
        line.push(character);
    }
    line.trim().to_owned()
}

/// Returns the text if it is plausibly an e-mail address.
pub(crate) fn email(text: Option<&str>) -> Option<&str> {
    let text = text?;
    let (local, domain) = text.split_once('@')?;
    let is_plausible = !local.is_empty()
        && domain.contains('.')
        && !domain.contains('@')
        && !domain.starts_with('.')
        && !domain.ends_with('.')
        && text.len() <= 254
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>()[],;:\\\"".contains(&byte));
    is_plausible.then_some(text)
}

#[cfg(test)]
mod tests {
    use outbound::Settings;

    use super::*;
    use crate::error::RefusalReason;

    #[tokio::test]
    async fn a_base_address_has_no_path() {
        let client = Client::new(Settings::default()).unwrap();
        let base = |address: &str| Api::new(client.clone(), address).map(|api| api.base);
        for address in ["https://api.stripe.com", "https://API.stripe.com:443/"] {
            assert_eq!(base(address).unwrap(), "https://api.stripe.com");
        }
        for address in ["https://api.stripe.com/v1", "https://api.stripe.com/?a=b"] {
            assert_eq!(base(address), Err(InvalidEndpoint::NotABase), "{address}");
        }
        for address in ["http://api.stripe.com", "https://10.0.0.1", "api.stripe.com"] {
            assert!(matches!(base(address), Err(InvalidEndpoint::Destination(_))), "{address}");
        }
    }

    fn response(status: u16, body: &str) -> Response {
        Response {
            status: StatusCode::from_u16(status).unwrap(),
            retry_after: None,
            body: body.as_bytes().to_vec(),
            is_truncated: false,
        }
    }

    fn refusal() -> Refusal {
        Refusal { reason: RefusalReason::Declined, code: None }
    }

    #[test]
    fn a_status_that_says_nothing_about_the_outcome_is_unknown() {
        let refused = |_: StatusCode, _: &[u8]| Some(ErrorMeaning::Refused(refusal()));
        for status in [408, 409, 500, 502, 503, 504, 599, 301, 307] {
            let error = body(&response(status, "{}"), refused).unwrap_err();
            assert!(error.is_unknown(), "{status}: {error}");
        }
        for status in [400, 402, 404, 422] {
            let error = body(&response(status, "{}"), refused).unwrap_err();
            assert_eq!(error, ProcessorError::Refused(refusal()), "{status}");
        }
    }

    #[test]
    fn an_error_that_is_not_of_the_processor_is_unknown() {
        for status in [400, 403, 404, 422] {
            let error = body(&response(status, "<html>"), |_, _| None).unwrap_err();
            assert_eq!(error, ProcessorError::malformed(), "{status}");
        }
    }

    #[test]
    fn a_truncated_response_is_unknown() {
        let truncated = Response { is_truncated: true, ..response(200, "{}") };
        assert_eq!(body(&truncated, |_, _| None), Err(ProcessorError::malformed()));
        assert_eq!(body(&response(200, "{}"), |_, _| None), Ok(&b"{}"[..]));
    }

    #[test]
    fn retry_after_is_seconds_up_to_a_day() {
        for (text, seconds) in
            [("0", Some(0)), (" 30 ", Some(30)), ("999999999", Some(86_400)), ("-1", None)]
        {
            assert_eq!(retry_after(text), seconds.map(Duration::from_secs), "{text}");
        }
        assert_eq!(retry_after("Wed, 21 Oct 2026 07:28:00 GMT"), None);
    }

    #[test]
    fn a_reference_is_one_segment_of_a_path() {
        for text in ["cs_test_a1B2", "5O190127TN364715T", "re_1-2"] {
            assert_eq!(reference(text), Ok(text));
        }
        let long = "a".repeat(256);
        for text in ["", "a/b", "..", "a?b", "a%2F", "a b", "é", "a#", &long] {
            assert_eq!(reference(text), Err(InvalidRequest::Reference), "{text}");
        }
    }

    #[test]
    fn a_line_is_cut_between_characters() {
        assert_eq!(line("  Two\nlines\u{0}", 20), "Two lines");
        assert_eq!(line("ääää", 5), "ää");
        assert_eq!(line("abc", 3), "abc");
    }

    #[test]
    fn what_is_not_an_email_address_is_ignored() {
        assert_eq!(email(Some("ada@example.com")), Some("ada@example.com"));
        for text in
            ["", "ada", "@example.com", "ada@", "ada@x", "a@b@c.d", "a b@c.de", "a@.de", "<a@b.de>"]
        {
            assert_eq!(email(Some(text)), None, "{text}");
        }
        assert_eq!(email(None), None);
    }
}
