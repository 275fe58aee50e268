//! Former names of fields, which schemas declare (docs/contract/ids-and-values.md#former-names). Doors accept them and
//! advertise only the present ones.

use serde_json::Value;

use crate::normalize::{object_schema, properties};

/// The keyword that lists the former names of a field, at the field or at its type. Each is a path from the object that has
/// the field: `ids`, `confirmation.quote_hash`, or `../country` for a field of the object around it.
pub const FORMER_NAMES: &str = "x-former-names";

/// Removes the former names from a schema, or from a document that contains schemas.
pub fn remove_former_names(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(remove_former_names),
        Value::Object(fields) => {
            fields.remove(FORMER_NAMES);
            fields.values_mut().for_each(remove_former_names);
        }
        _ => {}
    }
}

/// Returns the former names of a field.
fn former_names(schema: &Value) -> impl Iterator<Item = &str> {
    let own = schema.get(FORMER_NAMES);
    let declared = own.or_else(|| object_schema(schema)?.get(FORMER_NAMES));
    declared.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// A field and one of its former names, as paths from the root.
pub(crate) struct FormerName<'schema> {
    pub(crate) former: String,
    pub(crate) present: String,
    /// The object that has the field at present, if it was around this object before: its name and schema.
    pub(crate) object: Option<(&'schema str, &'schema Value)>,
}

/// Returns the former names of the fields of an object and of the objects in it.
pub(crate) fn all_former_names(schema: &Value) -> Vec<FormerName<'_>> {
    let (mut outer, mut inner) = (Vec::new(), Vec::new());
    for (name, field) in properties(schema).into_iter().flatten() {
        outer.extend(former_names(field).map(|former| FormerName {
            former: former.to_owned(),
            present: name.clone(),
            object: None,
        }));
        for (part, schema) in properties(field).into_iter().flatten() {
            inner.extend(former_names(schema).map(|former| {
                let present = format!("{name}.{part}");
                match former.strip_prefix("../") {
                    Some(former) => {
                        let object = Some((name.as_str(), field));
                        FormerName { former: former.to_owned(), present, object }
                    }
                    None => {
                        FormerName { former: format!("{name}.{former}"), present, object: None }
                    }
                }
            }));
        }
    }
    // A whole object first: `ship_to` is a destination, and only otherwise its country.
    outer.extend(inner);
    outer
}

/// Returns the present name of a field that is known by a former one.
pub(crate) fn present_name<'schema>(schema: &'schema Value, former: &str) -> Option<&'schema str> {
    let fields = properties(schema)?;
    let found = all_former_names(schema).into_iter().find(|it| it.former == former)?;
    let name = found.present.split('.').next().unwrap_or_default();
    fields.get_key_value(name).map(|(name, _)| name.as_str())
}
