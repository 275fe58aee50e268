//! Errors on their way from the domain to a response.

use std::fmt;

use serde_json::{Map, Value};

use crate::{Argument, ConfirmationId, ErrorCode, Hint, HintNames};

/// The `details` of an error response: facts that let a client correct its request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Details {
    facts: Map<String, Value>,
    field: Option<Argument>,
    hint: Option<Hint>,
}

impl Details {
    /// Adds a fact. Merchant text must never be added: agents read errors as instructions.
    pub fn insert(&mut self, name: &str, value: impl Into<Value>) {
        self.facts.insert(name.to_owned(), value.into());
    }

    /// Sets the field at fault, if doors name it differently; otherwise it is a fact.
    pub fn field(&mut self, field: Argument) {
        self.field = Some(field);
    }

    /// Sets what the client can do next. A hint that names an operation names it by its
    /// [`Action`](crate::Action).
    pub fn hint(&mut self, hint: impl Into<Hint>) {
        self.hint = Some(hint.into());
    }

    /// Returns the facts as a JSON object, with field and hint in the names of a door.
    #[must_use]
    pub fn into_json(mut self, names: HintNames) -> Map<String, Value> {
        if let Some(field) = self.field {
            self.facts.insert(String::from("field"), (names.argument)(field).into());
        }
        if let Some(hint) = self.hint {
            self.facts.insert(String::from("hint"), hint.render(names).into());
        }
        self.facts
    }
}

/// What a person can do so that the failed call succeeds. A client may offer it to its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Confirm the purchase.
    HumanConfirmation {
        confirmation_id: ConfirmationId,
        /// The page where the person decides.
        confirm_url: String,
        /// One line, without merchant text.
        question: String,
        /// Whether an answer given in the agent's own client suffices; otherwise only the page counts.
        form_allowed: bool,
    },
}

/// An error of a domain crate. `Display` is the message clients read, so that it contains no secret, no internal path,
/// no SQL and no merchant text.
pub trait Problem: std::error::Error + Send + Sync + 'static {
    /// Returns the stable error code.
    fn code(&self) -> ErrorCode;

    /// Adds facts that help the client.
    fn details(&self, _details: &mut Details) {}

    /// Returns what a person can do so that the call succeeds, if anything.
    fn remedy(&self) -> Option<Remedy> {
        None
    }

    /// Returns whether a concurrent transaction caused the failure, so that the same attempt may succeed at once.
    ///
    /// An engine that is unavailable is not transient in this sense: the caller is told to retry later
    /// ([`ErrorCode::retryable`]).
    fn is_transient(&self) -> bool {
        false
    }
}

/// The caller gave none or several of these arguments, which exclude each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("exactly one of {} is required", enumeration(.0))]
pub struct NotExactlyOne(pub &'static [&'static str]);

impl Problem for NotExactlyOne {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        if let Some(first) = self.0.first() {
            details.insert("field", *first);
        }
        details.insert("allowed", self.0.to_vec());
    }
}

/// Returns the names as an enumeration: `a, b and c`.
fn enumeration(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
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
            ErrorCode::ServiceUnavailable => format!(
                "The service is overloaded or under maintenance. Retry in {} seconds.",
                ErrorCode::UNAVAILABLE_RETRY_SECONDS
            ),
            _ => self.0.to_string(),
        }
    }

    /// Returns the `details` without the request id, which only the HTTP layer knows. A client that sees no headers, such
    /// as that of a tool result, reads here when to retry.
    #[must_use]
    pub fn details(&self) -> Details {
        let mut details = Details::default();
        self.0.details(&mut details);
        details.insert("retryable", self.code().retryable());
        if let Some(seconds) = self.code().retry_after_seconds() {
            let fact = details.facts.entry("retry_after_seconds");
            fact.or_insert_with(|| seconds.into());
        }
        details
    }

    /// Returns what a person can do so that the call succeeds, if anything.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        self.0.remedy()
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

    /// Returns the error envelope (docs/contract/errors.md#envelope), with operations named by their MCP tools.
    #[must_use]
    pub fn envelope(&self, request_id: &str) -> Value {
        self.envelope_with(request_id, HintNames::MCP)
    }

    /// Returns the error envelope with field and hint in the names of a door.
    #[must_use]
    pub fn envelope_with(&self, request_id: &str, names: HintNames) -> Value {
        let mut details = self.details();
        details.insert("request_id", request_id);
        let details = details.into_json(names);
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

    /// Unavailable, for a time that may be known.
    #[derive(Debug, thiserror::Error)]
    #[error("no connection")]
    struct Unavailable(Option<u32>);
    impl Problem for Unavailable {
        fn code(&self) -> ErrorCode {
            ErrorCode::ServiceUnavailable
        }

        fn details(&self, details: &mut Details) {
            if let Some(seconds) = self.0 {
                details.insert("retry_after_seconds", seconds);
            }
        }
    }

    #[test]
    fn an_overload_says_when_to_retry() {
        let after = |problem: Unavailable| {
            let envelope = Failure::from(problem).envelope("req_1");
            envelope["details"]["retry_after_seconds"].as_u64()
        };
        assert_eq!(after(Unavailable(None)), Some(30));
        assert_eq!(after(Unavailable(Some(5))), Some(5));
        let other = Failure::from(InternalProblem).envelope("req_1");
        assert_eq!(other["details"].get("retry_after_seconds"), None);
    }

    #[test]
    fn arguments_that_exclude_each_other_are_enumerated() {
        let envelope = Failure::from(NotExactlyOne(&["sku", "gtin", "url"])).envelope("req_1");
        assert_eq!(envelope["message"], "exactly one of sku, gtin and url is required");
        assert_eq!(envelope["details"]["field"], "sku");
        assert_eq!(envelope["details"]["allowed"], serde_json::json!(["sku", "gtin", "url"]));
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
