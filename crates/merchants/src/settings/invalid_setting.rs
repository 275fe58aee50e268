//! What is wrong with settings.

use std::fmt;

/// A field that may not hold what it holds. It says which and what it may hold, and repeats nothing
/// of what was sent: merchant text in an error would be read as an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFault {
    field: String,
    allowed: String,
}

impl SettingsFault {
    /// A field by its name at the door, such as `shipping[0].rates[2].price`; `allowed` ends the
    /// sentence that begins with "… must be".
    pub fn new(field: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { field: field.into(), allowed: allowed.into() }
    }

    /// The field.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// What it may hold.
    #[must_use]
    pub fn allowed(&self) -> &str {
        &self.allowed
    }
}

impl fmt::Display for SettingsFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} must be {}", self.field, self.allowed)
    }
}

impl std::error::Error for SettingsFault {}
