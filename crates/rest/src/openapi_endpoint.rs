//! Serves the OpenAPI document.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::{Access, Endpoint, RestState, Routes};

/// The serialized document.
#[derive(Clone)]
pub(crate) struct OpenApiDocument(Bytes);

impl OpenApiDocument {
    pub(crate) fn new(document: &Value) -> Self {
        Self(document.to_string().into())
    }
}

pub(crate) fn endpoints() -> Routes<RestState> {
    let document = Endpoint::get("/openapi.json", Access::Public, document)
        .unmetered()
        .operation_id("getOpenApiDocument")
        .tag("service")
        .summary("Get the OpenAPI document")
        .response::<OpenApi>(200);
    Routes::new().with(document)
}

async fn document(State(OpenApiDocument(document)): State<OpenApiDocument>) -> impl IntoResponse {
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "public, max-age=300")];
    (headers, document)
}

/// The schema of an OpenAPI document, which only its own specification describes in full.
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
