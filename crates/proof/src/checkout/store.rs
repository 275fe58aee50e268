//! A test store, and an agent that buys there over MCP with a key.

use std::time::Duration;

use catalog::ProductDraft;
use merchants::{HoldLimits, Settings};
use primitives::{Id, MerchantId, ProductId};
use serde_json::{Value, json};
use testkit::{StoreBuilder, TestDatabase};

use crate::http::{Client, Delivery, tool_call};
use crate::identity::{Account, agent_key_for};
use crate::report::Failure;
use crate::souk::{Souk, store_key};

/// Seconds between retries (docs/contract/errors.md#backoff).
const RETRY_DELAYS: [u64; 4] = [1, 2, 4, 8];

/// The slug of the store.
pub(crate) const SLUG: &str = "attic";

/// The merchant of the store.
pub(crate) fn merchant() -> MerchantId {
    MerchantId::from_random(1)
}

/// Settings that let one agent make thousands of checkouts.
pub(crate) fn settings_without_hold_limits() -> Settings {
    let hold_limits =
        Some(HoldLimits { holds: HoldLimits::HOLDS_MAX, units: HoldLimits::UNITS_MAX });
    Settings { hold_limits, ..Settings::default() }
}

/// Returns one product at 10.00 for each number of units.
pub(crate) fn drafts(stock: &[i32]) -> Vec<ProductDraft> {
    let draft = |(number, units): (usize, &i32)| {
        testkit::product_draft(&format!("product-{number}"), "10.00", i64::from(*units))
    };
    stock.iter().enumerate().map(draft).collect()
}

/// A store with products, in its own database.
pub(crate) struct TestStore {
    pub(crate) test: TestDatabase,
    /// Units of all products at the start.
    pub(crate) initial_units: i64,
    pub(crate) products: Vec<ProductId>,
}

impl TestStore {
    /// Creates it in a new database, with one product for each number of units.
    pub(crate) async fn create(stock: &[i32]) -> Result<Self, Failure> {
        Self::create_in(TestDatabase::new().await, stock).await
    }

    /// Creates it in an existing database, with limits that let one agent make thousands of checkouts.
    pub(crate) async fn create_in(test: TestDatabase, stock: &[i32]) -> Result<Self, Failure> {
        let store = StoreBuilder::new(SLUG).merchant(merchant()).score(0.9);
        let store = store.settings(settings_without_hold_limits()).build(test.database()).await;
        let products = store.put_products(test.database(), &drafts(stock)).await;
        let initial_units = stock.iter().map(|units| i64::from(*units)).sum();
        Ok(Self { test, initial_units, products })
    }

    pub(crate) fn url(&self) -> String {
        self.test.url()
    }

    /// Creates an account on the largest plan and returns an agent with a key of it.
    pub(crate) async fn agent(&self, server: &Souk, name: &str) -> Result<Agent, Failure> {
        let email = format!("{name}@example.com");
        let account = Account::create(&self.url(), &email, "ENTERPRISE").await?;
        let token = account.log_in(server.port).await?;
        let scopes = ["agent:read", "agent:cart", "agent:checkout"];
        let (_, key) = agent_key_for(server.port, &token, &scopes).await?;
        Ok(Agent::with_key(&key))
    }

    /// Creates a merchant key of the store.
    pub(crate) async fn merchant_key(&self) -> Result<String, Failure> {
        store_key(&self.url(), SLUG).await
    }
}

/// An agent with a key, at one store.
#[derive(Clone)]
pub(crate) struct Agent {
    pub(crate) key: String,
    slug: String,
}

/// The outcome of a call.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Success(Value),
    /// The HTTP status and the error code.
    Error(u16, String),
    /// No response was received, so that the call may or may not have taken effect.
    Unknown(#[expect(dead_code, reason = "printed when a check fails")] String),
}

impl Reply {
    pub(crate) fn success(self) -> Result<Value, Failure> {
        match self {
            Self::Success(value) => Ok(value),
            other => Err(format!("{other:?}").into()),
        }
    }
}

impl Agent {
    pub(crate) fn with_key(key: &str) -> Self {
        Self::at(SLUG, key)
    }

    /// Returns an agent at another store.
    pub(crate) fn at(slug: &str, key: &str) -> Self {
        Self { key: key.to_owned(), slug: slug.to_owned() }
    }

    pub(crate) fn client(&self, port: u16) -> Client {
        Client::new(port).with_agent_key(&self.key)
    }

    /// Reuses a connection with this agent's key.
    pub(crate) fn reuse(&self, client: Client) -> Client {
        client.without_headers().with_agent_key(&self.key)
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, client: &mut Client, tool: &str, arguments: Value) -> Reply {
        let body = tool_call(tool, &arguments).to_string();
        let delivery = client.post(&format!("/{}/mcp", self.slug), &body).await;
        reply(delivery, |answer| answer["result"]["structuredContent"].clone())
    }

    /// Creates a cart that is ready for checkout.
    pub(crate) async fn cart(
        &self,
        client: &mut Client,
        items: &[(ProductId, i64)],
    ) -> Result<String, Failure> {
        let item = |(product, quantity): &(ProductId, i64)| json!({ "product_id": product, "quantity": quantity });
        let items: Vec<Value> = items.iter().map(item).collect();
        let arguments = json!({ "items": items, "ship_to": { "country": "DE", "city": "Berlin", "street": "Way 1" } });
        let cart = self.call(client, "create_cart", arguments).await.success()?;
        cart["cart_id"].as_str().map(str::to_owned).ok_or_else(|| "a cart without an id".into())
    }

    /// Completes the checkout of a cart, with an idempotency key if given.
    pub(crate) async fn complete(
        &self,
        client: &mut Client,
        cart: &str,
        idempotency_key: Option<&str>,
    ) -> Reply {
        let mut arguments = json!({ "cart_id": cart });
        if let Some(idempotency_key) = idempotency_key {
            arguments["idempotency_key"] = json!(idempotency_key);
        }
        self.call(client, "complete_checkout", arguments).await
    }

    /// Completes the checkout of a cart and retries (docs/contract/errors.md#retry-rules) while there is no
    /// response or the server throttles or is unavailable.
    pub(crate) async fn complete_with_retries(
        &self,
        port: u16,
        cart: &str,
        idempotency_key: Option<&str>,
    ) -> Reply {
        for delay in RETRY_DELAYS {
            match self.complete(&mut self.client(port), cart, idempotency_key).await {
                Reply::Unknown(_) | Reply::Error(429 | 503, _) => {
                    tokio::time::sleep(Duration::from_secs(delay)).await;
                }
                reply => return reply,
            }
        }
        self.complete(&mut self.client(port), cart, idempotency_key).await
    }
}

/// Reports a payment as the merchant does.
pub(crate) async fn report_paid(port: u16, key: &str, checkout: &str, reference: &str) -> Reply {
    let body = json!({ "reference": reference }).to_string();
    let path = format!("/api/v1/merchant/checkouts/{checkout}/complete");
    let delivery = Client::new(port).with_key(key).post(&path, &body).await;
    reply(delivery, |answer| answer["data"].clone())
}

/// Interprets a response; `result` selects the result of a successful one.
fn reply(delivery: Delivery, result: impl Fn(&Value) -> Value) -> Reply {
    match delivery {
        Delivery::Answered { status, body } => {
            let answer: Value = serde_json::from_str(&body).unwrap_or_default();
            if status < 300 && answer.get("error").is_none() {
                Reply::Success(result(&answer))
            } else {
                Reply::Error(status, answer["error"].as_str().unwrap_or(&body).to_owned())
            }
        }
        Delivery::NotSent => Reply::Unknown(String::from("not sent")),
        Delivery::Interrupted(why) => Reply::Unknown(why),
    }
}
