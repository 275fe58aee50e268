//! Checks of what can be put into a cart. `foreign-currency`: a product in another currency than that of its store.
//! `single-variant`: a product with one variant, named by its product id.

use serde_json::{Value, json};

use super::shop::{Answer, Shop, agent_call, call, expect_error, text, tool};
use crate::checkout::store::{Agent, settings_without_hold_limits};
use crate::report::{Failure, Trial, Verdict, ensure};

/// A store, and how an agent buys there.
struct Case {
    shop: Shop,
    agent: Agent,
    key: String,
}

impl Case {
    async fn open(trial: &Trial) -> Result<Self, Failure> {
        let shop = Shop::with(trial, &[100], settings_without_hold_limits()).await?;
        Ok(Self { agent: shop.agent().await?, key: shop.key().await?, shop })
    }

    /// Creates or replaces a product and returns its id.
    async fn push(&self, id: &str, fields: &Value) -> Result<String, Failure> {
        let mut body =
            json!({ "external_id": id, "name": id, "price": "10.00", "stock_quantity": 100 });
        for (name, value) in fields.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        let path = format!("/merchant/products/{id}");
        let (status, answer) = call(self.shop.port(), &self.key, "PUT", &path, &body).await?;
        let id = answer["data"]["product_id"].as_str().filter(|_| status == 200);
        id.map(str::to_owned).ok_or_else(|| format!("a push: {status} {answer}").into())
    }

    async fn tool(&self, name: &str, arguments: &Value) -> Result<Answer, Failure> {
        tool(self.shop.port(), &self.agent.key, &self.shop.slug, name, arguments).await
    }

    /// Puts items into a cart over MCP and over REST, and buys them at once over REST.
    async fn choose(&self, items: &Value) -> Result<[(&'static str, Answer); 3], Failure> {
        let (port, key) = (self.shop.port(), &self.agent.key);
        let named = json!({ "merchant_slug": self.shop.slug, "items": items });
        Ok([
            ("create_cart", self.tool("create_cart", &json!({ "items": items })).await?),
            ("POST /agent/cart", agent_call(port, key, "POST", "/agent/cart", &named).await?),
            (
                "POST /agent/checkout",
                agent_call(port, key, "POST", "/agent/checkout", &named).await?,
            ),
        ])
    }
}

pub(crate) async fn foreign_currency(trial: Trial) -> Verdict {
    let case = Case::open(&trial).await?;
    let euros = case.shop.products[0].to_string();
    let dollars = case.push("dollars", &json!({ "currency": "USD" })).await?;
    let yen = case.push("yen", &json!({ "currency": "JPY", "price": "500" })).await?;
    let item = |product: &str| json!({ "product_id": product, "quantity": 1 });
    for items in [json!([item(&dollars)]), json!([item(&euros), item(&dollars)])] {
        for (what, answer) in case.choose(&items).await? {
            expect_error(what, &answer, 422, "unsupported_currency")?;
            ensure(answer.1["details"]["allowed"] == json!(["EUR"]), || {
                format!("{what} does not name the currency of the store: {answer:?}")
            })?;
        }
    }
    // Agents cannot pay in that currency anywhere, so that they do not see the product.
    for (what, answer) in case.choose(&json!([item(&yen)])).await? {
        expect_error(what, &answer, 404, "product_not_found")?;
    }
    let stored = "SELECT count(*) FROM cart WHERE merchant_id = $1";
    let stored = case.shop.count(stored).await?;
    ensure(stored == 0, || format!("{stored} carts were stored"))?;
    // The currency of a product changes after it was put into a cart.
    let cart = case.shop.cart(&case.agent).await?;
    case.push("product-0", &json!({ "currency": "USD" })).await?;
    let named = json!({ "cart_id": cart });
    let more = json!({ "cart_id": cart, "items": [item(&euros)] });
    let added = case.tool("add_cart_items", &more).await?;
    expect_error("add_cart_items", &added, 422, "unsupported_currency")?;
    let late = case.tool("complete_checkout", &named).await?;
    ensure((400..500).contains(&late.0) && late.1["details"]["hint"].is_string(), || {
        format!("a checkout after the change: {late:?}")
    })?;
    let held = "SELECT sum(held) FROM product WHERE merchant_id = $1";
    let held = case.shop.count(held).await?;
    ensure(held == 0, || format!("{held} units are held"))?;
    Ok(format!(
        "a cart with a product in another currency: 422 over MCP and REST, alone and beside others, nothing stored; a currency \
         that agents do not use: 404; changed in a cart: {} {}, nothing held",
        late.0,
        late.1["error"].as_str().unwrap_or_default()
    ))
}

pub(crate) async fn single_variant(trial: Trial) -> Verdict {
    let case = Case::open(&trial).await?;
    let variants = |skus: &[&str]| {
        let one = |sku: &&str| json!({ "sku": sku, "stock_quantity": 100 });
        json!({ "variants": skus.iter().map(one).collect::<Vec<Value>>() })
    };
    let one = case.push("one", &variants(&["one-1"])).await?;
    let two = case.push("two", &variants(&["two-1", "two-2"])).await?;
    for (what, answer) in case.choose(&json!([{ "product_id": two }])).await? {
        expect_error(what, &answer, 400, "invalid_request")?;
        ensure(answer.1["details"]["field"] == "items[0].variant_id", || {
            format!("{what} does not name the variant: {answer:?}")
        })?;
    }
    let [cart, rest_cart, bought] = case.choose(&json!([{ "product_id": one }])).await?;
    let cart = text(&cart.1.1, "cart_id")?.to_owned();
    let first = case.shop.complete(&case.agent, &cart).await?;
    let rest_cart = text(&rest_cart.1.1["data"], "cart_id")?.to_owned();
    let second = case.shop.complete(&case.agent, &rest_cart).await?;
    let third = text(&bought.1.1["data"], "checkout_id")?.to_owned();
    for session in [&first, &second, &third] {
        let path = format!("/merchant/checkouts/{session}/complete");
        let report = json!({ "reference": session });
        let reported = call(case.shop.port(), &case.key, "POST", &path, &report).await?;
        ensure(reported.0 == 200, || format!("the payment report: {reported:?}"))?;
    }
    let sold = "SELECT count(*) FROM placed_order, jsonb_array_elements(lines) AS line
                WHERE merchant_id = $1 AND line->>'variant' IS NOT NULL";
    let left = "SELECT (stock_quantity + held)::bigint FROM variant WHERE merchant_id = $1 AND sku = 'one-1'";
    let (sold, left) = (case.shop.count(sold).await?, case.shop.count(left).await?);
    ensure((sold, left) == (3, 97), || format!("{sold} orders of the variant, {left} units left"))?;
    Ok(String::from(
        "named by its product id over MCP and REST: bought three times, units of the variant sold; several variants: 400 that \
         names the field",
    ))
}
