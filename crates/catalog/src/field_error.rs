//! Why a field of a product is rejected. Merchants correct their data by these errors, so that each names the field and
//! what it may hold. An error never repeats what was sent.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is wrong with one field of one product.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldError {
    /// The invalid field of the product.
    pub field: Cow<'static, str>,
    /// The kind of error. Stable: clients may branch on it.
    pub code: FieldErrorCode,
    /// What is wrong and what the field may hold, for people.
    pub reason: Cow<'static, str>,
}

impl FieldError {
    /// Creates an error of a field.
    pub fn new(
        field: impl Into<Cow<'static, str>>,
        code: FieldErrorCode,
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { field: field.into(), code, reason: reason.into() }
    }
}

primitives::text_enum! {
    /// The kind of a field error.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum FieldErrorCode {
        /// A required field is absent or empty.
        Missing,
        /// The field is longer than allowed.
        TooLong,
        /// Not a decimal amount, negative, or with more decimals than the currency has.
        InvalidAmount,
        /// Neither an ISO 4217 code nor USDC.
        UnknownCurrency,
        /// Not 8, 12, 13 or 14 digits with a valid check digit.
        InvalidGtin,
        /// Not an http or https URL.
        InvalidUrl,
        /// Not one of the values that the field accepts.
        InvalidValue,
        /// Another row has the same identifier.
        Duplicate,
        /// The row cannot be parsed: invalid encoding, quoting, markup, entities or JSON.
        Unreadable,
        /// The file is truncated.
        Truncated,
        /// The store has as many products or variants as its quota allows.
        QuotaExceeded,
        /// The product is a draft, archived or unpublished.
        NotForSale,
        /// The row has too few fields to be a product.
        Incomplete,
        /// The file is of a kind that is not read, such as a zip archive, a workbook or a web page.
        UnsupportedFile,
        /// The file lacks a column.
        MissingColumn,
        /// The file has a column that is not used.
        UnknownColumn,
        /// The file is not UTF-8 and was converted.
        Encoding,
        /// The price is in another currency than the store's.
        ForeignCurrency,
        /// The price is 0.
        ZeroPrice,
        /// The list price is lower than the price.
        ListPriceTooLow,
    }
}
