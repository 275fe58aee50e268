//! How a failure travels from the domain to a door.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::ErrorCode;

/// The `details` of an error: what lets a caller correct itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Details(Map<String, Value>);

impl Details {
    /// Adds one fact. Merchant text never goes in here: errors are read as instructions.
    pub fn insert(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// The facts as JSON.
    #[must_use]
    pub fn into_json(self) -> Map<String, Value> {
        self.0
    }
}

/// A failure a domain can name. `Display` is the sentence callers read, so it holds no secret, no
/// internal path, no SQL and no merchant text.
pub trait Problem: std::error::Error + Send + Sync + 'static {
    /// The stable code.
    fn code(&self) -> ErrorCode;

    /// Adds what helps the caller.
    fn details(&self, _details: &mut Details) {}
}

/// Any problem, on its way to a door.
pub struct Failure(Box<dyn Problem>);

impl Failure {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.0.code()
    }

    /// The sentence for the caller. Causes of an internal error stay inside.
    #[must_use]
    pub fn message(&self) -> String {
        match self.code() {
            ErrorCode::InternalError => {
                String::from("Something went wrong on our side. The call can be tried again.")
            }
            ErrorCode::ServiceUnavailable => {
                String::from("The service is busy or under maintenance. Try again in 30 seconds.")
            }
            _ => self.0.to_string(),
        }
    }

    /// The `details`, complete but for the request id, which the door knows.
    #[must_use]
    pub fn details(&self) -> Details {
        let mut details = Details::default();
        self.0.details(&mut details);
        details.insert("retryable", self.code().retryable());
        details
    }

    /// The cause with its sources, for the log and nowhere else.
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

    /// The envelope of spec §7.
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
    struct Secretive;
    impl Problem for Secretive {
        fn code(&self) -> ErrorCode {
            ErrorCode::InternalError
        }
    }

    #[test]
    fn an_internal_cause_stays_inside() {
        let failure = Failure::from(Secretive);
        assert!(!failure.envelope("req").to_string().contains("10.0.0.7"));
        assert!(failure.cause().contains("10.0.0.7"));
    }

    #[test]
    fn the_envelope_tells_what_to_do_next() {
        let envelope = Failure::from(InvalidSlug).envelope("req_1");
        assert_eq!(envelope["error"], "invalid_slug");
        assert_eq!(envelope["details"]["request_id"], "req_1");
        assert_eq!(envelope["details"]["retryable"], false);
        assert!(envelope["details"]["hint"].is_string());
    }
}
