//! The OpenAPI document, served.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::{Access, Endpoint, Opened, Routes};

/// The document as it goes out, written once.
#[derive(Clone)]
pub(crate) struct Description(Bytes);

impl Description {
    pub(crate) fn of(document: &Value) -> Self {
        Self(document.to_string().into())
    }
}

pub(crate) fn endpoints() -> Routes<Opened> {
    let description = Endpoint::get("/openapi.json", Access::Public, description)
        .uncounted()
        .name("readDescription")
        .tag("service")
        .summary("This description")
        .answer::<OpenApi>(200);
    Routes::new().with(description)
}

async fn description(State(Description(document)): State<Description>) -> impl IntoResponse {
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "public, max-age=300")];
    (headers, document)
}

/// An OpenAPI document, which a schema of ours need not describe again.
enum OpenApi {}

impl JsonSchema for OpenApi {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OpenApi".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An OpenAPI 3.0 document.",
            "type": "object",
            "required": ["openapi", "info", "paths"],
            "properties": {
                "openapi": { "type": "string" },
                "info": { "type": "object" },
                "paths": { "type": "object" },
            },
        })
    }
}
