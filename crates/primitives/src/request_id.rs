//! The name of one request, from the log line to the answer's `details`.

use std::fmt;
use std::sync::Arc;

/// A request's id. The server gives one to every request; doors find it among its extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// Makes an id of bits drawn by the caller.
    #[must_use]
    pub fn from_random(bits: u128) -> Self {
        Self(format!("req_{bits:032x}").into())
    }

    /// Takes over the id an upstream proxy or caller gave, if it is harmless to log and to echo.
    #[must_use]
    pub fn from_caller(text: &str) -> Option<Self> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let fits = (8..=64).contains(&text.len());
        (fits && text.bytes().all(allowed)).then(|| Self(text.into()))
    }

    /// The id as text.
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
    fn a_callers_id_is_taken_only_if_harmless() {
        assert!(RequestId::from_caller("3f1c-11ee.be56").is_some());
        for wrong in ["short", "a b c d e f g", "line\nbreak\nhere", &"x".repeat(65)] {
            assert!(RequestId::from_caller(wrong).is_none(), "{wrong:?} was taken");
        }
    }
}
