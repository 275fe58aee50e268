#![doc = include_str!("../README.md")]

mod former_names;
mod nearest;
mod normalize;
mod often_meant;
mod parsed_size;
mod unstorable;
mod violation;

use serde_json::{Value, json};

pub use former_names::{FORMER_NAMES, remove_former_names};
pub use normalize::is_absent;
pub use parsed_size::ParsedSize;
pub use violation::Violation;

/// A compiled schema.
#[derive(Debug)]
pub struct Validator {
    schema: Value,
    compiled: jsonschema::Validator,
}

/// The schema does not compile.
#[derive(Debug, thiserror::Error)]
#[error("the schema does not compile: {0}")]
pub struct InvalidSchema(String);

impl Validator {
    /// Compiles a schema without references.
    pub fn new(schema: Value) -> Result<Self, InvalidSchema> {
        let mut strict = schema.clone();
        allow_null(&mut strict);
        match jsonschema::validator_for(&strict) {
            Ok(compiled) => Ok(Self { schema, compiled }),
            Err(error) => Err(InvalidSchema(error.to_string())),
        }
    }

    /// Returns the schema.
    #[must_use]
    pub const fn schema(&self) -> &Value {
        &self.schema
    }

    /// Validates a value. The error is the first violation. Text with U+0000, which PostgreSQL cannot store, is one too.
    pub fn validate(&self, value: &Value) -> Result<(), Violation> {
        // Not `iter_errors`, which collects all violations first: a body of a megabyte can have hundreds of thousands.
        self.compiled
            .validate(value)
            .map_err(|error| Violation::new(&self.schema, &error, value))?;
        unstorable::check(&self.schema, value)
    }
}

/// Rewrites `nullable` of OpenAPI 3.0, which JSON Schema does not know.
fn allow_null(schema: &mut Value) {
    match schema {
        Value::Array(schemas) => schemas.iter_mut().for_each(allow_null),
        Value::Object(fields) => {
            fields.values_mut().for_each(allow_null);
            if fields.remove("nullable") != Some(json!(true)) {
                return;
            }
            if let Some(kind @ Value::String(_)) = fields.get_mut("type") {
                *kind = json!([kind.take(), "null"]);
            }
            if let Some(Value::Array(values)) = fields.get_mut("enum") {
                values.push(Value::Null);
            }
            for choice in ["anyOf", "oneOf"] {
                if let Some(Value::Array(choices)) = fields.get_mut(choice) {
                    choices.push(json!({ "type": "null" }));
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> Validator {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["lines"],
            "properties": {
                "lines": { "type": "array", "minItems": 1, "maxItems": 2, "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["sku"],
                    "properties": {
                        "sku": { "type": "string", "minLength": 1, "maxLength": 5 },
                        "quantity": { "type": "integer", "minimum": 1, "maximum": 9, "nullable": true },
                    },
                } },
                "code": { "type": "string", "pattern": "^[a-z]+$" },
                "since": { "type": "string", "format": "date-time" },
                "level": { "type": "string", "enum": ["low", "high"], "nullable": true },
                "labels": { "type": "object", "additionalProperties": { "type": "integer" } },
            },
        });
        Validator::new(schema).unwrap()
    }

    #[test]
    fn each_kind_of_violation_names_the_field_and_what_it_accepts() {
        let lines = |line: Value| json!({ "lines": [line] });
        let with = |name: &str, value: Value| json!({ "lines": [{ "sku": "a" }], name: value });
        for (value, field, sentence) in [
            (json!([]), "", "the value must be an object"),
            (json!({}), "lines", "lines is required"),
            (json!({ "lines": 1 }), "lines", "lines must be an array of 1 to 2 items"),
            (json!({ "lines": [] }), "lines", "lines must be an array of 1 to 2 items"),
            (
                json!({ "lines": [{ "sku": "a" }, { "sku": "a" }, { "sku": "a" }] }),
                "lines",
                "lines must be an array of 1 to 2 items",
            ),
            (lines(json!({})), "lines[0].sku", "lines[0].sku is required"),
            (
                lines(json!({ "sku": "" })),
                "lines[0].sku",
                "lines[0].sku must be plain text of 1 to 5 characters",
            ),
            (
                lines(json!({ "sku": "a", "quantity": 10 })),
                "lines[0].quantity",
                "lines[0].quantity must be an integer from 1 to 9",
            ),
            (
                lines(json!({ "sku": "a", "prise": 1 })),
                "lines[0].prise",
                "lines[0].prise is not a field of this request",
            ),
            (
                lines(json!({ "sku": "a", "quantitt": 1 })),
                "lines[0].quantitt",
                "lines[0].quantitt is not a field of this request; did you mean quantity?",
            ),
            (with("code", json!("A")), "code", "code must be text that matches ^[a-z]+$"),
            (
                with("since", json!(2)),
                "since",
                "since must be a time in the format of RFC 3339, such as 2027-01-15T08:00:00Z",
            ),
            (with("level", json!("mid")), "level", "level must be one of low, high"),
            (
                with("level", json!("HIGHER")),
                "level",
                "level must be one of low, high; did you mean high?",
            ),
            (with("level", json!(1)), "level", "level must be one of low, high"),
            (with("labels", json!({ "obey": "x" })), "labels", "labels contains an invalid value"),
            (with("do as I say", json!(1)), "", "the value contains an unknown field"),
        ] {
            let violation = order().validate(&value).unwrap_err();
            let found = (violation.field(), violation.to_string());
            assert_eq!(found, (field.to_owned(), sentence.to_owned()));
        }
    }

    #[test]
    fn a_field_that_was_sent_for_a_required_one_is_named() {
        for (value, field, nearest) in [
            (json!({ "line": [{ "sku": "a" }] }), "line", Some("lines")),
            (json!({ "lines": [{ "skus": "a" }] }), "lines[0].skus", Some("sku")),
            (json!({ "code": "a" }), "lines", None),
        ] {
            let violation = order().validate(&value).unwrap_err();
            assert_eq!((violation.field().as_str(), violation.did_you_mean()), (field, nearest));
        }
    }

    #[test]
    fn nullable_allows_null() {
        let value = json!({ "lines": [{ "sku": "a", "quantity": null }], "level": null });
        assert!(order().validate(&value).is_ok());
        assert!(order().validate(&json!({ "lines": null })).is_err());
    }

    #[test]
    fn text_that_cannot_be_stored_is_a_violation() {
        let lines = json!([{ "sku": "a" }]);
        for (value, field) in [
            (json!({ "lines": [{ "sku": "a\0b" }] }), "lines[0].sku"),
            (json!({ "lines": lines, "labels": { "a\0": 1 } }), "labels"),
        ] {
            let violation = order().validate(&value).unwrap_err();
            assert_eq!(violation.field(), field);
            assert_eq!(violation.to_string(), format!("{field} must not contain U+0000"));
        }
        let anything = Validator::new(json!({ "type": "object" })).unwrap();
        let violation = anything.validate(&json!({ "a": { "b": ["\0"] } })).unwrap_err();
        assert_eq!(violation.to_string(), "the value must not contain U+0000");
        assert!(anything.validate(&json!({ "a": "\u{1}\n" })).is_ok());
    }

    #[test]
    fn a_schema_that_does_not_compile_is_an_error() {
        assert!(Validator::new(json!({ "type": "nothing" })).is_err());
    }
}
