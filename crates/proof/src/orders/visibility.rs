//! `visibility`: every route and tool that names an order, a return or a dispute is called with those of somebody else, and with
//! ids that nobody has: apart from the ids that were sent and the id of the request, the answers are the same bytes. The routes
//! are read from the OpenAPI document and the tools from their listing, so that a new one is not forgotten.
//!
//! Then stores are suspended, paused and closed, and their orders are read and changed as before.

mod closed_stores;

use std::collections::BTreeSet;

use primitives::{DisputeId, Id, OrderId, ReturnId};
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use testkit::StoreBuilder;

use super::acts::{Hand, Named};
use super::model::{Act, Who};
use super::refunds::done;
use super::store::{OrderStore, SLUG, model_of};
use crate::http::{Client, Delivery, tool_call};
use crate::identity::{Account, agent_key_for};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::store_key;

/// The store of another merchant.
const OTHER_SLUG: &str = "garret";
/// Headers that differ from answer to answer.
const OWN_HEADERS: [&str; 2] = ["date", "x-request-id"];
/// Tools about orders, and their arguments; `{order}`, `{return}`, `{dispute}`, `{line}` are replaced.
const TOOLS: [(&str, &str); 11] = [
    ("onx_get_orders", r#"{"ids": ["{order}"]}"#),
    ("get_order_status", r#"{"order_id": "{order}"}"#),
    ("onx_get_fulfillments", r#"{"orderIds": ["{order}"]}"#),
    ("check_return_eligibility", r#"{"order_id": "{order}"}"#),
    (
        "onx_create_return",
        r#"{"order_id": "{order}", "items": [{"line_id": "{line}", "quantity": 1}], "reason": "defective"}"#,
    ),
    ("onx_get_returns", r#"{"ids": ["{return}"], "orderIds": ["{order}"]}"#),
    ("onx_cancel_order", r#"{"orderId": "{order}"}"#),
    ("onx_update_order", r#"{"id": "{order}", "updates": {"orderNote": "Ring twice."}}"#),
    (
        "open_dispute",
        r#"{"order_id": "{order}", "reason": "damaged", "statement": "It is broken."}"#,
    ),
    ("get_dispute", r#"{"dispute_id": "{dispute}"}"#),
    ("submit_agent_feedback", r#"{"order_id": "{order}", "outcome": "completed"}"#),
];
/// Bodies of routes, by the end of the path and the method.
const BODIES: [(&str, &str, &str); 14] = [
    ("PATCH", "/merchant/orders/{order_id}", r#"{"action": "confirm"}"#),
    ("POST", "/refunds", r#"{"amount": 1.0, "currency": "EUR", "reason": "goodwill"}"#),
    ("PATCH", "/merchant/orders/{order_id}/returns/{return_id}", r#"{"action": "approve"}"#),
    ("POST", "/statements", r#"{"statement": "It arrived."}"#),
    ("PATCH", "/agent/orders/{order_id}", r#"{"note": "Ring twice."}"#),
    ("POST", "/cancel", "{}"),
    ("POST", "/feedback", r#"{"outcome": "completed"}"#),
    (
        "POST",
        "/agent/orders/{order_id}/returns",
        r#"{"items": [{"line_id": "{line}", "quantity": 1, "reason": "defective"}]}"#,
    ),
    ("PATCH", "/agent/orders/{order_id}/returns/{return_id}", r#"{"action": "cancel"}"#),
    ("POST", "/disputes", r#"{"reason": "damaged", "statement": "It is broken."}"#),
    ("POST", "/accept", ""),
    ("POST", "/withdraw", ""),
    ("GET", "", ""),
    ("DELETE", "", ""),
];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let store = OrderStore::open().await?;
    let case = Case::create(&store, &mut trial.rng(5)).await?;
    let routes = case.routes().await?;
    for (method, path) in &routes {
        case.compare_route(method, path).await?;
    }
    case.check_tools().await?;
    let calls = TOOLS.len() * case.compare_tools().await?;
    let closed = closed_stores::prove(&trial, &store).await?;
    Ok(format!(
        "{} routes and {calls} calls of {} tools: the order of somebody else is answered as none; {closed}",
        routes.len(),
        TOOLS.len()
    ))
}

/// The ids that a call names.
#[derive(Debug, Clone)]
struct Ids {
    order: String,
    of_return: String,
    dispute: String,
    line: String,
}

impl Ids {
    /// Ids that nothing has.
    fn random(rng: &mut StdRng, line: &str) -> Self {
        Self {
            order: OrderId::from_random(rng.random()).to_string(),
            of_return: ReturnId::from_random(rng.random()).to_string(),
            dispute: DisputeId::from_random(rng.random()).to_string(),
            line: line.to_owned(),
        }
    }

    fn pairs(&self) -> [(&'static str, &str); 4] {
        [
            ("{order}", self.order.as_str()),
            ("{return}", &self.of_return),
            ("{dispute}", &self.dispute),
            ("{line}", &self.line),
        ]
    }

    /// Inserts the ids into a text. Paths name them by their parameter.
    fn insert(&self, text: &str) -> String {
        let text = text.replace("_id}", "}");
        self.pairs().iter().fold(text, |text, (name, id)| text.replace(name, id))
    }

    /// Replaces the ids in an answer by their names.
    fn remove(&self, text: &str) -> String {
        self.pairs().iter().fold(text.to_owned(), |text, (name, id)| text.replace(id, name))
    }
}

/// Somebody else's order with a return and a dispute, and those who do not see it.
struct Case {
    port: u16,
    foreign: Ids,
    none: Ids,
    /// A key of another store.
    store_key: String,
    /// Keys of another account, and another key of the account without `agent:orders`.
    agents: Vec<String>,
    /// The key that bought, which does not see the order at another store.
    owner: String,
}

/// An answer without what differs from call to call.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Case {
    async fn create(store: &OrderStore, rng: &mut StdRng) -> Result<Self, Failure> {
        let (url, port) = (store.url(), store.ports[0]);
        StoreBuilder::new(OTHER_SLUG).score(0.9).build(store.test.database()).await;
        let foreign = foreign_order(store).await?;
        let scopes = ["agent:read", "agent:cart", "agent:checkout"];
        let other =
            Account::create(&url, "bob@example.com", "ENTERPRISE").await?.log_in(port).await?;
        let all = [scopes.as_slice(), &["agent:orders"]].concat();
        let (_, stranger) = agent_key_for(port, &other, &all).await?;
        let (_, sibling) = agent_key_for(port, &store.callers.account, &scopes).await?;
        Ok(Self {
            port,
            none: Ids::random(rng, &foreign.line),
            foreign,
            store_key: store_key(&url, OTHER_SLUG).await?,
            agents: vec![stranger, sibling],
            owner: store.callers.agent.key.clone(),
        })
    }

    /// Returns the routes of agents and merchants that name an order, a return or a dispute.
    async fn routes(&self) -> Result<Vec<(String, String)>, Failure> {
        let Delivery::Answered { status: 200, body } =
            Client::new(self.port).get("/api/v1/openapi.json").await
        else {
            return Err("no OpenAPI document".into());
        };
        let document: Value = serde_json::from_str(&body)?;
        let mut routes = Vec::new();
        for (path, methods) in document["paths"].as_object().into_iter().flatten() {
            let names = ["{order_id}", "{return_id}", "{dispute_id}"];
            // Administrators see all orders.
            if path.contains("/admin/") || !names.iter().any(|name| path.contains(name)) {
                continue;
            }
            for method in methods.as_object().into_iter().flat_map(|it| it.keys()) {
                if ["get", "post", "put", "patch", "delete"].contains(&method.as_str()) {
                    routes.push((method.to_uppercase(), path.clone()));
                }
            }
        }
        ensure(routes.len() >= 12, || {
            format!("only {} routes of orders: {routes:?}", routes.len())
        })?;
        Ok(routes)
    }

    async fn compare_route(&self, method: &str, path: &str) -> Result<(), Failure> {
        let is_same = |(of, end, _): &&(&str, &str, &str)| *of == method && path.ends_with(end);
        let body = BODIES.iter().find(is_same).map(|(_, _, body)| *body);
        let body = body.ok_or_else(|| format!("{method} {path} is new: state its body here"))?;
        let is_merchant = path.contains("/merchant/");
        let clients: Vec<Client> = if is_merchant {
            vec![Client::new(self.port).with_key(&self.store_key)]
        } else {
            self.agents.iter().map(|key| Client::new(self.port).with_agent_key(key)).collect()
        };
        for mut client in clients {
            let mut shown = Vec::new();
            for ids in [&self.foreign, &self.none] {
                let path = ids.insert(path);
                let path =
                    if path.starts_with("/api/v1") { path } else { format!("/api/v1{path}") };
                let body = ids.insert(body);
                let delivery = client.send(method, &path, body.as_bytes()).await;
                shown.push(Self::shown(&client, delivery, ids)?);
            }
            ensure(shown[0] == shown[1] && shown[0].status == 404, || {
                format!("{method} {path}: {:?} and {:?}", shown[0], shown[1])
            })?;
        }
        Ok(())
    }

    /// Fails unless the tools that name orders, returns or disputes are those of the list.
    async fn check_tools(&self) -> Result<(), Failure> {
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
        let mut client = Client::new(self.port).with_mcp_headers().with_agent_key(&self.owner);
        let Delivery::Answered { status: 200, body } =
            client.post(&format!("/{SLUG}/mcp"), &list.to_string()).await
        else {
            return Err("no list of tools".into());
        };
        let listed: Value = serde_json::from_str(&body)?;
        let words = ["order", "return", "dispute", "fulfillment"];
        let found: BTreeSet<&str> = listed["result"]["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|tool| {
                tool["name"].as_str().is_some_and(|name| words.iter().any(|it| name.contains(it)))
                    || tool["inputSchema"]["properties"].get("order_id").is_some()
            })
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        let known: BTreeSet<&str> = TOOLS.iter().map(|(name, _)| *name).collect();
        let unknown: Vec<_> = found.difference(&known).collect();
        let missing: Vec<_> = known.difference(&found).collect();
        ensure(unknown.is_empty() && missing.is_empty(), || {
            format!("tools of orders that are not tried: {unknown:?}; not listed: {missing:?}")
        })
    }

    /// Calls each tool as every stranger, and as the owner at another store. Returns the calls of a tool.
    async fn compare_tools(&self) -> Result<usize, Failure> {
        let mut callers: Vec<(&str, &str)> =
            self.agents.iter().map(|key| (key.as_str(), SLUG)).collect();
        callers.push((&self.owner, OTHER_SLUG));
        for (name, arguments) in TOOLS {
            for (key, slug) in &callers {
                let mut client = Client::new(self.port).with_agent_key(key);
                let mut shown = Vec::new();
                for ids in [&self.foreign, &self.none] {
                    let arguments: Value = serde_json::from_str(&ids.insert(arguments))?;
                    let body = tool_call(name, &arguments).to_string();
                    let delivery = client.post(&format!("/{slug}/mcp"), &body).await;
                    shown.push(Self::shown(&client, delivery, ids)?);
                }
                ensure(shown[0] == shown[1], || {
                    format!("{name} at {slug}: {:?} and {:?}", shown[0], shown[1])
                })?;
                let is_list =
                    ["onx_get_orders", "onx_get_fulfillments", "onx_get_returns"].contains(&name);
                let expected = if is_list { 200 } else { 404 };
                ensure(shown[0].status == expected, || {
                    format!("{name} at {slug}: {:?}", shown[0])
                })?;
                ensure(!is_list || !shown[0].body.contains("\"lineItems\":[{"), || {
                    format!("{name}: {:?}", shown[0])
                })?;
            }
        }
        Ok(callers.len())
    }

    fn shown(client: &Client, delivery: Delivery, ids: &Ids) -> Result<Shown, Failure> {
        let Delivery::Answered { status, body } = delivery else {
            return Err(format!("no answer: {delivery:?}").into());
        };
        let request = client.header("x-request-id").unwrap_or("no request id");
        let headers = client.headers().filter(|(name, _)| !OWN_HEADERS.contains(name));
        Ok(Shown {
            status,
            headers: headers.map(|(name, value)| (name.to_owned(), ids.remove(value))).collect(),
            body: ids.remove(&body.replace(request, "{request}")),
        })
    }
}

/// Creates an order with a return and a dispute, of the agent of the store.
async fn foreign_order(store: &OrderStore) -> Result<Ids, Failure> {
    let order = store.copy(1, "pending").await?[0];
    let (mut sql, mut hand) = (store.test.raw().await, Hand::new(&store.callers, store.ports));
    let (_, lines) = model_of(&mut sql, order, "pending").await?;
    let named = Named::new(order, lines.clone());
    let acts = [
        (Who::Merchant, Act::Ship(Vec::new())),
        (Who::Merchant, Act::Deliver(None)),
        (Who::Agent, Act::RequestReturn(vec![(0, 1)], "refund")),
        (Who::Agent, Act::OpenDispute),
    ];
    for (who, act) in &acts {
        done(&mut hand, &named, *who, act).await?;
    }
    let (of_return, dispute): (uuid::Uuid, uuid::Uuid) = sqlx::query_as(
        "SELECT return_id, dispute_id FROM order_return JOIN order_dispute USING (order_id)",
    )
    .fetch_one(&mut sql)
    .await?;
    Ok(Ids {
        order: order.to_string(),
        of_return: ReturnId::from_uuid(of_return).to_string(),
        dispute: DisputeId::from_uuid(dispute).to_string(),
        line: lines[0].clone(),
    })
}
