//! The field errors that all formats share.

use catalog::{FieldError, FieldErrorCode};

/// The field name of errors that concern a whole row.
pub(crate) const ROW: &str = "row";

/// The field name of errors that concern the whole file.
const FILE: &str = "file";

pub(crate) fn row_too_long() -> FieldError {
    FieldError::new(ROW, FieldErrorCode::TooLong, "The row is larger than 1 MiB.")
}

pub(crate) fn row_not_utf8() -> FieldError {
    unreadable_row("The row is not UTF-8. Save the file as UTF-8.")
}

pub(crate) fn unreadable_row(reason: &'static str) -> FieldError {
    FieldError::new(ROW, FieldErrorCode::Unreadable, reason)
}

pub(crate) fn missing(field: &'static str, reason: &'static str) -> FieldError {
    FieldError::new(field, FieldErrorCode::Missing, reason)
}

pub(crate) fn missing_id() -> FieldError {
    missing("external_id", "Every product requires an identifier.")
}

/// The amounts of one product are in different currencies.
pub(crate) fn mixed_currencies() -> FieldError {
    FieldError::new(
        "currency",
        FieldErrorCode::InvalidValue,
        "All amounts of a product must be in the same currency.",
    )
}

pub(crate) fn truncated() -> FieldError {
    let reason = "The file is truncated. Send the complete file again.";
    FieldError::new(FILE, FieldErrorCode::Truncated, reason)
}

pub(crate) fn empty_file() -> FieldError {
    FieldError::new(FILE, FieldErrorCode::Truncated, "The file is empty.")
}

pub(crate) fn unreadable_file(reason: &'static str) -> FieldError {
    FieldError::new(FILE, FieldErrorCode::Unreadable, reason)
}

/// Parses a stock quantity.
pub(crate) fn stock_quantity(text: &str) -> Result<i64, FieldError> {
    let reason = "Expected a whole number.";
    text.trim()
        .parse()
        .map_err(|_| FieldError::new("stock_quantity", FieldErrorCode::InvalidValue, reason))
}
