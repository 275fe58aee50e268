//! A store with a server, and calls of its merchant, its people and administrators.

use serde_json::{Value, json};

use super::demo_stores::product_of;
use crate::checkout::store::{SLUG, TestStore};
use crate::http::{Client, Delivery};
use crate::identity::{Account, agent_key_for};
use crate::report::{Failure, ensure};
use crate::souk::{Souk, output};

/// Sends a request with a bearer credential and returns the status and the JSON body.
pub(crate) async fn call(
    port: u16,
    credential: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<(u16, Value), Failure> {
    let path = format!("/api/v1{path}");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut client = Client::new(port).with_key(credential);
    match client.send(method, &path, body.as_bytes()).await {
        Delivery::Answered { status, body } => {
            Ok((status, serde_json::from_str(&body).unwrap_or_default()))
        }
        other => Err(format!("{method} {path}: {other:?}").into()),
    }
}

/// Calls a tool of [`Shop`] as a plain HTTP client; returns the status, and the result or the error.
pub(crate) async fn tool(
    port: u16,
    key: &str,
    name: &str,
    arguments: &Value,
) -> Result<(u16, Value), Failure> {
    tool_at(port, key, SLUG, name, arguments).await
}

async fn tool_at(
    port: u16,
    key: &str,
    slug: &str,
    name: &str,
    arguments: &Value,
) -> Result<(u16, Value), Failure> {
    let params = json!({ "name": name, "arguments": arguments });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let mut client = Client::new(port).with_agent_key(key);
    match client.post(&format!("/{slug}/mcp"), &body.to_string()).await {
        Delivery::Answered { status, body } => {
            let mut answer: Value = serde_json::from_str(&body).unwrap_or_default();
            let result = answer["result"]["structuredContent"].take();
            Ok((status, if result.is_null() { answer } else { result }))
        }
        other => Err(format!("{name}: {other:?}").into()),
    }
}

/// Creates a cart with one unit of a product of a demo store and returns its id.
pub(crate) async fn cart(port: u16, key: &str, slug: &str) -> Result<String, Failure> {
    let items = json!([{ "product_id": product_of(slug)?, "quantity": 1 }]);
    let made = tool_at(port, key, slug, "create_cart", &json!({ "items": items })).await?;
    let id = made.1["cart_id"].as_str().map(str::to_owned);
    id.ok_or_else(|| format!("no cart: {made:?}").into())
}

/// A store with one product, and a server.
pub(crate) struct Shop {
    pub(crate) store: TestStore,
    pub(crate) souk: Souk,
    url: String,
}

impl Shop {
    pub(crate) async fn open() -> Result<Self, Failure> {
        let store = TestStore::create(&[1_000]).await?;
        let url = store.url();
        let souk = Souk::serve(&url, &[]).await?;
        Ok(Self { store, souk, url })
    }

    /// Starts another server with the same public address, so that both accept the same tokens.
    pub(crate) async fn another_process(&self) -> Result<Souk, Failure> {
        let site_url = format!("http://127.0.0.1:{}", self.souk.port);
        Souk::serve_with(&self.url, &[], &[("SOUK_SITE_URL", site_url)]).await
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Creates an account and an agent key that may buy.
    pub(crate) async fn buyer_key(&self) -> Result<String, Failure> {
        let account = Account::create(self.url(), "buyer@example.com", "GROWTH").await?;
        let token = account.log_in(self.souk.port).await?;
        let scopes = ["agent:read", "agent:cart", "agent:checkout"];
        Ok(agent_key_for(self.souk.port, &token, &scopes).await?.1)
    }

    /// Creates a cart with one unit of the product and returns its id.
    pub(crate) async fn cart(&self, key: &str) -> Result<String, Failure> {
        let items = json!([{ "product_id": self.store.products[0], "quantity": 1 }]);
        let new = json!({ "items": items, "ship_to": { "country": "DE" } });
        let made = tool(self.souk.port, key, "create_cart", &new).await?;
        let id = made.1["cart_id"].as_str().map(str::to_owned);
        id.ok_or_else(|| format!("no cart: {made:?}").into())
    }

    /// Completes the checkout of a cart and returns the id of its session.
    pub(crate) async fn complete(&self, key: &str, cart: &str) -> Result<String, Failure> {
        let arguments = json!({ "cart_id": cart });
        let done = tool(self.souk.port, key, "complete_checkout", &arguments).await?;
        let id = done.1["checkout_id"].as_str().map(str::to_owned);
        id.ok_or_else(|| format!("no session: {done:?}").into())
    }

    /// Creates an account that is a member of the store, and returns its token.
    pub(crate) async fn member_token(&self, role: &str) -> Result<String, Failure> {
        let (url, email) = (self.url(), format!("{role}@example.com"));
        let account = Account::create(url, &email, "GROWTH").await?;
        output(url, &["admin", "add-member", &email, SLUG, role]).await?;
        account.log_in(self.souk.port).await
    }
}

/// The report that a cart of [`Shop`] was paid.
pub(crate) fn paid_report(reference: &str) -> Value {
    json!({ "reference": reference, "total_amount": 10.0, "currency": "EUR" })
}

/// Fails unless the response has this status and, if given, this value at `details.<field>`.
pub(crate) fn expect(
    what: &str,
    (status, body): &(u16, Value),
    expected: u16,
    detail: Option<(&str, &str)>,
) -> Result<(), Failure> {
    let has_detail = detail.is_none_or(|(field, value)| body["details"][field] == value);
    ensure(*status == expected && has_detail, || {
        format!("{what}: expected {expected} {detail:?}, got {status} {body}")
    })
}
