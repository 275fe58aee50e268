//! What belongs to somebody else and what does not exist answer alike, but for the id that is repeated and the name of
//! the request: on every route and every tool that takes an id, found in the routers.

use axum::body::Body;
use axum::http::{Method, Request};
use identity::{NewAgentKey, Role};
use primitives::{Id, KeyId, Scope};
use serde_json::{Map, Value, json};

use crate::app::{Answer, TestApp, call, post};
use crate::s2_carts::{cart, plain_products, record};

const OWN: &str = "kivikiri";
const FOREIGN: &str = "skarvdal";
const UNKNOWN_PRODUCT: &str = "prod_0000000000000000000000000000abcd";

/// Ids of somebody else and ids of nobody, by the name of the field that takes them.
struct Ids {
    foreign: Map<String, Value>,
    unknown: Map<String, Value>,
}

/// The answer without what may differ.
fn alike(answer: &Answer, ids: &Map<String, Value>) -> (u16, String) {
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

/// A feed of the other store, which makes a job.
async fn job_of(app: &TestApp, key: &str) -> String {
    let request = Request::post("/api/v1/merchant/imports")
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/x-ndjson");
    let feed = json!({ "external_id": "X-1", "name": "A thing", "price": "1.00" }).to_string();
    let answer = app.send(request.body(Body::from(feed)).unwrap()).await;
    let job = answer.json()["data"]["job_id"].as_str().map(str::to_owned);
    job.unwrap_or_else(|| panic!("{}", answer.text))
}

/// A good body, where one is looked at before the id.
fn body(method: &Method, path: &str) -> Body {
    if path.starts_with("/merchant/checkouts/") {
        return json!({ "reference": "A-1" }).to_string().into();
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

async fn send(app: &TestApp, method: &Method, path: &str, header: (&str, &str)) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "souk.test")
        .header("content-type", "application/json")
        .header(header.0, header.1);
    let body = body(method, path.trim_start_matches("/api/v1"));
    app.send(request.body(body).unwrap()).await
}

/// Somebody's credentials, by what an operation asks for.
struct Mine {
    agent_key: String,
    store_key: String,
    token: String,
}

impl Mine {
    fn header(&self, access: &str) -> (&'static str, String) {
        match access {
            "agent:read" | "agent:cart" | "agent:checkout" => {
                ("x-agent-api-key", self.agent_key.clone())
            }
            "person" | "owner" => ("authorization", self.token.clone()),
            "store" => ("authorization", format!("Bearer {}", self.store_key)),
            access => panic!("there is a new access: {access}"),
        }
    }
}

/// A checkout of an agent at a store.
async fn session(app: &TestApp, key: &str, slug: &str) -> String {
    let cart = cart(app, key, slug).await;
    let begun = json!({ "cart_id": cart["cart_id"] });
    let session = record(&app.tool_as(key, slug, "create_checkout", begun).await);
    session["checkout_id"].as_str().unwrap().to_owned()
}

/// Who asks, and what somebody else has.
async fn two_tenants(app: &TestApp) -> (Mine, Ids) {
    let me = app.person("me@example.com", &[(OWN, Role::Owner)]).await;
    let other = app.person("other@example.com", &[(FOREIGN, Role::Owner)]).await;
    let (own, foreign) = (app.merchant(OWN).await, app.merchant(FOREIGN).await);
    let wanted = NewAgentKey {
        scopes: Scope::ALL.into(),
        stores: Some(vec![own]),
        ..NewAgentKey::default()
    };
    let mine = Mine {
        agent_key: app.agent_key(me, &wanted).await.key,
        store_key: app.store_key(own).await,
        token: app.log_in("me@example.com").await,
    };
    let foreign_key = app.store_key(foreign).await;
    let keys = identity::store_keys(app.test.database(), foreign).await.unwrap();
    let others = app.agent_key(other, &wanted).await;
    let agent_key = others.key_id;
    let others_cart = cart(app, &others.key, OWN).await;
    let others_session = session(app, &others.key, OWN).await;
    let stranger = app.buyer("stranger@example.com").await;
    let elsewhere = session(app, &stranger, FOREIGN).await;
    let ids = |pairs: [(&str, String); 8]| {
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
    ]);
    let unknown = ids([
        ("product_id", UNKNOWN_PRODUCT.to_owned()),
        ("job_id", String::from("job_0000000000000000000000000000abcd")),
        ("/agent-keys key_id", KeyId::from_random(7).to_string()),
        ("/merchant/keys key_id", KeyId::from_random(7).to_string()),
        ("external_id", String::from("NOBODYS")),
        ("cart_id", String::from("cart_0000000000000000000000000000abcd")),
        ("/agent/checkout checkout_id", String::from("chk_0000000000000000000000000000abcd")),
        ("/merchant/checkouts checkout_id", String::from("chk_0000000000000000000000000000abcd")),
    ]);
    (mine, Ids { foreign, unknown })
}

#[tokio::test]
async fn a_foreign_id_and_an_unknown_one_answer_alike() {
    let app = TestApp::start().await;
    let (mine, ids) = two_tenants(&app).await;
    let mut routes = 0;
    let document = rest::openapi("http://souk.test");
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let parts = operation["parameters"].as_array().unwrap().iter();
            let parts = parts.filter(|it| it["in"] == "path" && it["name"] != "slug");
            let Some(part) = parts.map(|it| it["name"].as_str().unwrap()).next() else { continue };
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let (name, value) = mine.header(operation["x-souk-access"].as_str().unwrap());
            let (at, _) = path.split_once("/{").unwrap();
            let ask = async |ids: &Map<String, Value>| {
                let id = ids.get(part).or_else(|| ids.get(&format!("{at} {part}")));
                let id = id.unwrap_or_else(|| panic!("{path} takes a new id: {part}"));
                let path = path.replace(&format!("{{{part}}}"), id.as_str().unwrap());
                let answer = send(&app, &method, &format!("/api/v1{path}"), (name, &value)).await;
                alike(&answer, ids)
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
    let touched = "SELECT count(*) FROM platform.agent_key WHERE revoked_at IS NOT NULL";
    let touched: i64 = sqlx::query_scalar(touched).fetch_one(&mut sql).await.unwrap();
    assert_eq!(touched, 0, "nothing of the other one was touched");
}

#[tokio::test]
async fn a_tool_does_not_tell_a_foreign_product_from_an_unknown_one() {
    let app = TestApp::searching().await;
    let path = format!("/{OWN}/mcp");
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let listed = app.rpc(&path, &list).await.json();
    let own = plain_products(OWN).remove(0);
    let key = app.buyer("me@example.com").await;
    let own_cart = cart(&app, &key, OWN).await["cart_id"].clone();
    // What else a tool needs beside the id.
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
            if takes("ship_to") {
                arguments["ship_to"] = json!({ "country": "DE" });
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
            alike(&answer, &ids)
        };
        let told = ask(&foreign, asked_foreign).await;
        assert_eq!(told, ask(unknown, asked_unknown).await, "{name}");
        tools += 1;
    }
    assert!(tools >= 13, "only {tools} tools take a product");
}
