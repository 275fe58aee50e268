//! `log-lines`: the log line of a request has tool, error code, store, key id, status and duration, and no credential.

use primitives::{Id, ProductId};
use serde_json::{Value, json};

use super::Scratch;
use crate::hardening::demo_database;
use crate::hardening::deployment::product_of;
use crate::hardening::shop::{agent_call, text};
use crate::http::{Client, tool_call};
use crate::identity::{Account, agent_key_for};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, store_key};

const STORE: &str = "kivikiri";

pub(crate) async fn prove(_: Trial) -> Verdict {
    let test = demo_database().await;
    let scratch = Scratch::new("log-lines")?;
    let log = scratch.path("log");
    let settings = [("SOUK_LOG", String::from("info")), ("SOUK_LOG_FORMAT", String::from("json"))];
    let souk = Souk::serve_logging(&test.url(), &settings, &log).await?;
    let account = Account::create(&test.url(), "ada@example.com", "GROWTH").await?;
    let token = account.log_in(souk.port).await?;
    let (key_id, key) = agent_key_for(souk.port, &token, &["agent:read"]).await?;
    let store_key = store_key(&test.url(), STORE).await?;
    let unknown = ProductId::from_random(7).to_string();
    let mcp = format!("/{STORE}/mcp");
    let call = |tool: &str, arguments: Value| tool_call(tool, &arguments).to_string();
    let agent = || Client::new(souk.port).with_agent_key(&key);
    agent().post(&mcp, &call("get_store_policies", json!({}))).await;
    agent().post(&mcp, &call("get_product_details", json!({ "product_id": unknown }))).await;
    // The error of an MCP client is a result with status 200.
    let client = Client::new(souk.port).with_mcp_headers().with_agent_key(&key);
    let missing = json!({ "cart_id": format!("cart_{:032x}", 7) });
    { client }.post(&mcp, &call("get_cart", missing)).await;
    Client::new(souk.port)
        .with_key(&store_key)
        .send("DELETE", "/api/v1/merchant/products/nothing", b"")
        .await;
    Client::new(souk.port)
        .with_agent_key("agnt_wrong")
        .post(&mcp, &call("get_store_policies", json!({})))
        .await;
    agent().get(&format!("/api/v1/agent/products/{unknown}")).await;
    let (buyer_id, buyer) = agent_key_for(souk.port, &token, &["agent:cart"]).await?;
    let items = json!([{ "product_id": product_of(STORE)?, "quantity": 1 }]);
    let cart = json!({ "merchant_slug": STORE, "items": items });
    let (status, cart) = agent_call(souk.port, &buyer, "POST", "/agent/cart", &cart).await?;
    ensure(status == 201, || format!("{status} {cart}"))?;
    let path = format!("/agent/cart/{}", text(&cart["data"], "cart_id")?);
    agent_call(souk.port, &buyer, "GET", &path, &Value::Null).await?;
    Client::new(souk.port).get("/stores/nowhere").await;
    drop(souk);
    let logged = std::fs::read_to_string(&log)?;
    let lines: Vec<Value> = logged
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|line: &Value| line["target"] == "souk::access")
        .collect();
    let expected = [
        json!({ "tool": "get_store_policies", "store": STORE, "key": key_id, "status": 200 }),
        json!({ "tool": "get_product_details", "store": STORE, "key": key_id, "error": "product_not_found" }),
        json!({ "tool": "get_cart", "store": STORE, "key": key_id, "status": 200, "error": "forbidden" }),
        json!({ "route": "/api/v1/merchant/products/{external_id}", "store": STORE, "status": 404, "error": "product_not_found" }),
        json!({ "tool": "get_store_policies", "error": "unauthorized" }),
        json!({ "route": "/api/v1/agent/products/{product_id}", "key": key_id, "tool": "get_product_details" }),
        json!({ "route": "/api/v1/agent/cart", "key": buyer_id, "store": STORE, "status": 201 }),
        json!({ "route": "/api/v1/agent/cart/{cart_id}", "key": buyer_id, "store": STORE, "tool": "get_cart" }),
        json!({ "route": "/stores/{slug}", "status": 404, "error": "store_not_found" }),
    ];
    for line in &expected {
        must_have(&lines, line)?;
    }
    for secret in [&key, &store_key, &token] {
        ensure(!logged.contains(secret.as_str()), || String::from("the log has a credential"))?;
    }
    Ok(format!(
        "{} log lines with tool, error code, store and key id; no credential",
        expected.len()
    ))
}

/// Fails unless a line has all these fields, and a duration.
fn must_have(lines: &[Value], fields: &Value) -> Result<(), Failure> {
    let has = |line: &Value| {
        let fields = fields.as_object().into_iter().flatten();
        fields.into_iter().all(|(name, value)| line[name] == *value)
            && line["milliseconds"].is_number()
    };
    ensure(lines.iter().any(has), || format!("no line has {fields}: {lines:#?}"))
}
