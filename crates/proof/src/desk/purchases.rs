//! Checks of purchases as a merchant and a buyer see them: an approved buyer can pay, the merchant sees the checkout, a program
//! that copies the approval form approves nothing, and a copied store key leads no buyer elsewhere.

use merchants::Settings;
use serde_json::{Value, json};

use crate::checkout::store::Agent;
use crate::hardening::shop::{Shop, call, expect, hidden, refused, text};
use crate::http::Client;
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, store_key_with};

const ADDRESS: &str =
    "name=Ada&street=Way+1&postal_code=10115&city=Berlin&country=DE&email=ada%40example.com";

/// Asks for an approval of a new cart, and returns the ids of both.
async fn ask(shop: &Shop, agent: &Agent) -> Result<(String, String), Failure> {
    let mut client = agent.client(shop.port());
    let items = json!({ "items": [{ "product_id": shop.products[0], "quantity": 1 }] });
    let cart = agent.call(&mut client, "create_cart", items).await.success()?;
    let named = json!({ "cart_id": cart["cart_id"] });
    let asked = agent.call(&mut client, "request_human_confirmation", named).await.success()?;
    Ok((text(&cart, "cart_id")?.to_owned(), text(&asked, "confirmation_id")?.to_owned()))
}

/// Returns the part of a URL of the store after its slug.
fn path_of(shop: &Shop, url: &str) -> Result<String, Failure> {
    let (_, path) = url
        .split_once(&format!("/{}/", shop.slug))
        .ok_or_else(|| format!("{url} is not an address of the store"))?;
    Ok(format!("/{path}"))
}

/// Has a purchase approved on the page, and enters an address and pays at its `checkout_url`. Returns the session.
async fn buy(shop: &Shop, agent: &Agent) -> Result<String, Failure> {
    let (cart, confirmation) = ask(shop, agent).await?;
    let decided = shop.decide(&confirmation, "approve").await?;
    ensure(decided == 303, || format!("the approval was answered with {decided}"))?;
    let claim = json!({ "cart_id": cart, "confirmation": { "confirmation_id": confirmation } });
    let mut client = agent.client(shop.port());
    let session = agent.call(&mut client, "complete_checkout", claim).await.success()?;
    let path = path_of(shop, text(&session, "checkout_url")?)?;
    let page = shop.page(&path).await?;
    let address = format!("form_token={}&{ADDRESS}", hidden(&page, "form_token")?);
    let delivered = shop.submit(&format!("{path}/delivery"), &address).await?;
    ensure(delivered == 303, || format!("the address was answered with {delivered}: {page}"))?;
    let id = text(&session, "checkout_id")?.to_owned();
    let paid = shop.pay(&id).await?;
    ensure(paid == 303, || format!("the payment was answered with {paid}"))?;
    Ok(id)
}

/// `approved-buyer-pays`: in a store that has not stated a payment page.
pub(crate) async fn approved_buyer_pays(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[9], Settings::default()).await?;
    let agent = shop.agent().await?;
    let id = buy(&shop, &agent).await?;
    let read = json!({ "checkout_id": id });
    let mut client = agent.client(shop.port());
    let session = agent.call(&mut client, "get_checkout", read).await.success()?;
    ensure(session["status"] == "completed" && session["order"]["order_id"].is_string(), || {
        format!("paid, and the session is {session}")
    })?;
    let page = shop.page(&format!("/checkout/{id}")).await?;
    ensure(!page.contains("was told") && !page.contains("elsewhere"), || page.clone())?;
    let settings = [("SOUK_TEST_PAYMENTS", String::from("off"))];
    let unpayable = Souk::serve_with(&shop.url(), &[], &settings).await?;
    let mut client = agent.client(unpayable.port);
    let cart = agent.cart(&mut client, &[(shop.products[0], 2)]).await?;
    refused(&agent.complete(&mut client, &cart, None).await, 422, "checkout_not_ready")?;
    let held = shop.count("SELECT sum(held) FROM product WHERE merchant_id = $1").await?;
    ensure(held == 0, || format!("{held} units are held where nobody can pay"))?;
    Ok(String::from(
        "approved on the page, paid at checkout_url: an order; where nobody can pay, 422 and no unit held",
    ))
}

/// `merchant-checkouts`: what was bought, by cursor and by status, and the address that the person entered.
pub(crate) async fn merchant_checkouts(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[9], Settings::default()).await?;
    let (agent, key) = (shop.agent().await?, shop.key().await?);
    let paid = buy(&shop, &agent).await?;
    let cart = shop.cart(&agent).await?;
    let open = shop.complete(&agent, &cart).await?;
    let ids = async |query: &str| -> Result<Vec<String>, Failure> {
        let (mut ids, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/merchant/checkouts?limit=1{query}{cursor}");
            let (status, page) = call(shop.port(), &key, "GET", &path, &Value::Null).await?;
            ensure(status == 200, || format!("GET {path}: {status} {page}"))?;
            for session in page["data"].as_array().into_iter().flatten() {
                let is_whole = session["items"][0]["sku"].is_string()
                    && session["totals"]["total"].is_number()
                    && session.get("metadata").is_none();
                ensure(is_whole, || format!("a checkout: {session}"))?;
                ids.push(text(session, "checkout_id")?.to_owned());
            }
            let Some(next) = page["meta"]["next_cursor"].as_str() else { return Ok(ids) };
            cursor = format!("&cursor={next}");
        }
    };
    let all = ids("").await?;
    ensure(all == [open.clone(), paid.clone()], || format!("the checkouts: {all:?}"))?;
    let completed = ids("&status=completed").await?;
    ensure(completed == [paid], || format!("those completed: {completed:?}"))?;
    let holding = ids("&holding=true").await?;
    ensure(holding == [open], || format!("those that hold units: {holding:?}"))?;
    let addressed = "SELECT count(*) FROM placed_order WHERE merchant_id = $1
                     AND terms->>'destination' LIKE '%Way 1%' AND terms->>'destination' LIKE '%10115%'
                     AND terms->>'buyer' LIKE '%ada@example.com%'";
    let addressed = shop.count(addressed).await?;
    ensure(addressed == 1, || String::from("the order lacks the address that was entered"))?;
    Ok(String::from(
        "a paid and an open checkout by cursor, by status and by hold; the order has the address that the person entered",
    ))
}

/// `copied-approval-form`: a program reads the page, copies its token and submits the form.
pub(crate) async fn copied_approval_form(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[9], Settings::default()).await?;
    let agent = shop.agent().await?;
    let (_, confirmation) = ask(&shop, &agent).await?;
    let form = shop.decision_form(&confirmation, "approve").await?;
    // The headers that curl sends.
    let program = Client::new(shop.port()).sending_forms().without_headers();
    let program = program.with_header("User-Agent", "curl/8.9.1").with_header("Accept", "*/*");
    let status = shop.submit_with(program, &format!("/confirm/{confirmation}"), &form).await?;
    ensure(status == 403, || format!("the copied form was answered with {status}"))?;
    let read = json!({ "confirmation_id": confirmation });
    let mut client = agent.client(shop.port());
    let state = agent.call(&mut client, "get_confirmation_status", read).await.success()?;
    ensure(state["status"] == "pending", || format!("the copied form decided: {state}"))?;
    Ok(String::from("the form without the headers of a browser: 403, and nothing is decided"))
}

/// `copied-store-key`: keys of every scope try to name another payment page.
pub(crate) async fn copied_store_key(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[9], Settings::default()).await?;
    let port = shop.port();
    let elsewhere = json!({ "checkout_url_template": "https://pay.evil.example/{checkout_id}" });
    let mut keys = vec![shop.key().await?];
    for scope in ["catalog", "orders", "settings"] {
        keys.push(store_key_with(&shop.url(), &shop.slug, &["--scope", scope]).await?);
    }
    for key in &keys {
        let answer = call(port, key, "PATCH", "/merchant/settings", &elsewhere).await?;
        expect("another payment page", &answer, 403, None)?;
    }
    let agent = shop.agent().await?;
    let cart = shop.cart(&agent).await?;
    let mut client = agent.client(port);
    let session = agent.complete(&mut client, &cart, None).await.success()?;
    path_of(&shop, text(&session, "checkout_url")?)?;
    Ok(format!(
        "{} store keys refused with 403; buyers still pay at the store's own page",
        keys.len()
    ))
}
