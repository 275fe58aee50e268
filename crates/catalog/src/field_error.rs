//! Why a row of a feed, or an item of a push, was not taken. Merchants read these and correct their
//! data by them, so each names the field and says what it may hold. It never repeats what was sent.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wrong with one field of one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// The field of the product that could not be filled.
    pub field: Cow<'static, str>,
    /// The kind of fault; clients may key their logic on it.
    pub code: FaultCode,
    /// What is wrong and what the field may hold, in a sentence.
    pub reason: Cow<'static, str>,
}

impl Fault {
    /// A fault of a field.
    pub fn new(
        field: impl Into<Cow<'static, str>>,
        code: FaultCode,
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { field: field.into(), code, reason: reason.into() }
    }
}

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultCode {
    /// A required field is empty or not there.
    Missing,
    /// The field is longer than it may be.
    TooLong,
    /// Not a decimal amount, negative, or with more digits than the currency has.
    InvalidAmount,
    /// Neither an ISO 4217 code nor USDC.
    UnknownCurrency,
    /// Not 8, 12, 13 or 14 digits with a right check digit.
    InvalidGtin,
    /// Not an http or https address.
    InvalidUrl,
    /// None of the values the field may hold.
    InvalidValue,
    /// Another row has the same identifier.
    Duplicate,
    /// The row cannot be read: encoding, quoting, markup, entities or JSON.
    Unreadable,
    /// The file ends in the middle.
    Truncated,
}

impl FaultCode {
    /// All of them with their names, as on the wire and in PostgreSQL.
    pub const ALL: [(Self, &'static str); 10] = [
        (Self::Missing, "missing"),
        (Self::TooLong, "too_long"),
        (Self::InvalidAmount, "invalid_amount"),
        (Self::UnknownCurrency, "unknown_currency"),
        (Self::InvalidGtin, "invalid_gtin"),
        (Self::InvalidUrl, "invalid_url"),
        (Self::InvalidValue, "invalid_value"),
        (Self::Duplicate, "duplicate"),
        (Self::Unreadable, "unreadable"),
        (Self::Truncated, "truncated"),
    ];

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(code, _)| *code == self).map_or("", |(_, name)| name)
    }

    /// The kind of a name.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(code, _)| *code)
    }
}
