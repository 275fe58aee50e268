//! Rejected calls (docs/contract/errors.md#mcp-errors): with an HTTP status for plain HTTP callers, as the result of the call
//! for MCP clients.

use axum::body::Body;
use axum::http::Method;
use identity::NewAgentKey;
use merchants::Standing;
use primitives::Scope;
use serde_json::{Value, json};

use crate::app::{TestApp, TestResponse, call, post};
use crate::carts::{in_stock_products, structured_content};

const STORE: &str = "kivikiri";

fn method(name: &str) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": name, "params": params })
}

/// The requests of a handshake and the listings, with the status of each response.
fn handshake() -> Vec<(Value, u16)> {
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let listings = ["initialize", "ping", "tools/list", "resources/list", "prompts/list"];
    let mut requests: Vec<_> = listings.map(|name| (method(name), 200)).into();
    requests.push((initialized, 202));
    requests
}

/// Sends a message as an MCP client of a protocol version, with one more header.
async fn as_client(
    app: &TestApp,
    slug: &str,
    version: &str,
    header: (&str, &str),
    mut body: Value,
) -> TestResponse {
    let mut request = post(&format!("/{slug}/mcp"))
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", version)
        .header(header.0, header.1);
    if version == "2026-07-28" {
        let name = body["params"]["name"].as_str().unwrap_or_default().to_owned();
        request = request.header("mcp-method", "tools/call").header("mcp-name", name);
        body["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    app.send(request.body(Body::from(body.to_string())).unwrap()).await
}

/// Asserts that a response is the failed result of a call.
fn assert_failed_result(answer: &TestResponse, code: &str) {
    let body = answer.json();
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (200, code), "{}", answer.text);
    assert_eq!((&body["id"], &body["result"]["isError"]), (&json!(1), &json!(true)));
    assert!(body["result"].get("structuredContent").is_none(), "{}", answer.text);
    assert!(!answer.headers.contains_key("www-authenticate"));
}

#[tokio::test]
async fn a_rejected_call_of_an_mcp_client_is_a_result() {
    let app = TestApp::start().await;
    let owner = app.person("ada@example.com", &[]).await;
    let elsewhere = NewAgentKey {
        scopes: Scope::ALL.iter().copied().collect(),
        stores: Some(vec![app.merchant("skarvdal").await]),
        ..NewAgentKey::default()
    };
    let elsewhere = app.agent_key(owner, &elsewhere).await.key;
    let (reader, buyer) = (app.reader_key().await, app.buyer_key("me@example.com").await);
    let wrong = format!("agnt_{}", "7".repeat(64));
    let items = json!({ "items": [{ "product_id": in_stock_products(STORE)[0], "quantity": 1 }] });
    let write = call("create_cart", items);
    let read = call("get_merchant_profile", json!({}));
    let cases = [
        (STORE, ("x-test", "none"), &write, 401, "unauthorized"),
        (STORE, ("x-agent-api-key", wrong.as_str()), &read, 401, "unauthorized"),
        (STORE, ("x-agent-api-key", "nonsense"), &read, 401, "unauthorized"),
        (STORE, ("x-agent-api-key", reader.as_str()), &write, 403, "forbidden"),
        (STORE, ("x-agent-api-key", elsewhere.as_str()), &read, 403, "forbidden"),
        ("demo-store", ("x-agent-api-key", buyer.as_str()), &write, 403, "forbidden"),
        ("demo-store", ("x-test", "none"), &write, 401, "unauthorized"),
        ("velvetine-outlet", ("x-test", "none"), &read, 403, "store_suspended"),
    ];
    for (slug, header, body, status, code) in cases {
        for version in ["2025-11-25", "2026-07-28"] {
            let answer = as_client(&app, slug, version, header, body.clone()).await;
            assert_failed_result(&answer, code);
            let is_typed = answer.json()["result"]["resultType"] == "complete";
            assert_eq!(is_typed, version == "2026-07-28", "{}", answer.text);
        }
        let request = post(&format!("/{slug}/mcp")).header(header.0, header.1);
        let plain = app.send(request.body(Body::from(body.to_string())).unwrap()).await;
        assert_eq!((plain.status.as_u16(), plain.code().as_str()), (status, code));
        assert_eq!(plain.json()["error"], code, "the plain envelope");
        assert_eq!(
            plain.headers.contains_key("www-authenticate"),
            status == 401 || header.1 == reader
        );
    }
}

#[tokio::test]
async fn a_write_at_the_demo_store_without_a_key_names_the_sandbox_key() {
    let app = TestApp::start().await;
    let items = json!([{ "product_id": in_stock_products("demo-store")[0], "quantity": 1 }]);
    let write = call("create_cart", json!({ "items": items }));
    let refused = app.post_json("/demo-store/mcp", &write).await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (401, "unauthorized"));
    let hint = refused.json()["details"]["hint"].as_str().unwrap().to_owned();
    assert!(
        hint.contains("create_sandbox_key") && hint.contains("POST /api/v1/sandbox/key"),
        "{hint}"
    );
}

#[tokio::test]
async fn an_mcp_client_with_a_wrong_key_completes_its_handshake() {
    let app = TestApp::start().await;
    let wrong = format!("agnt_{}", "7".repeat(64));
    let key = ("x-agent-api-key", wrong.as_str());
    for (request, status) in handshake() {
        let answer = as_client(&app, STORE, "2025-11-25", key, request.clone()).await;
        assert_eq!(answer.status, status, "{request}: {}", answer.text);
        let plain = post(&format!("/{STORE}/mcp")).header(key.0, key.1);
        let plain = app.send(plain.body(Body::from(request.to_string())).unwrap()).await;
        assert_eq!(plain.status, 401, "{request}: an invalid key is never ignored");
    }
    let read = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read",
                       "params": { "uri": format!("souk://{STORE}/policies") } });
    assert_eq!(as_client(&app, STORE, "2025-11-25", key, read).await.status, 401);
    // A bearer token that is no agent key is an HTTP error, so that clients sign in again.
    let token = ("authorization", "Bearer nonsense");
    for (request, _) in handshake() {
        let answer = as_client(&app, STORE, "2025-11-25", token, request).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (401, "unauthorized"));
        assert_eq!(answer.headers["www-authenticate"], "Bearer");
    }
}

#[tokio::test]
async fn a_suspended_store_serves_what_a_caller_has_there_and_nothing_else() {
    let app = TestApp::start().await;
    let key = app.buyer_key("me@example.com").await;
    let tool = async |name: &str, arguments: Value| app.tool_as(&key, STORE, name, arguments).await;
    let items = json!([{ "product_id": in_stock_products(STORE)[0], "quantity": 1 }]);
    let new = json!({ "items": items, "ship_to": { "country": "FI" } });
    let cart = structured_content(&tool("create_cart", new.clone()).await);
    let cart = json!({ "cart_id": cart["cart_id"] });
    let session = structured_content(&tool("create_checkout", cart.clone()).await);
    let session = json!({ "checkout_id": session["checkout_id"] });
    suspend(&app, STORE).await;
    for (name, arguments) in [
        ("create_cart", &new),
        ("get_cart", &cart),
        ("preview_checkout", &cart),
        ("complete_checkout", &session),
        ("update_checkout", &session),
        ("get_merchant_profile", &json!({})),
        ("get_trust_methodology", &json!({})),
        ("no_such_tool", &json!({})),
    ] {
        assert_failed_result(&tool(name, arguments.clone()).await, "store_suspended");
    }
    for (request, status) in handshake() {
        let answer = app.rpc(&format!("/{STORE}/mcp"), &request).await;
        assert_eq!(answer.status, status, "{request}: {}", answer.text);
        if status == 200 {
            assert_eq!(app.post_json(&format!("/{STORE}/mcp"), &request).await.status, 200);
        }
    }
    let read = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read",
                       "params": { "uri": format!("souk://{STORE}/policies") } });
    assert_eq!(app.rpc(&format!("/{STORE}/mcp"), &read).await.code(), "store_suspended");
    for (name, arguments) in [
        ("get_trust_score", json!({})),
        ("get_trust_history", json!({})),
        ("get_checkout", session.clone()),
        ("cancel_checkout", session.clone()),
    ] {
        structured_content(&tool(name, arguments).await);
    }
    // The same over REST.
    let id = session["checkout_id"].as_str().unwrap();
    let header = [("x-agent-api-key", key.as_str())];
    let rest = async |verb: Method, path: &str, body: Value| {
        app.request(verb, path, &header, &body).await.status.as_u16()
    };
    let session = format!("/agent/checkout/{id}");
    assert_eq!(rest(Method::GET, &session, Value::Null).await, 200);
    assert_eq!(rest(Method::POST, &format!("{session}/cancel"), json!({})).await, 200);
    assert_eq!(rest(Method::PATCH, &session, json!({})).await, 403);
    assert_eq!(rest(Method::GET, &format!("/trust/scores/{STORE}"), Value::Null).await, 200);
    let history = format!("/trust/scores/{STORE}/history");
    assert_eq!(rest(Method::GET, &history, Value::Null).await, 200);
    assert_eq!(rest(Method::GET, &format!("/stores/{STORE}"), Value::Null).await, 403);
}

/// Lowers the trust score of a store below the threshold of suspension.
async fn suspend(app: &TestApp, slug: &str) {
    let merchant = app.merchant(slug).await;
    let mut work = database::Work::for_platform(app.test.database()).await.unwrap();
    let standing = Standing { score: Some(0.1), provisional: false, computed_at: work.now() };
    merchants::set_standing(&mut work, merchant, &standing).await.unwrap();
    work.commit().await.unwrap();
}

#[tokio::test]
async fn a_plain_caller_needs_no_id() {
    let app = TestApp::start().await;
    let path = format!("/{STORE}/mcp");
    let mut read = call("get_merchant_profile", json!({}));
    read.as_object_mut().unwrap().remove("id");
    let mut null = read.clone();
    null["id"] = Value::Null;
    for body in [&read, &null] {
        let answer = app.post_json(&path, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.json()["id"], Value::Null);
        assert_eq!(structured_content(&answer)["slug"], STORE);
    }
    // Other methods are answered as well; a notification is not.
    let without_id = |name: &str| {
        let mut body = method(name);
        body.as_object_mut().unwrap().remove("id");
        body
    };
    for name in ["tools/list", "resources/list", "prompts/list", "initialize", "ping"] {
        let answer = app.post_json(&path, &without_id(name)).await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text);
        let body = answer.json();
        assert!(body["id"].is_null() && body["result"].is_object(), "{name}: {body}");
    }
    let unknown = app.post_json(&path, &without_id("no/such/method")).await.json();
    assert!(unknown["id"].is_null() && unknown["error"]["code"] == -32601, "{unknown}");
    let notification = without_id("notifications/initialized");
    assert_eq!(app.post_json(&path, &notification).await.status, 202);
    // Of an MCP client all of them are notifications, and nothing is executed.
    for body in [&read, &without_id("tools/list")] {
        let answer = app.rpc(&path, body).await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (202, ""));
    }
    let invalid = app.rpc(&path, &null).await;
    assert_eq!((invalid.status.as_u16(), &invalid.json()["error"]["code"]), (400, &json!(-32600)));
}

#[tokio::test]
async fn a_write_without_an_id_is_executed_once_per_request() {
    let app = TestApp::start().await;
    let key = app.buyer_key("me@example.com").await;
    let items = json!([{ "product_id": in_stock_products(STORE)[0], "quantity": 1 }]);
    let mut write = call("create_cart", json!({ "items": items }));
    write.as_object_mut().unwrap().remove("id");
    let send = async |idempotency_key: &str| {
        let request = post(&format!("/{STORE}/mcp"))
            .header("x-agent-api-key", &key)
            .header("idempotency-key", idempotency_key);
        let answer = app.send(request.body(Body::from(write.to_string())).unwrap()).await;
        structured_content(&answer)["cart_id"].clone()
    };
    assert_eq!(send("one").await, send("one").await);
    assert_ne!(send("one").await, send("two").await);
}

#[tokio::test]
async fn protocol_errors_have_the_status_of_the_protocol_version() {
    let app = TestApp::start().await;
    let path = format!("/{STORE}/mcp");
    let outcome = |answer: TestResponse| {
        (answer.status.as_u16(), answer.json()["error"]["code"].as_i64().unwrap_or(0))
    };
    let unknown_tool = call("buy_everything", json!({}));
    let unknown_method = method("no/such/method");
    let nameless = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {} });
    assert_eq!(outcome(app.rpc(&path, &unknown_tool).await), (200, -32602));
    assert_eq!(outcome(app.rpc(&path, &unknown_method).await), (200, -32601));
    assert_eq!(outcome(app.rpc(&path, &nameless).await), (200, -32602));
    let none = ("x-test", "none");
    let newest = async |body: &Value| {
        outcome(as_client(&app, STORE, "2026-07-28", none, body.clone()).await)
    };
    assert_eq!(newest(&unknown_tool).await, (200, -32602));
    assert_eq!(outcome(app.post_json(&path, &nameless).await), (400, -32602));
    assert_eq!(outcome(app.post_json(&path, &unknown_method).await), (200, -32601));
    let plain = app.post_json(&path, &unknown_tool).await;
    assert_eq!((plain.status.as_u16(), plain.code().as_str()), (404, "not_found"));
}

#[tokio::test]
async fn a_trailing_slash_is_accepted() {
    let app = TestApp::start().await;
    for path in ["/kivikiri/mcp/", "/api/v1/kivikiri/mcp/"] {
        let answer = app.post_json(path, &call("get_merchant_profile", json!({}))).await;
        assert_eq!(structured_content(&answer)["slug"], STORE);
        assert_eq!(app.get(path).await.status, 405);
    }
}

#[tokio::test]
async fn a_payment_method_that_is_not_listed_is_not_accepted() {
    let app = TestApp::start().await;
    let key = app.buyer_key("me@example.com").await;
    let list = async |store: &str, arguments: Value| {
        structured_content(&app.tool(store, "list_payment_methods", arguments).await)
    };
    let listed = list("wiederlicht", json!({})).await;
    let stripe = json!({ "id": "stripe", "type": "card", "currencies": ["EUR"],
                         "handler": "hosted_page" });
    let expected =
        json!({ "agent_checkout": true, "payment_page": "hosted_test", "methods": [stripe] });
    assert_eq!(listed, expected);
    assert_eq!(list("wiederlicht", json!({ "currency": "EUR" })).await, expected);
    assert_eq!(list("wiederlicht", json!({ "currency": "USD" })).await["methods"], json!([]));
    let untrusted = list("low-lantern-audio", json!({})).await;
    assert_eq!((&untrusted["agent_checkout"], &untrusted["methods"]), (&json!(false), &json!([])));
    // No method that works now charges USDC.
    assert_eq!(list(STORE, json!({})).await["methods"], json!([]));
    for (store, refused, allowed) in [
        ("wiederlicht", &["x402", "paypal"][..], Some("stripe")),
        (STORE, &["stripe", "x402"][..], None),
    ] {
        let items = json!([{ "product_id": in_stock_products(store)[0], "quantity": 1 }]);
        let new = app.tool_as(&key, store, "create_cart", json!({ "items": items })).await;
        let cart = structured_content(&new)["cart_id"].clone();
        for method in refused {
            let complete = json!({ "cart_id": cart, "payment_method": method });
            let refused = app.tool_as(&key, store, "complete_checkout", complete).await;
            assert_failed_result(&refused, "unsupported_payment_method");
            let names = allowed.map_or(String::new(), |name| format!(r#"\"{name}\""#));
            let allowed = format!(r#"\"allowed\":[{names}]"#);
            assert!(refused.text.contains(&allowed), "{}", refused.text);
        }
        let complete = json!({ "cart_id": cart, "payment_method": allowed });
        structured_content(&app.tool_as(&key, store, "complete_checkout", complete).await);
    }
}

#[tokio::test]
async fn the_paths_of_the_payment_block_exist() {
    let app = TestApp::start().await;
    let key = app.buyer_key("me@example.com").await;
    let block = app.get("/api/v1/openapi.json").await.json()["x-payment-info"].clone();
    for path in [block["discovery"].as_str().unwrap(), "/api/v1/.well-known/x402"] {
        let document = app.get(path).await;
        assert_eq!(document.status, 200, "{path}");
        let expected = json!({ "version": 1, "x402Version": 2, "resources": [] });
        assert_eq!(document.json(), expected, "no resource can be paid with x402 yet");
    }
    for name in ["checkout", "payment"] {
        let path = block[name].as_str().unwrap().trim_start_matches("/api/v1");
        let answer =
            app.request(Method::POST, path, &[("x-agent-api-key", &key)], &json!({})).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (400, "invalid_request"));
    }
}

#[tokio::test]
async fn a_return_url_is_an_https_url_and_returned_to_the_agent_only() {
    let app = TestApp::start().await;
    let key = app.buyer_key("me@example.com").await;
    let header = [("x-agent-api-key", key.as_str())];
    let items = json!([{ "product_id": in_stock_products(STORE)[0], "quantity": 1 }]);
    let send = async |url: &str| {
        let body = json!({ "merchant_slug": STORE, "items": items, "return_url": url });
        app.request(Method::POST, "/agent/checkout", &header, &body).await
    };
    for invalid in ["http://agent.example/", "javascript:alert(1)", "https://a\u{0}.example/"] {
        let refused = send(invalid).await;
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (400, "invalid_request"));
        assert_eq!(refused.json()["details"]["field"], "return_url", "{invalid}");
    }
    // The application under test is a development server.
    assert_eq!(send("http://localhost:3000/done").await.status, 201);
    let url = "https://agent.example/done?step=2";
    let session = send(url).await.json()["data"].clone();
    assert_eq!(session["return_url"], url);
    let page = session["checkout_url"].as_str().unwrap().trim_start_matches("http://souk.test");
    let page = app.get(page).await;
    assert!(page.status == 200 && !page.text.contains("agent.example"), "rendered on no page");
}
