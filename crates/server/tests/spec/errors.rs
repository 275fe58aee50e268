//! Errors (docs/contract/errors.md#codes), in both formats (docs/contract/errors.md#mcp-errors).

use axum::body::Body;
use axum::http::Method;
use primitives::{Id, ProductId};
use serde_json::{Value, json};

use crate::app::{SITE_URL, TestApp, call, post, redacted};
use crate::carts::{create_cart, in_stock_products, structured_content};

#[tokio::test]
async fn an_unavailable_store_returns_its_status_and_code() {
    let app = TestApp::start().await;
    // The address of an MCP client's call is an HTTP error, the state of the store a result of the call.
    let cases = [
        ("no-such-store", 404, 404, "store_not_found"),
        ("not_a_slug", 400, 400, "invalid_slug"),
        ("orto-lucido", 404, 404, "store_not_found"),
        ("velvetine-outlet", 403, 200, "store_suspended"),
    ];
    for (slug, status, to_client, code) in cases {
        let path = format!("/{slug}/mcp");
        let plain = app.post_json(&path, &call("get_merchant_profile", json!({}))).await;
        assert_eq!((plain.status.as_u16(), plain.json()["error"].as_str()), (status, Some(code)));
        let over_mcp = app.rpc(&path, &call("get_merchant_profile", json!({}))).await;
        assert_eq!((over_mcp.status.as_u16(), over_mcp.code().as_str()), (to_client, code));
        assert_eq!(over_mcp.json()["id"], 1);
        let rest = app.get(&format!("/api/v1/stores/{slug}")).await;
        assert_eq!((rest.status.as_u16(), rest.code().as_str()), (status, code));
    }
}

#[tokio::test]
async fn tool_errors_follow_the_callers_format() {
    let app = TestApp::start().await;
    let unknown = ProductId::from_random(1);
    let ask = call("get_product_details", json!({ "product_id": unknown }));
    let over_mcp = app.rpc("/demo-store/mcp", &ask).await;
    assert_eq!((over_mcp.status.as_u16(), over_mcp.code().as_str()), (200, "product_not_found"));
    let plain = app.post_json("/demo-store/mcp", &ask).await;
    assert_eq!(plain.status, 404);
    insta::assert_json_snapshot!(plain.json(), @r#"
    {
      "details": {
        "field": "product_id",
        "hint": "a product id is valid in one store only; use an id from a response of this store",
        "request_id": "req_fba7120d04d6edb21fa34e8dd800bdc9",
        "retryable": false
      },
      "error": "product_not_found",
      "message": "product not found in this store"
    }
    "#);
}

#[tokio::test]
async fn the_error_of_a_checkout_that_is_not_ready_names_what_is_missing() {
    let app = TestApp::start().await;
    let key = app.buyer_key("ada@example.com").await;
    let items = json!([{ "product_id": in_stock_products("kivikiri")[0], "quantity": 1 }]);
    let body = json!({ "merchant_slug": "kivikiri", "items": items });
    let head = [("x-agent-api-key", key.as_str())];
    let cart = app.request(Method::POST, "/agent/cart", &head, &body).await.json();
    sqlx::query("UPDATE store_setting SET destination_required = true")
        .execute(&mut app.test.raw().await)
        .await
        .unwrap();
    let body = json!({ "cart_id": cart["data"]["cart_id"] });
    let refused = app.request(Method::POST, "/agent/checkout", &head, &body).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
    insta::assert_json_snapshot!(redacted(refused.json()), @r#"
    {
      "details": {
        "hint": "call PATCH /api/v1/agent/cart/{cart_id} with destination, then with shipping_option_id",
        "messages": [],
        "missing": [
          "destination"
        ],
        "request_id": "req_[id]",
        "retryable": false
      },
      "error": "checkout_not_ready",
      "message": "the cart is not ready for checkout"
    }
    "#);
}

#[tokio::test]
async fn the_hint_of_a_changed_quote_names_the_field_of_the_call() {
    let app = TestApp::start().await;
    let key = app.buyer_key("ada@example.com").await;
    let items = json!([{ "product_id": in_stock_products("kivikiri")[0], "quantity": 1 }]);
    let buy = async |quote_hash: &serde_json::Value| {
        let body = json!({ "merchant_slug": "kivikiri", "items": items, "destination": { "country": "FI" },
                           "quote_hash": quote_hash });
        app.request(Method::POST, "/agent/checkout", &[("x-agent-api-key", &key)], &body).await
    };
    let changed = buy(&json!("0".repeat(64))).await;
    assert_eq!((changed.status.as_u16(), changed.code().as_str()), (409, "price_changed"));
    let details = &changed.json()["details"];
    insta::assert_snapshot!(
        details["hint"].as_str().unwrap(),
        @"call GET /api/v1/agent/cart/{cart_id}, ask the person again, then call POST /api/v1/agent/checkout with quote_hash = its quote_hash"
    );
    assert_eq!(details["field"], "quote_hash");
    // The hint can be followed: the response names the cart that the call created.
    let cart = format!("/agent/cart/{}", details["cart_id"].as_str().unwrap());
    let cart = app.request(Method::GET, &cart, &[("x-agent-api-key", &key)], &json!(null)).await;
    let quote_hash = cart.json()["data"]["quote_hash"].clone();
    assert_eq!(details["current_quote_hash"], quote_hash);
}

#[tokio::test]
async fn foreign_and_unknown_products_get_identical_errors() {
    let app = TestApp::start().await;
    let world = demo::world();
    let foreign = ProductId::from_uuid(world.store("kestrel-rain").unwrap().products[0].id);
    let mut bodies = Vec::new();
    for id in [foreign, ProductId::from_random(1)] {
        let mut body = app
            .post_json("/demo-store/mcp", &call("get_product_details", json!({ "product_id": id })))
            .await
            .json();
        body["details"]["request_id"] = json!(null);
        bodies.push(body);
    }
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn malformed_requests_are_protocol_errors() {
    let app = TestApp::start().await;
    let cases = [
        ("{", -32700),
        ("", -32700),
        ("[]", -32600),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
        ("{\"id\":1,\"method\":\"ping\"}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600),
        ("null", -32600),
    ];
    for (body, code) in cases {
        let answer = app.send(post("/demo-store/mcp").body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(answer.json()["error"]["code"], code, "{body}");
    }
    let deep = Body::from("[".repeat(1_000));
    let answer = app.send(post("/demo-store/mcp").body(deep).unwrap()).await;
    assert_eq!(answer.json()["error"]["code"], -32700, "{}", answer.text);
}

#[tokio::test]
async fn a_large_body_is_refused_with_and_without_content_length() {
    let app = TestApp::start().await;
    let large = "x".repeat(70 * 1024);
    let with_length = post("/demo-store/mcp").header("content-length", large.len());
    let answer = app.send(with_length.body(Body::from(large.clone())).unwrap()).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (413, "payload_too_large"));
    let answer = app.send(post("/demo-store/mcp").body(Body::from(large)).unwrap()).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (413, "payload_too_large"));
}

#[tokio::test]
async fn a_wrong_content_type_is_explained() {
    let app = TestApp::start().await;
    let mut request = post("/demo-store/mcp")
        .body(Body::from(call("browse_categories", json!({})).to_string()))
        .unwrap();
    request.headers_mut().insert("content-type", "text/plain".parse().unwrap());
    let answer = app.send(request).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (400, "invalid_request"));
    assert!(answer.text.contains("application/json"));
}

#[tokio::test]
async fn an_overloaded_store_does_not_affect_others() {
    let app = TestApp::start().await;
    let app = TestApp::with_settings(app.test, |settings| settings.store_concurrency = 0);
    let answer = app.rpc("/demo-store/mcp", &call("get_merchant_profile", json!({}))).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (503, "service_unavailable"));
    assert_eq!(answer.headers["retry-after"], "30");
    assert_eq!(app.get("/api/v1/stores/directory").await.status, 200);
}

#[tokio::test]
async fn an_overload_in_a_tool_result_says_when_to_retry() {
    let app = TestApp::start().await;
    // This application has no index.
    let like = json!({ "product_id": in_stock_products("demo-store")[0] });
    let answer = app.tool("demo-store", "find_similar_products", like.clone()).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (200, "service_unavailable"));
    assert_eq!(answer.headers["retry-after"], "30");
    let body = answer.json();
    let text = body["result"]["content"][0]["text"].as_str().unwrap();
    let envelope: Value = serde_json::from_str(text).unwrap();
    assert_eq!(envelope["details"]["retry_after_seconds"], 30);
    let plain = app.post_json("/demo-store/mcp", &call("find_similar_products", like)).await;
    assert_eq!(
        (plain.status.as_u16(), &plain.headers["retry-after"]),
        (503, &"30".parse().unwrap())
    );
    assert_eq!(plain.json()["details"]["retry_after_seconds"], 30);
}

#[tokio::test]
async fn the_errors_of_a_purchase_at_an_inactive_store_are_documented() {
    let app = TestApp::start().await;
    let key = app.buyer_key("me@example.com").await;
    let header = [("x-agent-api-key", key.as_str())];
    let product = in_stock_products("kivikiri")[0].clone();
    let cart = create_cart(&app, &key, "kivikiri").await["cart_id"].clone();
    let new = json!({ "cart_id": cart });
    let session = app.tool_as(&key, "kivikiri", "create_checkout", new.clone()).await;
    let session = structured_content(&session)["checkout_id"].clone();
    let hide = "UPDATE store SET active = false WHERE slug = 'kivikiri'";
    sqlx::query(hide).execute(&mut app.test.raw().await).await.unwrap();
    let document = rest::openapi(SITE_URL);
    let items = json!([{ "product_id": product }]);
    for (method, path, body) in [
        (Method::GET, "/agent/cart/{cart_id}", Value::Null),
        (Method::PUT, "/agent/cart/{cart_id}", json!({ "items": items })),
        (Method::PATCH, "/agent/cart/{cart_id}", json!({ "discount_codes": [] })),
        (Method::DELETE, "/agent/cart/{cart_id}", Value::Null),
        (Method::POST, "/agent/checkout", new.clone()),
        (Method::PATCH, "/agent/checkout/{checkout_id}", json!({ "discount_codes": [] })),
        (Method::POST, "/agent/payment", json!({ "checkout_id": session })),
    ] {
        let name = method.as_str().to_lowercase();
        let address = path
            .replace("{cart_id}", cart.as_str().unwrap())
            .replace("{checkout_id}", session.as_str().unwrap());
        let answer = app.request(method, &address, &header, &body).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (404, "store_not_found"));
        let described = &document["paths"][path][&name]["responses"]["404"]["description"];
        assert!(described.as_str().unwrap().contains("`store_not_found`: "), "{name} {path}");
    }
}

#[tokio::test]
async fn a_valid_request_id_of_the_caller_is_kept() {
    let app = TestApp::start().await;
    let ask = |id: &'static str| {
        let request =
            axum::http::Request::builder().uri("/api/v1/nowhere").header("x-request-id", id);
        app.send(request.body(Body::empty()).unwrap())
    };
    let kept = ask("trace-4711-abc").await;
    assert_eq!(kept.headers["x-request-id"], "trace-4711-abc");
    assert_eq!(kept.json()["details"]["request_id"], "trace-4711-abc");
    assert_ne!(ask("bad id with spaces").await.headers["x-request-id"], "bad id with spaces");
}
