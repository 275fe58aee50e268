//! The description of the MCP endpoint. Another door serves it; the document describes it too
//! (docs/contract/versioning.md#openapi).

use std::borrow::Cow;

use primitives::StoreSlug;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::store_access::STORE_ERRORS;
use crate::{Access, Endpoint, RestState, Routes};

pub(crate) fn endpoints() -> Routes<RestState> {
    let mcp = Endpoint::documented_only("post", "/{slug}/mcp", Access::Public)
        .operation_id("callMcp")
        .tag("mcp")
        .summary("Call the MCP endpoint of a store")
        .description("JSON-RPC 2.0 over Streamable HTTP, stateless. The same endpoint exists at the site root as `/{slug}/mcp`. `tools/list` returns every tool with its input schema.")
        .path::<StoreSlug>()
        .body::<RpcRequest>()
        .response::<RpcResponse>(200)
        .errors(STORE_ERRORS);
    Routes::new().with(mcp)
}

enum RpcRequest {}

impl JsonSchema for RpcRequest {
    fn schema_name() -> Cow<'static, str> {
        "RpcRequest".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A JSON-RPC 2.0 request.",
            "type": "object",
            "required": ["jsonrpc", "method"],
            "properties": {
                "jsonrpc": { "type": "string", "enum": ["2.0"] },
                "id": { "description": "A string or a number; the response repeats it." },
                "method": { "type": "string", "example": "tools/call" },
                "params": {
                    "description": "For `tools/call`: `name` and `arguments`.",
                    "type": "object",
                },
            },
            "example": {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": { "name": "browse_categories", "arguments": {} },
            },
        })
    }
}

enum RpcResponse {}

impl JsonSchema for RpcResponse {
    fn schema_name() -> Cow<'static, str> {
        "RpcResponse".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A JSON-RPC 2.0 response: `result` or `error`.",
            "type": "object",
            "required": ["jsonrpc"],
            "properties": {
                "jsonrpc": { "type": "string", "enum": ["2.0"] },
                "id": { "description": "The id of the request." },
                "result": { "type": "object" },
                "error": { "type": "object" },
            },
        })
    }
}
