//! Buyers of several accounts. They pay, do not pay, have a merchant that reports another amount than the quote or cancels what
//! they bought, and win and lose disputes. Every call is repeated until it is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use primitives::ProductId;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::checkout::store::{Agent, Reply};
use crate::http::{Client, Delivery};
use crate::report::Failure;

/// How often a call is repeated until it is answered: longer than any process takes to start again.
const CALLS_MAX: usize = 300;
const PAUSE: Duration = Duration::from_millis(100);
/// Reasons for which a merchant cancels.
const CANCEL_REASONS: [&str; 6] =
    ["buyer_request", "out_of_stock", "price_error", "undeliverable", "fraud", "other"];

/// Where things are bought, and the credentials of everyone but the buyers.
pub(super) struct Desk {
    pub(super) ports: [u16; 2],
    pub(super) store_key: String,
    pub(super) admin: String,
    pub(super) products: Vec<ProductId>,
}

/// Buyers at work.
pub(super) struct Buyers {
    tasks: JoinSet<Result<(), Failure>>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    purchases: AtomicUsize,
    is_stopped: AtomicBool,
}

impl Buyers {
    /// Lets a buyer of each account buy until they are stopped.
    pub(super) fn start(desk: &Arc<Desk>, agents: &[Agent], rng: &mut StdRng) -> Self {
        let (state, mut tasks) = (Arc::<State>::default(), JoinSet::new());
        for agent in agents {
            let rng = StdRng::seed_from_u64(rng.random());
            let buyer = Buyer { desk: Arc::clone(desk), agent: agent.clone(), rng };
            tasks.spawn(buyer.run(Arc::clone(&state)));
        }
        Self { tasks, state }
    }

    /// Returns the number of purchases so far.
    pub(super) fn purchases(&self) -> usize {
        self.state.purchases.load(Ordering::Relaxed)
    }

    /// Stops the buyers, and returns the number of their purchases.
    pub(super) async fn stop(mut self) -> Result<usize, Failure> {
        self.state.is_stopped.store(true, Ordering::Relaxed);
        while let Some(ended) = self.tasks.join_next().await {
            ended??;
        }
        Ok(self.state.purchases.load(Ordering::Relaxed))
    }
}

struct Buyer {
    desk: Arc<Desk>,
    agent: Agent,
    rng: StdRng,
}

/// Who sends a request.
#[derive(Debug, Clone, Copy)]
enum Sender {
    Agent,
    Merchant,
    Admin,
}

impl Buyer {
    async fn run(mut self, state: Arc<State>) -> Result<(), Failure> {
        while !state.is_stopped.load(Ordering::Relaxed) {
            self.buy().await?;
            state.purchases.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Any of the servers.
    fn port(&mut self) -> u16 {
        self.desk.ports[self.rng.random_range(0..2_usize)]
    }

    /// Starts a checkout. Most are paid, some after a wrong report; some of the orders are disputed, some are canceled. A third
    /// has no address, so that the quote leaves shipping and taxes open.
    async fn buy(&mut self) -> Result<(), Failure> {
        let is_open = self.rng.random_bool(0.3);
        let cart = self.cart(is_open).await?;
        let session = self.complete(&cart).await?;
        let checkout = session["checkout_id"].as_str().ok_or("a session without an id")?;
        let path = format!("/merchant/checkouts/{checkout}/complete");
        let (field, total) =
            if is_open { ("subtotal", "subtotal") } else { ("total_amount", "total") };
        let amount = session["totals"][total].as_f64().ok_or("a session without a total")?;
        let report =
            |amount: f64| json!({ "reference": checkout, field: amount, "currency": "EUR" });
        let paid = match self.rng.random_range(0..8_u32) {
            0 => return Ok(()),
            1 | 2 => {
                let wrong = report(((amount + 1.0) * 100.0).round() / 100.0);
                self.post(Sender::Merchant, &path, &wrong).await?;
                self.post(Sender::Merchant, &path, &json!({ "reference": checkout })).await?
            }
            3..6 => self.post(Sender::Merchant, &path, &report(amount)).await?,
            _ => self.post(Sender::Merchant, &path, &json!({ "reference": checkout })).await?,
        };
        let order = paid["data"]["order"]["order_id"].as_str();
        let order = order.ok_or_else(|| format!("a payment without an order: {paid}"))?;
        match self.rng.random_range(0..10_u32) {
            0..3 => self.dispute(order).await,
            3..5 => self.cancel(order).await,
            _ => Ok(()),
        }
    }

    /// Creates a cart, with an address unless the quote is to be open. One that was created without an answer is left.
    async fn cart(&mut self, is_open: bool) -> Result<String, Failure> {
        let product = self.desk.products[self.rng.random_range(0..self.desk.products.len())];
        let items = json!({ "items": [{ "product_id": product, "quantity": 1 }] });
        for _ in 0..CALLS_MAX {
            let port = self.port();
            let mut client = self.agent.client(port);
            if is_open {
                let cart = self.agent.call(&mut client, "create_cart", items.clone()).await;
                if let Reply::Success(cart) = cart {
                    let id = cart["cart_id"].as_str().map(str::to_owned);
                    return id.ok_or_else(|| "a cart without an id".into());
                }
            } else if let Ok(cart) = self.agent.cart(&mut client, &[(product, 1)]).await {
                return Ok(cart);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err("no cart could be created".into())
    }

    /// Completes the checkout of a cart. It can be repeated: the cart identifies it.
    async fn complete(&mut self, cart: &str) -> Result<Value, Failure> {
        let mut last = String::new();
        for _ in 0..CALLS_MAX {
            let port = self.port();
            let reply = self.agent.complete(&mut self.agent.client(port), cart, Some(cart)).await;
            match reply {
                Reply::Success(session) => return Ok(session),
                Reply::Error(500, code) => return Err(format!("a checkout: 500 {code}").into()),
                other => last = format!("{other:?}"),
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(format!("a checkout was not completed: {last}").into())
    }

    /// Opens a dispute, which the merchant answers and an administrator decides, for one side or the other.
    async fn dispute(&mut self, order: &str) -> Result<(), Failure> {
        let opened = json!({ "reason": "not_received", "statement": "It did not arrive." });
        let path = format!("/agent/orders/{order}/disputes");
        let opened = self.post(Sender::Agent, &path, &opened).await?;
        let dispute = opened["data"]["dispute_id"].as_str();
        let dispute = dispute.ok_or_else(|| format!("no dispute: {opened}"))?.to_owned();
        let path = format!("/merchant/orders/{order}/disputes/{dispute}/statements");
        self.post(Sender::Merchant, &path, &json!({ "statement": "It was sent." })).await?;
        let decision = if self.rng.random_bool(0.5) {
            json!({ "resolution": "buyer", "refund": 1.0, "currency": "EUR", "reason": "proof" })
        } else {
            json!({ "resolution": "merchant", "reason": "proof" })
        };
        let path = format!("/admin/disputes/{dispute}/decision");
        self.post(Sender::Admin, &path, &decision).await?;
        Ok(())
    }

    /// Cancels an order as the merchant, for any reason.
    async fn cancel(&mut self, order: &str) -> Result<(), Failure> {
        let reason = CANCEL_REASONS[self.rng.random_range(0..CANCEL_REASONS.len())];
        let body = json!({ "action": "cancel", "reason": reason });
        let path = format!("/merchant/orders/{order}");
        self.send(Sender::Merchant, "PATCH", &path, &body).await?;
        Ok(())
    }

    async fn post(&mut self, by: Sender, path: &str, body: &Value) -> Result<Value, Failure> {
        self.send(by, "POST", path, body).await
    }

    /// Sends a request until it is answered, and returns the answer, whatever it is. Fails if the server fails.
    async fn send(
        &mut self,
        by: Sender,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, Failure> {
        let key = format!("{:032x}", self.rng.random::<u128>());
        let (path, body) = (format!("/api/v1{path}"), body.to_string());
        for _ in 0..CALLS_MAX {
            let client = Client::new(self.port());
            let client = match by {
                Sender::Agent => client.with_agent_key(&self.agent.key),
                Sender::Merchant => client.with_key(&self.desk.store_key),
                Sender::Admin => client.with_key(&self.desk.admin),
            };
            // A report of a payment is identified by its reference.
            let mut client = match by {
                Sender::Merchant if path.ends_with("/complete") => client,
                _ => client.with_header("Idempotency-Key", &key),
            };
            match client.send(method, &path, body.as_bytes()).await {
                Delivery::Answered { status: 500, body } => {
                    return Err(format!("{by:?} {path}: 500 {body}").into());
                }
                Delivery::Answered { status, body } if !matches!(status, 429 | 503) => {
                    return Ok(serde_json::from_str(&body)?);
                }
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
        Err(format!("{by:?} {path} was not answered").into())
    }
}
