//! `unknown-fields` and `absent-values`: an error names what was sent and what may have been meant, and blank optional
//! values are absent.

use serde_json::{Value, json};

use crate::hardening::deployment::{ALL_SCOPES, Deployment, product_of};
use crate::hardening::shop::{Answer, Shop, agent_call, call, tool};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};

const STORE: &str = "kivikiri";

/// Fails unless an error names the field and the nearest known one.
fn names(answer: &Answer, field: &str, nearest: &str) -> Result<(), Failure> {
    let (status, body) = answer;
    let details = &body["details"];
    let message = body["message"].as_str().unwrap_or_default();
    let is_named = *status == 400
        && body["error"] == "invalid_request"
        && details["field"] == field
        && details["did_you_mean"] == nearest
        && message.contains(&format!("did you mean {nearest}?"));
    ensure(is_named, || format!("{field}, {nearest} expected: {status} {body}"))
}

pub(crate) async fn unknown_fields(trial: Trial) -> Verdict {
    let deployment = Deployment::of(&trial).await?;
    let (port, key) = (deployment.souk.port, deployment.buyer_key(&ALL_SCOPES).await?);
    let product = product_of(STORE)?;
    let misspelt =
        json!({ "itemz": [], "merchant_slug": STORE, "items": [{ "product_id": product }] });
    let nested =
        json!({ "merchant_slug": STORE, "items": [{ "product_id": product, "quantitt": 2 }] });
    let rest = async |body: &Value| agent_call(port, &key, "POST", "/agent/cart", body).await;
    names(&rest(&misspelt).await?, "itemz", "items")?;
    names(&rest(&nested).await?, "items[0].quantitt", "quantity")?;
    let without_slug = |body: &Value| {
        let mut body = body.clone();
        body.as_object_mut().map(|fields| fields.remove("merchant_slug"));
        body
    };
    let mcp = async |body: Value| tool(port, &key, STORE, "create_cart", &body).await;
    names(&mcp(without_slug(&misspelt)).await?, "itemz", "items")?;
    names(&mcp(without_slug(&nested)).await?, "items[0].quantitt", "quantity")?;
    let both = json!({ "items": [{ "product_id": product }], "ship_to": { "country": "FI" }, "destination": { "country": "SE" } });
    names(&mcp(both).await?, "ship_to", "destination")?;
    for (path, field, nearest) in [
        ("/stores/directory?min_trsut=0.99", "min_trsut", "min_trust"),
        ("/deals?min_discont=50", "min_discont", "min_discount"),
    ] {
        names(&agent_call(port, &key, "GET", path, &Value::Null).await?, field, nearest)?;
    }
    unknown_parameters_of_merchants(&trial).await?;
    let broken = "{\n  \"merchant_slug\": \"kivikiri\",\n  \"items\": [],\n}";
    let mut client = Client::new(port).with_agent_key(&key);
    for path in ["/api/v1/agent/cart", "/kivikiri/mcp"] {
        let Delivery::Answered { status, body } = client.post(path, broken).await else {
            return Err(format!("{path}: no answer").into());
        };
        let is_located = status == 400 && body.contains("line 4 column 1");
        ensure(is_located, || format!("{path}: {status} {body}"))?;
    }
    Ok(String::from(
        "unknown fields and query parameters named with the nearest known one at both doors, also nested ones; a trailing comma with line and column",
    ))
}

/// Misspelt parameters of merchants: a dry run that is misspelt replaces nothing.
async fn unknown_parameters_of_merchants(trial: &Trial) -> Result<(), Failure> {
    let shop = Shop::open(trial).await?;
    let (port, key) = (shop.port(), shop.key().await?);
    let listed = "SELECT count(*) FROM product WHERE merchant_id = $1 AND retired_at IS NULL";
    let before = shop.count(listed).await?;
    let product = json!({ "external_id": "other", "name": "Another", "price": 5 });
    let cases = [
        ("PUT", "/merchant/products?dry_rum=true&force=true", "dry_rum", "dry_run"),
        ("POST", "/merchant/imports?format=ndjson&mode=replace&dryrun=true", "dryrun", "dry_run"),
        ("GET", "/merchant/products?statsu=hidden", "statsu", "status"),
        ("GET", "/merchant/checkouts?staus=completed", "staus", "status"),
        ("GET", "/merchant/export?fromat=csv", "fromat", "format"),
    ];
    for (method, path, field, nearest) in cases {
        let body = if method == "GET" { &Value::Null } else { &product };
        names(&call(port, &key, method, path, body).await?, field, nearest)?;
    }
    let runs = shop.count("SELECT count(*) FROM catalog_run WHERE merchant_id = $1").await?;
    let after = shop.count(listed).await?;
    ensure((runs, after) == (0, before), || {
        format!("{runs} imports began; {before} products, then {after}")
    })
}

/// Returns whether a request was understood. Similar products need the search index, which this deployment lacks.
const fn is_accepted(status: u16) -> bool {
    matches!(status, 200 | 201 | 503)
}

pub(crate) async fn absent_values(trial: Trial) -> Verdict {
    let deployment = Deployment::of(&trial).await?;
    let (port, key) = (deployment.souk.port, deployment.buyer_key(&ALL_SCOPES).await?);
    let product = product_of(STORE)?;
    let item = json!([{ "product_id": product, "variant_id": "", "quantity": 1 }]);
    let blank_address = json!({ "country": "", "city": "", "street": null });
    let tools = [
        (
            "get_product_details",
            json!({ "product_id": product, "sku": "", "gtin": "", "url": null }),
        ),
        ("browse_categories", json!({ "parent": "", "depth": null, "include_counts": null })),
        ("find_similar_products", json!({ "product_id": product, "text": "", "max_price": null })),
        (
            "search_products",
            json!({ "query": "bowl", "category": "", "brand": "", "currency": "", "verification_level": "", "sort": "", "cursor": "" }),
        ),
        ("get_product_variants", json!({ "product_id": product, "selected": "" })),
        (
            "create_cart",
            json!({ "items": item, "destination": blank_address, "buyer": { "email": "", "first_name": "" }, "discount_codes": null, "idempotency_key": "" }),
        ),
    ];
    for (name, arguments) in &tools {
        let (status, answer) = tool(port, &key, STORE, name, arguments).await?;
        ensure(is_accepted(status), || format!("{name} {arguments}: {status} {answer}"))?;
    }
    let calls = [
        (
            "POST",
            String::from("/search"),
            json!({ "query": "bowl", "category": "", "sort": null, "currency": "" }),
        ),
        (
            "POST",
            String::from("/agent/cart"),
            json!({ "merchant_slug": STORE, "items": item, "destination": blank_address, "buyer": null }),
        ),
        ("GET", format!("/agent/products/{product}/similar?merchant=&limit="), Value::Null),
        (
            "GET",
            String::from("/agent/products?gtin=9520000000004&sku=&url=&merchant="),
            Value::Null,
        ),
    ];
    for (method, path, body) in &calls {
        let (status, answer) = agent_call(port, &key, method, path, body).await?;
        ensure(is_accepted(status), || format!("{method} {path} {body}: {status} {answer}"))?;
    }
    for (prices, told) in [
        (json!({ "max_price": 0 }), "more than 0"),
        (json!({ "min_price": 9, "max_price": 1 }), "not less than min_price"),
    ] {
        let rest = agent_call(port, &key, "POST", "/search", &prices).await?;
        let mcp = tool(port, &key, STORE, "search_products", &prices).await?;
        for (status, answer) in [rest, mcp] {
            let message = answer["message"].as_str().unwrap_or_default();
            let is_told = status == 400
                && answer["details"]["field"] == "max_price"
                && message.contains(told);
            ensure(is_told, || format!("{prices}: {status} {answer}"))?;
        }
    }
    Ok(format!(
        "{} tools and {} endpoints called with \"\" and null for what they do not need; a maximum price of 0 and one below the \
         minimum are errors that say so",
        tools.len(),
        calls.len()
    ))
}
