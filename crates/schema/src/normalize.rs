//! Brings a received value into the form of its schema: former names of fields, and values that mean "absent".

use serde_json::{Map, Value, json};

use crate::Validator;
use crate::former_names::{FormerName, all_former_names};

impl Validator {
    /// Renames fields that were sent under a former name, and removes those that are absent ([`is_absent`]). Fields that
    /// the schema does not name stay as they are. Returns whether the value was changed.
    pub fn normalize(&self, value: &mut Value) -> bool {
        let renamed = rename(self.schema(), value);
        remove_absent(self.schema(), value) || renamed
    }
}

/// Moves fields with a former name to their present one. A field that is sent under both names stays, and is a violation.
fn rename(schema: &Value, value: &mut Value) -> bool {
    let names = all_former_names(schema);
    let is_whole: Vec<bool> = names.iter().map(|it| is_whole(schema, value, &names, it)).collect();
    let mut is_changed = false;
    for (name, is_whole) in names.iter().zip(is_whole) {
        is_changed |= is_whole && move_field(schema, value, &name.former, &name.present);
    }
    is_changed
}

/// Returns whether the object that a field belongs to has all its required fields once those are moved which were sent without
/// it. Alone, the `name` of an address could mean anything.
fn is_whole(
    schema: &Value,
    value: &Value,
    names: &[FormerName<'_>],
    field: &FormerName<'_>,
) -> bool {
    let Some((object, of_object)) = field.object else { return true };
    let required = object_schema(of_object).and_then(|schema| schema["required"].as_array());
    required.into_iter().flatten().filter_map(Value::as_str).all(|part| {
        let present = format!("{object}.{part}");
        let is_sent = |name: &FormerName<'_>| {
            name.present == present
                && at(value, &name.former).is_some()
                && !is_known(schema, &name.former)
        };
        names.iter().any(is_sent)
    })
}

/// Moves the value of one path to another, if the schema knows only the latter and accepts this type of value there.
fn move_field(schema: &Value, value: &mut Value, from: &str, to: &str) -> bool {
    if is_known(schema, from) {
        return false;
    }
    let (Some(sent), Some(target)) = (at(value, from), find(schema, to)) else { return false };
    let is_absent = is_blank(target, sent);
    let is_free = at(value, to).is_none_or(|present| is_blank(target, present));
    let parent = to.rsplit_once('.').and_then(|(parent, _)| at(value, parent));
    let has_place = parent.is_none_or(|parent| parent.is_object() || is_empty(parent));
    if !(is_absent || has_type(target, sent)) || !is_free || !has_place {
        return false;
    }
    let Some(sent) = take(value, from) else { return false };
    if !is_absent {
        put(value, to, sent);
    }
    true
}

/// Returns the schema of the field at a path such as `destination.country`.
fn find<'schema>(schema: &'schema Value, path: &str) -> Option<&'schema Value> {
    path.split('.').try_fold(schema, |schema, name| properties(schema)?.get(name))
}

fn is_known(schema: &Value, path: &str) -> bool {
    find(schema, path).is_some()
}

/// Returns the schema with the properties of an object, also if it is one of a choice between an object and null.
pub(crate) fn object_schema(schema: &Value) -> Option<&Value> {
    let choices =
        ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|name| schema[name].as_array());
    [schema].into_iter().chain(choices.flatten()).find(|schema| schema["properties"].is_object())
}

pub(crate) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    object_schema(schema)?["properties"].as_object()
}

/// Returns whether a schema accepts values of this type.
fn has_type(schema: &Value, value: &Value) -> bool {
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    match &schema["type"] {
        Value::String(kind) => kind == name,
        Value::Array(kinds) => kinds.iter().any(|kind| kind == name),
        _ => name != "object" || properties(schema).is_some(),
    }
}

fn at<'value>(value: &'value Value, path: &str) -> Option<&'value Value> {
    path.split('.').try_fold(value, |value, name| value.get(name))
}

fn take(value: &mut Value, path: &str) -> Option<Value> {
    match path.split_once('.') {
        None => value.as_object_mut()?.remove(path),
        Some((name, rest)) => take(value.get_mut(name)?, rest),
    }
}

/// Sets the value of a path, and creates the objects on the way.
fn put(value: &mut Value, path: &str, new: Value) {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let Some(fields) = value.as_object_mut() else { return };
    match rest {
        None => {
            fields.insert(name.to_owned(), new);
        }
        Some(rest) => {
            let field = fields.entry(name).or_insert_with(|| json!({}));
            if is_empty(field) {
                *field = json!({});
            }
            put(field, rest, new);
        }
    }
}

/// Returns whether the field of an object is absent: the schema names it and does not require it, and its value is null, `""`
/// or an object of such values.
#[must_use]
pub fn is_absent(schema: &Value, name: &str, value: &Value) -> bool {
    let Some(schema) = object_schema(schema) else { return false };
    let required = schema["required"].as_array();
    let is_required = required.is_some_and(|required| required.iter().any(|it| it == name));
    !is_required && schema["properties"].get(name).is_some_and(|property| is_blank(property, value))
}

/// Returns whether a value of a field means "absent". An empty object is a value, and so is one with a field that the schema
/// does not name.
fn is_blank(schema: &Value, value: &Value) -> bool {
    match value {
        Value::Object(fields) if !fields.is_empty() => properties(schema).is_some_and(|known| {
            fields
                .iter()
                .all(|(name, value)| known.get(name).is_some_and(|schema| is_blank(schema, value)))
        }),
        value => is_empty(value),
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value == ""
}

/// Removes absent fields, at every level that the schema describes.
fn remove_absent(schema: &Value, value: &mut Value) -> bool {
    let mut is_changed = false;
    match value {
        Value::Object(fields) => {
            let Some(properties) = properties(schema) else { return false };
            fields.retain(|name, field| {
                let Some(property) = properties.get(name) else { return true };
                if is_absent(schema, name, field) {
                    is_changed = true;
                    return false;
                }
                is_changed |= list_pairs(property, field) | remove_absent(property, field);
                true
            });
        }
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return false };
            for item in items {
                is_changed |= remove_absent(schema, item);
            }
        }
        _ => {}
    }
    is_changed
}

/// Rewrites an object as a list of its names and values, where the schema has such a list: strict providers accept no
/// objects with free names, which is how such a list was sent before.
fn list_pairs(schema: &Value, value: &mut Value) -> bool {
    let Value::Object(fields) = value else { return false };
    let is_list = schema.get("items").and_then(properties).is_some_and(|properties| {
        properties.len() == 2 && properties.contains_key("name") && properties.contains_key("value")
    });
    if is_list {
        let pairs = fields.iter().map(|(name, value)| json!({ "name": name, "value": value }));
        *value = pairs.collect();
    }
    is_list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn purchase() -> Validator {
        let address = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["country"],
            "nullable": true,
            "x-former-names": ["ship_to", "shipping_address"],
            "properties": {
                "country": {
                    "type": "string",
                    "pattern": "^[A-Z]{2}$",
                    "x-former-names": ["../ship_to", "../country"],
                },
                "name": { "type": "string", "minLength": 1, "x-former-names": ["../name"] },
            },
        });
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["cart_id"],
            "properties": {
                "cart_id": { "type": "string", "minLength": 1 },
                "destination": address,
                "shipping_option_id": {
                    "type": "string",
                    "minLength": 1,
                    "x-former-names": ["option_id", "selected_shipping_option_id"],
                },
                "quote_hash": { "type": "string", "x-former-names": ["confirmation.quote_hash"] },
                "is_gift": { "type": "boolean" },
                "metadata": { "type": "object", "additionalProperties": true, "nullable": true },
                "confirmation": { "type": "object", "additionalProperties": false, "properties": {
                    "confirmation_id": { "type": "string", "x-former-names": ["../confirmation_id"] },
                } },
                "selected": { "type": "array", "items": {
                    "type": "object",
                    "required": ["name", "value"],
                    "properties": { "name": { "type": "string" }, "value": { "type": "string" } },
                } },
            },
        });
        Validator::new(schema).unwrap()
    }

    fn normalized(mut value: Value) -> Value {
        let before = value.clone();
        let is_changed = purchase().normalize(&mut value);
        assert_eq!(is_changed, before != value, "{before}");
        value
    }

    #[test]
    fn former_names_are_accepted() {
        let to = json!({ "country": "DE" });
        let present = json!({ "destination": to });
        assert_eq!(normalized(json!({ "ship_to": to })), present);
        assert_eq!(normalized(json!({ "shipping_address": to })), present);
        assert_eq!(normalized(json!({ "ship_to": "DE" })), present);
        assert_eq!(normalized(json!({ "country": "DE" })), present);
        assert_eq!(
            normalized(json!({ "country": "DE", "name": "Ada" })),
            json!({ "destination": { "country": "DE", "name": "Ada" } })
        );
        assert_eq!(normalized(json!({ "name": "Ada" })), json!({ "name": "Ada" }));
        for former in ["option_id", "selected_shipping_option_id"] {
            assert_eq!(
                normalized(json!({ former: "standard" })),
                json!({ "shipping_option_id": "standard" })
            );
        }
        assert_eq!(
            normalized(json!({ "confirmation_id": "cnf_1" })),
            json!({ "confirmation": { "confirmation_id": "cnf_1" } })
        );
        assert_eq!(
            normalized(json!({ "confirmation": { "quote_hash": "00" } })),
            json!({ "confirmation": {}, "quote_hash": "00" })
        );
        assert_eq!(
            normalized(json!({ "selected": { "size": "L" } })),
            json!({ "selected": [{ "name": "size", "value": "L" }] })
        );
    }

    #[test]
    fn a_field_under_both_names_is_a_violation() {
        let both = json!({
            "cart_id": "cart_1", "ship_to": { "country": "DE" }, "destination": { "country": "PT" },
        });
        let same = normalized(both.clone());
        assert_eq!(same, both);
        let violation = purchase().validate(&same).unwrap_err();
        assert_eq!(
            violation.to_string(),
            "ship_to is not a field of this request; did you mean destination?"
        );
        let blank = json!({ "ship_to": { "country": "DE" }, "destination": "" });
        assert_eq!(normalized(blank), json!({ "destination": { "country": "DE" } }));
    }

    #[test]
    fn blank_optional_values_are_absent_and_required_ones_are_not() {
        let blank = json!({
            "cart_id": "", "destination": { "country": "", "name": null }, "shipping_option_id": "",
            "quote_hash": null, "confirmation": { "confirmation_id": "" },
        });
        assert_eq!(normalized(blank), json!({ "cart_id": "" }));
        let nested = json!({ "destination": { "country": "DE", "name": "" }, "confirmation": {} });
        assert_eq!(
            normalized(nested),
            json!({ "destination": { "country": "DE" }, "confirmation": {} })
        );
    }

    #[test]
    fn what_the_schema_does_not_name_stays() {
        for kept in [
            json!({ "note": "", "other": null }),
            json!({ "metadata": { "note": "", "other": null } }),
            json!({ "metadata": { "note": { "text": "" } } }),
            json!({ "destination": { "country": "", "planet": "" } }),
        ] {
            assert_eq!(normalized(kept.clone()), kept);
        }
        for absent in [
            json!({ "metadata": "" }),
            json!({ "metadata": null }),
            json!({ "is_gift": null }),
            json!({ "is_gift": "" }),
        ] {
            assert_eq!(normalized(absent), json!({}));
        }
    }
}
