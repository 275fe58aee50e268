//! The schema of a JSON body, as the OpenAPI document describes it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use primitives::{ErrorCode, Problem};
use schema::Validator;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::InvalidInput;
use crate::ErrorResponse;

/// The schema that the bodies of an endpoint are validated against, before the handler reads them.
pub(crate) struct BodySchema {
    describe: fn() -> Map<String, Value>,
    /// The field whose items the handler validates one by one.
    separate_items: Option<&'static str>,
    /// Whether an empty body is an object without fields.
    is_optional: bool,
    /// Whether former names of fields are accepted, and blank values of optional fields mean "absent".
    is_normalized: bool,
    /// Compiled for the first request; `None` if the schema does not compile.
    validator: OnceLock<Option<Validator>>,
}

impl BodySchema {
    pub(crate) fn new(describe: fn() -> Map<String, Value>) -> Self {
        let validator = OnceLock::new();
        Self { describe, separate_items: None, is_optional: false, is_normalized: false, validator }
    }

    /// Former names of fields are accepted, and blank values of optional fields mean "absent". Not for endpoints where null
    /// or an empty text deletes a value.
    pub(crate) fn normalized(self, is_normalized: bool) -> Self {
        Self { is_normalized, ..self }
    }

    /// An empty body is an object without fields.
    pub(crate) fn optional(describe: fn() -> Map<String, Value>) -> Self {
        Self { is_optional: true, ..Self::new(describe) }
    }

    /// Returns whether an empty body is an object without fields.
    pub(crate) const fn is_optional(&self) -> bool {
        self.is_optional
    }

    /// The items of the list `field` are not validated.
    pub(crate) fn with_separate_items(
        describe: fn() -> Map<String, Value>,
        field: &'static str,
    ) -> Self {
        Self { separate_items: Some(field), ..Self::new(describe) }
    }

    /// Validates a body. Returns it if it was normalized: what was sent is then not what the handler reads.
    pub(super) fn validate(&self, bytes: &[u8]) -> Result<Option<Value>, ErrorResponse> {
        let validator = self.validator().ok_or(UnusableSchema)?;
        let mut sent = self.parse(bytes).map_err(|error| InvalidInput::not_json(Some(&error)))?;
        let is_changed = self.is_normalized && validator.normalize(&mut sent);
        validator.validate(&sent).map_err(InvalidInput::body)?;
        Ok(is_changed.then_some(sent))
    }

    /// Returns the compiled schema.
    pub(crate) fn validator(&self) -> Option<&Validator> {
        let compile = || {
            let mut schema = Value::Object((self.describe)());
            if let Some(field) = self.separate_items
                && let Some(list) = schema["properties"][field].as_object_mut()
            {
                list.remove("items");
            }
            Validator::new(schema).ok()
        };
        self.validator.get_or_init(compile).as_ref()
    }

    /// Parses a body. Items that the handler validates are only counted.
    fn parse(&self, bytes: &[u8]) -> serde_json::Result<Value> {
        let Some(separate) = self.separate_items else { return serde_json::from_slice(bytes) };
        let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(bytes)?;
        let mut sent = Map::new();
        for (name, value) in fields {
            let items = if name == separate {
                serde_json::from_str::<ItemCount>(value.get()).ok()
            } else {
                None
            };
            let value = match items {
                Some(ItemCount(count)) => vec![Value::Null; count.min(COUNTED_MAX)].into(),
                None => serde_json::from_str(value.get())?,
            };
            sent.insert(name, value);
        }
        Ok(Value::Object(sent))
    }
}

/// More items than this are as invalid as this many: no endpoint accepts as many.
const COUNTED_MAX: usize = 10_000;

/// The number of items of a list, counted without keeping them.
struct ItemCount(usize);

impl<'de> Deserialize<'de> for ItemCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counter;
        impl<'de> Visitor<'de> for Counter {
            type Value = ItemCount;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ItemCount, A::Error> {
                let mut count = 0;
                while items.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(ItemCount(count))
            }
        }
        deserializer.deserialize_seq(Counter)
    }
}

/// The schema of the body does not compile: a programming error.
#[derive(Debug, thiserror::Error)]
#[error("the schema of the body does not compile")]
struct UnusableSchema;

impl Problem for UnusableSchema {
    fn code(&self) -> ErrorCode {
        ErrorCode::InternalError
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_of_every_body_compiles() {
        let endpoints = crate::endpoints();
        let schemas = endpoints.operations().iter().filter_map(|it| it.body_schema.as_ref());
        let count = schemas.inspect(|schema| assert!(schema.validator().is_some())).count();
        assert!(count > 10);
    }
}
