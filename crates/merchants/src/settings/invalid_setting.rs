//! The error of an invalid setting.

use std::fmt;

/// A field with an invalid value. It names the field and what it may hold, and repeats nothing of what was sent, because
/// an agent could read merchant text in an error as an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidSetting {
    field: String,
    allowed: String,
}

impl InvalidSetting {
    /// Creates an error of a field, named as in the API: `shipping[0].rates[2].price`. `allowed` completes the sentence
    /// "… must be".
    pub fn new(field: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { field: field.into(), allowed: allowed.into() }
    }

    /// Returns the field.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns what the field may hold.
    #[must_use]
    pub fn allowed(&self) -> &str {
        &self.allowed
    }
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} must be {}", self.field, self.allowed)
    }
}

impl std::error::Error for InvalidSetting {}
