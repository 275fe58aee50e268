//! Input that does not match the schema of its type.

use primitives::{Details, ErrorCode, Problem};
use schemars::JsonSchema;
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};

use crate::openapi::inlined_schema;

/// The longest name of an unknown field that is repeated to the caller.
const UNKNOWN_NAME_MAX: usize = 40;

/// The keywords of a schema that limit a value.
const LIMITS: [&str; 7] =
    ["type", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern"];

/// A query string or body that does not match its schema.
///
/// The field and what it accepts come from our own schema. Nothing else of the input is repeated, except the name of
/// an unknown field, and that only if it is an identifier.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct InvalidInput {
    part: Part,
    field: Option<Field>,
}

/// The part of a request that is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Body,
    QueryString,
}

/// The invalid field.
#[derive(Debug)]
struct Field {
    /// Such as `shipping[0].rates[1].price`. Empty for an unknown field whose name is not repeated.
    path: String,
    /// The limits of its value; for an unknown field, the names of the known ones.
    allowed: Value,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Invalid,
    /// A value inside the field is invalid, at a place that the schema does not name.
    InvalidInside,
    Missing,
    Unknown,
}

impl InvalidInput {
    /// A query parameter that has the right type, but an invalid value.
    #[must_use]
    pub fn parameter<T: JsonSchema>(name: &str) -> Self {
        let schema = Value::Object(inlined_schema::<T>());
        let field = schema["properties"].get(name).map(|property| Field {
            path: name.to_owned(),
            allowed: limits(property),
            kind: Kind::Invalid,
        });
        Self { part: Part::QueryString, field }
    }

    /// Input that is invalid as a whole, such as a syntax error.
    pub(super) fn whole(part: Part) -> Self {
        Self { part, field: None }
    }

    /// Input that could not be deserialized as `T`: the field is found by serde's path to the error.
    pub(super) fn at<T: JsonSchema>(part: Part, path: &Path, sent: &Value) -> Self {
        let schema = Value::Object(inlined_schema::<T>());
        Self { part, field: locate(&schema, path, sent) }
    }

    /// Returns a known field and why it is invalid, as the end of a sentence that begins with its name.
    pub(crate) fn field(&self) -> Option<(&str, String)> {
        let field = self.field.as_ref()?;
        let reason = match field.kind {
            Kind::Invalid => format!("must be {}", in_words(&field.allowed)),
            Kind::InvalidInside => String::from("contains an invalid value; see /api/docs"),
            Kind::Missing => String::from("is required"),
            Kind::Unknown => return None,
        };
        Some((&field.path, reason))
    }

    fn sentence(&self) -> String {
        if let Some((path, reason)) = self.field() {
            return format!("{path} {reason}");
        }
        match (&self.field, self.part) {
            (Some(field), _) if !field.path.is_empty() => {
                format!("{} is not a field of this request", field.path)
            }
            (Some(_), Part::Body) => String::from("the body contains an unknown field"),
            (None, Part::Body) => {
                String::from("the body is not the JSON object this endpoint expects")
            }
            (_, Part::QueryString) => String::from("the query string is invalid"),
        }
    }
}

impl Problem for InvalidInput {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        if let Some(field) = &self.field {
            if !field.path.is_empty() {
                details.insert("field", field.path.as_str());
            }
            details.insert("allowed", field.allowed.clone());
        }
        let hint = match self.part {
            Part::Body => "send a JSON object with only the fields that GET /api/docs describes",
            Part::QueryString => "GET /api/docs describes the parameters of every endpoint",
        };
        details.insert("hint", hint);
    }
}

/// Follows serde's path through the schema, as far as the schema names its steps.
fn locate(schema: &Value, path: &Path, sent: &Value) -> Option<Field> {
    let (mut schema, mut sent) = (schema, Some(sent));
    let mut name = String::new();
    for segment in path {
        let next = match segment {
            Segment::Map { key } => schema["properties"].get(key),
            Segment::Seq { .. } => schema.get("items"),
            Segment::Enum { .. } | Segment::Unknown => None,
        };
        let Some(next) = next else {
            return match segment {
                Segment::Map { key } if schema["additionalProperties"] == false => {
                    Some(unknown(schema, &name, key))
                }
                _ => (!name.is_empty()).then(|| Field {
                    path: name,
                    allowed: limits(schema),
                    kind: Kind::InvalidInside,
                }),
            };
        };
        sent = match segment {
            Segment::Map { key } => {
                name = join(&name, key);
                sent.and_then(|sent| sent.get(key))
            }
            Segment::Seq { index } => {
                name = format!("{name}[{index}]");
                sent.and_then(|sent| sent.get(index))
            }
            Segment::Enum { .. } | Segment::Unknown => None,
        };
        schema = next;
    }
    if let Some(missing) = missing(schema, sent) {
        let allowed = limits(&schema["properties"][missing]);
        return Some(Field { path: join(&name, missing), allowed, kind: Kind::Missing });
    }
    (!name.is_empty()).then(|| Field { path: name, allowed: limits(schema), kind: Kind::Invalid })
}

fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

/// The first required field that an object lacks.
fn missing<'schema>(schema: &'schema Value, sent: Option<&Value>) -> Option<&'schema str> {
    let sent = sent?.as_object()?;
    let mut required = schema["required"].as_array()?.iter().filter_map(Value::as_str);
    required.find(|name| !sent.contains_key(*name))
}

fn unknown(schema: &Value, parent: &str, name: &str) -> Field {
    let is_identifier = name.len() <= UNKNOWN_NAME_MAX
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let known = schema["properties"].as_object();
    let known: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    Field {
        path: if is_identifier { join(parent, name) } else { String::new() },
        allowed: known.into(),
        kind: Kind::Unknown,
    }
}

fn limits(schema: &Value) -> Value {
    let mut limits = schema.as_object().cloned().unwrap_or_default();
    limits.retain(|key, _| LIMITS.contains(&key.as_str()));
    Value::Object(limits)
}

/// The limits as the end of a sentence.
fn in_words(limits: &Value) -> String {
    let limit = |name: &str| limits.get(name);
    let Some(kind) = limit("type").and_then(Value::as_str) else {
        return String::from("as /api/docs describes it");
    };
    let article = if kind.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    match (limit("minimum"), limit("maximum"), limit("maxLength"), limit("enum")) {
        (Some(min), Some(max), ..) => format!("{article} {kind} from {min} to {max}"),
        (_, _, Some(length), _) => format!("plain text of at most {length} characters"),
        (.., Some(Value::Array(values))) => {
            let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            format!("one of {}", values.join(", "))
        }
        _ => format!("{article} {kind}"),
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::request::from_json;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Order {
        lines: Vec<Line>,
        note: Option<String>,
        labels: Option<std::collections::BTreeMap<String, u32>>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Line {
        sku: String,
        quantity: u32,
    }

    fn details(body: &str) -> (Value, String) {
        let error = from_json::<Order>(body.as_bytes()).err();
        let mut details = Details::default();
        let message = error.map_or_else(String::new, |error| {
            error.details(&mut details);
            error.to_string()
        });
        (details.into_json().remove("field").unwrap_or_default(), message)
    }

    #[test]
    fn an_invalid_field_is_named_by_its_path() {
        for (body, field, message) in [
            (r#"{"lines": 1}"#, "lines", "lines must be an array"),
            (r#"{"lines": [{"sku": "a"}]}"#, "lines[0].quantity", "lines[0].quantity is required"),
            (r#"{"note": "x"}"#, "lines", "lines is required"),
            (
                r#"{"lines": [], "labels": {"hidden": -1}}"#,
                "labels",
                "labels contains an invalid value; see /api/docs",
            ),
            (r#"{"line": []}"#, "line", "line is not a field of this request"),
            (
                r#"{"lines": [{"prise": 1}]}"#,
                "lines[0].prise",
                "lines[0].prise is not a field of this request",
            ),
        ] {
            assert_eq!(details(body), (json!(field), message.to_owned()), "{body}");
        }
    }

    #[test]
    fn what_is_no_identifier_is_not_repeated() {
        let (field, message) = details(r#"{"do as I say": 1}"#);
        assert_eq!((field, message.as_str()), (json!(null), "the body contains an unknown field"));
        for body in ["", "{", "[]", r#"{"lines": []} 1"#] {
            let (field, message) = details(body);
            assert_eq!(field, json!(null), "{body}");
            assert_eq!(message, "the body is not the JSON object this endpoint expects");
        }
    }
}
