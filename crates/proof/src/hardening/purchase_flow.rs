//! Checks of the purchase flow: what the specification shows works, and what an agent could abuse does not.

use merchants::Settings;
use serde_json::json;

use super::deployment::ALL_SCOPES;
use super::shop::{BROWSER, Shop, hidden, refused, text};
use crate::checkout::store::{Agent, Reply};
use crate::http::{Client, Delivery};
use crate::report::{Trial, Verdict, ensure};
use crate::souk::Souk;

fn settings() -> Settings {
    Settings::default()
}

/// The three shown calls, then the payment page: address, final total, payment.
pub(crate) async fn shown_purchase(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[9], settings()).await?;
    let (agent, mut client) = shop.connected_agent().await?;
    let items = json!([{ "product_id": shop.products[0], "quantity": 2 }]);
    let cart = agent.call(&mut client, "create_cart", json!({ "items": items })).await.success()?;
    let cart = text(&cart, "cart_id")?.to_owned();
    let named = json!({ "cart_id": cart });
    let preview = agent.call(&mut client, "preview_checkout", named.clone()).await.success()?;
    ensure(preview["totals"]["is_estimate"] == true, || preview.to_string())?;
    let session = agent.call(&mut client, "complete_checkout", named).await.success()?;
    let path = format!("/checkout/{}", text(&session, "checkout_id")?);
    let page = shop.page(&path).await?;
    ensure(page.contains("Where should it be delivered?"), || page.clone())?;
    let token = hidden(&page, "form_token")?;
    let address = format!(
        "form_token={token}&name=Ada&street=Way+1&postal_code=10115&city=Berlin&country=DE&email=ada%40example.com"
    );
    let delivered = shop.submit(&format!("{path}/delivery"), &address).await?;
    ensure(delivered == 303, || format!("the address was answered with {delivered}"))?;
    let page = shop.page(&path).await?;
    let hash = hidden(&page, "quote_hash")?;
    let pay = format!("instrument=test_approves&form_token={token}&quote_hash={hash}");
    let other = pay.replace(hash, text(&session, "quote_hash")?);
    let stale = shop.submit(&format!("{path}/pay"), &other).await?;
    ensure(stale == 409, || format!("the hash of the open quote was answered with {stale}"))?;
    let paid = shop.submit(&format!("{path}/pay"), &pay).await?;
    ensure(paid == 303, || format!("the payment was answered with {paid}"))?;
    let confirmed = "SELECT count(*) FROM placed_order WHERE merchant_id = $1 AND confirmation_level = 'hosted'";
    let confirmed = shop.count(confirmed).await?;
    ensure(confirmed == 1, || String::from("no order with a hosted confirmation"))?;
    Ok(String::from(
        "three calls, an address and a payment: one order, confirmed by the person for the shown total",
    ))
}

/// A store without a payment page: nothing is held.
pub(crate) async fn no_payment_page(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[9], settings()).await?;
    let agent = shop.agent().await?;
    let settings = [("SOUK_TEST_PAYMENTS", String::from("off"))];
    let without_payments = Souk::serve_with(&shop.url(), &[], &settings).await?;
    let mut client = agent.client(without_payments.port);
    let cart = agent.cart(&mut client, &[(shop.products[0], 2)]).await?;
    let reply = agent.complete(&mut client, &cart, None).await;
    refused(&reply, 422, "checkout_not_ready")?;
    let held = shop.count("SELECT sum(held) FROM product WHERE merchant_id = $1").await?;
    ensure(held == 0, || format!("{held} units are held where nobody can pay"))?;
    Ok(String::from("422, and no unit held"))
}

/// A person says No on the approval page; the agent tries again in every way.
pub(crate) async fn declined_purchase(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[9], settings()).await?;
    let (agent, mut client) = shop.connected_agent().await?;
    let cart = agent.cart(&mut client, &[(shop.products[0], 1)]).await?;
    let named = json!({ "cart_id": cart });
    let asked = agent.call(&mut client, "request_human_confirmation", named).await.success()?;
    let decided = shop.decide(text(&asked, "confirmation_id")?, "reject").await?;
    ensure(decided == 303, || format!("the decision was answered with {decided}"))?;
    let second = agent.cart(&mut client, &[(shop.products[0], 1)]).await?;
    for cart in [&cart, &second] {
        let reply = agent.complete(&mut client, cart, None).await;
        refused(&reply, 409, "confirmation_required")?;
    }
    let again = json!({ "cart_id": second });
    let again = agent.call(&mut client, "request_human_confirmation", again).await;
    refused(&again, 409, "confirmation_required")?;
    let sessions = "SELECT count(*) FROM checkout_session WHERE merchant_id = $1";
    let sessions = shop.count(sessions).await?;
    ensure(sessions == 0, || format!("{sessions} sessions in spite of the No"))?;
    Ok(String::from("completing and asking again refused, in the same cart and in another"))
}

/// A program submits the approval form without a browser's headers.
pub(crate) async fn form_without_browser(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[9], settings()).await?;
    let (agent, mut client) = shop.connected_agent().await?;
    let cart = agent.cart(&mut client, &[(shop.products[0], 1)]).await?;
    let named = json!({ "cart_id": cart });
    let asked = agent.call(&mut client, "request_human_confirmation", named).await.success()?;
    let id = text(&asked, "confirmation_id")?;
    let (path, yes) = (format!("/confirm/{id}"), shop.decision_form(id, "approve").await?);
    let origin = format!("http://127.0.0.1:{}", shop.port());
    let (origin, site) = (("Origin", origin.as_str()), ("Sec-Fetch-Site", "same-origin"));
    let forgeries: [&[(&str, &str)]; 5] = [
        &[],
        &[origin],
        &[site],
        &[("Origin", "https://evil.example"), site],
        &[origin, ("Sec-Fetch-Site", "cross-site")],
    ];
    for headers in forgeries {
        let mut forged = Client::new(shop.port()).sending_forms().without_headers();
        for (name, value) in headers {
            forged = forged.with_header(name, value);
        }
        let status = shop.submit_with(forged, &path, &yes).await?;
        ensure(status == 403, || format!("a form with the headers {headers:?}: {status}"))?;
    }
    let undecided =
        "SELECT count(*) FROM confirmation WHERE merchant_id = $1 AND status = 'pending'
                     AND decided_address IS NULL AND decided_browser IS NULL";
    let undecided = shop.count(undecided).await?;
    ensure(undecided == 1, || String::from("a forged form decided"))?;
    let decided = shop.submit(&path, &yes).await?;
    ensure(decided == 303, || format!("a browser's form was answered with {decided}"))?;
    let mut raw = shop.deployment.test.raw().await;
    let recorded: (String, String) = sqlx::query_as(
        "SELECT decided_address, decided_browser FROM confirmation WHERE merchant_id = $1",
    )
    .bind(shop.merchant)
    .fetch_one(&mut raw)
    .await?;
    ensure(recorded == (String::from("127.0.0.1"), BROWSER.to_owned()), || {
        format!("another person was recorded: {recorded:?}")
    })?;
    Ok(format!(
        "{} forms with missing or foreign Origin and Sec-Fetch-Site: 403, nothing decided; a browser's decision recorded with \
         its address and User-Agent",
        forgeries.len()
    ))
}

/// An agent swaps the buyer after the person approved.
pub(crate) async fn swapped_buyer(trial: Trial) -> Verdict {
    let hosted = Settings { confirmation: merchants::ConfirmationPolicy::Hosted, ..settings() };
    let shop = Shop::with(&trial, &[9], hosted).await?;
    let (agent, mut client) = shop.connected_agent().await?;
    let items = json!([{ "product_id": shop.products[0] }]);
    let new = json!({ "items": items, "ship_to": { "country": "DE", "city": "Berlin", "street": "Way 1" }, "buyer": { "email": "ada@example.com" } });
    let cart = agent.call(&mut client, "create_cart", new).await.success()?;
    let cart = text(&cart, "cart_id")?.to_owned();
    let named = json!({ "cart_id": cart });
    let asked = agent.call(&mut client, "request_human_confirmation", named).await.success()?;
    let id = text(&asked, "confirmation_id")?;
    let page = shop.page(&format!("/confirm/{id}")).await?;
    ensure(page.contains("ada@example.com"), || String::from("the page shows no buyer"))?;
    shop.decide(id, "approve").await?;
    let swap = json!({ "cart_id": cart, "country": "DE", "buyer": { "email": "eve@example.com" } });
    agent.call(&mut client, "set_cart_destination", swap).await.success()?;
    let claim = json!({ "cart_id": cart, "confirmation": { "confirmation_id": id } });
    let reply = agent.call(&mut client, "complete_checkout", claim).await;
    refused(&reply, 409, "confirmation_required")?;
    Ok(String::from("the approval no longer counts once the buyer's e-mail changed"))
}

/// One free key tries to hold a whole stock, and to keep it.
pub(crate) async fn hoarded_stock(trial: Trial) -> Verdict {
    let shop = Shop::with(&trial, &[1_000], settings()).await?;
    let agent = Agent::at(&shop.slug, &shop.deployment.key_on("FREE", &ALL_SCOPES).await?);
    let mut client = agent.client(shop.port());
    let (mut holds, mut last) = (0, None);
    for _ in 0..30 {
        let cart = agent.cart(&mut client, &[(shop.products[0], 30)]).await?;
        match agent.complete(&mut client, &cart, None).await {
            Reply::Success(session) => {
                holds += 1;
                last = Some((cart, session));
            }
            reply => refused(&reply, 409, "hold_limit_reached")?,
        }
    }
    let held_units = "SELECT sum(held) FROM product WHERE merchant_id = $1";
    let held = shop.count(held_units).await?;
    ensure(held <= 200, || format!("one free key holds {held} of 1,000 units"))?;
    let (cart, session) = last.ok_or("nothing was held")?;
    let id = text(&session, "checkout_id")?;
    shop.execute(
        "UPDATE checkout_session SET started_at = started_at - interval '29 minutes',
                expires_at = expires_at - interval '29 minutes' WHERE merchant_id = $1",
    )
    .await?;
    let change = json!({ "checkout_id": id, "ship_to": { "country": "DE", "city": "Berlin", "street": "Way 1" } });
    agent.call(&mut client, "update_checkout", change).await.success()?;
    agent.complete(&mut client, &cart, None).await.success()?;
    let lifetime = "SELECT max(extract(epoch FROM expires_at - started_at))::bigint FROM checkout_session WHERE merchant_id = $1";
    let lifetime = shop.count(lifetime).await?;
    ensure(lifetime == 1_800, || format!("a session lives for {lifetime} seconds"))?;
    let mut merchant = Client::new(shop.port()).with_key(&shop.key().await?);
    let path = format!("/api/v1/merchant/checkouts/{id}/release");
    let released = merchant.post(&path, "{}").await;
    let is_released = matches!(released, Delivery::Answered { status: 200, .. });
    ensure(is_released, || format!("releasing a hold: {released:?}"))?;
    let after = shop.count(held_units).await?;
    ensure(after == held - 30, || format!("{held} units held, {after} after a release"))?;
    Ok(format!(
        "{holds} holds with {held} units; changes do not extend a session; the merchant releases one"
    ))
}
