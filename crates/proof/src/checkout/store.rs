//! A store to buy at, and an agent that buys as agents do: over MCP, with a key.

use std::time::Duration;

use catalog::{Amount, Origin, ProductDraft};
use database::Work;
use merchants::Standing;
use primitives::{Currency, Id, MerchantId, ProductId};
use serde_json::{Value, json};
use testkit::TestDatabase;

use crate::http::{Client, Fate};
use crate::identity::{Account, agent_key_for};
use crate::report::Failure;
use crate::souk::{Souk, store_key};

/// The waits of the specification between tries (§7), in seconds.
const WAITS: [u64; 4] = [1, 2, 4, 8];

/// The store's name in addresses.
pub(crate) const SLUG: &str = "attic";

/// Whose store it is.
pub(crate) fn merchant() -> MerchantId {
    MerchantId::from_random(1)
}

/// A store with goods, in a database of its own.
pub(crate) struct Shop {
    pub(crate) test: TestDatabase,
    /// How many there were of everything at the beginning.
    pub(crate) stocked: i64,
    pub(crate) products: Vec<ProductId>,
}

impl Shop {
    /// Opens it with goods, so many of each.
    pub(crate) async fn open(stock: &[i32]) -> Result<Self, Failure> {
        Self::open_in(TestDatabase::new().await, stock).await
    }

    /// The same in a database that is there.
    pub(crate) async fn open_in(test: TestDatabase, stock: &[i32]) -> Result<Self, Failure> {
        let database = test.database().clone();
        testkit::open_store(&database, merchant(), SLUG, Currency::EUR).await;
        let mut work = Work::for_platform(&database).await?;
        let standing = Standing { score: Some(0.9), provisional: false, computed_at: work.now() };
        merchants::set_standing(&mut work, merchant(), &standing).await?;
        work.commit().await?;
        let mut incoming = Vec::new();
        for (number, there) in stock.iter().enumerate() {
            let draft = ProductDraft {
                external_id: format!("article-{number}"),
                name: Some(format!("Article {number}")),
                price: Some(Amount::new("10.00")),
                stock_quantity: Some(i64::from(*there)),
                ..ProductDraft::default()
            };
            incoming.push(
                catalog::check(&draft, Currency::EUR).map_err(|_| "a draft that does not fit")?,
            );
        }
        let mut work = Work::for_store(&database, merchant()).await?;
        catalog::put_products(&mut work, merchant(), Origin::Push, &incoming).await?;
        work.commit().await?;
        let all = "SELECT product_id FROM product ORDER BY external_id COLLATE \"C\"";
        let products = sqlx::query_scalar(all).fetch_all(&mut test.raw().await).await?;
        let stocked = stock.iter().map(|there| i64::from(*there)).sum();
        Ok(Self { test, stocked, products })
    }

    pub(crate) fn url(&self) -> String {
        self.test.url()
    }

    /// An agent of a new account.
    pub(crate) async fn agent(&self, server: &Souk, name: &str) -> Result<Agent, Failure> {
        let email = format!("{name}@example.com");
        let account = Account::create(&self.url(), &email, "ENTERPRISE").await?;
        let token = account.log_in(server.port).await?;
        let scopes = ["agent:read", "agent:cart", "agent:checkout"];
        let (_, key) = agent_key_for(server.port, &token, &scopes).await?;
        Ok(Agent { key })
    }

    /// A program of the merchant.
    pub(crate) async fn merchant_key(&self) -> Result<String, Failure> {
        store_key(&self.url(), SLUG).await
    }
}

/// An agent with a key.
#[derive(Clone)]
pub(crate) struct Agent {
    key: String,
}

/// What became of a call.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    /// It was done.
    Done(Value),
    /// It was refused, with a stable code.
    Refused(u16, String),
    /// Nobody knows: no answer came.
    Nothing(#[expect(dead_code, reason = "shown when a check fails")] String),
}

impl Said {
    pub(crate) fn done(self) -> Result<Value, Failure> {
        match self {
            Self::Done(value) => Ok(value),
            other => Err(format!("{other:?}").into()),
        }
    }
}

impl Agent {
    pub(crate) fn with_key(key: &str) -> Self {
        Self { key: key.to_owned() }
    }

    pub(crate) fn client(&self, port: u16) -> Client {
        Client::new(port).with_agent_key(&self.key)
    }

    /// The same connection, from now on with this agent's key.
    pub(crate) fn take_over(&self, client: Client) -> Client {
        client.without_headers().with_agent_key(&self.key)
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, client: &mut Client, tool: &str, arguments: Value) -> Said {
        let params = json!({ "name": tool, "arguments": arguments });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let fate = client.post(&format!("/{SLUG}/mcp"), &body.to_string()).await;
        said(fate, |answer| answer["result"]["structuredContent"].clone())
    }

    /// A cart that is ready to be bought.
    pub(crate) async fn cart(
        &self,
        client: &mut Client,
        items: &[(ProductId, i64)],
    ) -> Result<String, Failure> {
        let item = |(product, quantity): &(ProductId, i64)| json!({ "product_id": product, "quantity": quantity });
        let items: Vec<Value> = items.iter().map(item).collect();
        let arguments = json!({ "items": items, "ship_to": { "country": "DE" } });
        let cart = self.call(client, "create_cart", arguments).await.done()?;
        cart["cart_id"].as_str().map(str::to_owned).ok_or_else(|| "a cart without an id".into())
    }

    /// Completes the checkout of a cart, with a key if there is one.
    pub(crate) async fn complete(
        &self,
        client: &mut Client,
        cart: &str,
        once: Option<&str>,
    ) -> Said {
        let mut arguments = json!({ "cart_id": cart });
        if let Some(once) = once {
            arguments["idempotency_key"] = json!(once);
        }
        self.call(client, "complete_checkout", arguments).await
    }

    /// The same, asked again as the specification says while nobody answers or the server puts it off.
    pub(crate) async fn insist(&self, port: u16, cart: &str, once: Option<&str>) -> Said {
        for wait in WAITS {
            match self.complete(&mut self.client(port), cart, once).await {
                Said::Nothing(_) | Said::Refused(429 | 503, _) => {
                    tokio::time::sleep(Duration::from_secs(wait)).await;
                }
                said => return said,
            }
        }
        self.complete(&mut self.client(port), cart, once).await
    }
}

/// Reports a payment as the merchant does.
pub(crate) async fn report_paid(port: u16, key: &str, checkout: &str, reference: &str) -> Said {
    let body = json!({ "reference": reference }).to_string();
    let path = format!("/api/v1/merchant/checkouts/{checkout}/complete");
    let fate = Client::new(port).with_key(key).post(&path, &body).await;
    said(fate, |answer| answer["data"].clone())
}

fn said(fate: Fate, found: impl Fn(&Value) -> Value) -> Said {
    match fate {
        Fate::Answered { status, body } => {
            let answer: Value = serde_json::from_str(&body).unwrap_or_default();
            if status < 300 && answer.get("error").is_none() {
                Said::Done(found(&answer))
            } else {
                Said::Refused(status, answer["error"].as_str().unwrap_or(&body).to_owned())
            }
        }
        Fate::NotSent => Said::Nothing(String::from("not sent")),
        Fate::Cut(why) => Said::Nothing(why),
    }
}
