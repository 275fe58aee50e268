//! Input that does not match the schema of its type.

use primitives::{Details, ErrorCode, Problem};
use schema::Violation;
use schemars::JsonSchema;
use serde_json::Value;
use serde_path_to_error::Path;

use crate::openapi::inlined_schema;

/// A query string or body that does not match its schema.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct InvalidInput {
    part: Part,
    /// `None` if the input is invalid as a whole.
    violation: Option<Violation>,
    /// Where a body ceases to be JSON.
    syntax: Option<Box<SyntaxError>>,
}

/// Why a text is not JSON, and where.
#[derive(Debug)]
struct SyntaxError {
    /// The sentence of the parser, which repeats nothing of the text.
    sentence: String,
    line: usize,
    column: usize,
}

/// The part of a request that is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Body,
    QueryString,
}

impl InvalidInput {
    /// A query parameter that has the right type, but an invalid value.
    #[must_use]
    pub fn parameter<T: JsonSchema>(name: &str) -> Self {
        let schema = Value::Object(inlined_schema::<T>());
        Self::new(Part::QueryString, Violation::of_field(&schema, name))
    }

    /// A query string with a parameter that the endpoint does not have.
    pub(super) fn query(violation: Violation) -> Self {
        Self::new(Part::QueryString, Some(violation))
    }

    const fn new(part: Part, violation: Option<Violation>) -> Self {
        Self { part, violation, syntax: None }
    }

    /// A body that is not JSON, or not an object.
    pub(super) fn not_json(error: Option<&serde_json::Error>) -> Self {
        // An empty body has no line; an error of the data is no error of the syntax.
        let error = error.filter(|it| (it.is_syntax() || it.is_eof()) && it.column() > 0);
        let syntax = error.map(|error| {
            let (line, column) = (error.line(), error.column());
            Box::new(SyntaxError { sentence: error.to_string(), line, column })
        });
        Self { part: Part::Body, violation: None, syntax }
    }

    /// A body that does not match its schema.
    pub(super) fn body(violation: Violation) -> Self {
        let is_whole = violation.field().is_empty() && !violation.is_unknown();
        Self::new(Part::Body, Some(violation).filter(|_| !is_whole))
    }

    /// Input that could not be deserialized as `T`: the field is found by serde's path to the error.
    pub(super) fn at<T: JsonSchema>(part: Part, path: &Path, sent: &Value) -> Self {
        let schema = Value::Object(inlined_schema::<T>());
        Self::new(part, Violation::at(&schema, path, sent))
    }

    /// Returns a known field and why it is invalid, as the end of a sentence that begins with its name.
    pub(crate) fn field(&self) -> Option<(String, String)> {
        let violation = self.violation.as_ref().filter(|violation| !violation.is_unknown())?;
        Some((violation.field(), violation.reason()))
    }

    fn sentence(&self) -> String {
        if let Some(syntax) = &self.syntax {
            return format!("the body is not valid JSON: {}", syntax.sentence);
        }
        match (&self.violation, self.part) {
            (Some(violation), Part::QueryString) if violation.is_unknown() => {
                unknown_parameter(violation)
            }
            (Some(violation), _) if !violation.field().is_empty() => violation.to_string(),
            (Some(violation), Part::Body) => format!("the body {}", violation.reason()),
            (None, Part::Body) => {
                String::from("the body is not the JSON object this endpoint expects")
            }
            (_, Part::QueryString) => String::from("the query string is invalid"),
        }
    }
}

/// Returns the sentence about a parameter that the endpoint does not have.
fn unknown_parameter(violation: &Violation) -> String {
    let field = violation.field();
    let mut sentence = if field.is_empty() {
        String::from("the query string contains an unknown parameter")
    } else {
        format!("{field} is not a query parameter of this endpoint")
    };
    if let Some(nearest) = violation.did_you_mean() {
        sentence.extend(["; did you mean ", nearest, "?"]);
    }
    sentence
}

impl Problem for InvalidInput {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        if let Some(violation) = &self.violation {
            violation.add_details(details);
        }
        if let Some(syntax) = &self.syntax {
            details.insert("line", syntax.line);
            details.insert("column", syntax.column);
            details
                .hint("correct the JSON at this line and column; GET /api/docs describes the body");
            return;
        }
        let hint = match self.part {
            Part::Body => "send a JSON object with only the fields that GET /api/docs describes",
            Part::QueryString => "GET /api/docs describes the parameters of every endpoint",
        };
        details.hint(hint);
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
        (details.into_json(crate::action::NAMES).remove("field").unwrap_or_default(), message)
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
                "labels contains an invalid value",
            ),
            (r#"{"line": []}"#, "line", "line is not a field of this request; did you mean lines?"),
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
        for body in ["", "[]"] {
            let (field, message) = details(body);
            assert_eq!(field, json!(null), "{body}");
            assert_eq!(message, "the body is not the JSON object this endpoint expects");
        }
    }

    #[test]
    fn a_syntax_error_has_a_line_and_a_column() {
        for (body, message) in [
            ("{", "EOF while parsing an object at line 1 column 1"),
            ("{\n  \"lines\": [],\n}", "trailing comma at line 3 column 1"),
            (r#"{"lines": []} 1"#, "trailing characters at line 1 column 15"),
            (r#"{"note": do as I say}"#, "expected value at line 1 column 10"),
        ] {
            let (field, found) = details(body);
            assert_eq!(field, json!(null), "{body}");
            assert_eq!(found, format!("the body is not valid JSON: {message}"), "{body}");
        }
    }
}
