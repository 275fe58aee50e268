//! The tools (docs/contract/mcp.md#shown-tools).

use axum::body::Body;
use primitives::{Id, ProductId};
use serde_json::{Value, json};

use crate::app::{TestApp, call, post};

#[expect(clippy::needless_pass_by_value, reason = "callers pass json! literals")]
fn request(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params })
}

#[tokio::test]
async fn an_unsupported_protocol_version_lists_the_supported_ones() {
    let app = TestApp::start().await;
    let request = post("/demo-store/mcp").header("mcp-protocol-version", "1999-01-01");
    let body = call("browse_categories", json!({})).to_string();
    let answer = app.send(request.body(Body::from(body)).unwrap()).await;
    let error = &answer.json()["error"];
    assert_eq!((answer.status.as_u16(), &error["code"]), (400, &json!(-32600)));
    let served = error["data"]["supported"].as_array().unwrap();
    assert!(served.contains(&json!("2025-11-25")) && served.contains(&json!("2026-07-28")));
}

#[tokio::test]
async fn initialize_negotiates_the_protocol_version() {
    let app = TestApp::start().await;
    for (requested, negotiated) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2025-11-25"),
    ] {
        let params = json!({
            "protocolVersion": requested, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
        });
        let sent = post("/demo-store/mcp")
            .header("accept", "application/json, text/event-stream")
            .body(Body::from(request("initialize", params).to_string()));
        let answer = app.send(sent.unwrap()).await.json();
        assert_eq!(answer["id"], 7);
        assert_eq!(answer["result"]["protocolVersion"], negotiated);
        assert_eq!(answer["result"]["serverInfo"]["name"], "souk");
    }
}

#[tokio::test]
async fn tools_are_listed_with_schemas_and_annotations() {
    let app = TestApp::start().await;
    let answer = app.rpc("/demo-store/mcp", &request("tools/list", json!({}))).await.json();
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let wanted =
        ["browse_categories", "get_merchant_profile", "get_product_details", "search_products"];
    assert!(wanted.iter().all(|name| names.contains(name)), "{names:?}");
    assert!(names.is_sorted());
    for tool in tools {
        let reads = tool["_meta"]["human_confirmation"] == "never";
        // It stores the question to the person, and is no read although no person confirms it.
        let writes_unconfirmed = tool["name"] == "request_human_confirmation";
        let is_read_only = reads && !writes_unconfirmed;
        assert_eq!(tool["annotations"]["readOnlyHint"], is_read_only, "{}", tool["name"]);
        let takes_key = tool["inputSchema"]["properties"].get("idempotency_key").is_some();
        let is_public = tool["_meta"]["auth"] == "none";
        assert_eq!(takes_key, !reads && !is_public, "{}", tool["name"]);
    }
    // docs/contract/mcp.md#shown-tools defines access and confirmation of these tools.
    for (name, auth, confirmation) in [
        ("create_cart", "agent:cart", "required"),
        ("get_shipping_rates", "agent:cart", "never"),
        ("onx_create_return", "agent:orders", "required"),
        ("onx_get_orders", "agent:orders", "never"),
        ("preview_checkout", "none", "never"),
        ("search_products", "none", "never"),
    ] {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        assert_eq!(tool["_meta"]["auth"], auth, "{name}");
        assert_eq!(tool["_meta"]["human_confirmation"], confirmation, "{name}");
    }
}

#[tokio::test]
async fn categories_are_browsed_by_parent_and_depth() {
    let app = TestApp::start().await;
    let browse = async |arguments: Value| {
        let answer = app.tool("demo-store", "browse_categories", arguments).await.json();
        answer["result"]["structuredContent"].clone()
    };
    let shallow = browse(json!({ "depth": 1 })).await;
    let deep = browse(json!({ "depth": 5 })).await;
    assert!(shallow["total"].as_i64() < deep["total"].as_i64());
    let counted: i64 = shallow["categories"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["product_count"].as_i64().unwrap())
        .sum();
    assert_eq!(counted, 251, "every product is in a top-level category");

    let top = deep["categories"][0].clone();
    let below = browse(json!({ "parent": top["path"], "include_counts": false })).await;
    assert_eq!(below["categories"][0]["path"], top["children"][0]["path"]);
    assert!(below["categories"][0].get("product_count").is_none());
}

#[tokio::test]
async fn arguments_are_validated_against_the_schema() {
    let app = TestApp::start().await;
    let cases = [
        ("browse_categories", json!({ "depth": 9 }), "depth"),
        ("browse_categories", json!({ "depth": "two" }), "depth"),
        ("get_product_details", json!({ "product_id": "prod_1" }), "product_id"),
    ];
    for (tool, arguments, field) in cases {
        let answer = app.tool("demo-store", tool, arguments).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (200, "invalid_request"));
        assert_eq!(answer.json()["result"]["isError"], true);
        assert!(answer.json()["result"].get("structuredContent").is_none());
        assert!(answer.text.contains(field), "{}", answer.text);
    }
    for (tool, arguments) in
        [("get_product_details", json!({})), ("get_merchant_profile", json!({ "x": 1 }))]
    {
        assert_eq!(app.tool("demo-store", tool, arguments).await.code(), "invalid_request");
    }
}

#[tokio::test]
async fn a_product_is_found_by_id_sku_or_gtin() {
    let app = TestApp::start().await;
    let world = demo::world();
    let store = world.store("demo-store").unwrap();
    let product = store.products.iter().find(|product| product.gtin.is_some()).unwrap();
    for arguments in [
        json!({ "product_id": ProductId::from_uuid(product.id) }),
        json!({ "sku": product.sku }),
        json!({ "gtin": product.gtin }),
    ] {
        let answer = app.tool("demo-store", "get_product_details", arguments.clone()).await.json();
        let found = &answer["result"]["structuredContent"];
        assert_eq!(found["sku"], json!(product.sku), "{arguments}: {answer}");
    }
    for (arguments, code) in [
        (json!({ "sku": "no such number" }), "product_not_found"),
        (json!({ "url": "https://shop.example/none" }), "product_not_found"),
        (json!({ "gtin": "123" }), "invalid_request"),
        (json!({ "sku": "a", "gtin": product.gtin }), "invalid_request"),
    ] {
        let answer = app.tool("demo-store", "get_product_details", arguments).await;
        assert_eq!(answer.code(), code, "{}", answer.text);
    }
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error() {
    let app = TestApp::start().await;
    let answer = app.tool("demo-store", "buy_everything", json!({})).await.json();
    assert_eq!(answer["error"]["code"], -32602);
    let offered = answer["error"]["data"]["details"]["allowed"].to_string();
    assert!(offered.contains("get_product_details"));
}

#[tokio::test]
async fn unsupported_methods_are_not_found() {
    let app = TestApp::start().await;
    for method in ["no/such/method", "completion/complete", "resources/subscribe"] {
        let answer = app.rpc("/demo-store/mcp", &request(method, json!({}))).await.json();
        assert_eq!(answer["error"]["code"], -32601, "{method}");
    }
}

#[tokio::test]
async fn the_newest_protocol_version_is_served_too() {
    let app = TestApp::start().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = request(
        "tools/call",
        json!({ "name": "browse_categories", "arguments": {}, "_meta": meta }),
    );
    let sent = post("/demo-store/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "browse_categories")
        .body(Body::from(body.to_string()));
    let answer = app.send(sent.unwrap()).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.json()["result"]["structuredContent"]["total"].is_number());
}
