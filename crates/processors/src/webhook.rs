//! Webhooks of processors: verified, but hints only.

use http::HeaderMap;
use outbound::RequestError;

/// Longest name of a kind of event.
const EVENT_TYPE_MAX_BYTES: usize = 100;

/// A verified webhook. It is a hint: webhooks arrive late, twice, in another order or not at all, and contain the state of when they
/// were created. The caller remembers `event_id`, and fetches what the reference names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookHint {
    /// The processor's id of the event; equal for repeated deliveries.
    pub event_id: String,
    /// The processor's name for the kind of event, such as `checkout.session.completed`.
    pub event_type: String,
    pub kind: HintKind,
    /// What to fetch; `None` for events that concern no payment.
    pub reference: Option<HintReference>,
}

primitives::text_enum! {
    /// What an event concerns.
    #[strum(serialize_all = "snake_case")]
    pub enum HintKind {
        Payment,
        Refund,
        /// A dispute or chargeback.
        Dispute,
        Other,
    }
}

/// The object that an event concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HintReference {
    /// [`HostedPayment::reference`](crate::HostedPayment::reference).
    HostedPayment(String),
    /// [`PaidPayment::reference`](crate::PaidPayment::reference).
    Payment(String),
    Refund {
        /// [`Refund::reference`](crate::Refund::reference).
        refund: String,
        /// [`PaidPayment::reference`](crate::PaidPayment::reference), if the event contains it.
        payment: Option<String>,
    },
}

/// Why a webhook is not accepted. No variant contains anything that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    #[error("the header {0} is missing or occurs twice")]
    MissingHeader(&'static str),
    #[error("the header {0} is not valid")]
    InvalidHeader(&'static str),
    #[error("the timestamp is too far from the current time")]
    OutsideTolerance,
    #[error("the signature does not match")]
    SignatureMismatch,
    #[error("the certificate is not at an address of the processor")]
    CertificateUrlRefused,
    /// The certificate could not be fetched. The processor is to deliver the webhook again.
    #[error("the certificate cannot be fetched")]
    CertificateUnavailable(Option<RequestError>),
    #[error("the certificate is not one of the processor, or not trusted")]
    CertificateRefused,
    #[error("the body is not an event")]
    InvalidBody,
}

impl WebhookError {
    /// Returns whether the same webhook can be accepted later, so that the response is to be a server error.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::CertificateUnavailable(_))
    }
}

/// Returns the value of a header that must occur exactly once.
pub(crate) fn single<'a>(
    headers: &'a HeaderMap,
    name: &'static str,
) -> Result<&'a str, WebhookError> {
    let mut values = headers.get_all(name).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(WebhookError::MissingHeader(name));
    };
    value.to_str().map_err(|_| WebhookError::InvalidHeader(name))
}

/// Returns the name of a kind of event, if it is one.
pub(crate) fn event_type(text: String) -> Result<String, WebhookError> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_valid = (1..=EVENT_TYPE_MAX_BYTES).contains(&text.len()) && text.bytes().all(is_part);
    if is_valid { Ok(text) } else { Err(WebhookError::InvalidBody) }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_header_occurs_exactly_once() {
        const NAME: &str = "stripe-signature";
        let mut headers = HeaderMap::new();
        assert_eq!(single(&headers, NAME), Err(WebhookError::MissingHeader(NAME)));
        headers.append(NAME, HeaderValue::from_static("a"));
        assert_eq!(single(&headers, NAME), Ok("a"));
        headers.append(NAME, HeaderValue::from_static("b"));
        assert_eq!(single(&headers, NAME), Err(WebhookError::MissingHeader(NAME)));
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static(NAME),
            HeaderValue::from_bytes(b"\xff").unwrap(),
        )]);
        assert_eq!(single(&headers, NAME), Err(WebhookError::InvalidHeader(NAME)));
    }
}
