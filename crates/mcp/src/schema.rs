//! Schemas from types, in the form clients cope with best: JSON Schema 2020-12, nothing by reference.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

/// An argument that is null counts as left out, so none is said to be null: some hosts refuse fields
/// of two types.
pub(crate) fn of_arguments<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(settings().for_deserialize());
    promise_no_nulls(&mut schema);
    schema
}

/// What is null is left out of answers, so nothing that may be null is promised.
pub(crate) fn of_output<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(settings().for_serialize());
    promise_no_nulls(&mut schema);
    name_types_apart(&mut schema);
    schema
}

/// What keeps two types, such as a place in a list that may be empty, says so in the form that most
/// clients read: a choice, and not a list of names.
fn name_types_apart(schema: &mut Value) {
    if let Value::Object(object) = schema
        && let Some(Value::Array(types)) = object.get("type")
    {
        let choices = types.iter().map(|name| json!({ "type": name })).collect();
        object.remove("type");
        object.insert(String::from("anyOf"), Value::Array(choices));
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(name_types_apart),
        Value::Array(items) => items.iter_mut().for_each(name_types_apart),
        _ => {}
    }
}

fn promise_no_nulls(schema: &mut Value) {
    if let Value::Object(object) = schema {
        let optional = object.get_mut("properties").and_then(Value::as_object_mut).map(|fields| {
            let nullable = fields
                .iter_mut()
                .filter_map(|(name, field)| forbid_null(field).then(|| name.clone()));
            nullable.collect::<Vec<String>>()
        });
        if let (Some(optional), Some(Value::Array(required))) =
            (optional, object.get_mut("required"))
        {
            required.retain(|name| !optional.iter().any(|it| *name == **it));
        }
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(promise_no_nulls),
        Value::Array(items) => items.iter_mut().for_each(promise_no_nulls),
        _ => {}
    }
}

/// Takes null out of what a field may be. Answers whether it was in there.
fn forbid_null(field: &mut Value) -> bool {
    let Some(object) = field.as_object_mut() else { return false };
    let mut found = false;
    if let Some(Value::Array(types)) = object.get_mut("type") {
        let before = types.len();
        types.retain(|kind| kind != "null");
        found |= types.len() < before;
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert(String::from("type"), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        let before = choices.len();
        choices.retain(|choice| choice["type"] != "null");
        found |= choices.len() < before;
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
    found
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    })
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let mut schema = SchemaGenerator::from(settings).into_root_schema_for::<T>().to_value();
    if let Some(object) = schema.as_object_mut() {
        // The name of a Rust type says nothing to a model.
        object.remove("title");
        // What OpenAPI shows; JSON Schema has no such keyword.
        object.remove("example");
        // A tool without arguments still takes an object.
        object.entry("type").or_insert_with(|| "object".into());
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}
