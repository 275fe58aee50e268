//! Text that PostgreSQL cannot store: U+0000 is valid in JSON, and neither `text` nor `jsonb` accepts it.

use serde_json::Value;

use crate::Violation;
use crate::violation::Segment;

/// Returns the violation of the first text in a value that contains U+0000, names of fields included.
pub(crate) fn check(schema: &Value, value: &Value) -> Result<(), Violation> {
    match find(value) {
        None => Ok(()),
        Some(mut path) => {
            path.reverse();
            Err(Violation::unstorable(schema, path))
        }
    }
}

/// Returns the path of the text, its last segment first.
fn find(value: &Value) -> Option<Vec<Segment>> {
    match value {
        Value::String(text) => text.contains('\0').then(Vec::new),
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            let mut path = find(item)?;
            path.push(Segment::Index(index));
            Some(path)
        }),
        Value::Object(fields) => fields.iter().find_map(|(name, field)| {
            let mut path = if name.contains('\0') { Vec::new() } else { find(field)? };
            path.push(Segment::Field(name.clone()));
            Some(path)
        }),
        _ => None,
    }
}
