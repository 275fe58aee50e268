//! The error of an invalid setting.

use std::fmt;

use primitives::Details;

/// A field with an invalid value. It names the field and what it may hold, and repeats nothing of what was sent, because
/// an agent could read merchant text in an error as an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidSetting {
    field: String,
    allowed: String,
    did_you_mean: Option<String>,
}

impl InvalidSetting {
    /// Creates an error of a field, named as in the API: `shipping[0].rates[2].price`. `allowed` completes the sentence
    /// "… must be".
    pub fn new(field: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { field: field.into(), allowed: allowed.into(), did_you_mean: None }
    }

    /// Adds the valid value that is probably meant: one that the caller could have found in the documentation or in its own
    /// catalog, never what was sent.
    #[must_use]
    pub fn suggest(mut self, value: Option<impl Into<String>>) -> Self {
        self.did_you_mean = value.map(Into::into);
        self
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

    /// Returns the valid value that is probably meant.
    #[must_use]
    pub fn did_you_mean(&self) -> Option<&str> {
        self.did_you_mean.as_deref()
    }

    /// Adds what is known to the details of an error.
    pub(crate) fn details(&self, details: &mut Details) {
        details.insert("field", self.field.as_str());
        details.insert("allowed", self.allowed.as_str());
        if let Some(value) = &self.did_you_mean {
            details.insert("did_you_mean", value.as_str());
        }
    }
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} must be {}", self.field, self.allowed)
    }
}

impl std::error::Error for InvalidSetting {}
