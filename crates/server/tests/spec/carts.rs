//! Carts, over both doors (docs/contract/carts.md#cart-record).

use std::time::Duration;

use axum::body::Body;
use axum::http::Method;
use primitives::{Id, ProductId};
use serde_json::{Value, json};

use crate::app::{TestApp, TestResponse, call, post, redacted};

/// A store other than the demo store.
const STORE: &str = "kivikiri";

/// Returns the structured content of a successful tool call.
pub(crate) fn structured_content(answer: &TestResponse) -> Value {
    let body = answer.json();
    assert!(body["result"]["isError"] != true, "{}", answer.text);
    body["result"]["structuredContent"].clone()
}

/// Returns products of a store without variants and with a stock of at least nine.
pub(crate) fn in_stock_products(slug: &str) -> Vec<String> {
    let world = demo::world();
    let store = world.store(slug).unwrap();
    let is_in_stock = |product: &&demo::Product| {
        product.variants.is_empty()
            && product.stock_status == "in_stock"
            && product.stock_quantity.is_some_and(|quantity| quantity >= 9)
            && product.currency == store.currency
    };
    let found = store.products.iter().filter(is_in_stock);
    found.map(|product| ProductId::from_uuid(product.id).to_string()).collect()
}

/// Creates a cart with one item.
pub(crate) async fn create_cart(app: &TestApp, key: &str, slug: &str) -> Value {
    let items = json!([{ "product_id": in_stock_products(slug)[0], "quantity": 1 }]);
    structured_content(&app.tool_as(key, slug, "create_cart", json!({ "items": items })).await)
}

#[tokio::test]
async fn a_sandbox_key_prepares_a_cart_for_checkout_at_the_demo_store() {
    let app = TestApp::start().await;
    let key = app.sandbox_key().await;
    let tool = async |name: &str, arguments: Value| {
        let answer = app.tool_as(&key, "demo-store", name, arguments).await;
        if name != "get_cart" {
            let required = answer.headers.get("x-human-confirmation-required");
            assert_eq!(required.is_some(), name != "preview_checkout", "{name}");
        }
        structured_content(&answer)
    };
    let goods = in_stock_products("demo-store");
    let items = json!([{ "product_id": goods[0], "quantity": 2 }]);
    let made = tool("create_cart", json!({ "items": items })).await;
    let id = made["cart_id"].as_str().unwrap();
    assert!(id.starts_with("cart_"));
    assert_eq!((&made["status"], &made["version"]), (&json!("active"), &json!(1)));
    assert_eq!((&made["item_count"], &made["merchant_slug"]), (&json!(2), &json!("demo-store")));
    assert_eq!((&made["missing"], &made["ready_for_checkout"]), (&json!([]), &json!(true)));
    assert_eq!(made["open"], json!(["destination", "shipping", "tax", "buyer"]));
    assert_eq!(made["totals"]["is_estimate"], true);
    let more = json!({ "cart_id": id, "items": [{ "product_id": goods[1] }] });
    let added = tool("add_cart_items", more).await;
    assert_eq!(added["items"].as_array().unwrap().len(), 2);
    let line = &added["items"][0]["line_id"];
    let less = tool("remove_cart_items", json!({ "cart_id": id, "line_ids": [line] })).await;
    assert_eq!(less["item_count"], 1);
    let other = json!({ "cart_id": id, "items": [{ "product_id": goods[0], "quantity": 3 }] });
    assert_eq!(tool("update_cart", other).await["item_count"], 3);
    let coded = tool("apply_discount_code", json!({ "cart_id": id, "code": "NOTHING" })).await;
    assert_eq!(coded["discounts"]["rejected"][0]["reason"], "discount_code_invalid");
    let uncoded = tool("remove_discount_code", json!({ "cart_id": id, "code": "nothing" })).await;
    assert_eq!(uncoded["discounts"]["codes"], json!([]));
    let destination = json!({ "cart_id": id, "country": "us", "city": "Portland", "street": "1 Main St",
                        "name": "Ada L.", "buyer": { "email": "ada@example.com" } });
    let there = tool("set_cart_destination", destination).await;
    assert_eq!(there["destination"]["country"], "US");
    let option = &there["shipping_options"][0]["id"];
    let ready = tool("select_shipping_option", json!({ "cart_id": id, "option_id": option })).await;
    assert_eq!((&ready["ready_for_checkout"], &ready["missing"]), (&json!(true), &json!([])));
    assert_eq!(ready["totals"]["is_estimate"], false);
    let read = tool("get_cart", json!({ "cart_id": id })).await;
    assert_eq!(read["quote_hash"], ready["quote_hash"]);
    let seen = app.tool("demo-store", "preview_checkout", json!({ "cart_id": id })).await;
    let seen = structured_content(&seen);
    assert_eq!((&seen["totals"], &seen["quote_hash"]), (&read["totals"], &read["quote_hash"]));
    assert_eq!(
        (&seen["ship_to_country"], &seen["ready_for_checkout"]),
        (&json!("US"), &json!(true))
    );
    for personal in ["Ada", "Portland", "Main St", "ada@example.com"] {
        assert!(!seen.to_string().contains(personal), "{personal} in {seen}");
    }
    let canceled = tool("cancel_cart", json!({ "cart_id": id })).await;
    assert_eq!(
        (&canceled["status"], &canceled["ready_for_checkout"]),
        (&json!("canceled"), &json!(false))
    );
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one snapshot shows the whole record")]
async fn a_cart_record_has_the_fields_of_the_contract() {
    let app = TestApp::start().await;
    let key = app.sandbox_key().await;
    let goods = in_stock_products("demo-store");
    let new = json!({
        "items": [{ "product_id": goods[0], "quantity": 2 }],
        "ship_to": { "country": "US" },
        "buyer": { "email": "ada@example.com" },
    });
    let created = structured_content(&app.tool_as(&key, "demo-store", "create_cart", new).await);
    insta::assert_json_snapshot!(redacted(created), @r#"
    {
      "cart_id": "cart_[id]",
      "created_at": "2026-11-15T08:00:00Z",
      "currency": "USD",
      "destination": {
        "country": "US"
      },
      "discounts": {
        "applied": [
          {
            "amount": 0.0,
            "title": "Free shipping all winter"
          }
        ],
        "codes": [],
        "rejected": []
      },
      "expires_at": "2026-11-15T08:30:00Z",
      "item_count": 2,
      "items": [
        {
          "available_quantity": 35,
          "currency": "USD",
          "line_id": "line_[id]",
          "line_total": 64.0,
          "name": "Tidewater Glass Carafe, 600 ml",
          "product_id": "prod_b462628677e65e9496e4ddf837039f8a",
          "quantity": 2,
          "sku": "POUR-102",
          "stock_status": "in_stock",
          "unit_price": 32.0
        }
      ],
      "merchant_slug": "demo-store",
      "messages": [],
      "missing": [],
      "open": [],
      "policies": {
        "free_shipping_threshold": 50.0,
        "privacy_url": "https://demo-store.example/privacy",
        "return_summary": "Unused goods may come back within 30 days; we pay the label.",
        "return_window_days": 30,
        "shipping_estimate_days": "3-5",
        "shipping_summary": "Leaves us within one working day; free from $50 in the US.",
        "terms_url": "https://demo-store.example/terms",
        "warranty_months": 24
      },
      "quote_hash": "[hash]",
      "ready_for_checkout": true,
      "selected_shipping_option_id": "ship_dd11c47c4426",
      "shipping_options": [
        {
          "currency": "USD",
          "days_max": 5,
          "days_min": 3,
          "id": "ship_dd11c47c4426",
          "price": 0.0,
          "title": "Standard, free"
        },
        {
          "currency": "USD",
          "days_max": 5,
          "days_min": 3,
          "id": "ship_ef6691545d2c",
          "price": 4.9,
          "title": "Standard"
        }
      ],
      "status": "active",
      "totals": {
        "discount": 0.0,
        "is_estimate": false,
        "shipping": 0.0,
        "subtotal": 64.0,
        "tax": 0.0,
        "tax_included": 0.0,
        "total": 64.0
      },
      "updated_at": "2026-11-15T08:00:00Z",
      "version": 1
    }
    "#);
}

#[tokio::test]
async fn the_demo_store_is_read_only_without_a_sandbox_key() {
    let app = TestApp::start().await;
    let key = app.buyer_key("ada@example.com").await;
    let items = json!([{ "product_id": in_stock_products("demo-store")[0], "quantity": 1 }]);
    let create = json!({ "items": items });
    let over_mcp = app.tool_as(&key, "demo-store", "create_cart", create.clone()).await;
    let anonymous = app.post_json("/demo-store/mcp", &call("create_cart", create)).await;
    let body = json!({ "merchant_slug": "demo-store", "items": items });
    let rest = app.request(Method::POST, "/agent/cart", &[("x-agent-api-key", &key)], &body).await;
    for (answer, status, code) in
        [(over_mcp, 200, "forbidden"), (anonymous, 401, "unauthorized"), (rest, 403, "forbidden")]
    {
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (status, code));
        assert_eq!(answer.text.contains("read_only_store"), code == "forbidden");
        assert!(answer.text.contains("POST /api/v1/sandbox/key"), "{}", answer.text);
        assert_eq!(answer.headers["x-human-confirmation-required"], "true");
    }
    let sandbox =
        structured_content(&app.tool("demo-store", "create_sandbox_key", json!({})).await);
    assert_eq!(sandbox["stores"], json!(["demo-store"]));
    let key = sandbox["api_key"].as_str().unwrap();
    create_cart(&app, key, "demo-store").await;
    let elsewhere = json!({ "items": [{ "product_id": in_stock_products(STORE)[0] }] });
    let elsewhere = app.tool_as(key, STORE, "create_cart", elsewhere).await;
    assert_eq!((elsewhere.status.as_u16(), elsewhere.code().as_str()), (200, "forbidden"));
}

#[tokio::test]
async fn beyond_fifty_sandbox_keys_the_oldest_of_the_address_ends_at_both_doors() {
    let app = TestApp::start().await;
    let oldest = app.sandbox_key().await;
    app.test.clock().advance(Duration::from_secs(1));
    let second = app.sandbox_key().await;
    app.test.clock().advance(Duration::from_secs(1));
    for _ in 2..identity::SANDBOX_KEYS_MAX {
        app.sandbox_key().await;
    }
    let newest = app.tool("demo-store", "create_sandbox_key", json!({})).await;
    let newest = structured_content(&newest)["api_key"].as_str().unwrap().to_owned();
    for (key, status) in [(oldest, 401), (second, 200), (newest, 200)] {
        let head = [("x-agent-api-key", key.as_str())];
        let path = "/agent/merchants/demo-store";
        let answer = app.request(Method::GET, path, &head, &Value::Null).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
}

#[tokio::test]
async fn a_cart_is_created_read_changed_and_canceled_over_rest() {
    let app = TestApp::start().await;
    let key = app.buyer_key("ada@example.com").await;
    let head = [("x-agent-api-key", key.as_str())];
    let goods = in_stock_products(STORE);
    let body = json!({ "merchant_slug": STORE, "items": [{ "product_id": goods[0], "quantity": 1 }],
                       "destination": { "country": "FI" }, "discount_codes": ["ONE"] });
    let made = app.request(Method::POST, "/agent/cart", &head, &body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.headers["x-human-confirmation-required"], "true");
    let cart = made.json()["data"].clone();
    let path = format!("/agent/cart/{}", cart["cart_id"].as_str().unwrap());
    let read = app.request(Method::GET, &path, &head, &Value::Null).await;
    assert!(!read.headers.contains_key("x-human-confirmation-required"));
    assert_eq!(read.json()["data"], cart);
    let over_mcp =
        app.tool_as(&key, STORE, "get_cart", json!({ "cart_id": cart["cart_id"] })).await;
    assert_eq!(structured_content(&over_mcp), cart, "both doors return the same");
    let items = json!({ "items": [{ "product_id": goods[1], "quantity": 2 }], "if_version": 1 });
    let replaced = app.request(Method::PUT, &path, &head, &items).await.json()["data"].clone();
    assert_eq!((&replaced["version"], &replaced["item_count"]), (&json!(2), &json!(2)));
    let stale = app.request(Method::PUT, &path, &head, &items).await;
    assert_eq!((stale.status.as_u16(), stale.code().as_str()), (409, "invalid_status_transition"));
    let option = replaced["shipping_options"][0]["id"].clone();
    let change = json!({ "shipping_option_id": option, "discount_codes": [],
                         "buyer": { "first_name": "Ada" } });
    let changed = app.request(Method::PATCH, &path, &head, &change).await.json()["data"].clone();
    assert_eq!(changed["ready_for_checkout"], true, "{changed}");
    assert_eq!(changed["discounts"]["codes"], json!([]));
    let nothing = app.request(Method::PATCH, &path, &head, &json!({})).await;
    assert_eq!((nothing.status.as_u16(), nothing.code().as_str()), (400, "invalid_request"));
    let canceled = app.request(Method::DELETE, &path, &head, &Value::Null).await;
    assert_eq!(canceled.json()["data"]["status"], "canceled");
}

#[tokio::test]
async fn a_write_with_an_idempotency_key_is_applied_once() {
    let app = TestApp::start().await;
    let key = app.buyer_key("ada@example.com").await;
    let goods = in_stock_products(STORE);
    let items = |quantity: i64| json!([{ "product_id": goods[0], "quantity": quantity }]);
    // Over MCP the idempotency key is a header, a field of `_meta` or an argument.
    let mcp = async |header: Option<&str>, meta: Option<Value>, arguments: Value| {
        let mut body = call("create_cart", arguments);
        if let Some(meta) = meta {
            body["params"]["_meta"] = json!({ "idempotency_key": meta });
        }
        let mut request = post(&format!("/{STORE}/mcp")).header("x-agent-api-key", &key);
        if let Some(header) = header {
            request = request.header("idempotency-key", header);
        }
        app.send(request.body(Body::from(body.to_string())).unwrap()).await
    };
    let create = json!({ "items": items(1) });
    let first = mcp(Some("one"), None, create.clone()).await;
    let id = structured_content(&first)["cart_id"].clone();
    let with_argument = json!({ "items": items(1), "idempotency_key": "one" });
    for again in [
        mcp(Some("one"), None, create.clone()).await,
        mcp(None, Some(json!("one")), create.clone()).await,
        mcp(Some("ignored"), None, with_argument).await,
    ] {
        assert_eq!(structured_content(&again)["cart_id"], id);
    }
    let other = mcp(Some("one"), None, json!({ "items": items(2) })).await;
    assert_eq!((other.status.as_u16(), other.code().as_str()), (409, "idempotency_conflict"));
    assert_ne!(structured_content(&mcp(Some("two"), None, create.clone()).await)["cart_id"], id);
    let long = "x".repeat(256);
    for wrong in [
        mcp(Some(&long), None, create.clone()).await,
        mcp(None, Some(json!(7)), create.clone()).await,
        mcp(None, None, json!({ "items": items(1), "idempotency_key": "ü" })).await,
    ] {
        assert_eq!((wrong.status.as_u16(), wrong.code().as_str()), (400, "invalid_request"));
        assert_eq!(wrong.json()["details"]["field"], "idempotency_key", "{}", wrong.text);
    }
    let rest = async |name: &str, quantity: i64| {
        let body = json!({ "merchant_slug": STORE, "items": items(quantity) });
        let head = [("x-agent-api-key", key.as_str()), ("idempotency-key", name)];
        app.request(Method::POST, "/agent/cart", &head, &body).await
    };
    let made = rest("three", 1).await.json()["data"]["cart_id"].clone();
    assert_eq!(rest("three", 1).await.json()["data"]["cart_id"], made);
    let other = rest("three", 2).await;
    assert_eq!((other.status.as_u16(), other.code().as_str()), (409, "idempotency_conflict"));
}

#[tokio::test]
async fn a_repeated_addition_is_applied_once() {
    let app = TestApp::start().await;
    let key = app.buyer_key("ada@example.com").await;
    let made = create_cart(&app, &key, STORE).await;
    let (id, goods) = (&made["cart_id"], in_stock_products(STORE));
    let add =
        json!({ "cart_id": id, "items": [{ "product_id": goods[0] }], "idempotency_key": "a" });
    for _ in 0..3 {
        let added =
            structured_content(&app.tool_as(&key, STORE, "add_cart_items", add.clone()).await);
        assert_eq!((&added["version"], &added["item_count"]), (&json!(2), &json!(2)));
    }
}

#[tokio::test]
async fn shipping_rates_and_permalinks_work_before_checkout() {
    let app = TestApp::start().await;
    let key = app.buyer_key("ada@example.com").await;
    let goods = in_stock_products(STORE);
    let items = json!([{ "product_id": goods[0], "quantity": 2 }]);
    let tool = async |name: &str, arguments: Value| app.tool_as(&key, STORE, name, arguments).await;
    let to = json!({ "country": "FI" });
    let rates = structured_content(
        &tool("get_shipping_rates", json!({ "items": items, "ship_to": to })).await,
    );
    assert_eq!(rates["deliverable"], true);
    assert!(rates["rates"][0]["id"].as_str().unwrap().starts_with("ship_"), "{rates}");
    let id = create_cart(&app, &key, STORE).await["cart_id"].clone();
    let nowhere = tool("get_shipping_rates", json!({ "cart_id": id })).await;
    assert_eq!(nowhere.code(), "invalid_request");
    let of_cart = structured_content(
        &tool("get_shipping_rates", json!({ "cart_id": id, "ship_to": to })).await,
    );
    assert_eq!(of_cart["rates"][0]["id"], rates["rates"][0]["id"]);
    let both = tool("get_shipping_rates", json!({ "cart_id": id, "items": items })).await;
    assert_eq!(both.code(), "invalid_request");

    let link = structured_content(&tool("create_permalink", json!({ "items": items })).await);
    assert_eq!(link["opens"], "summary");
    let url = link["url"].as_str().unwrap().strip_prefix("http://souk.test").unwrap();
    let opened = app.get(url).await;
    assert_eq!(opened.status, 200, "{}", opened.text);
    assert_eq!(opened.json()["data"]["items"][0]["quantity"], 2);
    let wrong = app.get(&format!("/api/v1/stores/{STORE}/basket?items=everything")).await;
    assert_eq!((wrong.status.as_u16(), wrong.code().as_str()), (400, "invalid_request"));
}

#[tokio::test]
async fn estimates_have_the_shipping_price_of_a_cart() {
    let app = TestApp::with_index().await;
    let key = app.sandbox_key().await;
    let tool = async |name: &str, arguments: Value| {
        structured_content(&app.tool_as(&key, "demo-store", name, arguments).await)
    };
    let to = json!({ "country": "CA" });
    let price = async |items: &Value| {
        let rates = tool("get_shipping_rates", json!({ "items": items, "ship_to": to })).await;
        rates["rates"][0]["price"].clone()
    };
    // Free shipping: by a promotion from 30 USD on, by the store's threshold from 50 USD on.
    let is_free_for = |subtotal: &Value| subtotal.as_f64().unwrap() >= 30.0;
    for quantity in [1, 2, 9] {
        for product in &in_stock_products("demo-store")[..5] {
            let items = json!([{ "product_id": product, "quantity": quantity }]);
            let ask = json!({ "items": items, "ship_to": to });
            let estimate = tool("estimate_delivery", ask).await;
            let cost = &estimate["options"][0]["cost"];
            assert_eq!(*cost, price(&items).await, "{estimate}");
            assert_eq!(*cost == 0.0, is_free_for(&estimate["subtotal"]), "{estimate}");
        }
    }
    let (mut free, mut charged) = (0, 0);
    for range in [json!({ "min_price": 50 }), json!({ "max_price": 25 })] {
        let mut arguments = json!({ "ship_to": "CA", "in_stock_only": true, "limit": 20 });
        arguments.as_object_mut().unwrap().extend(range.as_object().unwrap().clone());
        let found = tool("search_products_enriched", arguments).await;
        let products = found["data"].as_array().unwrap();
        for product in products.iter().filter(|product| product["variants"].is_null()) {
            let cost = &product["delivery"]["cost"];
            let items = json!([{ "product_id": product["id"] }]);
            assert_eq!(*cost, price(&items).await, "{product}");
            assert_eq!(*cost == 0.0, is_free_for(&product["price"]), "{product}");
            *(if *cost == 0.0 { &mut free } else { &mut charged }) += 1;
        }
    }
    assert!(free > 0 && charged > 0, "{free} {charged}");
}

#[tokio::test]
async fn offers_of_a_product_are_ranked_across_stores() {
    let app = TestApp::start().await;
    let key = app.buyer_key("ada@example.com").await;
    let world = demo::world();
    let all =
        || world.stores.iter().flat_map(|store| store.products.iter().map(move |it| (store, it)));
    let (store, shared) = all()
        .filter(|(store, product)| product.gtin.is_some() && store.slug == "demo-store")
        .find(|(_, product)| all().filter(|(_, other)| other.gtin == product.gtin).count() > 1)
        .unwrap();
    let ask = async |arguments: Value| {
        structured_content(&app.tool_as(&key, &store.slug, "find_offers_network", arguments).await)
    };
    let by_number = ask(json!({ "gtin": shared.gtin })).await;
    let offers = by_number["offers"].as_array().unwrap();
    assert!(offers.len() > 1, "{by_number}");
    let trusted: Vec<bool> = offers.iter().map(|it| it["agent_checkout"] == true).collect();
    assert!(trusted.is_sorted_by_key(|trusted| !trusted), "{trusted:?}");
    let of_product = json!({ "product_id": ProductId::from_uuid(shared.id) });
    assert_eq!(ask(of_product).await, by_number);
    let there = ask(json!({ "gtin": shared.gtin, "ship_to": { "country": "US" } })).await;
    let home = &there["offers"][0];
    let cost = |name: &str| home[name].as_f64().unwrap_or_default();
    assert!(cost("landed_cost") >= cost("price"), "{there}");
    let wrong = json!({ "gtin": "12345678" });
    let wrong = app.tool_as(&key, &store.slug, "find_offers_network", wrong).await;
    assert_eq!(wrong.code(), "invalid_request");
}
