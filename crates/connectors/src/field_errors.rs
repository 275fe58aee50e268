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

pub(crate) fn unsupported_file(reason: &'static str) -> FieldError {
    FieldError::new(FILE, FieldErrorCode::UnsupportedFile, reason)
}

pub(crate) fn damaged_gzip() -> FieldError {
    let reason = "The gzip file is damaged or truncated. Compress and send it again.";
    FieldError::new(FILE, FieldErrorCode::Truncated, reason)
}

pub(crate) fn decompressed_too_large(bytes_max: u64) -> FieldError {
    let reason = format!(
        "The file has more than {bytes_max} bytes after decompression. Split it into parts."
    );
    FieldError::new(FILE, FieldErrorCode::TooLong, reason)
}

pub(crate) fn compressed_too_much() -> FieldError {
    let reason = "The file is compressed more than product feeds can be. Send it uncompressed.";
    FieldError::new(FILE, FieldErrorCode::TooLong, reason)
}

/// The file was converted from another encoding.
pub(crate) fn converted(encoding: &'static str, has_lost_characters: bool) -> FieldError {
    let lost = if has_lost_characters { " Some characters could not be converted." } else { "" };
    let reason = format!(
        "The file is {encoding} and was converted to UTF-8.{lost} Save it as UTF-8 to be sure."
    );
    FieldError::new(FILE, FieldErrorCode::Encoding, reason)
}

/// The product is not for sale.
pub(crate) fn not_for_sale() -> FieldError {
    let reason = "The product is a draft, archived or unpublished.";
    FieldError::new(ROW, FieldErrorCode::NotForSale, reason)
}

/// A row that ends before its price.
pub(crate) fn short_row() -> FieldError {
    let reason = "The row has fewer fields than the header, and no price.";
    FieldError::new(ROW, FieldErrorCode::Incomplete, reason)
}

/// A product none of whose rows has a price.
pub(crate) fn no_variant() -> FieldError {
    let reason = "No row of the product has a price, an SKU or an option.";
    FieldError::new(ROW, FieldErrorCode::Incomplete, reason)
}

pub(crate) fn invalid_sale_period() -> FieldError {
    let reason = "The period of the sale cannot be read; the product was accepted without the sale. \
                  Write it as 2026-11-01T08:00+0100/2026-11-30T23:59+0100.";
    FieldError::new("sale_price", FieldErrorCode::InvalidValue, reason)
}

/// Names of columns that a message shows.
const COLUMNS_SHOWN_MAX: usize = 12;
const COLUMN_CHARACTERS_MAX: usize = 40;

/// Names columns of a file in a message to its merchant. They are the merchant's text, and shown without markup.
fn names<'c>(columns: impl Iterator<Item = &'c str> + Clone) -> String {
    let name = |column: &'c str| {
        let name = catalog::one_line(column, COLUMN_CHARACTERS_MAX);
        format!("\"{}\"", name.replace('"', "'"))
    };
    let count = columns.clone().count();
    let shown: Vec<String> = columns.take(COLUMNS_SHOWN_MAX).map(name).collect();
    let more = count.saturating_sub(COLUMNS_SHOWN_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// The header lacks the column of a field.
pub(crate) fn missing_column(field: &str, header: &[String]) -> FieldError {
    let found = names(header.iter().map(String::as_str));
    let reason = format!(
        "The file has no column for {field}. Columns found: {found}. \
         Check the format and the header row, or name the columns with format=csv and columns."
    );
    FieldError::new(FILE, FieldErrorCode::MissingColumn, reason)
}

/// The header lacks a column that the merchant named.
pub(crate) fn missing_named_column(field: &str, column: &str, header: &[String]) -> FieldError {
    let (column, found) =
        (names(std::iter::once(column)), names(header.iter().map(String::as_str)));
    let reason =
        format!("The file has no column {column}, named for {field}. Columns found: {found}.");
    FieldError::new(FILE, FieldErrorCode::MissingColumn, reason)
}

/// The file has columns that are not used.
pub(crate) fn unused_columns(columns: &[&str]) -> FieldError {
    let reason = format!("Columns that were not used: {}.", names(columns.iter().copied()));
    FieldError::new(FILE, FieldErrorCode::UnknownColumn, reason)
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
