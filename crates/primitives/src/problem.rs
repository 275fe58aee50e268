//! Errors on their way from the domain to a response.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::ErrorCode;

/// The `details` of an error response: facts that let a client correct its request.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Details(Map<String, Value>);

impl Details {
    /// Adds a fact. Merchant text must never be added: agents read errors as instructions.
    pub fn insert(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Returns the facts as a JSON object.
    #[must_use]
    pub fn into_json(self) -> Map<String, Value> {
        self.0
    }
}

/// An error of a domain crate. `Display` is the message clients read, so that it contains no secret, no internal path,
/// no SQL and no merchant text.
pub trait Problem: std::error::Error + Send + Sync + 'static {
    /// Returns the stable error code.
    fn code(&self) -> ErrorCode;

    /// Adds facts that help the client.
    fn details(&self, _details: &mut Details) {}

    /// Returns whether a concurrent transaction caused the failure, so that the same attempt may succeed at once.
    ///
    /// An engine that is unavailable is not transient in this sense: the caller is told to retry later
    /// ([`ErrorCode::retryable`]).
    fn is_transient(&self) -> bool {
        false
    }
}

/// Any [`Problem`], ready to be rendered as a response.
pub struct Failure(Box<dyn Problem>);

impl Failure {
    /// Returns the stable error code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.0.code()
    }

    /// Returns the message for the client. The cause of an internal error is not disclosed.
    #[must_use]
    pub fn message(&self) -> String {
        match self.code() {
            ErrorCode::InternalError => {
                String::from("An internal error occurred. Retry the request.")
            }
            ErrorCode::ServiceUnavailable => {
                String::from("The service is overloaded or under maintenance. Retry in 30 seconds.")
            }
            _ => self.0.to_string(),
        }
    }

    /// Returns the `details` without the request id, which only the HTTP layer knows.
    #[must_use]
    pub fn details(&self) -> Details {
        let mut details = Details::default();
        self.0.details(&mut details);
        details.insert("retryable", self.code().retryable());
        details
    }

    /// Returns the error with its sources, for logs only.
    #[must_use]
    pub fn cause(&self) -> String {
        let mut text = self.0.to_string();
        let mut source = self.0.source();
        while let Some(error) = source {
            text.push_str(": ");
            text.push_str(&error.to_string());
            source = error.source();
        }
        text
    }

    /// Returns the error envelope of spec §7.
    #[must_use]
    pub fn envelope(&self, request_id: &str) -> Value {
        let mut details = self.details();
        details.insert("request_id", request_id);
        serde_json::json!({
            "error": self.code().code(),
            "message": self.message(),
            "details": details,
        })
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.code().code(), self.cause())
    }
}

impl<P: Problem> From<P> for Failure {
    fn from(problem: P) -> Self {
        Self(Box::new(problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InvalidSlug;

    #[derive(Debug, thiserror::Error)]
    #[error("connection to 10.0.0.7 refused")]
    struct InternalProblem;
    impl Problem for InternalProblem {
        fn code(&self) -> ErrorCode {
            ErrorCode::InternalError
        }
    }

    #[test]
    fn the_cause_of_an_internal_error_is_not_disclosed() {
        let failure = Failure::from(InternalProblem);
        assert!(!failure.envelope("req").to_string().contains("10.0.0.7"));
        assert!(failure.cause().contains("10.0.0.7"));
    }

    #[test]
    fn the_envelope_has_a_hint() {
        let envelope = Failure::from(InvalidSlug).envelope("req_1");
        assert_eq!(envelope["error"], "invalid_slug");
        assert_eq!(envelope["details"]["request_id"], "req_1");
        assert_eq!(envelope["details"]["retryable"], false);
        assert!(envelope["details"]["hint"].is_string());
    }
}
