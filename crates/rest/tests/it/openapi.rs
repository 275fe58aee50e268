//! The OpenAPI document, and validation of responses against it.

use std::collections::BTreeSet;

use axum::http::Method;
use primitives::{CodeMark, ErrorCode};
use rest::{Access, Endpoint, Routes};
use serde_json::{Map, Value, json};

use crate::door::{Answer, Door, SITE_URL};

fn document() -> Value {
    rest::openapi(SITE_URL)
}

/// Every operation with its path.
fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let methods = paths.iter().flat_map(|(path, item)| {
        item.as_object()
            .unwrap()
            .iter()
            .map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    });
    methods.collect()
}

/// Validates the response to a GET against the schema of its path and status.
pub(crate) fn assert_described(path: &str, answer: &Answer) {
    assert_described_for("get", path, answer);
}

/// Validates a response against the schema of its method, path and status.
pub(crate) fn assert_described_for(method: &str, path: &str, answer: &Answer) {
    let document = document();
    let response = &document["paths"][path][method]["responses"][answer.status.to_string()];
    let mut schema = response["content"]["application/json"]["schema"].clone();
    assert!(schema.is_object(), "{path} does not describe status {}", answer.status);
    schema["components"] = document["components"].clone();
    allow_null(&mut schema);
    let validator = jsonschema::draft4::new(&schema).unwrap();
    let faults: Vec<String> =
        validator.iter_errors(&answer.body).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{path}: {faults:?} in {}", answer.body);
    if let Some(code) = answer.body["error"].as_str() {
        let described = response["description"].as_str().unwrap();
        assert!(described.contains(&format!("`{code}`: ")), "{path} does not describe {code}");
    }
}

/// Rewrites OpenAPI 3.0's `nullable` into JSON Schema.
fn allow_null(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(allow_null);
            if fields.remove("nullable") == Some(json!(true)) {
                let strict = Value::Object(std::mem::take(fields));
                *schema = json!({ "anyOf": [strict, { "type": "null" }] });
            }
        }
        Value::Array(items) => items.iter_mut().for_each(allow_null),
        _ => {}
    }
}

#[test]
fn codes_that_nothing_returns_are_not_described() {
    let document = document();
    let planned = ErrorCode::ALL.iter().filter(|code| code.mark() == CodeMark::Planned);
    for code in planned.map(|code| format!("`{}`: ", code.code())) {
        for (path, method, operation) in operations(&document) {
            let text = operation["responses"].to_string();
            assert!(!text.contains(&code), "{method} {path}: {code}");
        }
    }
}

#[tokio::test]
async fn the_served_document_is_the_generated_one() {
    let answer = Door::without_database().get("/api/v1/openapi.json").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    assert_eq!(answer.body, document());
    assert_described("/openapi.json", &answer);
}

#[tokio::test]
async fn responses_match_their_schemas() {
    let door = Door::without_database();
    for path in ["/health", "/health/live", "/health/ready", "/stores/directory"] {
        let answer = door.get(&format!("/api/v1{path}")).await;
        assert_described(path, &answer);
    }
    door.health.send_replace(rest::Health::STARTING);
    for path in ["/health", "/health/ready"] {
        assert_described(path, &door.get(&format!("/api/v1{path}")).await);
    }
    assert_described("/stores/directory", &door.get("/api/v1/stores/directory?page=x").await);
    assert_described("/stores/{slug}", &door.get("/api/v1/stores/a_b").await);
}

#[test]
fn version_servers_and_payment_info_are_those_of_the_specification() {
    let document = document();
    assert_eq!(document["openapi"], "3.0.3");
    assert_eq!(document["info"]["version"], "1.0.0");
    assert_eq!(document["servers"], json!([{ "url": "https://souk.example/api/v1" }]));
    let payment = json!({
        "version": "1.0",
        "providers": ["stripe", "x402", "paypal"],
        "checkout": "/api/v1/agent/checkout",
        "payment": "/api/v1/agent/payment",
        "discovery": "/.well-known/x402",
        "currencies": ["USD", "EUR", "USDC"],
    });
    assert_eq!(document["x-payment-info"], payment);
    let codes =
        document["components"]["schemas"]["Error"]["properties"]["error"]["enum"].as_array();
    assert_eq!(codes.unwrap().len(), ErrorCode::ALL.len());
}

#[test]
fn every_operation_declares_summary_access_and_errors() {
    let document = document();
    let tags: BTreeSet<&str> = document["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| tag["name"].as_str().unwrap())
        .collect();
    let mut names = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        let text = |field: &str| operation[field].as_str().unwrap_or_default();
        assert!(
            names.insert(text("operationId")) && !text("operationId").is_empty(),
            "{method} {path}"
        );
        assert!(
            !text("summary").is_empty() && !text("x-souk-access").is_empty(),
            "{method} {path}"
        );
        assert!(operation["security"].is_array(), "{method} {path}");
        assert!(tags.contains(operation["tags"][0].as_str().unwrap()), "{method} {path}");
        let responses = operation["responses"].as_object().unwrap();
        let good = ["200", "201", "202"].into_iter().find(|status| responses.contains_key(*status));
        // No store accepts payments by agents yet.
        assert!(good.is_some() || path == "/agent/payment", "{method} {path}");
        for status in good.into_iter().chain(["429", "500", "503"]) {
            let headers = &responses[status]["headers"];
            assert!(headers["X-Request-Id"].is_object(), "{method} {path} {status}");
        }
        assert!(responses["429"]["headers"]["X-RateLimit-Reset"].is_object());
        assert!(responses["503"]["headers"]["Retry-After"].is_object());
        let parts = path.split('/').filter(|part| part.starts_with('{'));
        for part in parts {
            let described =
                |parameter: &Value| format!("{{{}}}", parameter["name"].as_str().unwrap()) == part;
            assert!(
                operation["parameters"].as_array().unwrap().iter().any(described),
                "{path}: {part}"
            );
        }
    }
    assert!(names.len() >= 7);
}

#[tokio::test]
async fn every_described_operation_is_routed() {
    let (document, door) = (document(), Door::without_database());
    for (path, method, operation) in operations(&document) {
        // Another door serves this one.
        if operation["tags"][0] == "mcp" {
            continue;
        }
        let address = format!("/api/v1{}", path.replace("{slug}", "demo-store"));
        let answer = door
            .call(Method::from_bytes(method.to_uppercase().as_bytes()).unwrap(), &address)
            .await;
        assert!(![404, 405].contains(&answer.status), "{method} {path}");
    }
}

#[test]
fn streamed_bodies_are_described_by_their_media_type() {
    let upload =
        Endpoint::<()>::put("/feed", Access::Store(identity::StoreScope::Catalog), async || "")
            .body_stream("application/x-ndjson", "One product a line.")
            .body_stream("text/csv", "One product a row.")
            .upload();
    let document = Routes::new().with(upload).openapi(SITE_URL);
    let operation = &document["paths"]["/feed"]["put"];
    let content = &operation["requestBody"]["content"];
    assert_eq!(content["application/x-ndjson"]["schema"]["format"], "binary");
    assert_eq!(content["text/csv"]["schema"]["description"], "One product a row.");
    assert_eq!(operation["security"], json!([{ "storeKey": [] }, { "token": [] }]));
    for status in ["400", "401", "413"] {
        assert!(operation["responses"][status].is_object(), "{status}");
    }
    assert_eq!(document["components"]["securitySchemes"]["storeKey"]["scheme"], "bearer");
}

#[test]
fn every_reference_resolves() {
    let document = document();
    let mut references = BTreeSet::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 5);
    for reference in &references {
        let target = document.pointer(reference.trim_start_matches('#'));
        assert!(target.is_some_and(Value::is_object), "{reference} does not resolve");
    }
    // An unused component is a leftover.
    for kind in ["schemas", "headers"] {
        let names: Vec<&String> = document["components"][kind]
            .as_object()
            .map_or(vec![], |it: &Map<_, _>| it.keys().collect());
        for name in names {
            assert!(
                references.contains(&format!("#/components/{kind}/{name}")),
                "{name} is unused"
            );
        }
    }
}

fn collect_references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|field| collect_references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}
