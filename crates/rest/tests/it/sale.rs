//! An order that an agent bought at a store, and both sides of it.

use axum::body::Body;
use axum::http::{Method, Request};
use database::Work;
use identity::{Actor, NewAgentKey, NewPerson};
use primitives::{MerchantId, Plan, Scope};
use serde_json::{Value, json};

use crate::door::{Answer, secret, send};
use crate::market::{Market, Shop, mug};
use crate::openapi::assert_described_for;

pub(crate) const UNKNOWN_ORDER: &str = "ord_0000000000000000000000000000abcd";
pub(crate) const PASSWORD: &str = "correct horse battery";

pub(crate) struct Sale {
    pub(crate) market: Market,
    pub(crate) shop: Shop,
    /// The key of the agent that bought.
    pub(crate) key: String,
    pub(crate) order: String,
    /// Two units for 12.50 each.
    pub(crate) mugs: String,
    /// One unit for 20.00.
    pub(crate) bowl: String,
}

impl Sale {
    /// Buys two mugs and a bowl.
    pub(crate) async fn new() -> Self {
        let (market, shop) = Market::with_shop().await;
        let key = market.door.agent_key.clone().unwrap();
        let goods = [mug("mug", json!(12.5)), mug("bowl", json!(20))];
        let products = market.stock(&shop, &goods).await;
        let (order, mugs, bowl) = (String::new(), String::new(), String::new());
        let mut sale = Self { market, shop, key, order, mugs, bowl };
        let key = sale.key.clone();
        sale.order = sale.buy(&key, &products).await;
        let read = sale.read().await;
        let line = |index: usize| read["items"][index]["line_id"].as_str().unwrap().to_owned();
        (sale.mugs, sale.bowl) = (line(0), line(1));
        sale
    }

    /// Buys two of the first product and one of the second, and returns the order.
    pub(crate) async fn buy(&self, key: &str, products: &[String]) -> String {
        let to = json!({ "country": "DE", "city": "Köln", "street": "Weg 1", "name": "Eve" });
        let new = json!({
            "merchant_slug": "shop",
            "items": [
                { "product_id": products[0], "quantity": 2 }, { "product_id": products[1] },
            ],
            "destination": to,
            "buyer": { "email": "eve@example.com" },
        });
        let bought = self.agent(key, Method::POST, "/checkout", &new).await;
        assert_eq!(bought.status, 201, "{}", bought.body);
        let checkout = bought.body["data"]["checkout_id"].as_str().unwrap();
        let path = format!("/checkouts/{checkout}/complete");
        let paid = json!({ "reference": checkout });
        let paid = self.market.json(&self.shop, Method::POST, &path, &paid).await;
        let order = paid.body["data"]["order"]["order_id"].as_str().map(str::to_owned);
        order.unwrap_or_else(|| panic!("{}", paid.body))
    }

    /// Calls an endpoint of agents. The response is validated against its schema.
    pub(crate) async fn agent(
        &self,
        key: &str,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Answer {
        self.agent_with(key, method, path, &[], body).await
    }

    /// Calls an endpoint of agents with these headers.
    pub(crate) async fn agent_with(
        &self,
        key: &str,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Answer {
        let mut request = Request::builder()
            .method(&method)
            .uri(format!("/api/v1/agent{path}"))
            .header("x-agent-api-key", key);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { Body::empty() } else { body.to_string().into() };
        let answer = send(&self.market.door.router, request.body(body).unwrap()).await;
        assert_described_for(&method.as_str().to_lowercase(), &template("/agent", path), &answer);
        let is_write = method != Method::GET;
        let confirmation = if is_write { "true" } else { "" };
        assert_eq!(answer.header("x-human-confirmation-required"), confirmation, "{path}");
        answer
    }

    /// Calls an endpoint of the merchant. The response is validated against its schema.
    pub(crate) async fn merchant(
        &self,
        shop: &Shop,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Answer {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.market.send_with(shop, method.clone(), path, headers, text).await;
        let described = template("/merchant", path);
        assert_described_for(&method.as_str().to_lowercase(), &described, &answer);
        answer
    }

    /// Changes the order as its merchant.
    pub(crate) async fn change(&self, body: Value) -> Value {
        let path = format!("/orders/{}", self.order);
        let answer = self.merchant(&self.shop, Method::PATCH, &path, &[], &body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["data"].clone()
    }

    /// Ships and delivers everything.
    pub(crate) async fn deliver(&self) {
        self.change(json!({ "action": "ship", "carrier": "DHL" })).await;
        let delivered = self.change(json!({ "action": "deliver" })).await;
        assert_eq!(delivered["status"], "delivered");
    }

    /// Reads the order as its agent.
    pub(crate) async fn read(&self) -> Value {
        let path = format!("/orders/{}", self.order);
        let answer = self.agent(&self.key, Method::GET, &path, &Value::Null).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["data"].clone()
    }

    /// Requests the return of one mug.
    pub(crate) async fn request_return(&self) -> String {
        let path = format!("/orders/{}/returns", self.order);
        let answer = self.agent(&self.key, Method::POST, &path, &self.one_mug()).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body["data"]["return_id"].as_str().unwrap().to_owned()
    }

    pub(crate) fn one_mug(&self) -> Value {
        json!({ "items": [{ "line_id": self.mugs, "quantity": 1, "reason": "defective" }] })
    }

    /// Opens a dispute about the order.
    pub(crate) async fn open_dispute(&self) -> String {
        let path = format!("/orders/{}/disputes", self.order);
        let body = json!({ "reason": "not_received", "statement": "Nothing came." });
        let answer = self.agent(&self.key, Method::POST, &path, &body).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body["data"]["dispute_id"].as_str().unwrap().to_owned()
    }

    /// Issues a key of an account, which is created if it does not exist.
    pub(crate) async fn another_key(
        &self,
        email: &str,
        scopes: &[Scope],
        stores: Option<Vec<MerchantId>>,
    ) -> String {
        let database = self.market.test.database();
        let mut work = Work::for_platform(database).await.unwrap();
        let email = email.parse().unwrap();
        let owner = if let Ok(owner) = identity::person_by_email(&mut work, &email).await {
            owner
        } else {
            let new = NewPerson { email, plan: Plan::Free, is_admin: false };
            identity::create_person(&mut work, Actor::Operator, &new, PASSWORD).await.unwrap()
        };
        let scopes = scopes.iter().copied().collect();
        let wanted = NewAgentKey { scopes, stores, ..NewAgentKey::default() };
        let made = identity::issue_agent_key(&mut work, &secret(), owner, &wanted).await.unwrap();
        work.commit().await.unwrap();
        made.0.key
    }

    /// Returns the header of an administrator.
    pub(crate) async fn administrator(&self) -> String {
        let mut work = Work::for_platform(self.market.test.database()).await.unwrap();
        let email = "root@example.com".parse().unwrap();
        let new = NewPerson { email, plan: Plan::Free, is_admin: true };
        identity::create_person(&mut work, Actor::Operator, &new, PASSWORD).await.unwrap();
        work.commit().await.unwrap();
        let login = json!({ "email": "root@example.com", "password": PASSWORD }).to_string();
        let request = Request::post("/api/v1/auth/login").body(Body::from(login)).unwrap();
        let answer = send(&self.market.door.router, request).await;
        format!("Bearer {}", answer.body["token"].as_str().unwrap())
    }

    /// Calls an endpoint of administrators. The response is validated against its schema.
    pub(crate) async fn admin(
        &self,
        authorization: &str,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Answer {
        let mut request = Request::builder()
            .method(&method)
            .uri(format!("/api/v1/admin{path}"))
            .header("authorization", authorization);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { Body::empty() } else { body.to_string().into() };
        let answer = send(&self.market.door.router, request.body(body).unwrap()).await;
        assert_described_for(&method.as_str().to_lowercase(), &template("/admin", path), &answer);
        answer
    }
}

/// Returns the path as the document names it: ids are replaced by their parameters.
fn template(prefix: &str, path: &str) -> String {
    let (path, _) = path.split_once('?').unwrap_or((path, ""));
    let name = |part: &str| match part.split_once('_') {
        Some(("ord", _)) => String::from("{order_id}"),
        Some(("ret", _)) => String::from("{return_id}"),
        Some(("dsp", _)) => String::from("{dispute_id}"),
        Some(("chk", _)) => String::from("{checkout_id}"),
        _ => part.to_owned(),
    };
    let parts: Vec<String> = path.split('/').map(name).collect();
    format!("{prefix}{}", parts.join("/"))
}
