//! JSON Schemas of arguments and outputs, in the form most clients support: JSON Schema 2020-12 without references.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

/// Returns the schema of arguments. A null argument counts as omitted, so the schema allows no nulls: some hosts reject
/// fields of two types.
pub(crate) fn of_arguments<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(settings().for_deserialize());
    remove_null_types(&mut schema);
    merge_choices(&mut schema);
    schema
}

/// Returns the schema of arguments as it is advertised: with what strict providers accept only
/// (docs/contract/mcp.md#input-schemas). Allowed values and nested fields are in the descriptions of fields, which some
/// clients pass on without the schema. What it lacks, such as lengths, is checked all the same.
pub(crate) fn advertised(mut schema: Value) -> Value {
    describe(&mut schema);
    remove_description(&mut schema);
    schema
}

/// Removes the description of a type, which says what that of the field says.
fn remove_description(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        object.remove("description");
    }
}

fn describe(schema: &mut Value) {
    match schema {
        Value::Array(items) => return items.iter_mut().for_each(describe),
        Value::Object(_) => {}
        _ => return,
    }
    if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        fields.retain(|_, field| field.get(UNLISTED).is_none());
        for field in fields.values_mut() {
            if let Some(text) = description(field) {
                field["description"] = text.into();
            }
            describe(field);
        }
    }
    if let Some(items) = schema.get_mut("items") {
        describe(items);
        remove_description(items);
    }
    if let Some(object) = schema.as_object_mut() {
        object.retain(|keyword, _| !UNSUPPORTED.contains(&keyword.as_str()));
    }
}

/// Marks an argument that is accepted and documented, and left out of the listing: another form of the listed ones.
const UNLISTED: &str = "x-unlisted";

/// Keywords that strict providers reject or ignore.
const UNSUPPORTED: [&str; 9] = [
    "default",
    "example",
    "examples",
    "format",
    "maxLength",
    "maxItems",
    "minLength",
    "pattern",
    schema::FORMER_NAMES,
];

/// Returns the description of a field with what it does not name yet: allowed values and nested fields.
fn description(field: &Value) -> Option<String> {
    let mut text = field["description"].as_str()?.to_owned();
    let inner = field.get("items").unwrap_or(field);
    let values = inner["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let values: Vec<&str> = values.collect();
    if !values.iter().all(|value| text.contains(value)) {
        text = format!("{text} One of: {}.", values.join(", "));
    }
    let required = |name: &str| {
        inner["required"].as_array().is_some_and(|names| names.iter().any(|it| it == name))
    };
    let fields = inner["properties"].as_object().into_iter().flatten();
    let fields: Vec<String> = fields
        .map(|(name, _)| if required(name) { format!("{name} (required)") } else { name.clone() })
        .collect();
    if !fields.is_empty() {
        text = format!("{text} Fields: {}.", fields.join(", "));
    }
    Some(text)
}

/// Merges a choice of single values, as schemars describes an enum with documented variants, into one `enum`.
fn merge_choices(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(merge_choices),
        Value::Object(object) => {
            object.values_mut().for_each(merge_choices);
            for keyword in ["oneOf", "anyOf"] {
                let Some(Value::Array(choices)) = object.get(keyword) else { continue };
                let values = |choice: &Value| match (choice.get("const"), choice["enum"].as_array())
                {
                    (Some(value), _) => Some(vec![value.clone()]),
                    (None, values) => values.cloned(),
                };
                let Some(values) = choices.iter().map(values).collect::<Option<Vec<_>>>() else {
                    continue;
                };
                object.remove(keyword);
                object.insert(String::from("type"), json!("string"));
                object.insert(String::from("enum"), values.concat().into());
            }
        }
        _ => {}
    }
}

/// Returns the schema of an output. Null fields are omitted from results, so nullable fields are not required.
pub(crate) fn of_output<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(settings().for_serialize());
    remove_null_types(&mut schema);
    split_type_lists(&mut schema);
    schema::remove_former_names(&mut schema);
    schema
}

/// Replaces a list of types, such as that of a nullable array element, by `anyOf`, which more clients support.
fn split_type_lists(schema: &mut Value) {
    if let Value::Object(object) = schema
        && let Some(Value::Array(types)) = object.get("type")
    {
        let choices = types.iter().map(|name| json!({ "type": name })).collect();
        object.remove("type");
        object.insert(String::from("anyOf"), Value::Array(choices));
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(split_type_lists),
        Value::Array(items) => items.iter_mut().for_each(split_type_lists),
        _ => {}
    }
}

/// Removes null from all properties, and these from `required`.
fn remove_null_types(schema: &mut Value) {
    if let Value::Object(object) = schema {
        let optional = object.get_mut("properties").and_then(Value::as_object_mut).map(|fields| {
            let nullable = fields
                .iter_mut()
                .filter_map(|(name, field)| remove_null(field).then(|| name.clone()));
            nullable.collect::<Vec<String>>()
        });
        if let (Some(optional), Some(Value::Array(required))) =
            (optional, object.get_mut("required"))
        {
            required.retain(|name| !optional.iter().any(|it| *name == **it));
        }
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(remove_null_types),
        Value::Array(items) => items.iter_mut().for_each(remove_null_types),
        _ => {}
    }
}

/// Removes null from the types of a field. Returns whether it was allowed.
fn remove_null(field: &mut Value) -> bool {
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
        // The name of the Rust type is of no use to a model.
        object.remove("title");
        // An OpenAPI keyword; JSON Schema has none of this name.
        object.remove("example");
        // A tool without arguments still accepts an object.
        object.entry("type").or_insert_with(|| "object".into());
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}
