//! A violation of a schema: the field, what it accepts, and the sentence that says so.

use std::fmt;

use jsonschema::error::ValidationErrorKind;
use primitives::Details;
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

/// The longest name of an unknown field that is repeated to the caller.
const UNKNOWN_NAME_MAX: usize = 40;

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
    path: Vec<Step>,
    kind: Kind,
    /// The limits of the field's value; for an unknown field, the names of the known ones.
    allowed: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Item(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Invalid,
    /// A value inside the field is invalid, at a place that the schema does not name.
    InvalidInside,
    Missing,
    Unknown,
    /// The name of the unknown field is not repeated.
    UnknownUnnamed,
}

/// A step of the path to an invalid value.
enum Place<'path> {
    Name(&'path str),
    Index(usize),
    Other,
}

impl Violation {
    pub(crate) fn new(schema: &Value, error: &jsonschema::ValidationError<'_>) -> Self {
        let pointer = error.instance_path().as_str().to_owned();
        let names: Vec<String> = pointer
            .split('/')
            .skip(1)
            .map(|name| name.replace("~1", "/").replace("~0", "~"))
            .collect();
        let mut walk = Walk::new(schema);
        for name in &names {
            let place = match name.parse() {
                Ok(index) if walk.schema.get("items").is_some() => Place::Index(index),
                _ => Place::Name(name),
            };
            if let Some(stopped) = walk.step(&place) {
                return stopped;
            }
        }
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                walk.missing(property.as_str().unwrap_or_default())
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                walk.unknown(unexpected.first().map_or("", String::as_str))
            }
            _ => walk.invalid(),
        }
    }

    /// Returns the violation of a value that matches the schema as far as it goes but could not be deserialized, or that
    /// was not validated. `None` if the value is invalid as a whole.
    #[must_use]
    pub fn at(schema: &Value, path: &serde_path_to_error::Path, sent: &Value) -> Option<Self> {
        let (mut walk, mut sent) = (Walk::new(schema), Some(sent));
        for segment in path {
            let place = match segment {
                Segment::Map { key } => Place::Name(key),
                Segment::Seq { index } => Place::Index(*index),
                Segment::Enum { .. } | Segment::Unknown => Place::Other,
            };
            if let Some(stopped) = walk.step(&place) {
                return Some(stopped).filter(|it| !it.path.is_empty() || it.is_unknown());
            }
            sent = sent.and_then(|sent| match &place {
                Place::Name(name) => sent.get(*name),
                Place::Index(index) => sent.get(*index),
                Place::Other => None,
            });
        }
        if let Some(name) = missing(walk.schema, sent) {
            return Some(walk.missing(name));
        }
        let violation = walk.invalid();
        (!violation.path.is_empty()).then_some(violation)
    }

    /// Returns the violation of a field of an object that matches the schema but has an invalid value. `None` if the
    /// schema does not name the field.
    #[must_use]
    pub fn of_field(schema: &Value, name: &str) -> Option<Self> {
        let mut walk = Walk::new(schema);
        walk.step(&Place::Name(name)).is_none().then(|| walk.invalid())
    }

    /// Returns the path of the field, such as `items[0].quantity`. Empty if the value is invalid as a whole, or if the name
    /// of an unknown field is not repeated.
    #[must_use]
    pub fn field(&self) -> String {
        let mut text = String::new();
        for step in self.named_path() {
            match step {
                Step::Item(index) => text.extend(["[", index.to_string().as_str(), "]"]),
                Step::Field(name) if text.is_empty() => text.push_str(name),
                Step::Field(name) => text.extend([".", name.as_str()]),
            }
        }
        text
    }

    /// Returns the path of the field as a JSON pointer without the leading slash, such as `items/0/quantity`.
    #[must_use]
    pub fn pointer(&self) -> String {
        let step = |step: &Step| match step {
            Step::Field(name) => name.clone(),
            Step::Item(index) => index.to_string(),
        };
        self.named_path().iter().map(step).collect::<Vec<_>>().join("/")
    }

    fn named_path(&self) -> &[Step] {
        if self.kind == Kind::UnknownUnnamed { &[] } else { &self.path }
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
        match self.kind {
            Kind::Invalid => format!("must be {}", in_words(&self.allowed)),
            Kind::InvalidInside => String::from("contains an invalid value"),
            Kind::Missing => String::from("is required"),
            Kind::Unknown => String::from("is not a field of this request"),
            Kind::UnknownUnnamed => String::from("contains an unknown field"),
        }
    }

    /// Adds the field, in the form of [`Violation::field`], and what it accepts.
    pub fn add_details(&self, details: &mut Details) {
        let field = self.field();
        if !field.is_empty() {
            details.insert("field", field);
        }
        details.insert("allowed", self.allowed.clone());
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field();
        let name = if field.is_empty() { "the value" } else { &field };
        write!(formatter, "{name} {}", self.reason())
    }
}

/// The way through a schema to the place of a violation.
struct Walk<'schema> {
    schema: &'schema Value,
    path: Vec<Step>,
}

impl<'schema> Walk<'schema> {
    const fn new(schema: &'schema Value) -> Self {
        Self { schema, path: Vec::new() }
    }

    /// Follows one step. Returns the violation if the schema does not name it.
    fn step(&mut self, place: &Place<'_>) -> Option<Violation> {
        let (next, step) = match place {
            Place::Name(name) => {
                (self.schema["properties"].get(*name), Some(Step::Field((*name).to_owned())))
            }
            Place::Index(index) => (self.schema.get("items"), Some(Step::Item(*index))),
            Place::Other => (None, None),
        };
        let Some((next, step)) = next.zip(step) else {
            return Some(match place {
                Place::Name(name) if self.schema["additionalProperties"] == false => {
                    self.unknown(name)
                }
                _ => self.violation(Kind::InvalidInside, limits(self.schema)),
            });
        };
        self.schema = next;
        self.path.push(step);
        None
    }

    fn violation(&self, kind: Kind, allowed: Value) -> Violation {
        Violation { path: self.path.clone(), kind, allowed }
    }

    fn invalid(&self) -> Violation {
        self.violation(Kind::Invalid, limits(self.schema))
    }

    fn missing(&self, name: &str) -> Violation {
        let mut violation = self.violation(Kind::Missing, limits(&self.schema["properties"][name]));
        violation.path.push(Step::Field(name.to_owned()));
        violation
    }

    fn unknown(&self, name: &str) -> Violation {
        let is_identifier = name.len() <= UNKNOWN_NAME_MAX
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let known = self.schema["properties"].as_object();
        let known: Vec<&str> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        let kind = if is_identifier { Kind::Unknown } else { Kind::UnknownUnnamed };
        let mut violation = self.violation(kind, known.into());
        violation.path.push(Step::Field(name.to_owned()));
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
    limits.retain(|key, _| LIMITS.contains(&key.as_str()));
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
