//! From a cart to an order, over both doors (docs/contract/checkout.md#agent-checkout,
//! docs/contract/checkout.md#complete-checkout).

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::app::{TestApp, TestResponse, call, redacted};
use crate::carts::{in_stock_products, structured_content};

const STORE: &str = "kivikiri";

async fn send(app: &TestApp, key: &str, method: Method, path: &str, body: &Value) -> TestResponse {
    app.request(method, path, &[("x-agent-api-key", key), ("idempotency-key", "one")], body).await
}

fn purchase() -> Value {
    let items = json!([{ "product_id": in_stock_products(STORE)[0], "quantity": 2 }]);
    json!({ "merchant_slug": STORE, "items": items, "shipping_address": { "country": "FI" },
            "metadata": { "trip": 7, "note": "" } })
}

#[tokio::test]
async fn a_purchase_is_created_once_paid_and_becomes_an_order() {
    let app = TestApp::start().await;
    let key = app.buyer_key("me@example.com").await;
    let first = send(&app, &key, Method::POST, "/agent/checkout", &purchase()).await;
    assert_eq!(first.status, 201, "{}", first.text);
    assert_eq!(first.headers["x-human-confirmation-required"], "true");
    let session = first.json()["data"].clone();
    assert_eq!(
        (&session["status"], &session["metadata"]["trip"]),
        (&"requires_escalation".into(), &7.into())
    );
    assert_eq!(session["metadata"]["note"], "", "the agent's own data stays as it is");
    assert_eq!(session["checkout_url"], session["continue_url"]);
    assert_eq!(session["human_confirmation"]["level"], "attested");
    let again = send(&app, &key, Method::POST, "/agent/checkout", &purchase()).await.json();
    assert_eq!(again["data"]["checkout_id"], session["checkout_id"]);
    let mut other = purchase();
    other["items"][0]["quantity"] = json!(1);
    let conflict = send(&app, &key, Method::POST, "/agent/checkout", &other).await;
    assert_eq!((conflict.status.as_u16(), conflict.code().as_str()), (409, "idempotency_conflict"));
    let merchant = app.merchant(STORE).await;
    let store_key = format!("Bearer {}", app.store_key(merchant).await);
    let id = session["checkout_id"].as_str().unwrap();
    let paid = json!({ "reference": "SHOP-1", "total_amount": session["totals"]["total"], "currency": session["currency"] });
    let path = format!("/merchant/checkouts/{id}/complete");
    for _ in 0..2 {
        let completed =
            app.request(Method::POST, &path, &[("authorization", &store_key)], &paid).await;
        assert_eq!(
            (completed.status.as_u16(), &completed.json()["data"]["status"]),
            (200, &"completed".into())
        );
        assert!(
            completed.json()["data"]["metadata"].is_null(),
            "metadata of the agent is not shown to the merchant"
        );
    }
    let read =
        send(&app, &key, Method::GET, &format!("/agent/checkout/{id}"), &Value::Null).await.json();
    assert!(read["data"]["order"]["order_id"].as_str().unwrap().starts_with("ord_"));
    let (path, header) = (format!("/agent/checkout/{id}/cancel"), [("x-agent-api-key", &*key)]);
    let canceled = app.request(Method::POST, &path, &header, &json!({})).await;
    assert_eq!(
        (canceled.status.as_u16(), canceled.code().as_str()),
        (409, "invalid_status_transition")
    );
}

#[tokio::test]
async fn a_session_record_has_the_fields_of_the_contract() {
    let app = TestApp::start().await;
    let (key, store) = (app.sandbox_key().await, "demo-store");
    let tool = async |name: &str, arguments: Value| {
        structured_content(&app.tool_as(&key, store, name, arguments).await)
    };
    let items = json!([{ "product_id": in_stock_products(store)[0], "quantity": 1 }]);
    let cart = tool("create_cart", json!({ "items": items, "ship_to": { "country": "US" } })).await;
    let (cart_id, option) = (&cart["cart_id"], &cart["shipping_options"][0]["id"]);
    let selected = json!({ "cart_id": cart_id, "option_id": option });
    tool("select_shipping_option", selected).await;
    let session = tool("complete_checkout", json!({ "cart_id": cart_id })).await;
    insta::assert_json_snapshot!(redacted(session), @r#"
    {
      "cart_id": "cart_[id]",
      "checkout_id": "chk_[id]",
      "checkout_url": "http://souk.test/demo-store/checkout/chk_[id]",
      "continue_url": "http://souk.test/demo-store/checkout/chk_[id]",
      "created_at": "2026-11-15T08:00:00Z",
      "currency": "USD",
      "expires_at": "2026-11-15T08:30:00Z",
      "human_confirmation": {
        "level": "attested",
        "required": true,
        "scope": "total"
      },
      "items": [
        {
          "line_id": "line_[id]",
          "line_total": 32.0,
          "name": "Tidewater Glass Carafe, 600 ml",
          "product_id": "prod_b462628677e65e9496e4ddf837039f8a",
          "quantity": 1,
          "sku": "POUR-102",
          "unit_price": 32.0
        }
      ],
      "merchant": {
        "slug": "demo-store",
        "verification_level": "VERIFIED"
      },
      "messages": [
        {
          "code": "buyer_review_required",
          "content": "show checkout_url to the person: they review and pay there"
        }
      ],
      "open": [],
      "order_summary": {
        "currency": "USD",
        "item_count": 1,
        "return_window_days": 30,
        "total": 32.0
      },
      "quote_hash": "[hash]",
      "status": "requires_escalation",
      "totals": {
        "discount": 0.0,
        "is_estimate": false,
        "shipping": 0.0,
        "subtotal": 32.0,
        "tax": 0.0,
        "tax_included": 0.0,
        "total": 32.0
      },
      "updated_at": "2026-11-15T08:00:00Z"
    }
    "#);
}

#[tokio::test]
async fn invalid_fields_are_named() {
    let app = TestApp::start().await;
    let key = app.buyer_key("me@example.com").await;
    let wrong = [
        ("payment_method", json!("gold"), 422),
        ("return_url", json!("javascript:alert(1)"), 400),
        ("metadata", json!({ "long": "x".repeat(5_000) }), 400),
        ("metadata", json!("a text"), 400),
        ("confirmation", json!({ "level": "mandate" }), 409),
        ("confirmation", json!({ "level": "hosted" }), 409),
        ("cart_id", json!("cart_00000000000000000000000000000001"), 400),
    ];
    for (field, value, status) in wrong {
        let mut body = purchase();
        body[field] = value;
        let refused =
            app.request(Method::POST, "/agent/checkout", &[("x-agent-api-key", &key)], &body).await;
        assert_eq!(refused.status, status, "{field}: {}", refused.text);
        assert!(
            refused.json()["details"]["field"].is_string()
                || refused.json()["details"]["hint"].is_string()
        );
    }
}

/// Calls `complete_checkout` with protocol version 2026-07-28, as a client that supports elicitation.
async fn complete_with_elicitation(app: &TestApp, key: &str, params: Value) -> Value {
    let mut body = call("complete_checkout", json!({}));
    body["params"] = params;
    body["params"]["name"] = json!("complete_checkout");
    body["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    let request = Request::post(format!("/{STORE}/mcp"))
        .header("host", "souk.test")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "complete_checkout")
        .header("x-agent-api-key", key)
        .body(Body::from(body.to_string()));
    app.send(request.unwrap()).await.json()
}

#[tokio::test]
async fn a_client_with_elicitation_is_asked_for_approval() {
    let app = TestApp::start().await;
    let key = app.buyer_key("me@example.com").await;
    let cart = async || {
        let items = json!([{ "product_id": in_stock_products(STORE)[0], "quantity": 1 }]);
        let new = json!({ "items": items, "ship_to": { "country": "FI" } });
        let cart = structured_content(&app.tool_as(&key, STORE, "create_cart", new).await);
        let way =
            json!({ "cart_id": cart["cart_id"], "option_id": cart["shipping_options"][0]["id"] });
        json!({ "cart_id": structured_content(&app.tool_as(&key, STORE, "select_shipping_option", way).await)["cart_id"] })
    };
    for (approve, level) in [(true, Some("elicited")), (false, None)] {
        let arguments = cart().await;
        let asked = complete_with_elicitation(&app, &key, json!({ "arguments": arguments })).await;
        let result = &asked["result"];
        assert_eq!(result["resultType"], "input_required", "{asked}");
        let question = &result["inputRequests"]["approval"]["params"]["requestedSchema"];
        assert_eq!(question["required"][0], "approve", "{asked}");
        let response =
            json!({ "approval": { "action": "accept", "content": { "approve": approve } } });
        let params = json!({ "arguments": arguments, "inputResponses": response, "requestState": result["requestState"] });
        let done = complete_with_elicitation(&app, &key, params).await;
        if let Some(level) = level {
            let done = &done["result"]["structuredContent"];
            assert_eq!(done["human_confirmation"]["level"], level, "{done}");
        } else {
            let text = done["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("declined"), "{done}");
        }
    }
}
