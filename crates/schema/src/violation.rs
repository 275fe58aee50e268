//! A violation of a schema: the field, what it accepts, and the sentence that says so.

use std::fmt;

use jsonschema::error::ValidationErrorKind;
use primitives::Details;
use serde_json::{Map, Value};
use serde_path_to_error::Segment as SerdeSegment;

use crate::nearest::{nearest, nearest_value};

/// The longest name of an unknown field that is repeated to the caller.
const UNKNOWN_NAME_MAX: usize = 40;

/// Most unknown fields that are compared with a missing one.
const UNKNOWN_COMPARED_MAX: usize = 20;

/// The keywords of a schema that limit a value.
const LIMITS: [&str; 9] = [
    "type",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "pattern",
];

/// Why a value does not match its schema. `Display` is a sentence for the caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// The path of the invalid value, as sent.
    path: Vec<Segment>,
    /// How many segments of the path, from the first, may be repeated in a sentence.
    repeated: usize,
    kind: Kind,
    /// The limits of the field's value; for an unknown field, the names of the known ones.
    allowed: Value,
    /// The known field whose name is nearest to that of an unknown one, or the accepted value that is nearest to another one.
    nearest: Option<String>,
}

/// A segment of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    Field(String),
    Index(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Invalid,
    /// A value inside the field is invalid, at a path that the schema does not name.
    InvalidInside,
    Missing,
    Unknown,
    /// The name of the unknown field is not repeated.
    UnknownUnnamed,
    /// Text that contains U+0000.
    Unstorable,
}

impl Violation {
    pub(crate) fn new(
        schema: &Value,
        error: &jsonschema::ValidationError<'_>,
        sent: &Value,
    ) -> Self {
        let mut cursor = SchemaCursor::new(schema);
        let pointer = error.instance_path().as_str();
        let unescape = |name: &str| name.replace("~1", "/").replace("~0", "~");
        let mut names = pointer.split('/').skip(1).map(unescape);
        while let Some(name) = names.next() {
            let segment = match name.parse() {
                Ok(index) if cursor.schema.get("items").is_some() => Segment::Index(index),
                _ => Segment::Field(name),
            };
            if let Some(mut violation) = cursor.descend(segment) {
                violation.path.extend(names.map(Segment::Field));
                return violation;
            }
        }
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                let misnamed = cursor.misnamed(name, sent.pointer(pointer));
                misnamed.unwrap_or_else(|| cursor.missing(name))
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                cursor.unknown(unexpected.first().map_or("", String::as_str))
            }
            _ => cursor.invalid_value(sent.pointer(pointer)),
        }
    }

    /// Returns the violation of a value that matches the schema as far as it goes but could not be deserialized, or that
    /// was not validated. `None` if the value is invalid as a whole.
    #[must_use]
    pub fn at(schema: &Value, path: &serde_path_to_error::Path, sent: &Value) -> Option<Self> {
        let (mut cursor, mut sent) = (SchemaCursor::new(schema), Some(sent));
        for segment in path {
            let segment = match segment {
                SerdeSegment::Map { key } => Segment::Field(key.clone()),
                SerdeSegment::Seq { index } => Segment::Index(*index),
                SerdeSegment::Enum { .. } | SerdeSegment::Unknown => {
                    let violation = cursor.invalid_inside();
                    return (violation.repeated > 0).then_some(violation);
                }
            };
            sent = sent.and_then(|sent| match &segment {
                Segment::Field(name) => sent.get(name),
                Segment::Index(index) => sent.get(*index),
            });
            if let Some(violation) = cursor.descend(segment) {
                return Some(violation).filter(|it| it.repeated > 0 || it.is_unknown());
            }
        }
        if let Some(name) = missing(cursor.schema, sent) {
            return Some(cursor.missing(name));
        }
        let violation = cursor.invalid_value(sent);
        (!violation.path.is_empty()).then_some(violation)
    }

    /// Returns the violation of text at a path that contains U+0000. The path ends where the schema names no further field.
    pub(crate) fn unstorable(schema: &Value, path: Vec<Segment>) -> Self {
        let mut cursor = SchemaCursor::new(schema);
        let unnamed = path.iter().position(|segment| cursor.descend(segment.clone()).is_some());
        let mut violation = cursor.violation(Kind::Unstorable, limits(cursor.schema));
        violation.repeated = unnamed.unwrap_or(path.len());
        violation.path = path;
        violation
    }

    /// Returns the violation of a field of an object that matches the schema but has an invalid value. `None` if the
    /// schema does not name the field.
    #[must_use]
    pub fn of_field(schema: &Value, name: &str) -> Option<Self> {
        let mut cursor = SchemaCursor::new(schema);
        cursor.descend(Segment::Field(name.to_owned())).is_none().then(|| cursor.invalid())
    }

    /// Returns the violation of a field that an object must not have. `None` if the schema names the field.
    #[must_use]
    pub fn of_unknown_field(schema: &Value, name: &str) -> Option<Self> {
        let is_known = schema["properties"].get(name).is_some();
        (!is_known).then(|| SchemaCursor::new(schema).unknown(name))
    }

    /// Returns the path of the field, such as `items[0].quantity`, in the notation of all details of errors. Empty if the value is invalid as a whole, or if the name
    /// of an unknown field is not repeated.
    #[must_use]
    pub fn field(&self) -> String {
        let mut text = String::new();
        for segment in &self.path[..self.repeated] {
            match segment {
                Segment::Index(index) => text.extend(["[", index.to_string().as_str(), "]"]),
                Segment::Field(name) if text.is_empty() => text.push_str(name),
                Segment::Field(name) => text.extend([".", name.as_str()]),
            }
        }
        text
    }

    /// Returns what the field accepts: the limits of its value, or, for an unknown field, the names of the known ones.
    #[must_use]
    pub const fn allowed(&self) -> &Value {
        &self.allowed
    }

    /// Returns whether the schema has no such field.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self.kind, Kind::Unknown | Kind::UnknownUnnamed)
    }

    /// Returns why the field is invalid, as the end of a sentence that begins with its name.
    #[must_use]
    pub fn reason(&self) -> String {
        let reason = match self.kind {
            Kind::Invalid => format!("must be {}", in_words(&self.allowed)),
            Kind::InvalidInside => String::from("contains an invalid value"),
            Kind::Missing => String::from("is required"),
            Kind::Unknown => String::from("is not a field of this request"),
            Kind::UnknownUnnamed => String::from("contains an unknown field"),
            Kind::Unstorable => String::from("must not contain U+0000"),
        };
        match &self.nearest {
            Some(name) => format!("{reason}; did you mean {name}?"),
            None => reason,
        }
    }

    /// Returns the known field whose name is nearest to that of an unknown one, or the accepted value that is nearest to the sent
    /// one.
    #[must_use]
    pub fn did_you_mean(&self) -> Option<&str> {
        self.nearest.as_deref()
    }

    /// Adds the field, in the form of [`Violation::field`], and what it accepts.
    pub fn add_details(&self, details: &mut Details) {
        let field = self.field();
        if !field.is_empty() {
            details.insert("field", field);
        }
        details.insert("allowed", self.allowed.clone());
        if let Some(nearest) = &self.nearest {
            details.insert("did_you_mean", nearest.as_str());
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field();
        let name = if field.is_empty() { "the value" } else { &field };
        write!(formatter, "{name} {}", self.reason())
    }
}

/// A position in a schema: the part that describes the value at a path.
struct SchemaCursor<'schema> {
    schema: &'schema Value,
    path: Vec<Segment>,
}

impl<'schema> SchemaCursor<'schema> {
    const fn new(schema: &'schema Value) -> Self {
        Self { schema, path: Vec::new() }
    }

    /// Moves to the schema of a field or item. Returns the violation if the schema does not name it.
    fn descend(&mut self, segment: Segment) -> Option<Violation> {
        let next = match &segment {
            Segment::Field(name) => self.schema["properties"].get(name),
            Segment::Index(_) => self.schema.get("items"),
        };
        if let Some(next) = next {
            self.schema = next;
            self.path.push(segment);
            return None;
        }
        Some(match segment {
            Segment::Field(name) if self.schema["additionalProperties"] == false => {
                self.unknown(&name)
            }
            segment => {
                let mut violation = self.invalid_inside();
                violation.path.push(segment);
                violation
            }
        })
    }

    fn violation(&self, kind: Kind, allowed: Value) -> Violation {
        let (path, repeated) = (self.path.clone(), self.path.len());
        Violation { path, repeated, kind, allowed, nearest: None }
    }

    fn invalid(&self) -> Violation {
        self.violation(Kind::Invalid, limits(self.schema))
    }

    /// Returns the violation of a value. Of a text that is none of the accepted ones, the nearest is named.
    fn invalid_value(&self, sent: Option<&Value>) -> Violation {
        let nearest =
            sent.and_then(Value::as_str).and_then(|text| nearest_value(text, self.schema));
        Violation { nearest, ..self.invalid() }
    }

    fn invalid_inside(&self) -> Violation {
        self.violation(Kind::InvalidInside, limits(self.schema))
    }

    fn missing(&self, name: &str) -> Violation {
        let limits = limits(&self.schema["properties"][name]);
        let mut violation = self.violation(Kind::Missing, limits);
        violation.path.push(Segment::Field(name.to_owned()));
        violation.repeated += 1;
        violation
    }

    /// Returns the violation of an unknown field that was probably sent for a missing one.
    fn misnamed(&self, missing: &str, sent: Option<&Value>) -> Option<Violation> {
        if self.schema["additionalProperties"] != false {
            return None;
        }
        let known = &self.schema["properties"];
        let unknown = sent?.as_object()?.keys().filter(|name| known.get(name).is_none());
        // A body can have hundreds of thousands of fields.
        unknown.take(UNKNOWN_COMPARED_MAX).find_map(|name| {
            Some(self.unknown(name)).filter(|violation| violation.did_you_mean() == Some(missing))
        })
    }

    fn unknown(&self, name: &str) -> Violation {
        let is_identifier = name.len() <= UNKNOWN_NAME_MAX
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let known = self.schema["properties"].as_object();
        let known: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let nearest = nearest(name, self.schema);
        let kind = if is_identifier { Kind::Unknown } else { Kind::UnknownUnnamed };
        let mut violation = self.violation(kind, known.into());
        violation.path.push(Segment::Field(name.to_owned()));
        violation.repeated = if is_identifier { violation.path.len() } else { 0 };
        violation.nearest = nearest;
        violation
    }
}

/// Returns the first required field that an object lacks.
fn missing<'schema>(schema: &'schema Value, sent: Option<&Value>) -> Option<&'schema str> {
    let sent = sent?.as_object()?;
    let mut required = schema["required"].as_array()?.iter().filter_map(Value::as_str);
    required.find(|name| !sent.contains_key(*name))
}

fn limits(schema: &Value) -> Value {
    let mut limits = schema.as_object().cloned().unwrap_or_default();
    // Formats of numbers are those of a programming language.
    limits.retain(|key, value| {
        LIMITS.contains(&key.as_str()) || (key == "format" && *value == "date-time")
    });
    Value::Object(limits)
}

/// Returns the limits as the end of a sentence.
fn in_words(limits: &Value) -> String {
    let limit = |name: &str| limits.get(name).map(Value::to_string);
    if let Some(values) = limits["enum"].as_array() {
        let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", values.join(", "));
    }
    let kind = match &limits["type"] {
        Value::String(kind) => kind.as_str(),
        _ => return String::from("as its schema describes"),
    };
    let article = if kind.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    match kind {
        "string" if limits["format"] == "date-time" => {
            String::from("a time in the format of RFC 3339, such as 2027-01-15T08:00:00Z")
        }
        "string" => match (limit("minLength"), limit("maxLength"), limits["pattern"].as_str()) {
            (Some(min), Some(max), _) => format!("plain text of {min} to {max} characters"),
            (None, Some(max), _) => format!("plain text of at most {max} characters"),
            (Some(min), None, _) => format!("plain text of at least {min} characters"),
            (None, None, Some(pattern)) => format!("text that matches {pattern}"),
            (None, None, None) => String::from("a string"),
        },
        "array" => match (limit("minItems"), limit("maxItems")) {
            (Some(min), Some(max)) => format!("an array of {min} to {max} items"),
            (None, Some(max)) => format!("an array of at most {max} items"),
            (Some(min), None) => format!("an array of at least {min} items"),
            (None, None) => String::from("an array"),
        },
        _ => match (limit("minimum"), limit("maximum")) {
            (Some(min), Some(max)) => format!("{article} {kind} from {min} to {max}"),
            (None, Some(max)) => format!("{article} {kind} of at most {max}"),
            (Some(min), None) => format!("{article} {kind} of at least {min}"),
            (None, None) => format!("{article} {kind}"),
        },
    }
}
