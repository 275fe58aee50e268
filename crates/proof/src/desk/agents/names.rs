//! `one-name-at-both-doors`: present names are advertised and accepted at both doors, former ones accepted.

use serde_json::{Value, json};

use crate::hardening::deployment::{ALL_SCOPES, Deployment, product_of};
use crate::hardening::shop::{agent_call, text, tool};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};

const STORE: &str = "kivikiri";
/// Names that are accepted and not advertised.
const FORMER: [&str; 5] =
    ["ship_to", "shipping_address", "option_id", "selected_shipping_option_id", "ids"];

/// An agent at both doors of a store.
struct BothDoors {
    port: u16,
    key: String,
}

impl BothDoors {
    /// Calls an endpoint, which must accept the body.
    async fn rest(&self, method: &str, path: &str, body: &Value) -> Result<Value, Failure> {
        let (status, mut answer) = agent_call(self.port, &self.key, method, path, body).await?;
        ensure(status < 300, || format!("{method} {path} {body}: {status} {answer}"))?;
        Ok(answer["data"].take())
    }

    /// Calls a tool, which must accept the arguments.
    async fn mcp(&self, name: &str, arguments: &Value) -> Result<Value, Failure> {
        let (status, answer) = tool(self.port, &self.key, STORE, name, arguments).await?;
        let is_accepted = status < 300 && answer.get("error").is_none();
        ensure(is_accepted, || format!("{name} {arguments}: {status} {answer}"))?;
        Ok(answer)
    }
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let deployment = Deployment::of(&trial).await?;
    let key = deployment.buyer_key(&ALL_SCOPES).await?;
    let doors = BothDoors { port: deployment.souk.port, key };
    let product = product_of(STORE)?;
    let mut accepted = destinations(&doors, &product).await?;
    accepted += shipping_options(&doors, &product).await?;
    accepted += ids(&doors, &product).await?;
    accepted += confirmations(&doors, &product).await?;
    not_advertised(doors.port).await?;
    Ok(format!(
        "{accepted} calls with present and former names accepted at both doors; none of {FORMER:?} advertised"
    ))
}

async fn destinations(doors: &BothDoors, product: &str) -> Result<usize, Failure> {
    let items = json!([{ "product_id": product, "quantity": 1 }]);
    let names = ["destination", "ship_to", "shipping_address"];
    for name in names {
        let rest = json!({ "merchant_slug": STORE, "items": items, name: { "country": "FI" } });
        let rest = doors.rest("POST", "/agent/cart", &rest).await?;
        let mcp = json!({ "items": items, name: { "country": "FI" } });
        let mcp = doors.mcp("create_cart", &mcp).await?;
        for cart in [&rest, &mcp] {
            ensure(cart["destination"]["country"] == "FI", || format!("{name}: {cart}"))?;
        }
        let cart = text(&mcp, "cart_id")?;
        let moved = json!({ "cart_id": cart, name: { "country": "SE" } });
        doors.mcp("set_cart_destination", &moved).await?;
        doors
            .mcp("estimate_delivery", &json!({ "items": items, name: { "country": "FI" } }))
            .await?;
    }
    let cart = doors.mcp("create_cart", &json!({ "items": items })).await?;
    let flat = json!({ "cart_id": cart["cart_id"], "country": "FI", "city": "Oulu" });
    let flat = doors.mcp("set_cart_destination", &flat).await?;
    ensure(flat["destination"]["city"] == "Oulu", || flat.to_string())?;
    Ok(names.len() * 4 + 1)
}

async fn shipping_options(doors: &BothDoors, product: &str) -> Result<usize, Failure> {
    let items = json!([{ "product_id": product, "quantity": 1 }]);
    let new = json!({ "items": items, "destination": { "country": "FI" } });
    let cart = doors.mcp("create_cart", &new).await?;
    let (id, option) = (text(&cart, "cart_id")?, &cart["shipping_options"][0]["id"]);
    ensure(option.is_string(), || format!("no shipping option: {cart}"))?;
    let path = format!("/agent/cart/{id}");
    let names = ["shipping_option_id", "option_id", "selected_shipping_option_id"];
    for name in names {
        let rest = doors.rest("PATCH", &path, &json!({ name: option })).await?;
        let arguments = json!({ "cart_id": id, name: option });
        let mcp = doors.mcp("select_shipping_option", &arguments).await?;
        for cart in [rest, mcp] {
            let selected = &cart["selected_shipping_option_id"];
            ensure(selected == option, || format!("{name}: {cart}"))?;
        }
    }
    Ok(names.len() * 2)
}

async fn ids(doors: &BothDoors, product: &str) -> Result<usize, Failure> {
    let found = doors.mcp("find_similar_products", &json!({ "product_id": product })).await;
    let other = match &found {
        Ok(found) => found["data"][0]["id"].as_str().unwrap_or(product),
        Err(_) => product,
    };
    let names = ["product_ids", "ids"];
    for name in names {
        doors.mcp("lookup_products", &json!({ name: [product] })).await?;
        if other != product {
            doors.rest("POST", "/agent/compare", &json!({ name: [product, other] })).await?;
            doors.mcp("compare_products", &json!({ name: [product, other] })).await?;
        }
    }
    Ok(names.len() * if other == product { 1 } else { 3 })
}

/// The proof of an approval: the store accepts the agent's word, so that an unknown confirmation is refused as such.
async fn confirmations(doors: &BothDoors, product: &str) -> Result<usize, Failure> {
    let items = json!([{ "product_id": product, "quantity": 1 }]);
    let cart = doors.mcp("create_cart", &json!({ "items": items })).await?;
    let id = &cart["cart_id"];
    let unknown = format!("cnf_{}", "7".repeat(32));
    let claims = [
        json!({ "confirmation": { "confirmation_id": unknown } }),
        json!({ "confirmation_id": unknown }),
    ];
    for claim in &claims {
        let mut body = claim.clone();
        body["cart_id"] = id.clone();
        let rest = agent_call(doors.port, &doors.key, "POST", "/agent/checkout", &body).await?;
        let mcp = tool(doors.port, &doors.key, STORE, "complete_checkout", &body).await?;
        for (status, answer) in [rest, mcp] {
            let is_read = status == 409 && answer["details"]["reason"] == "proof_unknown";
            ensure(is_read, || format!("{claim}: {status} {answer}"))?;
        }
    }
    Ok(claims.len() * 2)
}

/// No former name is a property in the OpenAPI document or in an input schema.
async fn not_advertised(port: u16) -> Result<(), Failure> {
    let mut client = Client::new(port);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let answers = [
        client.get("/api/v1/openapi.json").await,
        client.post(&format!("/{STORE}/mcp"), &list).await,
    ];
    for answer in answers {
        let Delivery::Answered { status: 200, body } = answer else {
            return Err(format!("{answer:?}").into());
        };
        ensure(!body.contains("x-former-names"), || {
            String::from("former names are declared to clients")
        })?;
        let document: Value = serde_json::from_str(&body)?;
        let inputs: Vec<Value> = if let Some(tools) = document["result"]["tools"].as_array() {
            // The tools of onX have the names of onX.
            let is_ours =
                |tool: &&Value| !tool["name"].as_str().is_some_and(|name| name.starts_with("onx_"));
            tools.iter().filter(is_ours).map(|tool| tool["inputSchema"].clone()).collect()
        } else {
            let schemas = document["components"]["schemas"].as_object().into_iter().flatten();
            schemas
                .filter(|(name, _)| name.ends_with("Request"))
                .map(|(_, it)| it.clone())
                .collect()
        };
        ensure(!inputs.is_empty(), || String::from("no input schemas"))?;
        for name in FORMER {
            let is_advertised =
                inputs.iter().any(|schema| schema["properties"].get(name).is_some());
            ensure(!is_advertised, || format!("{name} is advertised"))?;
        }
    }
    Ok(())
}
