//! The page about the tools, written from their declarations.

use std::fmt::Write as _;

use serde_json::Value;

use crate::tool::ToolSet;
use crate::{prompts, tools};

/// `docs/tools.md`.
#[must_use]
pub fn tools_document() -> String {
    let mut text = String::from(HEAD);
    for (set, name) in ToolSet::ALL {
        let of_set: Vec<_> = tools::entries().filter(|entry| entry.set == set).collect();
        if of_set.is_empty() {
            continue;
        }
        let _ = write!(text, "\n## Set `{name}`\n");
        for entry in of_set {
            let _ = write!(text, "\n### `{}`\n\n{}\n\n", entry.name, entry.purpose);
            let _ = write!(
                text,
                "Credential: {}. Confirmation by a person: {}. {} calls a minute.\n\n",
                entry.access.name(),
                entry.confirmation.name(),
                entry.per_minute,
            );
            text.push_str(&arguments(&entry.input_schema()));
        }
    }
    text.push_str("\n## Prompts\n\n");
    for prompt in prompts::list() {
        let _ = writeln!(text, "- `{}`: {}", prompt.name, prompt.description.unwrap_or_default());
    }
    text
}

const HEAD: &str = "# Tools\n\n\
Written by `just generate` from the declarations in `crates/mcp/src/tools/`. `tools/list` has the whole schemas, of arguments and of\n\
answers. `?tools=discovery,cart` in an endpoint's address narrows the listing to sets.\n";

fn arguments(schema: &Value) -> String {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    if properties.is_empty() {
        return String::from("No arguments.\n");
    }
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|it| it == name))
    };
    let mut text = String::from("| Argument | Type | Meaning |\n|---|---|---|\n");
    for (name, property) in &properties {
        let mark = if required(name) { " (required)" } else { "" };
        let meaning = property["description"].as_str().unwrap_or_default().replace('|', "\\|");
        let _ = writeln!(text, "| `{name}`{mark} | {} | {meaning} |", kind(property));
    }
    text
}

/// What a value is, in a word or two.
fn kind(property: &Value) -> String {
    let types = match &property["type"] {
        Value::String(kind) => vec![kind.clone()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let values = property["enum"].as_array().or_else(|| property["anyOf"][0]["enum"].as_array());
    if let Some(values) = values {
        let names: Vec<String> =
            values.iter().filter_map(Value::as_str).map(|name| format!("`{name}`")).collect();
        return names.join(", ");
    }
    let named: Vec<String> = types.into_iter().filter(|kind| kind != "null").collect();
    match named.first().map(String::as_str) {
        Some("array") => format!("array of {}", kind(&property["items"])),
        Some(kind) => kind.to_owned(),
        None => String::from("object"),
    }
}
