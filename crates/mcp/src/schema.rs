//! Schemas from types, in the form clients cope with best: JSON Schema 2020-12, nothing by reference.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

pub(crate) fn of_arguments<T: JsonSchema>() -> Value {
    generate::<T>(settings().for_deserialize())
}

pub(crate) fn of_output<T: JsonSchema>() -> Value {
    generate::<T>(settings().for_serialize())
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
        // A tool without arguments still takes an object.
        object.entry("type").or_insert_with(|| "object".into());
        object.entry("properties").or_insert_with(|| serde_json::json!({}));
    }
    schema
}
