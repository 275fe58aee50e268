//! Several stores in one database, their keys, and the door under test.

use axum::body::Body;
use axum::http::{Method, Request};
use database::Work;
use identity::{Actor, NewAgentKey, NewPerson, NewStoreKey, StoreScope};
use merchants::Policies;
use primitives::{MerchantId, Plan, Scope, Timestamp};
use serde_json::{Value, json};
use testkit::{START, StoreBuilder, TestDatabase};

use crate::door::{Answer, Door, secret, send};
use crate::openapi::assert_described_for;

/// A valid GTIN.
pub(crate) const GTIN: &str = "9520000000004";

pub(crate) struct Market {
    pub(crate) test: TestDatabase,
    pub(crate) door: Door,
}

/// A store and its key.
pub(crate) struct Shop {
    pub(crate) merchant: MerchantId,
    key: String,
}

impl Shop {
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}

/// Returns an agent key with the scopes for reading, carts and checkout.
async fn agent_key(test: &TestDatabase) -> String {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let email = "ada@example.com".parse().unwrap();
    let new = NewPerson { email, plan: Plan::Free, is_admin: false };
    let password = "correct horse battery";
    let owner = identity::create_person(&mut work, Actor::Operator, &new, password).await.unwrap();
    let scopes = [Scope::AgentRead, Scope::AgentCart, Scope::AgentCheckout].into();
    let wanted = NewAgentKey { scopes, ..NewAgentKey::default() };
    let made = identity::issue_agent_key(&mut work, &secret(), owner, &wanted).await.unwrap();
    work.commit().await.unwrap();
    made.0.key
}

impl Market {
    pub(crate) async fn new() -> Self {
        let test = TestDatabase::new().await;
        let mut door = Door::on(&test);
        door.agent_key = Some(agent_key(&test).await);
        Self { test, door }
    }

    /// Returns a market with one store.
    pub(crate) async fn with_shop() -> (Self, Shop) {
        let market = Self::new().await;
        let shop = market.open("shop", Some(0.9), true).await;
        (market, shop)
    }

    pub(crate) async fn open(&self, slug: &str, trust_score: Option<f64>, active: bool) -> Shop {
        let store = StoreBuilder::new(slug)
            .with(|store| {
                store.name = format!("The {slug}");
                store.legal_name = String::from("Example GmbH");
                store.description = String::from("All sorts");
                store.country = String::from("DE");
                store.languages = vec![String::from("de")];
                store.ships_to = vec![String::from("DE")];
                store.member_since = Timestamp::from_unix_micros(START);
            })
            .active(active)
            .policies(Policies { return_window_days: Some(30), ..Policies::default() })
            .score(trust_score)
            .store_key(&secret())
            .build(self.test.database())
            .await;
        Shop { merchant: store.merchant, key: store.store_key().key.clone() }
    }

    /// Returns the store with another key, which has these scopes.
    pub(crate) async fn with_scopes(&self, shop: &Shop, scopes: &[StoreScope]) -> Shop {
        let scopes = scopes.iter().copied().collect();
        let new = NewStoreKey { scopes, ..NewStoreKey::new("another") };
        let (merchant, operator, secret) = (shop.merchant, Actor::Operator, secret());
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        let issued = identity::issue_store_key(&mut work, &secret, operator, merchant, &new);
        let (issued, _) = issued.await.unwrap();
        work.commit().await.unwrap();
        Shop { merchant, key: issued.key }
    }

    /// Calls an endpoint with the store's key. `path` is relative to `/api/v1/merchant`.
    pub(crate) async fn send(
        &self,
        shop: &Shop,
        method: Method,
        path: &str,
        content_type: &str,
        body: impl Into<Body>,
    ) -> Answer {
        self.send_with(shop, method, path, &[("content-type", content_type)], body).await
    }

    /// Calls an endpoint with the store's key and these headers.
    pub(crate) async fn send_with(
        &self,
        shop: &Shop,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/api/v1/merchant{path}"))
            .header("authorization", format!("Bearer {}", shop.key));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        send(&self.door.router, request.body(body.into()).unwrap()).await
    }

    pub(crate) async fn json(
        &self,
        shop: &Shop,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Answer {
        self.send(shop, method, path, "application/json", body.to_string()).await
    }

    pub(crate) async fn read(&self, shop: &Shop, path: &str) -> Answer {
        self.send(shop, Method::GET, path, "", Body::empty()).await
    }

    /// Pushes valid products and returns their ids.
    pub(crate) async fn stock(&self, shop: &Shop, products: &[Value]) -> Vec<String> {
        let answer = self.push(shop, products).await;
        assert_eq!(
            (answer.status, &answer.body["data"]["failed"]),
            (200, &json!(0)),
            "{}",
            answer.body
        );
        let results = answer.body["data"]["results"].as_array().unwrap();
        results.iter().map(|result| result["product_id"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) async fn push(&self, shop: &Shop, products: &[Value]) -> Answer {
        let answer = self.patch(shop, "/products", &json!({ "products": products })).await;
        assert_described_for("patch", "/merchant/products", &answer);
        answer
    }

    pub(crate) async fn patch(&self, shop: &Shop, path: &str, body: &Value) -> Answer {
        let answer = self.json(shop, Method::PATCH, path, body).await;
        assert_described_for("patch", &format!("/merchant{path}"), &answer);
        answer
    }

    /// Returns the number that a query selects.
    pub(crate) async fn count(&self, query: &'static str) -> i64 {
        sqlx::query_scalar(query).fetch_one(&mut self.test.raw().await).await.unwrap()
    }
}

/// A product as a merchant pushes it.
#[expect(clippy::needless_pass_by_value, reason = "callers write their amounts in place")]
pub(crate) fn mug(external_id: &str, price: Value) -> Value {
    json!({
        "external_id": external_id,
        "name": format!("Mug {external_id}"),
        "description": "Holds coffee.",
        "brand": "Salgueira",
        "category": ["Kitchen", "Mugs"],
        "price": price,
        "stock_quantity": 9,
        "images": [{ "url": "https://shop.example/mug.jpg" }],
    })
}

/// Returns the product with fields added or replaced.
pub(crate) fn with(mut product: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    product.as_object_mut().unwrap().extend(fields);
    product
}

/// Returns the statuses of a push, in order.
pub(crate) fn statuses(answer: &Answer) -> Vec<&str> {
    let results = answer.body["data"]["results"].as_array();
    let results = results.unwrap_or_else(|| panic!("{}", answer.body));
    results.iter().map(|result| result["status"].as_str().unwrap()).collect()
}

/// Checks status, code and field of an error, and that it has a hint and repeats no value.
pub(crate) fn assert_error(answer: &Answer, status: u16, code: &str, field: Option<&str>) {
    assert_eq!(answer.error(), (status, code), "{}", answer.body);
    let details = &answer.body["details"];
    assert!(details["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{}", answer.body);
    assert_eq!(details["field"].as_str(), field, "{}", answer.body);
    assert!(!answer.body.to_string().contains("ignore"), "{}", answer.body);
}
