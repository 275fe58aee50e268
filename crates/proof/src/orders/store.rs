//! A store with orders, and everyone who acts on them: its merchant, an agent, an administrator and jobs.
//!
//! A few orders are bought as agents buy: cart, checkout, payment report. All others are copies of their rows with ids of
//! their own, so that they have the shape of real ones and cost no purchase.

use catalog::ProductDraft;
use merchants::{Benefit, Promotion, Settings, ShippingRate, ShippingZone, TaxRate};
use primitives::{Id, MerchantId, OrderId, ProductId};
use serde_json::Value;
use sqlx::PgConnection;
use testkit::{StoreBuilder, TestDatabase};
use uuid::Uuid;

use super::model::{Line, OrderModel, Status};
use crate::checkout::store::{Agent, report_paid, settings_without_hold_limits};
use crate::identity::{Account, agent_key_for};
use crate::report::{Failure, ensure};
use crate::souk::{Souk, output, stable_port, store_key};

/// The slug of the store.
pub(crate) const SLUG: &str = "cellar";
/// Prices that leave a remainder with most quantities, discounts and rates.
const PRICES: [&str; 3] = ["9.99", "24.95", "0.37"];
/// Units of each product: enough for every copy to be canceled and bought again.
const STOCK: i64 = 1_000_000;
/// Items of the bought orders: the position of a product, and how many.
const CARTS: [&[(usize, i64)]; 4] =
    [&[(0, 1)], &[(0, 3), (1, 1)], &[(2, 7), (0, 2), (1, 2)], &[(1, 5)]];

/// The merchant of the store.
pub(crate) fn merchant() -> MerchantId {
    MerchantId::from_random(1)
}

/// Credentials of everyone who acts on orders.
#[derive(Clone)]
pub(crate) struct Callers {
    /// A key of the store.
    pub(crate) store_key: String,
    pub(crate) agent: Agent,
    /// The token of the agent's account.
    pub(crate) account: String,
    /// The token of an administrator.
    pub(crate) admin: String,
}

/// The store, in its own database, and two servers.
pub(crate) struct OrderStore {
    pub(super) servers: Vec<Souk>,
    pub(crate) ports: [u16; 2],
    pub(crate) callers: Callers,
    /// Orders that were bought.
    pub(crate) bought: Vec<OrderId>,
    pub(crate) store: testkit::TestStore,
    // Last, because it can be dropped only once the servers have ended.
    pub(crate) test: TestDatabase,
}

impl OrderStore {
    /// Creates the store in a new database, with a few orders.
    pub(super) async fn open() -> Result<Self, Failure> {
        Self::open_in(TestDatabase::new().await).await
    }

    /// Creates the store in an existing database.
    pub(crate) async fn open_in(test: TestDatabase) -> Result<Self, Failure> {
        let builder = StoreBuilder::new(SLUG).merchant(merchant()).score(0.9).settings(settings());
        let store = builder.build(test.database()).await;
        let drafts: Vec<ProductDraft> = PRICES.iter().enumerate().map(draft).collect();
        let products = store.put_products(test.database(), &drafts).await;
        let ports = [stable_port()?, stable_port()?];
        let mut servers = Vec::new();
        for port in ports {
            servers
                .push(Souk::serve_on(&test.url(), port, &server_settings(ports))?.ready().await?);
        }
        let callers = callers(&test.url(), ports[0]).await?;
        let mut opened = Self { servers, ports, callers, bought: Vec::new(), store, test };
        opened.buy_all(&products).await?;
        Ok(opened)
    }

    pub(crate) fn url(&self) -> String {
        self.test.url()
    }

    /// Replaces a server by a new process at the same port.
    pub(crate) async fn restart(&mut self, server: usize) -> Result<(), Failure> {
        self.restart_with(server, &[]).await
    }

    /// Replaces a server by a new process with further environment variables.
    pub(super) async fn restart_with(
        &mut self,
        server: usize,
        settings: &[(&'static str, String)],
    ) -> Result<(), Failure> {
        let mut all = server_settings(self.ports).to_vec();
        all.extend_from_slice(settings);
        self.servers[server].signal("KILL")?;
        self.servers[server].wait(std::time::Duration::from_secs(5)).await?;
        let process = Souk::serve_on(&self.url(), self.ports[server], &all)?;
        self.servers[server] = process.ready().await?;
        Ok(())
    }

    async fn buy_all(&mut self, products: &[ProductId]) -> Result<(), Failure> {
        for items in CARTS {
            let items: Vec<_> = items.iter().map(|(at, units)| (products[*at], *units)).collect();
            let order = self.buy(&items).await?;
            self.bought.push(order);
        }
        Ok(())
    }

    /// Buys items as an agent and a merchant do, and returns the order.
    pub(super) async fn buy(&self, items: &[(ProductId, i64)]) -> Result<OrderId, Failure> {
        let (agent, port) = (&self.callers.agent, self.ports[0]);
        let mut client = agent.client(port);
        let cart = agent.cart(&mut client, items).await?;
        let session = agent.complete(&mut client, &cart, None).await.success()?;
        let checkout = session["checkout_id"].as_str().ok_or("a session without an id")?;
        let paid =
            report_paid(port, &self.callers.store_key, checkout, checkout).await.success()?;
        let order = paid["order"]["order_id"].as_str().ok_or("a paid session without an order")?;
        Ok(order.parse()?)
    }

    /// Copies bought orders in turn, with this status, and returns the copies.
    pub(crate) async fn copy(&self, count: usize, status: Status) -> Result<Vec<OrderId>, Failure> {
        let mut sql = self.test.raw().await;
        let mut copies = Vec::new();
        for (at, template) in self.bought.iter().enumerate() {
            let share = count / self.bought.len() + usize::from(at < count % self.bought.len());
            copies.push(copy(&mut sql, *template, share, status).await?);
        }
        // The copies of each order in turn, so that neighbours differ.
        let longest = copies.iter().map(Vec::len).max().unwrap_or(0);
        let in_turn = (0..longest).flat_map(|at| copies.iter().filter_map(move |of| of.get(at)));
        Ok(in_turn.copied().collect())
    }
}

/// Copies an order, with new ids and this status.
pub(crate) async fn copy(
    sql: &mut PgConnection,
    template: OrderId,
    count: usize,
    status: Status,
) -> Result<Vec<OrderId>, Failure> {
    let copies: Vec<Uuid> = sqlx::query_scalar(
        "INSERT INTO placed_order
         SELECT (jsonb_populate_record(placed_order, jsonb_build_object('order_id', gen_random_uuid(),
             'checkout_id', gen_random_uuid(), 'cart_id', gen_random_uuid(), 'status', $3::text))).*
         FROM placed_order, generate_series(1, $2) WHERE order_id = $1
         RETURNING order_id",
    )
    .bind(template.uuid())
    .bind(i32::try_from(count)?)
    .bind(status)
    .fetch_all(sql)
    .await?;
    Ok(copies.into_iter().map(OrderId::from_uuid).collect())
}

/// Returns the model of an order to which nothing has happened yet, and the ids of its lines.
pub(super) async fn model_of(
    sql: &mut PgConnection,
    order: OrderId,
    status: Status,
) -> Result<(OrderModel, Vec<String>), Failure> {
    let (lines, total, shipping): (Value, i64, Option<i64>) = sqlx::query_as(
        "SELECT lines, total_minor, shipping_minor FROM placed_order WHERE order_id = $1 AND version = 1",
    )
    .bind(order.uuid())
    .fetch_one(sql)
    .await?;
    let (mut ids, mut modelled) = (Vec::new(), Vec::new());
    for line in lines.as_array().into_iter().flatten() {
        ids.push(line["line"].as_str().ok_or("a line without an id")?.to_owned());
        let ordered = u32::try_from(line["quantity"].as_u64().ok_or("a line without a quantity")?)?;
        let total_minor = line["total_minor"].as_i64().ok_or("a line without a total")?;
        modelled.push(Line { ordered, canceled: 0, shipped: 0, returned: 0, total_minor });
    }
    let goods = total - shipping.unwrap_or(0);
    ensure(goods > 0 && shipping.is_some(), || format!("an order without shipping: {total}"))?;
    Ok((OrderModel::new(status, modelled, total, goods), ids))
}

fn draft((number, price): (usize, &&str)) -> ProductDraft {
    testkit::product_draft(&format!("product-{number}"), price, STOCK)
}

/// Shipping, a tax on top of the prices, and a discount: every order has a remainder to round.
pub(super) fn settings() -> Settings {
    let rate = ShippingRate {
        name: String::from("standard"),
        price_minor: 4_90,
        min_subtotal_minor: None,
        days_min: 2,
        days_max: 4,
    };
    let zone = ShippingZone {
        name: String::from("home"),
        countries: vec![String::from("DE")],
        rates: vec![rate],
    };
    let tax = TaxRate {
        country: String::from("DE"),
        region: None,
        category: None,
        rate_basis_points: 1_900,
        included: false,
    };
    let promotion = Promotion {
        id: String::from("seven"),
        name: String::from("Seven percent"),
        benefit: Benefit::Percent { basis_points: 700 },
        code: None,
        min_subtotal_minor: None,
        starts_at: None,
        ends_at: None,
        categories: Vec::new(),
    };
    let mut settings = settings_without_hold_limits();
    settings.policies.return_window_days = Some(30);
    Settings { shipping: vec![zone], taxes: vec![tax], promotions: vec![promotion], ..settings }
}

/// Both servers have the same public address, so that both accept the same tokens.
fn server_settings(ports: [u16; 2]) -> [(&'static str, String); 1] {
    [("SOUK_SITE_URL", format!("http://127.0.0.1:{}", ports[0]))]
}

/// Creates an agent, a key of the store and an administrator.
async fn callers(url: &str, port: u16) -> Result<Callers, Failure> {
    let account = Account::create(url, "ada@example.com", "ENTERPRISE").await?;
    let token = account.log_in(port).await?;
    let scopes = ["agent:read", "agent:cart", "agent:checkout"];
    let (_, key) = agent_key_for(port, &token, &scopes).await?;
    let printed = output(url, &["admin", "create", "root@example.com", "--admin"]).await?;
    let password = printed.lines().nth(1).ok_or("`souk admin create` printed no password")?;
    let admin = Account { email: String::from("root@example.com"), password: password.to_owned() };
    Ok(Callers {
        store_key: store_key(url, SLUG).await?,
        agent: Agent::at(SLUG, &key),
        account: token,
        admin: admin.log_in(port).await?,
    })
}
