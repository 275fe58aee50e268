//! `input-limits`: NUL in every text, and numbers beyond every limit, in the bodies of carts, checkouts, products, prices,
//! settings and payment reports, over REST and MCP. Each is refused with a stable code, and nothing of it is stored. The
//! largest purchase of the highest prices is computed exactly.
//!
//! Each body is valid at first; then one value at a time is replaced.

use serde_json::{Value, json};

use super::shop::{Answer, Shop, agent_call, call, tool};
use crate::checkout::store::{Agent, settings_without_hold_limits};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::store_key_with;

/// The highest price of a unit (docs/contract/ids-and-values.md#amounts).
const PRICE_MAX: &str = "10000000000.00";
/// Amounts that no product may have.
const AMOUNTS: [&str; 8] = [
    r#""10000000000.01""#,
    "10000000001",
    r#""92233720368547758.08""#,
    "1e308",
    r#""1e3""#,
    "-0.01",
    "0.001",
    r#""1\u0000""#,
];
/// Codes that refuse a value.
const CODES: [&str; 4] = ["invalid_request", "not_found", "product_not_found", "cart_not_found"];
/// Tables in which a refused call stores nothing.
const TABLES: [&str; 10] = [
    "cart",
    "checkout_session",
    "confirmation",
    "placed_order",
    "idempotency",
    "product",
    "variant",
    "price_history",
    "store_setting",
    "outbox",
];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[1_000], settings_without_hold_limits()).await?;
    let agent = shop.agent().await?;
    let scopes = ["--scope", "catalog", "--scope", "orders", "--scope", "settings"];
    let key = store_key_with(&shop.url(), &shop.slug, &scopes).await?;
    let case = Case { shop, agent, key };
    let mut refused = 0;
    for (way, body) in case.bodies().await? {
        refused += case.mutate(&way, &body).await.map_err(|why| format!("{way:?}: {why}"))?;
    }
    let amounts = case.refuse_amounts().await?;
    let total = case.buy_the_most().await?;
    Ok(format!(
        "{refused} bodies with NUL or a number out of range and {amounts} invalid amounts: refused with a stable code, nothing \
         stored; 50 lines of 999 units at the highest price: {} EUR, exact",
        grouped(total)
    ))
}

/// How a body is sent.
#[derive(Debug, Clone)]
enum Way {
    Tool(&'static str),
    Agent(&'static str, String),
    Merchant(&'static str, String),
}

struct Case {
    shop: Shop,
    agent: Agent,
    key: String,
}

impl Case {
    async fn send(&self, way: &Way, body: &Value) -> Result<Answer, Failure> {
        let (port, agent) = (self.shop.port(), &self.agent.key);
        match way {
            Way::Tool(name) => tool(port, agent, &self.shop.slug, name, body).await,
            Way::Agent(method, path) => agent_call(port, agent, method, path, body).await,
            Way::Merchant(method, path) => call(port, &self.key, method, path, body).await,
        }
    }

    /// Returns valid bodies and how they are sent. Each has as many fields as the call takes.
    async fn bodies(&self) -> Result<Vec<(Way, Value)>, Failure> {
        let shop = &self.shop;
        let items = json!([{ "product_id": shop.products[0], "quantity": 1 }]);
        let address = json!({ "country": "DE", "region": "BE", "postal_code": "10115", "city": "Berlin",
            "street": "Way 1", "name": "Ada" });
        let buyer = json!({ "email": "ada@example.com", "first_name": "Ada", "last_name": "L",
            "phone_number": "+49 30 1" });
        let cart = json!(shop.cart(&self.agent).await?);
        let mut destination = address.clone();
        destination["cart_id"] = cart.clone();
        destination["buyer"] = buyer.clone();
        let started = json!(shop.complete(&self.agent, &shop.cart(&self.agent).await?).await?);
        let reported = shop.complete(&self.agent, &shop.cart(&self.agent).await?).await?;
        let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let checkout = json!({ "cart_id": cart, "buyer": buyer, "shipping_address": address,
            "return_url": "https://a.example/", "metadata": { "a": "b" } });
        let zone = json!({ "name": "home", "countries": ["DE"], "rates": [{ "name": "standard", "price": 4.9,
            "days_min": 1, "days_max": 2 }] });
        Ok(vec![
            (
                Way::Tool("create_cart"),
                json!({ "items": items, "ship_to": address, "buyer": buyer, "discount_codes": ["A"],
                    "idempotency_key": "tool" }),
            ),
            (Way::Tool("set_cart_destination"), destination),
            (Way::Tool("apply_discount_code"), json!({ "cart_id": cart, "code": "A" })),
            (
                Way::Tool("update_checkout"),
                json!({ "checkout_id": started, "ship_to": address, "buyer": buyer }),
            ),
            (
                Way::Tool("cancel_checkout"),
                json!({ "checkout_id": started, "reason_code": "price" }),
            ),
            (
                Way::Agent("POST", String::from("/agent/cart")),
                json!({ "merchant_slug": shop.slug, "items": items, "destination": address, "buyer": buyer,
                    "discount_codes": ["A"] }),
            ),
            (
                Way::Agent("PATCH", format!("/agent/cart/{}", id(&cart))),
                json!({ "destination": address, "buyer": buyer, "discount_codes": ["A"] }),
            ),
            (Way::Agent("POST", String::from("/agent/checkout")), checkout),
            (
                Way::Merchant("POST", format!("/merchant/checkouts/{reported}/complete")),
                json!({ "reference": "A-1", "total_amount": 10.0, "currency": "EUR" }),
            ),
            (
                Way::Merchant("PATCH", String::from("/merchant/settings")),
                json!({ "shipping": [zone], "hold_limits": { "holds": 10_000, "units": 1_000_000 } }),
            ),
        ])
    }

    /// Replaces one value of a body after the other. Returns how many bodies were refused. The valid one comes last, so that it
    /// is known to be valid.
    async fn mutate(&self, way: &Way, body: &Value) -> Result<usize, Failure> {
        let before = self.rows().await?;
        let mut refused = 0;
        for (path, mutant) in mutants(body) {
            let (status, answer) = self.send(way, &mutant).await?;
            let code = answer["error"].as_str().unwrap_or_default();
            let details = &answer["details"];
            let is_helpful = details["hint"].is_string() || details["field"].is_string();
            let is_refused = matches!(status, 400 | 404) && CODES.contains(&code) && is_helpful;
            ensure(is_refused, || format!("{path} of {mutant}: {status} {answer}"))?;
            refused += 1;
        }
        let after = self.rows().await?;
        ensure(after == before, || format!("rows of {TABLES:?}: {before:?} became {after:?}"))?;
        let (status, answer) = self.send(way, body).await?;
        ensure(status < 300, || format!("the valid body {body}: {status} {answer}"))?;
        Ok(refused)
    }

    /// Returns the number of rows of the store in each table, and a version of their content. The event of a report is left
    /// out: a report with wrong amounts is refused, but recorded.
    async fn rows(&self) -> Result<Vec<(i64, Option<String>)>, Failure> {
        let mut raw = self.shop.deployment.test.raw().await;
        let mut rows = Vec::new();
        for table in TABLES {
            let filter = if table == "outbox" { "AND topic <> 'payment.reported'" } else { "" };
            let count = format!(
                "SELECT count(*), md5(string_agg(ctid::text || xmin::text, ',' ORDER BY ctid)) FROM {table}
                 WHERE merchant_id = $1 {filter}"
            );
            let query = sqlx::query_as(sqlx::AssertSqlSafe(count)).bind(self.shop.merchant);
            rows.push(query.fetch_one(&mut raw).await?);
        }
        Ok(rows)
    }

    /// Sends amounts that no product may have, as products and as prices. Returns how many.
    async fn refuse_amounts(&self) -> Result<usize, Failure> {
        let before = self.rows().await?;
        for amount in AMOUNTS {
            let amount: Value = serde_json::from_str(amount)?;
            let product = |field: &str| {
                let mut product =
                    json!({ "external_id": "product-0", "name": "A", "price": "1.00" });
                product[field] = amount.clone();
                product
            };
            let (path, body) = ("/merchant/products/product-0", product("price"));
            let put = call(self.shop.port(), &self.key, "PUT", path, &body).await?;
            super::shop::expect_error(&format!("{body}"), &put, 400, "invalid_request")?;
            let price = json!({ "external_id": "product-0", "price": amount });
            let list_price = product("list_price");
            for (path, body) in [
                ("/merchant/products", json!({ "products": [product("price")] })),
                ("/merchant/products", json!({ "products": [list_price] })),
                ("/merchant/prices", json!({ "items": [price] })),
            ] {
                let (status, answer) =
                    call(self.shop.port(), &self.key, "PATCH", path, &body).await?;
                let fault = &answer["data"]["results"][0]["faults"][0];
                let is_refused = status == 200
                    && answer["data"]["failed"] == 1
                    && fault["code"].is_string()
                    && fault["reason"].is_string();
                ensure(is_refused, || format!("{path} {body}: {status} {answer}"))?;
            }
        }
        let after = self.rows().await?;
        ensure(after == before, || format!("rows of {TABLES:?}: {before:?} became {after:?}"))?;
        Ok(4 * AMOUNTS.len())
    }

    /// Completes a checkout of the most units of the most products at the highest price, and returns its total in euros.
    async fn buy_the_most(&self) -> Result<u64, Failure> {
        let (lines, units) = (50_u64, 999_u64);
        let product = |number| json!({ "external_id": format!("most-{number}"), "name": "Most", "price": PRICE_MAX });
        let products: Vec<Value> = (0..lines).map(product).collect();
        let (path, body) = ("/merchant/products", json!({ "products": products }));
        let (status, pushed) = call(self.shop.port(), &self.key, "PATCH", path, &body).await?;
        let results = pushed["data"]["results"].as_array().filter(|_| status == 200);
        let results = results.ok_or_else(|| format!("the highest price: {status} {pushed}"))?;
        let item =
            |result: &Value| json!({ "product_id": result["product_id"], "quantity": units });
        let items: Vec<Value> = results.iter().map(item).collect();
        let new = json!({ "items": items, "ship_to": { "country": "DE", "city": "Berlin", "street": "Way 1" } });
        let cart = self.send(&Way::Tool("create_cart"), &new).await?;
        let complete = json!({ "cart_id": cart.1["cart_id"] });
        let session = self.send(&Way::Tool("complete_checkout"), &complete).await?;
        let id = session.1["checkout_id"].as_str().ok_or_else(|| format!("{session:?}"))?;
        let paid = self.shop.pay(id).await?;
        ensure(paid == 303, || format!("the payment was answered with {paid}"))?;
        let total = "SELECT max(total_minor) FROM placed_order WHERE merchant_id = $1";
        let total = u64::try_from(self.shop.count(total).await?)?;
        // The shipping rate of the settings above.
        let expected = lines * units * 1_000_000_000_000 + 490;
        ensure(total == expected, || format!("{total} instead of {expected} cents"))?;
        Ok(total / 100)
    }
}

/// Returns the body with one value replaced, for every value and every replacement, and the path of the value.
fn mutants(body: &Value) -> Vec<(String, Value)> {
    let mut mutants = Vec::new();
    for path in paths(body, "") {
        let value = body.pointer(&path).cloned().unwrap_or_default();
        let replacements = match &value {
            Value::String(text) => {
                vec![json!("\0"), json!(format!("{text}\0")), json!(format!("\0{text}"))]
            }
            _ => vec![json!(1e308), json!(-1), json!(u64::MAX), json!(0.000_1)],
        };
        for replacement in replacements {
            let mut mutant = body.clone();
            if let Some(place) = mutant.pointer_mut(&path) {
                *place = replacement;
                mutants.push((path.clone(), mutant));
            }
        }
    }
    mutants
}

/// Returns the JSON pointers of all texts and numbers.
fn paths(value: &Value, at: &str) -> Vec<String> {
    match value {
        Value::String(_) | Value::Number(_) => vec![at.to_owned()],
        Value::Array(values) => {
            let each = values.iter().enumerate();
            each.flat_map(|(index, value)| paths(value, &format!("{at}/{index}"))).collect()
        }
        Value::Object(fields) => {
            let each = fields.iter();
            each.flat_map(|(name, value)| paths(value, &format!("{at}/{name}"))).collect()
        }
        Value::Null | Value::Bool(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_and_number_is_replaced() {
        let body = json!({ "a": ["x", { "b": 1 }], "c": null });
        let mutants = mutants(&body);
        assert_eq!(mutants.len(), 3 + 4);
        assert_eq!(
            mutants[0],
            (String::from("/a/0"), json!({ "a": ["\0", { "b": 1 }], "c": null }))
        );
        assert!(mutants.iter().all(|(_, mutant)| *mutant != body));
    }
}
