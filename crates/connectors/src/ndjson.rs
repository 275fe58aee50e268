//! One product draft a line: the form that carries everything.

use std::ops::ControlFlow;

use catalog::{Fault, FaultCode, ProductDraft};

use crate::fault;
use crate::json;
use crate::out::Out;
use crate::source::Source;

/// The form is ours and has a field for the GTIN, so where else a store may keep it does not matter.
pub(crate) fn read(source: &mut Source<'_>, out: &mut Out<'_>) -> ControlFlow<()> {
    json::read_lines(source, out, |line, text, out| match json::parse(text) {
        Ok(draft) => out.product(line, draft),
        Err(error) => out.broken(line, json::dig(text, "external_id"), why(text, &error)),
    })
}

/// What is wrong with a line, told by the names of our own fields.
fn why(text: &str, error: &serde_json::Error) -> Fault {
    if !error.is_data() {
        return json::not_json();
    }
    let Some(object) = json::object(text) else {
        return fault::unreadable("The line is not a JSON object.");
    };
    if !object.contains_key("external_id") {
        return fault::missing_id();
    }
    let wrong = json::wrong_field::<ProductDraft>(&object, r#""external_id":"","#);
    match wrong.and_then(|name| FIELDS.iter().find(|field| **field == name)) {
        Some(field) => Fault::new(
            *field,
            FaultCode::InvalidValue,
            "The field does not have the form of a product draft.",
        ),
        None => fault::unreadable(
            "The object has a field that a product draft does not have, or one field twice.",
        ),
    }
}

/// The fields of a product draft. Only these are ever named back to a merchant.
const FIELDS: [&str; 22] = [
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
