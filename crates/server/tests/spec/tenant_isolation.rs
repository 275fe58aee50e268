//! Foreign ids and unknown ids get identical responses, except for the repeated id and the request id: on every
//! route and every tool that takes an id. Routes and tools are read from the routers.

use axum::body::Body;
use axum::http::{Method, Request};
use identity::{NewAgentKey, Role};
use primitives::{Id, KeyId, Scope};
use serde_json::{Map, Value, json};

use crate::app::{TestApp, TestResponse, call, post};
use crate::carts::{create_cart, in_stock_products, structured_content};
use crate::order_tools::shop::Shopper;

const OWN: &str = "kivikiri";
const FOREIGN: &str = "skarvdal";
const UNKNOWN_PRODUCT: &str = "prod_0000000000000000000000000000abcd";

/// Ids of another tenant and unknown ids, by the name of the parameter.
struct Ids {
    foreign: Map<String, Value>,
    unknown: Map<String, Value>,
}

/// Returns status and text, with the parts that may differ replaced.
fn normalized(answer: &TestResponse, ids: &Map<String, Value>) -> (u16, String) {
    let mut text = answer.text.clone();
    for id in ids.values() {
        text = text.replace(id.as_str().unwrap(), "ID");
    }
    let id = answer.headers["x-request-id"].to_str().unwrap();
    (answer.status.as_u16(), text.replace(id, "REQUEST"))
}

async fn product_of(app: &TestApp, slug: &str) -> String {
    let arrivals = app.get(&format!("/api/v1/stores/{slug}/new-arrivals?limit=1")).await.json();
    arrivals["data"][0]["id"].as_str().unwrap().to_owned()
}

/// Uploads a feed to the other store, which creates a job.
async fn job_of(app: &TestApp, key: &str) -> String {
    let request = Request::post("/api/v1/merchant/imports")
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/x-ndjson");
    let feed = json!({ "external_id": "X-1", "name": "A thing", "price": "1.00" }).to_string();
    let answer = app.send(request.body(Body::from(feed)).unwrap()).await;
    let job = answer.json()["data"]["job_id"].as_str().map(str::to_owned);
    job.unwrap_or_else(|| panic!("{}", answer.text))
}

/// Creates a webhook endpoint of the other store with an event, and returns their ids.
async fn webhook_of(app: &TestApp, key: &str) -> (String, String) {
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str())];
    let new = json!({ "url": "https://203.0.113.7/hook" });
    let made = app.request(Method::POST, "/merchant/webhooks", &headers, &new).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let endpoint = made.json()["data"]["endpoint_id"].as_str().unwrap().to_owned();
    let path = format!("/merchant/webhooks/{endpoint}/test");
    let sent = app.request(Method::POST, &path, &headers, &Value::Null).await;
    (endpoint, sent.json()["data"]["event_id"].as_str().unwrap().to_owned())
}

/// Returns a valid body for routes that validate the body before the id.
fn body(method: &Method, path: &str) -> Body {
    if path.starts_with("/merchant/webhooks/") {
        return match method.as_str() {
            "PATCH" => json!({ "description": "x" }).to_string().into(),
            "POST" if path.ends_with("/recover") => {
                json!({ "since": "2026-11-01T00:00:00Z" }).to_string().into()
            }
            _ => Body::empty(),
        };
    }
    if path.starts_with("/merchant/checkouts/") && path.ends_with("/complete") {
        return json!({ "reference": "A-1" }).to_string().into();
    }
    if let Some((caller, order)) = path.split_once("/orders/") {
        return body_of_order(caller, order);
    }
    if !path.starts_with("/agent/cart/") && !path.starts_with("/agent/checkout/") {
        return Body::empty();
    }
    match method.as_str() {
        "POST" => json!({}).to_string().into(),
        "PUT" => json!({ "items": [{ "product_id": UNKNOWN_PRODUCT }] }).to_string().into(),
        "PATCH" => json!({ "discount_codes": [] }).to_string().into(),
        _ => Body::empty(),
    }
}

/// Returns a valid body for a route of an order, of an agent or of a merchant.
fn body_of_order(caller: &str, path: &str) -> Body {
    let (_, route) = path.split_once('/').unwrap_or((path, ""));
    let line = "line_0000000000000000000000000000abcd";
    let item = json!({ "line_id": line, "quantity": 1, "reason": "defective" });
    let body = match (caller, route) {
        ("/agent", "") => json!({ "note": "x" }),
        (_, "") => json!({ "action": "confirm" }),
        (_, "cancel") => json!({}),
        (_, "feedback") => json!({ "outcome": "completed" }),
        (_, "refunds") => json!({ "reason": "other" }),
        (_, "returns") => json!({ "items": [item] }),
        (_, "disputes") => json!({ "reason": "other", "statement": "x" }),
        (_, route) if route.ends_with("/statements") => json!({ "statement": "x" }),
        (_, route) if route.starts_with("returns/") => json!({ "action": "in_transit" }),
        _ => return Body::empty(),
    };
    body.to_string().into()
}

async fn send(app: &TestApp, method: &Method, path: &str, header: (&str, &str)) -> TestResponse {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "souk.test")
        .header("content-type", "application/json")
        .header(header.0, header.1);
    let body = body(method, path.trim_start_matches("/api/v1"));
    app.send(request.body(body).unwrap()).await
}

/// The credentials of the caller.
struct Credentials {
    agent_key: String,
    store_key: String,
    token: String,
}

impl Credentials {
    fn header(&self, access: &str) -> (&'static str, String) {
        match access {
            "agent:read" | "agent:cart" | "agent:checkout" | "agent:orders" => {
                ("x-agent-api-key", self.agent_key.clone())
            }
            "person" | "owner" => ("authorization", self.token.clone()),
            store if store.starts_with("store:") => {
                ("authorization", format!("Bearer {}", self.store_key))
            }
            access => panic!("unknown access: {access}"),
        }
    }
}

/// Creates a checkout session of an agent.
async fn session(app: &TestApp, key: &str, slug: &str) -> String {
    let cart = create_cart(app, key, slug).await;
    let new = json!({ "cart_id": cart["cart_id"] });
    let session = structured_content(&app.tool_as(key, slug, "create_checkout", new).await);
    session["checkout_id"].as_str().unwrap().to_owned()
}

/// Creates the caller, and resources of another tenant.
async fn two_tenants(app: &TestApp) -> (Credentials, Ids) {
    let me = app.person("me@example.com", &[(OWN, Role::Owner)]).await;
    let other = app.person("other@example.com", &[(FOREIGN, Role::Owner)]).await;
    let (own, foreign) = (app.merchant(OWN).await, app.merchant(FOREIGN).await);
    let wanted = NewAgentKey {
        scopes: Scope::ALL.iter().copied().collect(),
        stores: Some(vec![own]),
        ..NewAgentKey::default()
    };
    let credentials = Credentials {
        agent_key: app.agent_key(me, &wanted).await.key,
        store_key: app.store_key(own).await,
        token: app.log_in("me@example.com").await,
    };
    let foreign_key = app.store_key(foreign).await;
    let keys = identity::store_keys(app.test.database(), foreign).await.unwrap();
    let others = app.agent_key(other, &wanted).await;
    let agent_key = others.key_id;
    let others_cart = create_cart(app, &others.key, OWN).await;
    let others_session = session(app, &others.key, OWN).await;
    let other_key = app.buyer_key("buyer@example.com").await;
    let elsewhere = session(app, &other_key, FOREIGN).await;
    let others_order = Shopper::at(app, OWN, others.key.clone()).await.buy(1).await.to_string();
    let order_elsewhere = Shopper::at(app, FOREIGN, other_key).await.buy(1).await.to_string();
    let (endpoint, event) = webhook_of(app, &foreign_key).await;
    let ids = |pairs: [(&str, String); 14]| {
        Map::from_iter(pairs.map(|(name, id)| (name.to_owned(), Value::String(id))))
    };
    let foreign = ids([
        ("product_id", product_of(app, FOREIGN).await),
        ("job_id", job_of(app, &foreign_key).await),
        ("/agent-keys key_id", agent_key.to_string()),
        ("/merchant/keys key_id", keys[0].key_id.to_string()),
        ("external_id", String::from("X-1")),
        ("cart_id", others_cart["cart_id"].as_str().unwrap().to_owned()),
        ("/agent/checkout checkout_id", others_session),
        ("/merchant/checkouts checkout_id", elsewhere),
        ("/agent/orders order_id", others_order),
        ("/merchant/orders order_id", order_elsewhere),
        ("return_id", String::from("ret_0000000000000000000000000000abcd")),
        ("dispute_id", String::from("dsp_0000000000000000000000000000abcd")),
        ("endpoint_id", endpoint),
        ("event_id", event),
    ]);
    let unknown = ids([
        ("product_id", UNKNOWN_PRODUCT.to_owned()),
        ("job_id", String::from("job_0000000000000000000000000000abcd")),
        ("/agent-keys key_id", KeyId::from_random(7).to_string()),
        ("/merchant/keys key_id", KeyId::from_random(7).to_string()),
        ("external_id", String::from("UNKNOWN")),
        ("cart_id", String::from("cart_0000000000000000000000000000abcd")),
        ("/agent/checkout checkout_id", String::from("chk_0000000000000000000000000000abcd")),
        ("/merchant/checkouts checkout_id", String::from("chk_0000000000000000000000000000abcd")),
        ("/agent/orders order_id", String::from("ord_0000000000000000000000000000abcd")),
        ("/merchant/orders order_id", String::from("ord_0000000000000000000000000000abcd")),
        ("return_id", String::from("ret_0000000000000000000000000000abcd")),
        ("dispute_id", String::from("dsp_0000000000000000000000000000abcd")),
        ("endpoint_id", String::from("whk_0000000000000000000000000000abcd")),
        ("event_id", String::from("evt_0000000000000000000000000000abcd")),
    ]);
    (credentials, Ids { foreign, unknown })
}

#[tokio::test]
async fn foreign_and_unknown_ids_get_identical_responses() {
    let app = TestApp::start().await;
    let (credentials, ids) = two_tenants(&app).await;
    let mut routes = 0;
    let document = rest::openapi("http://souk.test");
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let parts = operation["parameters"].as_array().unwrap().iter();
            let parts = parts.filter(|it| it["in"] == "path" && it["name"] != "slug");
            let parts: Vec<&str> = parts.map(|it| it["name"].as_str().unwrap()).collect();
            let Some(part) = parts.first().copied() else { continue };
            let access = operation["x-souk-access"].as_str().unwrap();
            if access == "admin" {
                // Administrators act on every tenant.
                continue;
            }
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let (name, value) = credentials.header(access);
            let (at, _) = path.split_once("/{").unwrap();
            let ask = async |ids: &Map<String, Value>| {
                let with_id = |path: String, part: &&str| {
                    let id = ids.get(*part).or_else(|| ids.get(&format!("{at} {part}")));
                    let id = id.unwrap_or_else(|| panic!("{path} takes an unknown id: {part}"));
                    path.replace(&format!("{{{part}}}"), id.as_str().unwrap())
                };
                let path = parts.iter().fold(path.clone(), with_id);
                let answer = send(&app, &method, &format!("/api/v1{path}"), (name, &value)).await;
                normalized(&answer, ids)
            };
            let (foreign, unknown) = (ask(&ids.foreign).await, ask(&ids.unknown).await);
            assert_eq!(foreign, unknown, "{method} {path}");
            assert!(![401, 403].contains(&foreign.0), "{method} {path}: {}", foreign.1);
            if part != "external_id" {
                assert_eq!(foreign.0, 404, "{method} {path}: {}", foreign.1);
            }
            routes += 1;
        }
    }
    assert!(routes >= 20, "only {routes} routes take an id");
    let mut sql = app.test.raw().await;
    let revoked = "SELECT count(*) FROM platform.agent_key WHERE revoked_at IS NOT NULL";
    let revoked: i64 = sqlx::query_scalar(revoked).fetch_one(&mut sql).await.unwrap();
    assert_eq!(revoked, 0, "keys of the other tenant are unchanged");
}

#[tokio::test]
async fn tools_do_not_distinguish_foreign_from_unknown_products() {
    let app = TestApp::with_index().await;
    let path = format!("/{OWN}/mcp");
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let listed = app.rpc(&path, &list).await.json();
    let own = in_stock_products(OWN).remove(0);
    let key = app.buyer_key("me@example.com").await;
    let own_cart = create_cart(&app, &key, OWN).await["cart_id"].clone();
    // Arguments that a tool requires besides the id.
    let needed = |name: &str| match name {
        "cart_id" => Some(own_cart.clone()),
        _ => None,
    };
    let (foreign, unknown) = (product_of(&app, FOREIGN).await, UNKNOWN_PRODUCT);
    let mut tools = 0;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let (name, schema) = (tool["name"].as_str().unwrap(), &tool["inputSchema"]);
        let takes = |field: &str| schema["properties"].get(field).is_some();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let arguments = |id: &str| {
            let mut arguments = if takes("product_id") {
                json!({ "product_id": id })
            } else if takes("product_ids") {
                json!({ "product_ids": [own, id] })
            } else if takes("items") {
                json!({ "items": [{ "product_id": id, "quantity": 1 }] })
            } else if takes("identifiers") {
                json!({ "identifiers": [id] })
            } else {
                return None;
            };
            if takes("destination") {
                arguments["destination"] = json!({ "country": "DE" });
            }
            for field in required.iter().filter_map(Value::as_str) {
                if arguments.get(field).is_none() {
                    let value = needed(field);
                    arguments[field] = value.unwrap_or_else(|| panic!("{name} needs {field}"));
                }
            }
            Some(arguments)
        };
        let Some(asked_foreign) = arguments(&foreign) else { continue };
        let asked_unknown = arguments(unknown).unwrap();
        let ask = async |id: &str, arguments: Value| {
            let request = post(&path).header("x-agent-api-key", &key);
            let request = request.body(Body::from(call(name, arguments).to_string()));
            let answer = app.send(request.unwrap()).await;
            assert!(![401, 403].contains(&answer.status.as_u16()), "{name}: {}", answer.text);
            let ids = Map::from_iter([(String::from("id"), Value::String(id.to_owned()))]);
            normalized(&answer, &ids)
        };
        let response = ask(&foreign, asked_foreign).await;
        assert_eq!(response, ask(unknown, asked_unknown).await, "{name}");
        tools += 1;
    }
    assert!(tools >= 13, "only {tools} tools take a product");
}
