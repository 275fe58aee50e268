//! Generates the OpenAPI 3.0 document from the descriptions of the endpoints.

use std::collections::BTreeMap;

use payments::PaymentMethod;
use primitives::{Currency, ErrorCode};
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::routes::Operation;

/// The version of the API, not of the release (docs/contract/versioning.md#path-version).
const API_VERSION: &str = "1.0.0";

const ABOUT: &str = "Souk lets AI agents discover products across merchants, build carts and start checkout. \
    Every response carries `X-Request-Id`. Every error is `{error, message, details}`: branch on `error`, which is \
    stable; `details.hint` says what to do next. Responses may gain fields at any time; ignore unknown fields.";

/// The groups of endpoints in the documentation.
const TAGS: [(&str, &str); 11] = [
    ("stores", "The store directory and store profiles."),
    ("trust", "Trust scores: methodology, current score, history."),
    ("agent", "Product search and product data across stores."),
    ("checkout", "Checkout sessions: from a cart to a payment by a person."),
    (
        "orders",
        "Orders of an agent at all stores: delivery, returns, disputes. A person must agree to writes.",
    ),
    ("cart", "Carts of an agent at one store. A person must agree to writes."),
    ("merchant", "Catalog, settings and keys of a merchant's own store."),
    ("account", "Login and agent keys."),
    ("admin", "Administration of the platform; each action is recorded in the audit log."),
    ("mcp", "The MCP endpoint of each store."),
    ("service", "Health checks and this document."),
];

pub(crate) fn document(site_url: &str, operations: &[Operation]) -> Value {
    let site_url = site_url.trim_end_matches('/');
    let mut schemas = Schemas::new();
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for operation in operations {
        let described = describe(operation, &mut schemas);
        paths.entry(operation.path).or_default().insert(operation.method.to_owned(), described);
    }
    let mut document = json!({
        "openapi": "3.0.3",
        "info": {
            "title": "Souk",
            "version": API_VERSION,
            "description": ABOUT,
            "license": { "name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0" },
        },
        "servers": [{ "url": format!("{site_url}/api/v1") }],
        "tags": TAGS.map(|(name, description)| json!({ "name": name, "description": description })),
        "paths": paths,
        "components": {
            "schemas": schemas.into_components(),
            "headers": headers(),
            "securitySchemes": security_schemes(),
        },
        "x-payment-info": payment_info(),
    });
    schema::remove_former_names(&mut document);
    document
}

/// The credentials of callers.
fn security_schemes() -> Value {
    json!({
        "agentKey": {
            "type": "apiKey",
            "in": "header",
            "name": "X-Agent-Api-Key",
            "description": "An agent key with scopes. Create one with `POST /agent-keys`, or a sandbox key with `POST /sandbox/key`.",
        },
        "storeKey": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "mrch_ and 64 hexadecimal digits",
            "description": "A key of one store, for the merchant's own programs. Create one with `POST /merchant/keys`.",
        },
        "token": {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "The access token of a person, from `POST /auth/login`. A member of several stores selects one with the header `X-Store: <slug>`.",
        },
    })
}

/// The payment extension block (docs/contract/versioning.md#payment-extension).
fn payment_info() -> Value {
    json!({
        "version": "1.0",
        "providers": PaymentMethod::ALL,
        "checkout": "/api/v1/agent/checkout",
        "payment": "/api/v1/agent/payment",
        "discovery": "/.well-known/x402",
        "currencies": Currency::SUPPORTED,
    })
}

fn describe(operation: &Operation, schemas: &mut Schemas) -> Value {
    let mut described = json!({
        "operationId": operation.operation_id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "security": operation.policy.access.security(),
        "x-souk-access": operation.policy.access.name(),
        "parameters": operation.parameters,
        "responses": responses(operation, schemas),
    });
    if !operation.description.is_empty() {
        described["description"] = operation.description.into();
    }
    let content = content(operation, schemas);
    if !content.is_empty() {
        let is_optional = operation.body_schema.as_ref().is_some_and(|schema| schema.is_optional());
        described["requestBody"] = json!({ "required": !is_optional, "content": content });
    }
    described
}

/// Returns the accepted bodies by media type.
fn content(operation: &Operation, schemas: &mut Schemas) -> Map<String, Value> {
    let mut content = Map::new();
    if let Some(body) = operation.body {
        let schema = body(&mut schemas.requests);
        content.insert("application/json".to_owned(), json!({ "schema": schema }));
    }
    content.extend(stream_content(&operation.streams));
    content
}

/// Returns bodies that are not JSON by media type.
fn stream_content(streams: &[(&str, &str)]) -> Map<String, Value> {
    let content = |(media_type, description): &(&str, &str)| {
        let schema = json!({ "type": "string", "format": "binary", "description": description });
        ((*media_type).to_owned(), json!({ "schema": schema }))
    };
    streams.iter().map(content).collect()
}

fn responses(operation: &Operation, schemas: &mut Schemas) -> Map<String, Value> {
    let mut responses = Map::new();
    for (status, body) in &operation.responses {
        let schema = body(&mut schemas.responses);
        responses.insert(status.to_string(), response("Success.", *status, &json!(schema)));
    }
    if !operation.stream_responses.is_empty() {
        let mut success = response("Success.", 200, &json!({}));
        success["content"] = stream_content(&operation.stream_responses).into();
        responses.insert(String::from("200"), success);
    }
    let mut meanings: BTreeMap<u16, Vec<String>> = BTreeMap::new();
    for (status, code, meaning) in &operation.errors {
        meanings.entry(*status).or_default().push(format!("`{code}`: {meaning}."));
    }
    let schema = json!({ "$ref": "#/components/schemas/Error" });
    for (status, meanings) in meanings {
        responses.insert(status.to_string(), response(&meanings.join(" "), status, &schema));
    }
    responses
}

fn response(description: &str, status: u16, schema: &Value) -> Value {
    let names: &[&str] = match status {
        401 => &["X-Request-Id", "WWW-Authenticate"],
        429 => &[
            "X-Request-Id",
            "X-RateLimit-Limit",
            "X-RateLimit-Remaining",
            "X-RateLimit-Reset",
            "Retry-After",
        ],
        503 => &["X-Request-Id", "Retry-After"],
        _ => &["X-Request-Id"],
    };
    let reference = |name: &&str| {
        ((*name).to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }))
    };
    json!({
        "description": description,
        "headers": names.iter().map(reference).collect::<Map<_, _>>(),
        "content": { "application/json": { "schema": schema } },
    })
}

/// Response headers; for those of limits see docs/contract/limits.md#headers.
fn headers() -> Value {
    let header = |description: &str, kind: &str| json!({ "description": description, "schema": { "type": kind } });
    json!({
        "X-Request-Id": header("ID of this request; quote it in support requests.", "string"),
        "WWW-Authenticate": header("The accepted authentication scheme: `Bearer`.", "string"),
        "X-RateLimit-Limit": header("Requests allowed in the current window.", "integer"),
        "X-RateLimit-Remaining": header("Requests remaining in the current window.", "integer"),
        "X-RateLimit-Reset": header("When the window resets: Unix time in seconds.", "integer"),
        "Retry-After": header("Seconds to wait before retrying.", "integer"),
    })
}

/// The envelope of every error (docs/contract/errors.md#envelope).
fn error_schema() -> Value {
    let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.code()).collect();
    json!({
        "description": "The envelope of every error.",
        "type": "object",
        "required": ["error", "message", "details"],
        "properties": {
            "error": { "description": "The stable error code.", "type": "string", "enum": codes },
            "message": { "description": "A human-readable sentence; may change.", "type": "string" },
            "details": {
                "description": "What the caller needs to recover. Further fields depend on the code.",
                "type": "object",
                "required": ["request_id", "retryable"],
                "properties": {
                    "request_id": { "description": "ID of the request.", "type": "string" },
                    "retryable": { "description": "Whether the same call may succeed later.", "type": "boolean" },
                    "hint": { "description": "What to do next.", "type": "string" },
                    "field": { "description": "Path of the invalid field, such as `items[0].quantity`.", "type": "string" },
                    "allowed": { "description": "What the field accepts." },
                    "required_scope": { "description": "The scope that the key lacks.", "type": "string" },
                    "bucket": { "description": "The quota that is exhausted.", "type": "string" },
                },
            },
        },
    })
}

/// Schemas of request bodies and of responses; they differ where serialization and deserialization do.
struct Schemas {
    requests: SchemaGenerator,
    responses: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        Self {
            requests: settings().for_deserialize().into_generator(),
            responses: settings().for_serialize().into_generator(),
        }
    }

    fn into_components(mut self) -> Map<String, Value> {
        let mut components = self.responses.take_definitions(true);
        components.extend(self.requests.take_definitions(true));
        components.insert("Error".to_owned(), error_schema());
        components.values_mut().for_each(simplify);
        components
    }
}

fn settings() -> SchemaSettings {
    SchemaSettings::openapi3().with(|settings| settings.meta_schema = None)
}

/// Returns the schema that `T` is deserialized by, without references.
pub(crate) fn inlined_schema<T: JsonSchema>() -> Map<String, Value> {
    let settings = settings().for_deserialize().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = Value::Object(std::mem::take(schema.ensure_object()));
    simplify(&mut schema);
    schema.as_object().cloned().unwrap_or_default()
}

/// Rewrites verbose schemas of schemars into the forms that readers and client generators handle best: a choice of
/// single strings becomes an `enum`, a choice between a schema and null becomes `nullable`.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(fields) => {
            fields.values_mut().for_each(simplify);
            merge_strings(fields);
            merge_null(fields);
        }
        _ => {}
    }
}

/// Merges a `oneOf` of described strings into one `enum` with one description.
fn merge_strings(fields: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = fields.get("oneOf") else { return };
    let one = |choice: &Value| match choice["enum"].as_array()?.as_slice() {
        [Value::String(text)] => Some((text.clone(), choice["description"].as_str()?.to_owned())),
        _ => None,
    };
    let Some(texts) = choices.iter().map(one).collect::<Option<Vec<_>>>() else { return };
    let lines: Vec<String> =
        texts.iter().map(|(text, meaning)| format!("- `{text}`: {meaning}")).collect();
    let about = fields.get("description").and_then(Value::as_str).unwrap_or_default();
    let about = format!("{about}\n\n{}", lines.join("\n"));
    let values: Vec<String> = texts.into_iter().map(|(text, _)| text).collect();
    fields.remove("oneOf");
    fields.insert("type".to_owned(), json!("string"));
    fields.insert("enum".to_owned(), json!(values));
    fields.insert("description".to_owned(), json!(about.trim()));
}

/// Merges an `anyOf` of a schema and null into the schema with `nullable`. A reference stays as it is, because
/// OpenAPI 3.0 ignores `nullable` beside a `$ref`.
fn merge_null(fields: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = fields.get("anyOf") else { return };
    let [thing, null] = choices.as_slice() else { return };
    let Some(thing) = thing.as_object().filter(|thing| !thing.contains_key("$ref")) else { return };
    if null["enum"] != json!([null]) {
        return;
    }
    let thing = thing.clone();
    fields.remove("anyOf");
    for (name, value) in thing {
        fields.entry(name).or_insert(value);
    }
    fields.insert("nullable".to_owned(), json!(true));
}

/// Returns the fields of `T` as query parameters.
pub(crate) fn query_parameters<T: JsonSchema>() -> Vec<Value> {
    let mut schema = inlined_schema::<T>();
    let required = schema.remove("required").unwrap_or_default();
    let is_required = |name: &str| {
        required.as_array().is_some_and(|names| names.iter().any(|other| other == name))
    };
    let Some(Value::Object(properties)) = schema.remove("properties") else {
        return Vec::new();
    };
    let parameter = |(name, mut schema): (String, Value)| {
        let fields = schema.as_object_mut();
        let description = fields.and_then(|fields| {
            // A query string has no null: the parameter is omitted instead.
            fields.remove("nullable");
            fields.remove("description")
        });
        json!({
            "required": is_required(&name),
            "name": name,
            "in": "query",
            "description": description.unwrap_or_default(),
            "schema": schema,
        })
    };
    properties.into_iter().map(parameter).collect()
}
