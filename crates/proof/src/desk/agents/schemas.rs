//! `strict-schemas`: input schemas that strict providers accept, and a listing that fits into a model's context.

use serde_json::{Value, json};

use crate::hardening::deployment::Deployment;
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};

/// Most bytes of `tools/list`.
const LISTING_BYTES_MAX: usize = 60_000;
/// The keywords that strict providers accept.
const KEYWORDS: [&str; 10] = [
    "additionalProperties",
    "description",
    "enum",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "properties",
    "required",
];
const NEEDS_KEY: &str = "Needs an agent key.";

async fn rpc(port: u16, path: &str, method: &str) -> Result<(usize, Value), Failure> {
    let params = match method {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "proof", "version": "1" },
        }),
        _ => json!({}),
    };
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    match Client::new(port).post(path, &body.to_string()).await {
        Delivery::Answered { status: 200, body } => {
            let mut answer: Value = serde_json::from_str(&body)?;
            Ok((body.len(), answer["result"].take()))
        }
        other => Err(format!("{method} at {path}: {other:?}").into()),
    }
}

/// Fails unless a schema consists of what strict providers accept.
fn check(tool: &str, path: &str, schema: &Value) -> Result<(), Failure> {
    let fields = schema.as_object().ok_or_else(|| format!("{tool}{path} is not an object"))?;
    for keyword in fields.keys() {
        let is_accepted = keyword == "type" || KEYWORDS.contains(&keyword.as_str());
        ensure(is_accepted, || format!("{tool}{path} has the keyword {keyword}"))?;
    }
    let kind = schema["type"].as_str().ok_or_else(|| format!("{tool}{path} has no single type"))?;
    if kind == "object" {
        ensure(schema["additionalProperties"] == false, || format!("{tool}{path} is a free map"))?;
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            let description = field["description"].as_str().unwrap_or_default();
            ensure(!description.is_empty(), || format!("{tool}{path} has no description"))?;
            let inner = field.get("items").unwrap_or(field);
            let values = inner["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let nested = inner["properties"].as_object().into_iter().flatten();
            for name in values.chain(nested.map(|(name, _)| name.as_str())) {
                let is_named = description.contains(name);
                ensure(is_named, || format!("{tool}{path} does not name {name}: {description}"))?;
            }
            check(tool, &path, field)?;
        }
    }
    if kind == "array" {
        check(tool, &format!("{path}[]"), &schema["items"])?;
    }
    Ok(())
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let port = Deployment::of(&trial).await?.souk.port;
    let (bytes, listed) = rpc(port, "/demo-store/mcp", "tools/list").await?;
    let tools = listed["tools"].as_array().ok_or("no tools")?;
    ensure(tools.len() > 40, || format!("{} tools", tools.len()))?;
    ensure(bytes < LISTING_BYTES_MAX, || format!("tools/list has {bytes} bytes"))?;
    for tool in tools {
        let name = tool["name"].as_str().unwrap_or_default();
        check(name, "", &tool["inputSchema"])?;
        ensure(tool.get("outputSchema").is_none(), || {
            format!("{name}: an output schema without ?schemas=full")
        })?;
        let needs_key = tool["_meta"]["auth"] != "none";
        let says_so = tool["description"].as_str().unwrap_or_default().ends_with(NEEDS_KEY);
        ensure(needs_key == says_so, || {
            format!("{name}: the description and _meta differ: {tool}")
        })?;
        if name == "request_human_confirmation" {
            let read_only = &tool["annotations"]["readOnlyHint"];
            ensure(read_only == false, || format!("{name} is said to be read-only"))?;
        }
    }
    let (full, _) = rpc(port, "/demo-store/mcp?schemas=full", "tools/list").await?;
    ensure(full > 2 * bytes, || format!("{full} bytes with full schemas, {bytes} without"))?;
    let (with_slash, _) = rpc(port, "/demo-store/mcp/", "tools/list").await?;
    ensure(with_slash == bytes, || String::from("a trailing slash lists something else"))?;
    let (_, info) = rpc(port, "/demo-store/mcp", "initialize").await?;
    let instructions = info["instructions"].as_str().unwrap_or_default();
    let says_where =
        instructions.contains("Tools that need an agent key say so in their description");
    ensure(says_where, || instructions.to_owned())?;
    Ok(format!(
        "{} tools within the strict subset; tools/list has {bytes} bytes, with full output schemas {full}",
        tools.len()
    ))
}
