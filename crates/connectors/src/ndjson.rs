//! Reads one product draft per line: the format that represents every field.

use std::ops::ControlFlow;

use catalog::{FieldError, FieldErrorCode, ProductDraft};

use crate::field_errors;
use crate::json;
use crate::sink::Sink;
use crate::source::Source;

/// The format has a field for the GTIN, so the GTIN source of the store is ignored.
pub(crate) fn read(source: &mut Source<'_>, sink: &mut Sink<'_>) -> ControlFlow<()> {
    json::read_lines(source, sink, |line, text, sink| match json::parse(text) {
        Ok(draft) => sink.product(line, draft),
        Err(error) => sink.invalid_row(
            line,
            json::extract_field(text, "external_id"),
            field_error(text, &error),
        ),
    })
}

/// Describes the error of a line by the names of our own fields.
fn field_error(text: &str, error: &serde_json::Error) -> FieldError {
    if !error.is_data() {
        return json::not_json();
    }
    let Some(object) = json::object(text) else {
        return field_errors::unreadable_row("The line is not a JSON object.");
    };
    if !object.contains_key("external_id") {
        return field_errors::missing_id();
    }
    let invalid = json::first_invalid_field::<ProductDraft>(&object, r#""external_id":"","#);
    match invalid.and_then(|name| FIELDS.iter().find(|field| **field == name)) {
        Some(field) => FieldError::new(
            *field,
            FieldErrorCode::InvalidValue,
            "The value does not match the schema of a product draft.",
        ),
        None => field_errors::unreadable_row("The object has an unknown or duplicate field."),
    }
}

/// The fields of a product draft. Errors name no other fields.
const FIELDS: [&str; 25] = [
    "external_id",
    "sku",
    "name",
    "description",
    "brand",
    "gtin",
    "mpn",
    "url",
    "category",
    "condition",
    "price",
    "currency",
    "list_price",
    "sale_price",
    "sale_starts_at",
    "sale_ends_at",
    "stock_status",
    "stock_quantity",
    "images",
    "attributes",
    "rating",
    "reviews",
    "policies",
    "variants",
    "listed_at",
];
