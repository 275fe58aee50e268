//! The MCP endpoint in the description. Another door serves it; spec §4.2 wants it described here.

use std::borrow::Cow;

use primitives::{ErrorCode, StoreSlug};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{Access, Endpoint, Opened, Routes};

pub(crate) fn endpoints() -> Routes<Opened> {
    let mcp = Endpoint::served_elsewhere("post", "/{slug}/mcp", Access::Public)
        .name("callMcp")
        .tag("mcp")
        .summary("The MCP endpoint of a store")
        .explanation("JSON-RPC 2.0 over Streamable HTTP, stateless. The same endpoint answers at the site root. `tools/list` says which tools there are and what each of them takes.")
        .path::<StoreSlug>()
        .body::<RpcRequest>()
        .answer::<RpcAnswer>(200)
        .errors(&[ErrorCode::StoreNotFound, ErrorCode::StoreSuspended]);
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
                "id": { "description": "A string or a number; the answer repeats it." },
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

enum RpcAnswer {}

impl JsonSchema for RpcAnswer {
    fn schema_name() -> Cow<'static, str> {
        "RpcAnswer".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A JSON-RPC 2.0 answer: `result` or `error`.",
            "type": "object",
            "required": ["jsonrpc"],
            "properties": {
                "jsonrpc": { "type": "string", "enum": ["2.0"] },
                "id": { "description": "That of the request." },
                "result": { "type": "object" },
                "error": { "type": "object" },
            },
        })
    }
}
