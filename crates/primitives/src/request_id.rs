//! The id of a request, in log lines and in the `details` of error responses.

use std::fmt;
use std::sync::Arc;

/// The id of a request. The server adds one to the extensions of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// Creates an id from random bits.
    #[must_use]
    pub fn from_random(bits: u128) -> Self {
        Self(format!("req_{bits:032x}").into())
    }

    /// Accepts an id sent by a proxy or client if it is safe to log and to echo: 8 to 64 characters of `A-Za-z0-9-_.`.
    #[must_use]
    pub fn from_caller(text: &str) -> Option<Self> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let fits = (8..=64).contains(&text.len());
        (fits && text.bytes().all(allowed)).then(|| Self(text.into()))
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_id_is_accepted_only_if_it_is_safe() {
        assert!(RequestId::from_caller("3f1c-11ee.be56").is_some());
        for wrong in ["short", "a b c d e f g", "line\nbreak\nhere", &"x".repeat(65)] {
            assert!(RequestId::from_caller(wrong).is_none(), "{wrong:?} was accepted");
        }
    }
}
