//! A store of a check, and calls of its agents, its people and administrators.

use std::sync::Arc;

use catalog::ProductDraft;
use merchants::Settings;
use primitives::{Id, MerchantId, ProductId};
use serde_json::{Value, json};
use testkit::StoreBuilder;

use super::deployment::{ALL_SCOPES, Deployment};
use crate::checkout::store::{Agent, Reply, drafts, settings_without_hold_limits};
use crate::http::{Client, Delivery, tool_call};
use crate::identity::Account;
use crate::report::{Failure, Trial, ensure};
use crate::souk::{output, store_key};

/// A store in the shared deployment.
pub(crate) struct Shop {
    pub(crate) deployment: Arc<Deployment>,
    pub(crate) slug: String,
    pub(crate) merchant: MerchantId,
    pub(crate) products: Vec<ProductId>,
    store: testkit::TestStore,
}

impl Shop {
    /// Opens a store with a product, in which one agent can make any number of checkouts.
    pub(crate) async fn open(trial: &Trial) -> Result<Self, Failure> {
        Self::with(trial, &[1_000], settings_without_hold_limits()).await
    }

    /// Opens a store with one product for each number of units, and with these settings.
    pub(crate) async fn with(
        trial: &Trial,
        stock: &[i32],
        settings: Settings,
    ) -> Result<Self, Failure> {
        let deployment = Deployment::of(trial).await?;
        let number = deployment.number();
        let (slug, merchant) = (format!("shop-{number}"), MerchantId::from_random(number.into()));
        let builder = StoreBuilder::new(&slug).merchant(merchant).settings(settings).score(0.9);
        let store = builder.build(deployment.test.database()).await;
        let mut shop = Self { deployment, slug, merchant, products: Vec::new(), store };
        if !stock.is_empty() {
            shop.products = shop.put(&drafts(stock)).await;
        }
        Ok(shop)
    }

    /// Creates or updates products.
    pub(crate) async fn put(&self, drafts: &[ProductDraft]) -> Vec<ProductId> {
        self.store.put_products(self.deployment.test.database(), drafts).await
    }

    pub(crate) fn port(&self) -> u16 {
        self.deployment.souk.port
    }

    pub(crate) fn url(&self) -> String {
        self.deployment.url()
    }

    /// Returns an agent with a key of its own, of an account on the largest plan.
    pub(crate) async fn agent(&self) -> Result<Agent, Failure> {
        Ok(Agent::at(&self.slug, &self.deployment.buyer_key(&ALL_SCOPES).await?))
    }

    /// Returns an agent, and a connection with its key.
    pub(crate) async fn connected_agent(&self) -> Result<(Agent, Client), Failure> {
        let agent = self.agent().await?;
        let client = agent.client(self.port());
        Ok((agent, client))
    }

    /// Creates a key of the store with the default scopes.
    pub(crate) async fn key(&self) -> Result<String, Failure> {
        store_key(&self.url(), &self.slug).await
    }

    /// Creates an account that is a member of the store, and returns its e-mail address and its token.
    pub(crate) async fn member(&self, role: &str) -> Result<(String, String), Failure> {
        let (url, email) = (self.url(), self.deployment.email(role));
        let account = Account::create(&url, &email, "GROWTH").await?;
        output(&url, &["admin", "add-member", &email, &self.slug, role]).await?;
        let token = account.log_in(self.port()).await?;
        Ok((email, token))
    }

    /// Creates a cart with one unit of the first product, and returns its id.
    pub(crate) async fn cart(&self, agent: &Agent) -> Result<String, Failure> {
        agent.cart(&mut agent.client(self.port()), &[(self.products[0], 1)]).await
    }

    /// Completes the checkout of a cart, and returns the id of its session.
    pub(crate) async fn complete(&self, agent: &Agent, cart: &str) -> Result<String, Failure> {
        let session = agent.complete(&mut agent.client(self.port()), cart, None).await.success()?;
        Ok(text(&session, "checkout_id")?.to_owned())
    }

    /// Returns a number from the database; `$1` is the merchant.
    pub(crate) async fn count(&self, sql: &'static str) -> Result<i64, Failure> {
        let mut raw = self.deployment.test.raw().await;
        Ok(sqlx::query_scalar(sql).bind(self.merchant).fetch_one(&mut raw).await?)
    }

    /// Executes a statement; `$1` is the merchant.
    pub(crate) async fn execute(&self, sql: &'static str) -> Result<(), Failure> {
        let mut raw = self.deployment.test.raw().await;
        sqlx::query(sql).bind(self.merchant).execute(&mut raw).await?;
        Ok(())
    }

    /// Returns the page at a path below the slug of the store.
    pub(crate) async fn page(&self, path: &str) -> Result<String, Failure> {
        match Client::new(self.port()).get(&format!("/{}{path}", self.slug)).await {
            Delivery::Answered { status: 200, body } => Ok(body),
            other => Err(format!("GET {path}: {other:?}").into()),
        }
    }

    /// Submits a form as a browser does and returns the status.
    pub(crate) async fn submit(&self, path: &str, form: &str) -> Result<u16, Failure> {
        let client = Client::new(self.port()).sending_forms().with_header("User-Agent", BROWSER);
        self.submit_with(client, path, form).await
    }

    /// Submits a form and returns the status.
    pub(crate) async fn submit_with(
        &self,
        mut client: Client,
        path: &str,
        form: &str,
    ) -> Result<u16, Failure> {
        match client.post(&format!("/{}{path}", self.slug), form).await {
            Delivery::Answered { status, .. } => Ok(status),
            other => Err(format!("POST {path}: {other:?}").into()),
        }
    }

    /// Pays for a session on the hosted page and returns the status.
    pub(crate) async fn pay(&self, checkout: &str) -> Result<u16, Failure> {
        let path = format!("/checkout/{checkout}");
        let page = self.page(&path).await?;
        let (token, hash) = (hidden(&page, "form_token")?, hidden(&page, "quote_hash")?);
        let form = format!("instrument=test_approves&form_token={token}&quote_hash={hash}");
        self.submit(&format!("{path}/pay"), &form).await
    }

    /// Decides on the confirmation page as a person does, `approve` or `reject`, and returns the status.
    pub(crate) async fn decide(&self, confirmation: &str, decision: &str) -> Result<u16, Failure> {
        let path = format!("/confirm/{confirmation}");
        let form = self.decision_form(confirmation, decision).await?;
        self.submit(&path, &form).await
    }

    /// Returns the form of a decision, with the fields of its page.
    pub(crate) async fn decision_form(
        &self,
        confirmation: &str,
        decision: &str,
    ) -> Result<String, Failure> {
        let page = self.page(&format!("/confirm/{confirmation}")).await?;
        let (token, hash) = (hidden(&page, "form_token")?, hidden(&page, "quote_hash")?);
        Ok(format!("decision={decision}&form_token={token}&quote_hash={hash}"))
    }
}

/// The browser of the person.
pub(crate) const BROWSER: &str = "Proof/1.0 (a person)";

/// Returns the value of a hidden field.
pub(crate) fn hidden<'page>(page: &'page str, name: &str) -> Result<&'page str, Failure> {
    let field = page.split(&format!("name=\"{name}\" value=\"")).nth(1);
    field.and_then(|field| field.split('"').next()).ok_or_else(|| format!("no {name}").into())
}

pub(crate) fn text<'value>(value: &'value Value, field: &str) -> Result<&'value str, Failure> {
    value[field].as_str().ok_or_else(|| format!("no {field} in {value}").into())
}

/// Fails unless a call was refused with this status and code.
pub(crate) fn refused(reply: &Reply, status: u16, code: &str) -> Result<(), Failure> {
    let is_expected = matches!(reply, Reply::Error(got, error) if *got == status && error == code);
    ensure(is_expected, || format!("{status} {code} expected: {reply:?}"))
}

/// The status and the JSON body of a response.
pub(crate) type Answer = (u16, Value);

/// Sends a request with a bearer credential.
pub(crate) async fn call(
    port: u16,
    credential: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Answer, Failure> {
    send(Client::new(port).with_key(credential), method, &format!("/api/v1{path}"), body).await
}

/// Sends a request with an agent key.
pub(crate) async fn agent_call(
    port: u16,
    key: &str,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Answer, Failure> {
    send(Client::new(port).with_agent_key(key), method, &format!("/api/v1{path}"), body).await
}

/// Calls a tool of a store as a plain HTTP client; returns the status, and the result or the error.
pub(crate) async fn tool(
    port: u16,
    key: &str,
    slug: &str,
    name: &str,
    arguments: &Value,
) -> Result<Answer, Failure> {
    let client = Client::new(port).with_agent_key(key);
    let body = tool_call(name, arguments);
    let (status, mut answer) = send(client, "POST", &format!("/{slug}/mcp"), &body).await?;
    let result = answer["result"]["structuredContent"].take();
    Ok((status, if result.is_null() { answer } else { result }))
}

async fn send(
    mut client: Client,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Answer, Failure> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    match client.send(method, path, body.as_bytes()).await {
        Delivery::Answered { status, body } => {
            Ok((status, serde_json::from_str(&body).unwrap_or_default()))
        }
        other => Err(format!("{method} {path}: {other:?}").into()),
    }
}

/// The report that a cart of [`Shop::cart`] was paid.
pub(crate) fn paid_report(reference: &str) -> Value {
    json!({ "reference": reference, "total_amount": 10.0, "currency": "EUR" })
}

/// Fails unless the response has this status and, if given, this value at `details.<field>`.
pub(crate) fn expect(
    what: &str,
    (status, body): &Answer,
    expected: u16,
    detail: Option<(&str, &str)>,
) -> Result<(), Failure> {
    let has_detail = detail.is_none_or(|(field, value)| body["details"][field] == value);
    ensure(*status == expected && has_detail, || {
        format!("{what}: expected {expected} {detail:?}, got {status} {body}")
    })
}

/// Fails unless the response is an error with this status and code, which says what to do: a hint, or the field.
pub(crate) fn expect_error(
    what: &str,
    (status, body): &Answer,
    expected: u16,
    code: &str,
) -> Result<(), Failure> {
    let details = &body["details"];
    let is_helpful = details["hint"].is_string() || details["field"].is_string();
    ensure(*status == expected && body["error"] == code && is_helpful, || {
        format!("{what}: expected {expected} {code} with a hint, got {status} {body}")
    })
}
