//! The lifecycle of a cart (docs/contract/carts.md#cart-lifetime).

use std::time::Duration;

use axum::http::Method;
use primitives::{CartId, Id, ProductId, VariantId};
use serde_json::{Value, json};

use crate::app::TestApp;
use crate::carts::{create_cart, in_stock_products, structured_content};

const STORE: &str = "kivikiri";

/// Returns valid arguments of each tool that changes a cart.
fn writes(cart: &Value, product: &str) -> Vec<(&'static str, Value)> {
    let id = &cart["cart_id"];
    let items = json!([{ "product_id": product }]);
    vec![
        ("update_cart", json!({ "cart_id": id, "items": items })),
        ("add_cart_items", json!({ "cart_id": id, "items": items })),
        ("remove_cart_items", json!({ "cart_id": id, "line_ids": [cart["items"][0]["line_id"]] })),
        ("apply_discount_code", json!({ "cart_id": id, "code": "ONE" })),
        ("remove_discount_code", json!({ "cart_id": id, "code": "ONE" })),
        ("set_cart_destination", json!({ "cart_id": id, "country": "FI" })),
        ("select_shipping_option", json!({ "cart_id": id, "option_id": "ship_1" })),
    ]
}

#[tokio::test]
async fn a_cart_older_than_thirty_minutes_is_expired() {
    let app = TestApp::start().await;
    let key = app.buyer_key("ada@example.com").await;
    let head = [("x-agent-api-key", key.as_str())];
    let made = create_cart(&app, &key, STORE).await;
    let id = json!({ "cart_id": made["cart_id"] });
    app.test.clock().advance(Duration::from_mins(30));
    structured_content(&app.tool_as(&key, STORE, "preview_checkout", id.clone()).await);
    app.test.clock().advance(Duration::from_micros(1));
    let mut refused = writes(&made, &in_stock_products(STORE)[0]);
    refused.push(("cancel_cart", id.clone()));
    refused.push(("preview_checkout", id.clone()));
    for (tool, arguments) in refused {
        let answer = app.tool_as(&key, STORE, tool, arguments).await;
        assert_eq!(
            (answer.status.as_u16(), answer.code().as_str()),
            (200, "cart_expired"),
            "{tool}"
        );
    }
    let path = format!("/agent/cart/{}", made["cart_id"].as_str().unwrap());
    let rest = app.request(Method::DELETE, &path, &head, &Value::Null).await;
    assert_eq!((rest.status.as_u16(), rest.code().as_str()), (409, "cart_expired"));
    let read = structured_content(&app.tool_as(&key, STORE, "get_cart", id).await);
    assert_eq!((&read["status"], &read["ready_for_checkout"]), (&json!("expired"), &json!(false)));
}

#[tokio::test]
async fn a_canceled_cart_cannot_be_changed() {
    let app = TestApp::start().await;
    let key = app.buyer_key("ada@example.com").await;
    let made = create_cart(&app, &key, STORE).await;
    let id = json!({ "cart_id": made["cart_id"] });
    for _ in 0..2 {
        let canceled =
            structured_content(&app.tool_as(&key, STORE, "cancel_cart", id.clone()).await);
        assert_eq!((&canceled["status"], &canceled["version"]), (&json!("canceled"), &json!(2)));
    }
    let mut refused = writes(&made, &in_stock_products(STORE)[0]);
    refused.push(("preview_checkout", id));
    for (tool, arguments) in refused {
        let answer = app.tool_as(&key, STORE, tool, arguments).await;
        assert_eq!(answer.code(), "cart_closed", "{tool}: {}", answer.text);
    }
}

#[tokio::test]
async fn another_agents_cart_does_not_exist() {
    let app = TestApp::start().await;
    let (mine, other) =
        (app.buyer_key("ada@example.com").await, app.buyer_key("bob@example.com").await);
    let made = create_cart(&app, &mine, STORE).await;
    let mut unknown = made.clone();
    unknown["cart_id"] = json!(CartId::from_random(7));
    let product = &in_stock_products(STORE)[0];
    let mut calls: Vec<(&str, Value, Value)> = writes(&made, product)
        .into_iter()
        .zip(writes(&unknown, product))
        .map(|((tool, foreign), (_, unknown))| (tool, foreign, unknown))
        .collect();
    for tool in ["get_cart", "cancel_cart", "get_shipping_rates"] {
        let id = |cart: &Value| json!({ "cart_id": cart["cart_id"] });
        calls.push((tool, id(&made), id(&unknown)));
    }
    for (tool, foreign, unknown) in calls {
        for arguments in [foreign, unknown] {
            let answer = app.tool_as(&other, STORE, tool, arguments).await;
            assert_eq!(answer.code(), "cart_not_found", "{tool}: {}", answer.text);
        }
    }
    let path = format!("/agent/cart/{}", made["cart_id"].as_str().unwrap());
    let head = [("x-agent-api-key", other.as_str())];
    let read = app.request(Method::GET, &path, &head, &Value::Null).await;
    assert_eq!((read.status.as_u16(), read.code().as_str()), (404, "cart_not_found"));
    let id = json!({ "cart_id": made["cart_id"] });
    structured_content(&app.tool("kivikiri", "preview_checkout", id.clone()).await);
    let elsewhere = app.tool("skarvdal", "preview_checkout", id).await;
    assert_eq!(elsewhere.code(), "cart_not_found", "a cart belongs to one store");
}

#[tokio::test]
async fn unavailable_items_are_refused_and_short_stock_adds_a_message() {
    let app = TestApp::start().await;
    let key = app.buyer_key("ada@example.com").await;
    let world = demo::world();
    let store = world.store(STORE).unwrap();
    let id = |product: &demo::Product| ProductId::from_uuid(product.id);
    let varied = store.products.iter().find(|it| !it.variants.is_empty()).unwrap();
    let gone = store.products.iter().find(|it| it.stock_status == "out_of_stock").unwrap();
    let good = &in_stock_products(STORE)[0];
    let line = |second: Value| json!({ "items": [{ "product_id": good }, second] });
    let gone = match gone.variants.first() {
        Some(variant) => {
            json!({ "product_id": id(gone), "variant_id": VariantId::from_uuid(variant.id) })
        }
        None => json!({ "product_id": id(gone) }),
    };
    let cases = [
        (line(json!({ "product_id": ProductId::from_random(7) })), "product_not_found", "items[1]"),
        (line(json!({ "product_id": id(varied) })), "invalid_request", "items[1].variant_id"),
        (line(gone), "out_of_stock", "items[1]"),
        (
            line(json!({ "product_id": good, "quantity": 0 })),
            "invalid_request",
            "items[1].quantity",
        ),
        (json!({ "items": [] }), "invalid_request", "items"),
    ];
    for (arguments, code, field) in cases {
        let answer = app.tool_as(&key, STORE, "create_cart", arguments).await;
        assert_eq!(answer.code(), code, "{}", answer.text);
        assert!(answer.text.contains(&format!("\\\"{field}\\\"")), "{field}: {}", answer.text);
    }
    let many = json!({ "items": [{ "product_id": good, "quantity": 999 }] });
    let short = structured_content(&app.tool_as(&key, STORE, "create_cart", many).await);
    assert_eq!(short["messages"][0]["code"], "quantity_adjusted", "{short}");
}
