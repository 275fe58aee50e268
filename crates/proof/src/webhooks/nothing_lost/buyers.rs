//! Buyers and a merchant, who repeat every call until it is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use primitives::ProductId;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::checkout::store::{Agent, Reply, report_paid};
use crate::http::{Client, Delivery};
use crate::report::{Failure, ensure};

/// Buyers at the same time.
const BUYERS: u64 = 8;
/// How often a call is repeated until it is answered: longer than any process takes to start again.
const CALLS_MAX: usize = 300;
const PAUSE: Duration = Duration::from_millis(100);

/// Where things are bought, and by whom.
pub(super) struct Desk {
    pub(super) ports: [u16; 2],
    pub(super) agent: Agent,
    pub(super) store_key: String,
    pub(super) products: Vec<ProductId>,
}

/// Buyers at work.
pub(super) struct Buyers {
    tasks: JoinSet<Result<Vec<String>, Failure>>,
    state: Arc<State>,
}

/// What buyers share.
#[derive(Default)]
struct State {
    /// Orders so far.
    placed: AtomicUsize,
    has_one_failed: AtomicBool,
    is_stopped: AtomicBool,
}

impl Buyers {
    /// Starts buyers who place orders until they are stopped.
    pub(super) fn start(desk: &Arc<Desk>, seed: u64) -> Self {
        let state = Arc::<State>::default();
        let mut tasks = JoinSet::new();
        for number in 0..BUYERS {
            let rng = StdRng::seed_from_u64(seed ^ number);
            let buyer = Buyer { desk: Arc::clone(desk), rng };
            let state = Arc::clone(&state);
            tasks.spawn(async move {
                let ended = buyer.run(&state).await;
                if ended.is_err() {
                    state.has_one_failed.store(true, Ordering::Relaxed);
                }
                ended
            });
        }
        Self { tasks, state }
    }

    pub(super) fn placed(&self) -> usize {
        self.state.placed.load(Ordering::Relaxed)
    }

    pub(super) fn has_one_failed(&self) -> bool {
        self.state.has_one_failed.load(Ordering::Relaxed)
    }

    /// Stops the buyers, and returns the ids of the orders that they were told.
    pub(super) async fn stop(mut self) -> Result<Vec<String>, Failure> {
        self.state.is_stopped.store(true, Ordering::Relaxed);
        let mut orders = Vec::new();
        while let Some(ended) = self.tasks.join_next().await {
            orders.extend(ended??);
        }
        Ok(orders)
    }
}

/// A call that is repeated.
#[derive(Debug, Clone, Copy)]
enum Call {
    /// Completes the checkout of a cart.
    Complete,
    /// Reports that a session is paid.
    Pay,
}

struct Buyer {
    desk: Arc<Desk>,
    rng: StdRng,
}

impl Buyer {
    async fn run(mut self, state: &State) -> Result<Vec<String>, Failure> {
        let mut own = Vec::new();
        while !state.is_stopped.load(Ordering::Relaxed) {
            let order = self.buy().await?;
            self.change(&order).await?;
            own.push(order);
            state.placed.fetch_add(1, Ordering::Relaxed);
        }
        Ok(own)
    }

    /// Any of the servers.
    fn port(&mut self) -> u16 {
        self.desk.ports[self.rng.random_range(0..2_usize)]
    }

    /// Buys a product and returns the order.
    async fn buy(&mut self) -> Result<String, Failure> {
        let product = self.desk.products[self.rng.random_range(0..self.desk.products.len())];
        let cart = self.cart(product).await?;
        let session = self.repeat(Call::Complete, &cart).await?;
        let checkout = session["checkout_id"].as_str().ok_or("a session without an id")?;
        let paid = self.repeat(Call::Pay, checkout).await?;
        let order = paid["order"]["order_id"].as_str().ok_or("a payment without an order")?;
        Ok(order.to_owned())
    }

    /// Creates a cart. One that was created without an answer is left.
    async fn cart(&mut self, product: ProductId) -> Result<String, Failure> {
        for _ in 0..CALLS_MAX {
            let port = self.port();
            let agent = &self.desk.agent;
            if let Ok(cart) = agent.cart(&mut agent.client(port), &[(product, 1)]).await {
                return Ok(cart);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err("no cart could be created".into())
    }

    /// Repeats a call until it succeeds. It can be repeated: the id identifies it.
    async fn repeat(&mut self, call: Call, id: &str) -> Result<Value, Failure> {
        let mut last = String::new();
        for _ in 0..CALLS_MAX {
            let port = self.port();
            let Desk { agent, store_key, .. } = &*self.desk;
            let reply = match call {
                Call::Complete => agent.complete(&mut agent.client(port), id, Some(id)).await,
                Call::Pay => report_paid(port, store_key, id, id).await,
            };
            match reply {
                Reply::Success(value) => return Ok(value),
                Reply::Error(500, code) => return Err(format!("{call:?}: 500 {code}").into()),
                other => last = format!("{other:?}"),
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(format!("{call:?} of {id} did not succeed: {last}").into())
    }

    /// Changes half of the orders once or twice, as their merchant.
    async fn change(&mut self, order: &str) -> Result<(), Failure> {
        let path = format!("/api/v1/merchant/orders/{order}");
        if self.rng.random_bool(0.5) {
            self.send("PATCH", &path, &json!({ "action": "confirm" })).await?;
            if self.rng.random_bool(0.3) {
                let body = json!({ "reason": "goodwill", "amount": 1, "currency": "EUR" });
                self.send("POST", &format!("{path}/refunds"), &body).await?;
            }
        }
        Ok(())
    }

    /// Sends a change until it is answered.
    async fn send(&mut self, method: &str, path: &str, body: &Value) -> Result<(), Failure> {
        let key = format!("{:032x}", self.rng.random::<u128>());
        let body = body.to_string();
        for _ in 0..CALLS_MAX {
            let client = Client::new(self.port()).with_key(&self.desk.store_key);
            let mut client = client.with_header("Idempotency-Key", &key);
            let answer = client.send(method, path, body.as_bytes()).await;
            if let Delivery::Answered { status, body } = &answer
                && !matches!(status, 429 | 503)
            {
                let is_done = (200..300).contains(status);
                return ensure(is_done, || format!("{method} {path}: {status} {body}"));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(format!("{method} {path} was not answered").into())
    }
}
