//! Checks of the purchase flow: what the specification shows works, and what an agent could abuse does not.

use merchants::Settings;
use primitives::ProductId;
use serde_json::{Value, json};
use testkit::TestDatabase;

use crate::checkout::store::{Agent, Reply, SLUG, TestStore, report_paid};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

/// A store and a server that accepts test payments.
struct Shop {
    store: TestStore,
    server: Souk,
}

impl Shop {
    async fn open(stock: &[i32], settings: Settings) -> Result<Self, Failure> {
        Self::open_with(stock, settings, &[]).await
    }

    async fn open_with(
        stock: &[i32],
        settings: Settings,
        environment: &[(&'static str, String)],
    ) -> Result<Self, Failure> {
        let store = TestStore::create_with(TestDatabase::new().await, stock, settings).await?;
        let server = Souk::serve_with(&store.url(), &[], environment).await?;
        Ok(Self { store, server })
    }

    async fn agent(&self, name: &str) -> Result<(Agent, Client), Failure> {
        let agent = self.store.agent(&self.server, name).await?;
        let client = agent.client(self.server.port);
        Ok((agent, client))
    }

    fn product(&self) -> ProductId {
        self.store.products[0]
    }

    async fn count(&self, sql: &'static str) -> Result<i64, Failure> {
        Ok(sqlx::query_scalar(sql).fetch_one(&mut self.store.test.raw().await).await?)
    }

    async fn execute(&self, sql: &'static str) -> Result<(), Failure> {
        sqlx::query(sql).execute(&mut self.store.test.raw().await).await?;
        Ok(())
    }

    async fn page(&self, path: &str) -> Result<String, Failure> {
        match Client::new(self.server.port).get(path).await {
            Delivery::Answered { status: 200, body } => Ok(body),
            other => Err(format!("GET {path}: {other:?}").into()),
        }
    }

    /// Submits a form as a browser does and returns the status.
    async fn submit(&self, path: &str, form: &str) -> Result<u16, Failure> {
        match Client::new(self.server.port).sending_forms().post(path, form).await {
            Delivery::Answered { status, .. } => Ok(status),
            other => Err(format!("POST {path}: {other:?}").into()),
        }
    }
}

fn settings() -> Settings {
    Settings::default()
}

/// Returns the value of a hidden field.
fn hidden<'page>(page: &'page str, name: &str) -> Result<&'page str, Failure> {
    let field = page.split(&format!("name=\"{name}\" value=\"")).nth(1);
    field.and_then(|field| field.split('"').next()).ok_or_else(|| format!("no {name}").into())
}

fn text<'value>(value: &'value Value, field: &str) -> Result<&'value str, Failure> {
    value[field].as_str().ok_or_else(|| format!("no {field} in {value}").into())
}

fn refused(reply: &Reply, status: u16, code: &str) -> Result<(), Failure> {
    let is_expected = matches!(reply, Reply::Error(got, error) if *got == status && error == code);
    ensure(is_expected, || format!("{status} {code} expected: {reply:?}"))
}

/// The three shown calls, then the payment page: address, final total, payment.
pub(crate) async fn shown_purchase(_: Trial) -> Verdict {
    let shop = Shop::open(&[9], settings()).await?;
    let (agent, mut client) = shop.agent("ada").await?;
    let items = json!([{ "product_id": shop.product(), "quantity": 2 }]);
    let cart = agent.call(&mut client, "create_cart", json!({ "items": items })).await.success()?;
    let cart = text(&cart, "cart_id")?.to_owned();
    let named = json!({ "cart_id": cart });
    let preview = agent.call(&mut client, "preview_checkout", named.clone()).await.success()?;
    ensure(preview["totals"]["is_estimate"] == true, || preview.to_string())?;
    let session = agent.call(&mut client, "complete_checkout", named).await.success()?;
    let path = format!("/{SLUG}/checkout/{}", text(&session, "checkout_id")?);
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
    let confirmed =
        shop.count("SELECT count(*) FROM placed_order WHERE confirmation_level = 'hosted'").await?;
    ensure(confirmed == 1, || String::from("no order with a hosted confirmation"))?;
    Ok(String::from(
        "three calls, an address and a payment: one order, confirmed by the person for the shown total",
    ))
}

/// A store without a payment page: nothing is held.
pub(crate) async fn no_payment_page(_: Trial) -> Verdict {
    let environment = [("SOUK_TEST_PAYMENTS", String::from("off"))];
    let shop = Shop::open_with(&[9], settings(), &environment).await?;
    let (agent, mut client) = shop.agent("ada").await?;
    let cart = agent.cart(&mut client, &[(shop.product(), 2)]).await?;
    let reply = agent.complete(&mut client, &cart, None).await;
    refused(&reply, 422, "checkout_not_ready")?;
    let held = shop.count("SELECT sum(held) FROM product").await?;
    ensure(held == 0, || format!("{held} units are held where nobody can pay"))?;
    Ok(String::from("422, and no unit held"))
}

/// A person says No on the approval page; the agent tries again in every way.
pub(crate) async fn declined_purchase(_: Trial) -> Verdict {
    let shop = Shop::open(&[9], settings()).await?;
    let (agent, mut client) = shop.agent("ada").await?;
    let cart = agent.cart(&mut client, &[(shop.product(), 1)]).await?;
    let named = json!({ "cart_id": cart });
    let asked = agent.call(&mut client, "request_human_confirmation", named.clone()).await;
    let asked = asked.success()?;
    let path = format!("/{SLUG}/confirm/{}", text(&asked, "confirmation_id")?);
    let page = shop.page(&path).await?;
    let (token, hash) = (hidden(&page, "form_token")?, hidden(&page, "quote_hash")?);
    let no = format!("decision=reject&form_token={token}&quote_hash={hash}");
    let decided = shop.submit(&path, &no).await?;
    ensure(decided == 303, || format!("the decision was answered with {decided}"))?;
    let second = agent.cart(&mut client, &[(shop.product(), 1)]).await?;
    for cart in [&cart, &second] {
        let reply = agent.complete(&mut client, cart, None).await;
        refused(&reply, 409, "confirmation_required")?;
    }
    let again = json!({ "cart_id": second });
    let again = agent.call(&mut client, "request_human_confirmation", again).await;
    refused(&again, 409, "confirmation_required")?;
    let sessions = shop.count("SELECT count(*) FROM checkout_session").await?;
    ensure(sessions == 0, || format!("{sessions} sessions in spite of the No"))?;
    Ok(String::from("completing and asking again refused, in the same cart and in another"))
}

/// A program submits the approval form without a browser's headers.
pub(crate) async fn form_without_browser(_: Trial) -> Verdict {
    let shop = Shop::open(&[9], settings()).await?;
    let (agent, mut client) = shop.agent("ada").await?;
    let cart = agent.cart(&mut client, &[(shop.product(), 1)]).await?;
    let named = json!({ "cart_id": cart });
    let asked = agent.call(&mut client, "request_human_confirmation", named).await.success()?;
    let path = format!("/{SLUG}/confirm/{}", text(&asked, "confirmation_id")?);
    let page = shop.page(&path).await?;
    let (token, hash) = (hidden(&page, "form_token")?, hidden(&page, "quote_hash")?);
    let yes = format!("decision=approve&form_token={token}&quote_hash={hash}");
    let mut forged = Client::new(shop.server.port).sending_forms().without_headers();
    let answered = forged.post(&path, &yes).await;
    let is_refused = matches!(answered, Delivery::Answered { status: 403, .. });
    ensure(is_refused, || format!("a form without a browser's headers: {answered:?}"))?;
    let decided = shop.submit(&path, &yes).await?;
    ensure(decided == 303, || format!("a browser's form was answered with {decided}"))?;
    let recorded = "SELECT count(*) FROM confirmation WHERE decided_address = '127.0.0.1'";
    let recorded = shop.count(recorded).await?;
    ensure(recorded == 1, || String::from("the address of the person was not recorded"))?;
    Ok(String::from(
        "403 without Origin and Sec-Fetch-Site; a browser's decision recorded with its address",
    ))
}

/// An agent swaps the buyer after the person approved.
pub(crate) async fn swapped_buyer(_: Trial) -> Verdict {
    let hosted = Settings { confirmation: merchants::ConfirmationPolicy::Hosted, ..settings() };
    let shop = Shop::open(&[9], hosted).await?;
    let (agent, mut client) = shop.agent("ada").await?;
    let items = json!([{ "product_id": shop.product() }]);
    let new = json!({ "items": items, "ship_to": { "country": "DE" }, "buyer": { "email": "ada@example.com" } });
    let cart = agent.call(&mut client, "create_cart", new).await.success()?;
    let cart = text(&cart, "cart_id")?.to_owned();
    let named = json!({ "cart_id": cart });
    let asked = agent.call(&mut client, "request_human_confirmation", named).await.success()?;
    let path = format!("/{SLUG}/confirm/{}", text(&asked, "confirmation_id")?);
    let page = shop.page(&path).await?;
    ensure(page.contains("ada@example.com"), || String::from("the page shows no buyer"))?;
    let (token, hash) = (hidden(&page, "form_token")?, hidden(&page, "quote_hash")?);
    shop.submit(&path, &format!("decision=approve&form_token={token}&quote_hash={hash}")).await?;
    let swap = json!({ "cart_id": cart, "country": "DE", "buyer": { "email": "eve@example.com" } });
    agent.call(&mut client, "set_cart_destination", swap).await.success()?;
    let id = text(&asked, "confirmation_id")?;
    let claim = json!({ "cart_id": cart, "confirmation": { "confirmation_id": id } });
    let reply = agent.call(&mut client, "complete_checkout", claim).await;
    refused(&reply, 409, "confirmation_required")?;
    Ok(String::from("the approval no longer counts once the buyer's e-mail changed"))
}

/// One free key tries to hold a whole stock, and to keep it.
pub(crate) async fn hoarded_stock(_: Trial) -> Verdict {
    let shop = Shop::open(&[1_000], settings()).await?;
    shop.execute("UPDATE store_setting SET hold_limit_holds = NULL, hold_limit_units = NULL")
        .await?;
    let agent = shop.store.agent_on(&shop.server, "ada", "FREE").await?;
    let mut client = agent.client(shop.server.port);
    let (mut holds, mut last) = (0, None);
    for _ in 0..30 {
        let cart = agent.cart(&mut client, &[(shop.product(), 30)]).await?;
        match agent.complete(&mut client, &cart, None).await {
            Reply::Success(session) => {
                holds += 1;
                last = Some((cart, session));
            }
            reply => refused(&reply, 409, "hold_limit_reached")?,
        }
    }
    let held = shop.count("SELECT sum(held) FROM product").await?;
    ensure(held <= 200, || format!("one free key holds {held} of 1,000 units"))?;
    let (cart, session) = last.ok_or("nothing was held")?;
    let id = text(&session, "checkout_id")?;
    shop.execute(
        "UPDATE checkout_session SET started_at = started_at - interval '29 minutes',
                expires_at = expires_at - interval '29 minutes'",
    )
    .await?;
    let expiry =
        "SELECT max(extract(epoch FROM expires_at - started_at))::bigint FROM checkout_session";
    agent
        .call(
            &mut client,
            "update_checkout",
            json!({ "checkout_id": id, "ship_to": { "country": "DE" } }),
        )
        .await
        .success()?;
    agent.complete(&mut client, &cart, None).await.success()?;
    let lifetime = shop.count(expiry).await?;
    ensure(lifetime == 1_800, || format!("a session lives for {lifetime} seconds"))?;
    let key = shop.store.merchant_key().await?;
    let mut merchant = Client::new(shop.server.port).with_key(&key);
    let path = format!("/api/v1/merchant/checkouts/{id}/release");
    let released = merchant.post(&path, "{}").await;
    let is_released = matches!(released, Delivery::Answered { status: 200, .. });
    ensure(is_released, || format!("releasing a hold: {released:?}"))?;
    let after = shop.count("SELECT sum(held) FROM product").await?;
    ensure(after == held - 30, || format!("{held} units held, {after} after a release"))?;
    Ok(format!(
        "{holds} holds with {held} units; changes do not extend a session; the merchant releases one"
    ))
}

/// A merchant reports payments after the sessions have expired: the first finds its units, the second does not.
pub(crate) async fn late_payment(_: Trial) -> Verdict {
    let shop = Shop::open(&[2], settings()).await?;
    let (agent, mut client) = shop.agent("ada").await?;
    let key = shop.store.merchant_key().await?;
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let cart = agent.cart(&mut client, &[(shop.product(), 2)]).await?;
        let session = agent.complete(&mut client, &cart, None).await.success()?;
        let id = text(&session, "checkout_id")?.to_owned();
        agent.call(&mut client, "cancel_checkout", json!({ "checkout_id": id })).await.success()?;
        sessions.push(id);
    }
    let port = shop.server.port;
    for _ in 0..2 {
        report_paid(port, &key, &sessions[0], "A-1").await.success()?;
    }
    let reviewed = "SELECT count(*) FROM placed_order WHERE status = 'manual_review'";
    let reviewed = shop.count(reviewed).await?;
    ensure(reviewed == 1, || format!("{reviewed} orders to review"))?;
    let reply = report_paid(port, &key, &sessions[1], "A-2").await;
    refused(&reply, 409, "out_of_stock")?;
    let due =
        shop.count("SELECT count(*) FROM payment_report WHERE outcome = 'refund_due'").await?;
    ensure(due == 1, || format!("{due} refunds recorded"))?;
    Ok(String::from("one order to review, one refund to make, no payment ignored"))
}
