//! Why a call has no result.

use std::fmt;
use std::time::Duration;

use outbound::RequestError;

/// Longest code of a processor that is kept.
const CODE_MAX_BYTES: usize = 64;

/// Why a call has no result. What matters to the caller is whether the processor may have acted: only after
/// [`Unknown`](Self::Unknown).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProcessorError {
    /// The request cannot be expressed at this processor. Nothing was sent, and repeating it does not help.
    #[error(transparent)]
    Invalid(#[from] InvalidRequest),
    /// The processor got nothing of the request. It can be repeated.
    #[error("the payment processor was not reached: {0}")]
    NotSent(NotSent),
    /// The processor refused the request for good.
    #[error("the payment processor refused the request: {0}")]
    Refused(Refusal),
    /// The credentials are wrong, revoked, or lack a permission. Nothing happened.
    #[error("the payment processor refused the credentials")]
    CredentialsRefused,
    /// Nothing happened. The request can be repeated after that time.
    #[error("the payment processor limits the rate of requests")]
    RateLimited {
        /// As the processor asked for; `None` if it did not.
        retry_after: Option<Duration>,
    },
    /// The processor may have acted. The same call is to be repeated with the same key.
    #[error("the outcome at the payment processor is unknown: {0}")]
    Unknown(UnknownOutcome),
}

impl ProcessorError {
    /// Returns whether the processor may have acted on the request.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }

    /// Returns whether the same call, with the same key, can have another outcome later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::NotSent(_) | Self::RateLimited { .. } | Self::Unknown(_))
    }

    pub(crate) const fn malformed() -> Self {
        Self::Unknown(UnknownOutcome::Malformed)
    }

    /// The meaning of an error of a request. Only errors from before sending are certain.
    pub(crate) const fn of_request(error: RequestError) -> Self {
        if error.is_before_sending() {
            Self::NotSent(NotSent::Request(error))
        } else {
            Self::Unknown(UnknownOutcome::Request(error))
        }
    }
}

/// Why a request is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRequest {
    #[error("the payment processor does not support the currency")]
    UnsupportedCurrency,
    #[error(
        "the amount must be positive and a multiple of the smallest unit of the payment processor"
    )]
    Amount,
    #[error("a return URL is not a valid https URL")]
    ReturnUrl,
    #[error("the reference cannot be one of this payment processor")]
    Reference,
    #[error("the credentials contain a character that cannot be sent")]
    Credentials,
    #[error("the payment processor has no such operation")]
    UnsupportedOperation,
}

/// Why nothing reached the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    #[error("{}", .0.message())]
    Request(RequestError),
    /// The request for an access token, which comes before, had no outcome.
    #[error("no access token was issued")]
    NoAccessToken,
}

/// Why an outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnknownOutcome {
    /// The response did not arrive.
    #[error("{}", .0.message())]
    Request(RequestError),
    #[error("it responded with status {0}")]
    ServerError(u16),
    /// The same request is being processed.
    #[error("the same request is in progress")]
    InProgress,
    /// The key was used before for a request with other parameters, which may have been carried out. A repeated call has other
    /// parameters after a change of this crate.
    #[error("the key was used for a request with other parameters")]
    KeyReused,
    /// The response is not what the API describes, or not complete.
    #[error("its response could not be understood")]
    Malformed,
}

/// Why the processor refused a request, and its own word for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub reason: RefusalReason,
    /// The processor's own code, for logs and support.
    pub code: Option<ProcessorCode>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.reason)?;
        match &self.code {
            Some(code) => write!(formatter, " ({code})"),
            None => Ok(()),
        }
    }
}

primitives::text_enum! {
    /// Why a processor refused a request.
    #[strum(serialize_all = "snake_case")]
    pub enum RefusalReason {
        /// The instrument of the buyer was declined. The buyer may choose another one on the same page.
        Declined,
        /// The buyer has not approved the payment.
        NotApproved,
        /// Another payment with our key was paid already.
        AlreadyPaid,
        /// All of the payment was refunded already.
        AlreadyRefunded,
        /// The amount is too small, too large, or more than is left to refund.
        AmountRefused,
        /// The payment cannot be refunded, such as after too long or during a dispute.
        RefundNotAllowed,
        /// The balance of the merchant does not cover the refund.
        InsufficientFunds,
        /// The merchant's account cannot receive or does not support this.
        AccountRestricted,
        /// The processor has no such object, or not in this account.
        NotFound,
        /// Any other refusal.
        InvalidRequest,
    }
}

/// A code of a processor, such as `INSTRUMENT_DECLINED`: at most 64 ASCII letters and underscores. Other text of a processor is
/// never returned: it could contain secrets, data of buyers, or markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorCode(String);

impl ProcessorCode {
    /// Returns the code, or `None` if the text is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_code = (1..=CODE_MAX_BYTES).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
        is_code.then(|| Self(text.to_owned()))
    }

    /// Returns the code.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProcessorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_from_before_sending_are_certain() {
        for error in RequestError::ALL {
            let is_before = matches!(
                error,
                RequestError::DnsFailed
                    | RequestError::ConnectFailed
                    | RequestError::ConnectTimeout
            );
            let classified = ProcessorError::of_request(*error);
            assert_eq!(classified.is_unknown(), !is_before, "{error}");
            assert!(classified.is_transient());
        }
    }

    #[test]
    fn a_code_is_a_short_word() {
        for text in ["INSTRUMENT_DECLINED", "charge_already_refunded"] {
            assert_eq!(ProcessorCode::parse(text).unwrap().as_str(), text);
        }
        let long = "a".repeat(65);
        for text in ["", "two words", "sk_live_4eC39H", "<b>", "a\n", "é", &long] {
            assert_eq!(ProcessorCode::parse(text), None, "{text}");
        }
    }
}
