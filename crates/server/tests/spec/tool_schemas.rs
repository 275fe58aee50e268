//! Schemas of every tool (docs/contract/mcp.md#input-schemas): results match the output schema, and arguments that do not
//! match the input schema are refused with the name of the field.

use std::collections::BTreeMap;

use axum::body::Body;
use primitives::{Id, ProductId, VariantId};
use serde_json::{Value, json};

use crate::app::{TestApp, call, post};
use crate::carts::{in_stock_products, structured_content};
use crate::order_tools::shop::Shopper;

const STORE: &str = "demo-store";
/// Number of invalid inputs per tool.
const INVALID_INPUTS: usize = 50;

async fn listed(app: &TestApp) -> Vec<Value> {
    listed_at(app, "/demo-store/mcp").await
}

async fn listed_at(app: &TestApp, path: &str) -> Vec<Value> {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let answer = app.rpc(path, &body).await.json();
    answer["result"]["tools"].as_array().unwrap().clone()
}

/// Returns valid arguments of each tool, at least one set, with carts of this key.
async fn valid_arguments(app: &TestApp, key: &str) -> BTreeMap<&'static str, Vec<Value>> {
    let arguments = product_arguments().into_iter().chain(store_arguments());
    let arguments = arguments.chain(cart_arguments(app, key).await);
    let arguments = arguments.chain(checkout_arguments(app, key).await);
    arguments.chain(order_arguments(app, key).await).collect()
}

async fn cart_arguments(app: &TestApp, key: &str) -> Vec<(&'static str, Vec<Value>)> {
    let goods = in_stock_products(STORE);
    let items = json!([{ "product_id": goods[0], "quantity": 1 }]);
    let to = json!({ "country": "US" });
    let new = json!({ "items": items, "destination": to, "buyer": { "email": "a@example.com" },
                      "discount_codes": ["WELCOME10"], "idempotency_key": "once" });
    let create = async |idempotency_key: &str| {
        let mut new = new.clone();
        new["idempotency_key"] = json!(idempotency_key);
        structured_content(&app.tool_as(key, STORE, "create_cart", new).await)
    };
    let (kept, emptied, canceled) = (create("1").await, create("2").await, create("3").await);
    let id = &kept["cart_id"];
    let line = &emptied["items"][0]["line_id"];
    let option = &kept["shipping_options"][0]["id"];
    vec![
        ("add_cart_items", vec![json!({ "cart_id": id, "items": items })]),
        ("apply_discount_code", vec![json!({ "cart_id": id, "code": "nonsense" })]),
        ("cancel_cart", vec![json!({ "cart_id": canceled["cart_id"] })]),
        ("create_cart", vec![json!({ "items": items }), new]),
        ("create_permalink", vec![json!({ "items": items })]),
        ("create_sandbox_key", vec![json!({})]),
        ("find_offers_network", vec![json!({ "product_id": goods[0], "destination": to })]),
        ("get_cart", vec![json!({ "cart_id": id })]),
        (
            "get_shipping_rates",
            vec![json!({ "cart_id": id }), json!({ "items": items, "destination": to })],
        ),
        ("preview_checkout", vec![json!({ "cart_id": id })]),
        ("remove_cart_items", vec![json!({ "cart_id": emptied["cart_id"], "line_ids": [line] })]),
        ("remove_discount_code", vec![json!({ "cart_id": id, "code": "nonsense" })]),
        ("select_shipping_option", vec![json!({ "cart_id": id, "shipping_option_id": option })]),
        (
            "set_cart_destination",
            vec![
                json!({ "cart_id": id, "destination": { "country": "US", "street": "1 Main St" } }),
            ],
        ),
        ("update_cart", vec![json!({ "cart_id": id, "items": items, "idempotency_key": "u" })]),
    ]
}

async fn checkout_arguments(app: &TestApp, key: &str) -> Vec<(&'static str, Vec<Value>)> {
    let goods = in_stock_products(STORE);
    let items = json!([{ "product_id": goods[0], "quantity": 1 }]);
    let call = async |tool: &str, arguments: Value| {
        structured_content(&app.tool_as(key, STORE, tool, arguments).await)
    };
    let ready = async || {
        let new = json!({ "items": items, "destination": { "country": "US" } });
        let cart = call("create_cart", new).await;
        let way = &cart["shipping_options"][0]["id"];
        let chosen = json!({ "cart_id": cart["cart_id"], "shipping_option_id": way });
        call("select_shipping_option", chosen).await["cart_id"].clone()
    };
    let session = async || {
        let new = json!({ "cart_id": ready().await });
        call("create_checkout", new).await["checkout_id"].clone()
    };
    let asked = json!({ "cart_id": ready().await });
    let question = call("request_human_confirmation", asked.clone()).await;
    let attested = json!({ "level": "attested" });
    let to = json!({ "country": "US", "city": "Springfield" });
    vec![
        (
            "cancel_checkout",
            vec![json!({ "checkout_id": session().await, "reason_code": "changed_mind" })],
        ),
        (
            "complete_checkout",
            vec![
                json!({ "cart_id": ready().await }),
                json!({ "checkout_id": session().await, "confirmation": attested, "payment_method": "stripe" }),
            ],
        ),
        ("create_checkout", vec![json!({ "cart_id": ready().await, "payment_method": "stripe" })]),
        ("get_checkout", vec![json!({ "checkout_id": session().await })]),
        (
            "get_confirmation_status",
            vec![json!({ "confirmation_id": question["confirmation_id"] })],
        ),
        ("request_human_confirmation", vec![asked]),
        ("update_checkout", vec![json!({ "checkout_id": session().await, "destination": to })]),
    ]
}

async fn order_arguments(app: &TestApp, key: &str) -> Vec<(&'static str, Vec<Value>)> {
    let me = Shopper::at(app, STORE, key.to_owned()).await;
    let (pending, canceled, delivered) = (me.buy(1).await, me.buy(1).await, me.buy(2).await);
    me.deliver(delivered).await;
    let (line, sku) = me.line(delivered).await;
    let statement = |order| json!({ "order_id": order, "reason": "other", "statement": "late" });
    let dispute = me.ok("open_dispute", statement(pending)).await;
    let flat = json!({ "order_id": delivered, "items": [{ "line_id": line, "quantity": 1 }], "reason": "other",
                       "outcome": "refund", "note": "broken" });
    let item = json!({ "orderLineItemId": line, "sku": sku, "quantityReturned": 1, "returnReason": "other" });
    let onx = json!({ "orderId": delivered, "outcome": "exchange", "returnLineItems": [item] });
    let updates = json!({ "orderNote": "ring" });
    vec![
        ("check_return_eligibility", vec![json!({ "order_id": delivered })]),
        ("get_dispute", vec![json!({ "dispute_id": dispute["dispute_id"] })]),
        (
            "get_order_status",
            vec![json!({ "order_id": delivered }), json!({ "order_id": pending })],
        ),
        ("onx_cancel_order", vec![json!({ "orderId": canceled, "reason": "other" })]),
        ("onx_create_return", vec![flat, json!({ "return": onx })]),
        ("onx_get_fulfillments", vec![json!({}), json!({ "orderIds": [delivered] })]),
        (
            "onx_get_orders",
            vec![json!({}), json!({ "statuses": ["delivered"], "includeLineItems": false })],
        ),
        ("onx_get_returns", vec![json!({}), json!({ "orderIds": [delivered] })]),
        ("onx_update_order", vec![json!({ "id": pending, "updates": updates })]),
        ("open_dispute", vec![statement(delivered)]),
        (
            "submit_agent_feedback",
            vec![json!({ "order_id": delivered, "outcome": "completed", "note": "fine" })],
        ),
    ]
}

fn product_arguments() -> Vec<(&'static str, Vec<Value>)> {
    let world = demo::world();
    let store = world.store(STORE).unwrap();
    let first = store.products.iter().find(|product| !product.variants.is_empty()).unwrap();
    let second = store.products.iter().find(|product| product.id != first.id).unwrap();
    let (one, two) = (ProductId::from_uuid(first.id), ProductId::from_uuid(second.id));
    let variant = VariantId::from_uuid(first.variants[0].id);
    let gtin = store.products.iter().find_map(|product| product.gtin.clone()).unwrap();
    let option = first.variants[0].options.first().unwrap();
    vec![
        (
            "check_availability",
            vec![json!({ "items": [
                { "product_id": one, "variant_id": variant, "quantity": 1 },
                { "product_id": ProductId::from_random(7) },
            ] })],
        ),
        (
            "compare_products",
            vec![
                json!({ "product_ids": [one, two] }),
                json!({ "product_ids": [two, one], "attributes": ["price"] }),
            ],
        ),
        (
            "estimate_delivery",
            vec![
                json!({ "items": [{ "product_id": one, "quantity": 3 }], "destination": { "country": "pt" } }),
                json!({ "items": [{ "product_id": two }], "destination": { "country": "AQ", "postal_code": "1" } }),
            ],
        ),
        (
            "find_similar_products",
            vec![
                json!({ "product_id": one, "limit": 3 }),
                json!({ "text": "mug", "max_price": 30 }),
            ],
        ),
        (
            "get_price_history",
            vec![json!({ "product_id": one }), json!({ "product_id": two, "days": 1 })],
        ),
        ("get_product_details", vec![json!({ "product_id": one }), json!({ "gtin": gtin })]),
        (
            "get_product_reviews",
            vec![
                json!({ "product_id": one }),
                json!({ "product_id": two, "sort": "lowest", "limit": 1 }),
            ],
        ),
        (
            "get_product_variants",
            vec![
                json!({ "product_id": one }),
                json!({ "product_id": one, "selected": [{ "name": option.0, "value": option.1 }] }),
            ],
        ),
        (
            "lookup_products",
            vec![json!({ "product_ids": [one, gtin, first.sku, "nothing", "https://x.example"] })],
        ),
    ]
}

fn store_arguments() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        ("browse_categories", vec![json!({}), json!({ "depth": 5, "include_counts": false })]),
        ("get_merchant_profile", vec![json!({})]),
        ("get_search_facets", vec![json!({}), json!({ "query": "coffee", "max_price": 50 })]),
        ("get_store_capabilities", vec![json!({})]),
        ("get_store_policies", vec![json!({}), json!({ "types": ["returns", "shipping"] })]),
        (
            "get_trust_history",
            vec![json!({}), json!({ "from": "2026-10-25T00:00:00Z", "limit": 3 })],
        ),
        ("get_trust_methodology", vec![json!({}), json!({ "full": true })]),
        ("get_trust_score", vec![json!({})]),
        (
            "list_new_arrivals",
            vec![json!({}), json!({ "since": "2026-09-01T00:00:00Z", "limit": 50 })],
        ),
        ("list_payment_methods", vec![json!({}), json!({ "currency": "USDC" })]),
        ("list_promotions", vec![json!({})]),
        (
            "nlweb_ask",
            vec![
                json!({ "query": "something for coffee" }),
                json!({ "query": "and for tea?", "decontextualized_query": "tea", "mode": "generate", "query_id": "q" }),
            ],
        ),
        (
            "nlweb_who",
            vec![json!({ "query": "coffee" }), json!({ "query": "lamp", "min_trust": 0.9 })],
        ),
        (
            "search_products",
            vec![
                json!({ "query": "coffee", "max_price": 60, "in_stock_only": true, "limit": 5 }),
                json!({ "facets": true, "sort": "price_asc" }),
            ],
        ),
        (
            "search_products_enriched",
            vec![
                json!({ "query": "coffee", "destination": { "country": "PT" } }),
                json!({ "query": "mug", "include": ["variants"], "limit": 2 }),
            ],
        ),
        ("suggest_queries", vec![json!({ "prefix": "cof" })]),
    ]
}

#[tokio::test]
async fn results_match_the_output_schema() {
    let app = TestApp::with_index().await;
    let key = app.sandbox_key().await;
    let mut valid = valid_arguments(&app, &key).await;
    let full = listed_at(&app, "/demo-store/mcp?schemas=full").await;
    for (tool, full) in listed(&app).await.into_iter().zip(full) {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(full["name"], name);
        assert!(
            tool.get("outputSchema").is_none(),
            "{name}: the default listing has no output schemas"
        );
        let schema = jsonschema::validator_for(&full["outputSchema"]).unwrap();
        let sets = valid.remove(name).unwrap_or_else(|| panic!("no valid arguments for {name}"));
        for arguments in sets {
            let answer = app.tool_as(&key, STORE, name, arguments.clone()).await;
            let result = &answer.json()["result"];
            assert!(result["isError"] != true, "{name} {arguments}: {}", answer.text);
            let content = &result["structuredContent"];
            let errors: Vec<String> =
                schema.iter_errors(content).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{name} {arguments}: {errors:?} in {content}");
            let text = result["content"][0]["text"].as_str().unwrap();
            assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), content);
            assert!(!has_null_field(content), "{name} {content}");
        }
    }
    assert!(valid.is_empty(), "not listed: {valid:?}");
}

fn has_null_field(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.values().any(|field| field.is_null() || has_null_field(field))
        }
        Value::Array(items) => items.iter().any(has_null_field),
        _ => false,
    }
}

#[tokio::test]
async fn invalid_arguments_are_refused_with_the_field_name() {
    let app = TestApp::with_index().await;
    let key = app.sandbox_key().await;
    let valid = valid_arguments(&app, &key).await;
    for tool in listed(&app).await {
        let name = tool["name"].as_str().unwrap();
        let validator = jsonschema::validator_for(&tool["inputSchema"]).unwrap();
        let invalid = invalid_arguments(&tool["inputSchema"], &valid[name][0], &validator);
        assert_eq!(invalid.len(), INVALID_INPUTS, "{name}: not enough invalid inputs");
        for (field, arguments) in invalid {
            let answer = app.tool_as(&key, STORE, name, arguments.clone()).await;
            assert_eq!(answer.status, 200, "{name} {arguments}: {}", answer.text);
            assert_eq!(answer.code(), "invalid_request", "{name} {arguments}: {}", answer.text);
            let body = answer.json();
            let text = body["result"]["content"][0]["text"].as_str().unwrap();
            let envelope: Value = serde_json::from_str(text).unwrap();
            let named = envelope["details"]["field"].as_str().unwrap_or_default();
            assert!(
                named.starts_with(&field),
                "{name} {arguments}: {field} is not named in {text}"
            );
            assert!(envelope["message"].as_str().unwrap().len() > 20, "{text}");

            let plain = post("/demo-store/mcp").header("x-agent-api-key", &key);
            let plain = plain.body(Body::from(call(name, arguments).to_string()));
            let plain = app.send(plain.unwrap()).await;
            assert_eq!((plain.status.as_u16(), plain.code().as_str()), (400, "invalid_request"));
        }
    }
}

/// Returns inputs that do not match a schema, each with its invalid field: valid arguments with one change.
fn invalid_arguments(
    schema: &Value,
    valid: &Value,
    validator: &jsonschema::Validator,
) -> Vec<(String, Value)> {
    let mut found: Vec<(String, Value)> = Vec::new();
    let mut add = |field: &str, value: Option<Value>| {
        let mut arguments = valid.clone();
        match value {
            Some(value) => arguments[field] = value,
            None => {
                arguments.as_object_mut().unwrap().remove(field);
            }
        }
        if found.len() < INVALID_INPUTS && !validator.is_valid(&arguments) {
            found.push((field.to_owned(), arguments));
        }
    };
    for field in schema["required"].as_array().into_iter().flatten() {
        add(field.as_str().unwrap(), None);
    }
    let properties = schema["properties"].as_object().unwrap();
    let samples = [
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(true),
        json!([]),
        json!({}),
        json!([[]]),
        json!([null]),
        json!({ "a": 1 }),
        json!("x"),
        json!(""),
        json!("x".repeat(5_000)),
        json!(vec!["x"; 200]),
        json!("prod_123"),
        json!("DROP TABLE product"),
    ];
    let is_required = |field: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|it| it == field))
    };
    for sample in &samples {
        for field in properties.keys() {
            // An empty text means "absent", and options could once be selected by an object.
            let is_former = field == "selected" && sample.is_object();
            if !is_former && (*sample != json!("") || is_required(field)) {
                add(field, Some(sample.clone()));
            }
        }
    }
    for number in 0..INVALID_INPUTS {
        let sample = samples[number % samples.len()].clone();
        add(&format!("no_such_field_{number}"), Some(sample));
    }
    found
}

#[tokio::test]
async fn the_listing_can_be_limited_to_tool_sets() {
    let app = TestApp::start().await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let count = async |path: &str| {
        let answer = app.rpc(path, &body).await.json();
        answer["result"]["tools"].as_array().map_or(0, Vec::len)
    };
    let all = count("/demo-store/mcp").await;
    assert_eq!(count("/demo-store/mcp?tools=discovery,cart,checkout,orders").await, all);
    assert!(count("/demo-store/mcp?tools=cart").await >= 10);
    assert_eq!(count("/demo-store/mcp?tools=orders").await, 11);
    let refused = app.rpc("/demo-store/mcp?tools=everything", &body).await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (400, "invalid_request"));
    assert!(refused.text.contains("discovery"), "{}", refused.text);
}

#[tokio::test]
async fn resources_and_prompts_are_read() {
    let app = TestApp::with_index().await;
    let rpc = async |method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        app.rpc("/demo-store/mcp", &body).await.json()
    };
    let resources = rpc("resources/list", json!({})).await;
    let resources = resources["result"]["resources"].as_array().unwrap().clone();
    assert_eq!(resources.len(), 3);
    for resource in &resources {
        let read = rpc("resources/read", json!({ "uri": resource["uri"] })).await;
        let content = &read["result"]["contents"][0];
        assert_eq!(content["mimeType"], resource["mimeType"], "{read}");
        assert!(content["text"].as_str().unwrap().len() > 300, "{read}");
    }
    let missing = rpc("resources/read", json!({ "uri": "souk://other-store/guide" })).await;
    assert!(missing["error"]["code"].is_number(), "{missing}");

    let prompts = rpc("prompts/list", json!({})).await;
    assert_eq!(prompts["result"]["prompts"].as_array().unwrap().len(), 2);
    let arguments = json!({ "wish": "a mug" });
    let prompt =
        rpc("prompts/get", json!({ "name": "find_and_compare", "arguments": arguments })).await;
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("“a mug”"), "{text}");
    let nothing = rpc("prompts/get", json!({ "name": "find_and_compare" })).await;
    assert_eq!(nothing["error"]["code"], -32602);
    assert_eq!(nothing["error"]["data"]["details"]["field"], "wish");
}

#[tokio::test]
async fn a_null_argument_counts_as_absent() {
    let app = TestApp::start().await;
    let browse = async |arguments: Value| {
        app.tool(STORE, "browse_categories", arguments).await.json()["result"].clone()
    };
    let absent = browse(json!({})).await;
    assert_eq!(browse(json!({ "depth": null, "parent": null })).await, absent);
}

/// The responses for a product of another store and for an unknown product are identical.
#[tokio::test]
async fn another_stores_product_is_not_found() {
    let app = TestApp::with_index().await;
    let world = demo::world();
    let other = world.stores.iter().find(|store| store.slug == "olaria-salgueira").unwrap();
    let foreign = ProductId::from_uuid(other.products[0].id).to_string();
    let unknown = ProductId::from_random(7).to_string();
    let own = ProductId::from_uuid(world.store(STORE).unwrap().products[0].id);
    let line = |id: &str| json!([{ "product_id": id }]);
    let calls = |id: &str| {
        [
            ("get_product_details", json!({ "product_id": id })),
            ("get_product_variants", json!({ "product_id": id })),
            ("get_product_reviews", json!({ "product_id": id })),
            ("get_price_history", json!({ "product_id": id })),
            ("compare_products", json!({ "product_ids": [own, id] })),
            ("lookup_products", json!({ "product_ids": [id] })),
            ("check_availability", json!({ "items": line(id) })),
            ("estimate_delivery", json!({ "items": line(id), "destination": { "country": "PT" } })),
        ]
    };
    for ((tool, foreign_arguments), (_, unknown_arguments)) in
        calls(&foreign).into_iter().zip(calls(&unknown))
    {
        let response = async |arguments: Value, id: &str| {
            let answer = app.tool(STORE, tool, arguments).await.json();
            let text = answer["result"]["content"][0]["text"].as_str().unwrap().replace(id, "it");
            let mut response: Value = serde_json::from_str(&text).unwrap();
            if let Some(details) = response["details"].as_object_mut() {
                details.remove("request_id");
            }
            response
        };
        let of_foreign = response(foreign_arguments, &foreign).await;
        assert_eq!(of_foreign, response(unknown_arguments, &unknown).await, "{tool}");
    }
}
