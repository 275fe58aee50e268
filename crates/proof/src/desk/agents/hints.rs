//! `hints-that-work`: an agent that does literally what each error says gets from nothing to an approved checkout.

use merchants::{ConfirmationPolicy, Settings, ShippingRate, ShippingZone};
use serde_json::{Value, json};

use crate::hardening::deployment::{ALL_SCOPES, Deployment};
use crate::hardening::shop::{Answer, Shop, agent_call, text};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};

/// Most calls from nothing to an approved checkout.
const CALLS_MAX: usize = 9;

/// An agent that knows the address of the API and what its errors say.
struct Follower {
    port: u16,
    key: Option<String>,
    calls: usize,
}

impl Follower {
    async fn call(&mut self, method: &str, path: &str, body: &Value) -> Result<Answer, Failure> {
        self.calls += 1;
        if let Some(key) = &self.key {
            return agent_call(self.port, key, method, path, body).await;
        }
        let mut client = Client::new(self.port);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let path = format!("/api/v1{path}");
        match client.send(method, &path, body.as_bytes()).await {
            Delivery::Answered { status, body } => {
                Ok((status, serde_json::from_str(&body).unwrap_or_default()))
            }
            other => Err(format!("{method} {path}: {other:?}").into()),
        }
    }

    /// Returns the data of a call that must succeed.
    async fn data(&mut self, method: &str, path: &str, body: &Value) -> Result<Value, Failure> {
        let (status, mut answer) = self.call(method, path, body).await?;
        ensure(status < 300, || format!("{method} {path} {body}: {status} {answer}"))?;
        Ok(answer["data"].take())
    }
}

/// Returns the call that a hint names, such as `PATCH /agent/cart/{cart_id}`.
fn named_call(details: &Value, method: &str) -> Result<String, Failure> {
    let hint = text(details, "hint")?;
    let start = format!("{method} /api/v1");
    let rest = hint.split(&start).nth(1).ok_or_else(|| format!("no {method} in: {hint}"))?;
    let path = rest.split([' ', ',', ';', ')']).next().unwrap_or_default();
    Ok(path.replace("{cart_id}", details["cart_id"].as_str().unwrap_or("{cart_id}")))
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let demo = at_the_demo_store(&trial).await?;
    let strict = at_a_strict_store(&trial).await?;
    Ok(format!(
        "every hint followed: {demo} calls to a checkout at the demo store, {strict} to one that a person approved at a store \
         that requires a destination and the approval page"
    ))
}

/// No key, no product, no cart: each error names the call that helps.
async fn at_the_demo_store(trial: &Trial) -> Result<usize, Failure> {
    let deployment = Deployment::of(trial).await?;
    let mut agent = Follower { port: deployment.souk.port, key: None, calls: 0 };
    let (status, refused) = agent.call("POST", "/agent/checkout", &json!({})).await?;
    ensure(status == 401, || format!("without a key: {status} {refused}"))?;
    let hint = text(&refused["details"], "hint")?;
    ensure(hint.contains("POST /api/v1/sandbox/key for the demo store"), || hint.to_owned())?;
    let issued = agent.data("POST", "/sandbox/key", &Value::Null).await?;
    agent.key = Some(text(&issued, "api_key")?.to_owned());
    let (status, refused) = agent.call("POST", "/agent/checkout", &json!({})).await?;
    ensure(status == 400, || format!("without a cart: {status} {refused}"))?;
    let hint = text(&refused["details"], "hint")?;
    let search = hint.contains("POST /api/v1/agent/search");
    ensure(search && hint.contains("merchant_slug and items"), || hint.to_owned())?;
    let search = json!({ "query": "coffee", "merchants": ["demo-store"], "in_stock_only": true });
    let (status, found) = agent.call("POST", "/agent/search", &search).await?;
    let product = found["data"].as_array().into_iter().flatten();
    let product = product.map(|it| &it["id"]).next();
    let product = product.ok_or_else(|| format!("nothing found: {status} {found}"))?.clone();
    let mut items = json!([{ "product_id": product, "quantity": 1 }]);
    let buy = |items: &Value| json!({ "merchant_slug": "demo-store", "items": items });
    let (mut status, mut answer) = agent.call("POST", "/agent/checkout", &buy(&items)).await?;
    if answer["details"]["field"] == "items[0].variant_id" {
        let lists = named_call(&answer["details"], "GET")?;
        let path = lists.replace("{product_id}", product.as_str().unwrap_or_default());
        let product = agent.data("GET", &path, &Value::Null).await?;
        let variants = product["variants"].as_array().into_iter().flatten();
        let mut available = variants.filter(|it| it["stock_status"] == "in_stock");
        let variant = available.next().ok_or_else(|| format!("no variant in stock: {product}"))?;
        items[0]["variant_id"] = variant["id"].clone();
        (status, answer) = agent.call("POST", "/agent/checkout", &buy(&items)).await?;
    }
    let url = &answer["data"]["checkout_url"];
    ensure(status == 201 && url.is_string(), || format!("{status} {answer}"))?;
    ensure(agent.calls <= CALLS_MAX, || format!("{} calls", agent.calls))?;
    Ok(agent.calls)
}

fn strict_settings() -> Settings {
    let rate = |name: &str, price_minor| ShippingRate {
        name: name.to_owned(),
        price_minor,
        min_subtotal_minor: None,
        days_min: 1,
        days_max: 3,
    };
    Settings {
        confirmation: ConfirmationPolicy::Hosted,
        destination_required: true,
        shipping: vec![ShippingZone {
            name: String::from("Germany"),
            countries: vec![String::from("DE")],
            rates: vec![rate("Standard", 490), rate("Express", 990)],
        }],
        ..Settings::default()
    }
}

/// A store that requires a destination and an approval on the page.
async fn at_a_strict_store(trial: &Trial) -> Result<usize, Failure> {
    let shop = Shop::with(trial, &[9], strict_settings()).await?;
    let key = shop.deployment.buyer_key(&ALL_SCOPES).await?;
    let mut agent = Follower { port: shop.port(), key: None, calls: 0 };
    let items = json!([{ "product_id": shop.products[0], "quantity": 1 }]);
    let buy = json!({ "merchant_slug": shop.slug, "items": items });
    let (status, refused) = agent.call("POST", "/agent/checkout", &buy).await?;
    let hint = refused["details"]["hint"].as_str().unwrap_or_default();
    ensure(status == 401 && hint.contains("X-Agent-Api-Key"), || refused.to_string())?;
    agent.key = Some(key);
    let (status, refused) = agent.call("POST", "/agent/checkout", &buy).await?;
    ensure((status, &refused["error"]) == (422, &json!("checkout_not_ready")), || {
        refused.to_string()
    })?;
    let details = &refused["details"];
    let change = named_call(details, "PATCH")?;
    let missing = details["missing"][0].as_str();
    let missing = missing.ok_or_else(|| format!("nothing is missing: {refused}"))?;
    let hint = text(details, "hint")?;
    ensure(hint.contains(&format!("with {missing}, then with shipping_option_id")), || {
        hint.to_owned()
    })?;
    let cart = agent.data("PATCH", &change, &json!({ missing: { "country": "DE" } })).await?;
    let option = &cart["shipping_options"][0]["id"];
    let cart = agent.data("PATCH", &change, &json!({ "shipping_option_id": option })).await?;
    let mut buy = json!({ "cart_id": cart["cart_id"] });
    let (status, refused) = agent.call("POST", "/agent/checkout", &buy).await?;
    ensure((status, &refused["error"]) == (409, &json!("confirmation_required")), || {
        refused.to_string()
    })?;
    let details = &refused["details"];
    let hint = text(details, "hint")?;
    let form = "with confirmation: {\"confirmation_id\": …}";
    ensure(hint.contains("confirm_url") && hint.contains(form), || hint.to_owned())?;
    let confirmation = text(details, "confirmation_id")?;
    let decided = shop.decide(confirmation, "approve").await?;
    ensure(decided == 303, || format!("the decision was answered with {decided}"))?;
    buy["confirmation"] = json!({ "confirmation_id": confirmation });
    let session = agent.data("POST", "/agent/checkout", &buy).await?;
    let level = &session["human_confirmation"]["level"];
    ensure(level == "hosted", || format!("not approved: {session}"))?;
    ensure(agent.calls <= CALLS_MAX, || format!("{} calls", agent.calls))?;
    Ok(agent.calls)
}
