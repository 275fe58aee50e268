//! Purchases over MCP, and the merchant's side of an order.

use std::sync::Arc;
use std::time::Duration;

use checkout::{CheckoutCaller, CheckoutContext, PayRequest, PaymentGateway, Visitor};
use database::Reading;
use merchants::{Store, StoreCache};
use orders::{Actor, OrderContext, Shipment, Viewer};
use payments::TestProvider;
use primitives::{CheckoutId, ClientAddress, OrderId};
use serde_json::{Value, json};

use crate::app::{SITE_URL, TestApp, TestResponse};
use crate::carts::{in_stock_products, structured_content};

/// An agent at a store.
pub(crate) struct Shopper<'app> {
    pub(crate) app: &'app TestApp,
    pub(crate) store: Arc<Store>,
    pub(crate) key: String,
}

impl<'app> Shopper<'app> {
    pub(crate) async fn at(app: &'app TestApp, slug: &str, key: String) -> Self {
        let stores = StoreCache::new(app.test.database().clone(), Duration::ZERO);
        let store = stores.find(&slug.parse().unwrap()).await.unwrap();
        Self { app, store, key }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> TestResponse {
        self.app.tool_as(&self.key, self.store.slug.as_str(), tool, arguments).await
    }

    /// Calls a tool that succeeds.
    pub(crate) async fn ok(&self, tool: &str, arguments: Value) -> Value {
        structured_content(&self.call(tool, arguments).await)
    }

    /// Calls a tool that fails. Returns the envelope without the request id.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments).await;
        let result = &answer.json()["result"];
        assert_eq!(result["isError"], true, "{tool}: {}", answer.text);
        let text = result["content"][0]["text"].as_str().unwrap();
        let mut envelope: Value = serde_json::from_str(text).unwrap();
        envelope["details"].as_object_mut().unwrap().remove("request_id");
        envelope
    }

    /// Buys units of two products and pays. Returns the order.
    pub(crate) async fn buy(&self, quantity: u32) -> OrderId {
        let goods = in_stock_products(self.store.slug.as_str());
        let item = |id: &String| json!({ "product_id": id, "quantity": quantity });
        let to = json!({ "country": self.store.country, "postal_code": "20100", "city": "Turku",
                         "street": "Way 1", "name": "Ada Maria Salo" });
        let buyer =
            json!({ "email": "ada@buyers.example", "first_name": "Ada", "last_name": "Salo" });
        let items: Vec<Value> = goods[..2].iter().map(item).collect();
        let new = json!({ "items": items, "destination": to, "buyer": buyer });
        let cart = self.ok("create_cart", new).await;
        let cart = json!({ "cart_id": cart["cart_id"] });
        let session = self.ok("complete_checkout", cart).await;
        self.pay(session["checkout_id"].as_str().unwrap().parse().unwrap()).await
    }

    async fn pay(&self, id: CheckoutId) -> OrderId {
        let (database, merchant) = (self.app.test.database(), self.store.merchant);
        let reading = Reading::for_store(database, merchant).unwrap();
        let session = checkout::session(&reading, merchant, id, None).await.unwrap().session;
        let context = CheckoutContext {
            database,
            store: &self.store,
            site_url: SITE_URL,
            gateway: &PaymentGateway::new(Arc::new(TestProvider), true),
            caller: CheckoutCaller::default(),
        };
        let request = PayRequest {
            instrument: "test_approves",
            form_token: &session.form_token,
            quote_hash: session.quote_hash,
            visitor: Visitor::new(ClientAddress([192, 0, 2, 7].into()), "Browser/1.0"),
        };
        let paid = checkout::pay(&context, id, request).await.unwrap();
        paid.placed.unwrap()
    }

    /// The merchant's side.
    pub(crate) fn merchant(&self) -> OrderContext<'_> {
        OrderContext {
            database: self.app.test.database(),
            merchant: self.store.merchant,
            slug: self.store.slug.as_str(),
            actor: Actor::merchant(String::from("key_1")),
            viewer: Viewer::All,
            idempotency_key: None,
        }
    }

    /// The merchant ships everything.
    pub(crate) async fn ship(&self, order: OrderId) {
        let shipment = Shipment {
            carrier: Some(String::from("Posti")),
            tracking_number: Some(String::from("TRACK-77")),
            tracking_url: Some(String::from("https://carrier.example/TRACK-77")),
            ..Shipment::default()
        };
        orders::ship(&self.merchant(), order, None, shipment).await.unwrap();
    }

    /// The merchant ships and delivers everything.
    pub(crate) async fn deliver(&self, order: OrderId) {
        self.ship(order).await;
        orders::deliver(&self.merchant(), order, None, Vec::new()).await.unwrap();
    }

    /// Returns the first line of an order: its id and its SKU.
    pub(crate) async fn line(&self, order: OrderId) -> (Value, Value) {
        let found = self.ok("get_order_status", json!({ "order_id": order })).await;
        let item = &found["items"][0];
        (item["line_id"].clone(), item["sku"].clone())
    }
}
