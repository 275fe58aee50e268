//! Where a suspension is seen: search, directory, MCP for plain callers and for MCP clients, checkout, the public score, and the
//! merchant's view.

use std::time::{Duration, Instant};

use primitives::OrderId;
use serde_json::{Value, json};

use super::{SLUG, WORD};
use crate::checkout::store::{Agent, Reply};
use crate::hardening::deployment::{call_without_id, mcp_post};
use crate::hardening::shop::{agent_call, call, tool};
use crate::http::{Client, Delivery};
use crate::report::{Failure, ensure};
use crate::search::post_search;

/// Longest time from a score to its effect.
const REACH_MAX: Duration = Duration::from_secs(5);
const MCP_VERSION: &str = "2025-11-25";
const SUSPENDED: &str = "store_suspended";

/// What is seen of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Open, with a score below that for agent checkout.
    Listed,
    Suspended,
}

/// The doors of a server, and credentials for them.
pub(super) struct Doors {
    pub(super) port: u16,
    pub(super) agent: Agent,
    pub(super) store_key: String,
    /// A cart from before the first score.
    pub(super) cart: String,
}

/// The names of all doors, in the order in which they are looked at.
const DOORS: [&str; 7] =
    ["search", "directory", "mcp-plain", "mcp-client", "checkout", "public-score", "merchant"];

impl Doors {
    /// Waits until every door shows the store so, with this score. Returns how long the slowest took since the score.
    pub(super) async fn until(
        &self,
        expected: Shown,
        score: f64,
        since: Instant,
    ) -> Result<Duration, Failure> {
        let mut slowest = Duration::ZERO;
        for door in DOORS {
            loop {
                // Read before the call, so that the duration of the call does not count.
                let waited = since.elapsed();
                let (found, seen) = self.look(door, score).await?;
                if found == Some(expected) {
                    slowest = slowest.max(waited);
                    break;
                }
                ensure(waited < REACH_MAX, || {
                    format!("{door} does not show {expected:?} after {waited:?}: {seen}")
                })?;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Ok(slowest)
    }

    /// Returns what a door shows, `None` if that is neither, and the answer.
    async fn look(&self, door: &str, score: f64) -> Result<(Option<Shown>, String), Failure> {
        match door {
            "search" => self.search().await,
            "directory" => self.directory().await,
            "mcp-plain" => self.plain_call().await,
            "mcp-client" => self.mcp_call().await,
            "checkout" => self.checkout().await,
            "public-score" => {
                let path = format!("/api/v1/trust/scores/{SLUG}");
                let record = get(self.port, &path).await?;
                Ok(judged(&record["data"], score, record["data"]["score"].as_f64() < Some(0.2)))
            }
            _ => {
                let view = call(self.port, &self.store_key, "GET", "/merchant/trust", &Value::Null);
                let (status, view) = view.await?;
                ensure(status == 200, || format!("GET /merchant/trust: {status} {view}"))?;
                Ok(judged(&view["data"], score, view["data"]["suspended"] == true))
            }
        }
    }

    async fn search(&self) -> Result<(Option<Shown>, String), Failure> {
        let body = json!({ "query": WORD, "limit": 50 });
        let found = post_search(&mut Client::new(self.port), &body).await?;
        let hits = found["data"].as_array().ok_or("the response has no data")?;
        Ok(listed(hits.iter().any(|hit| hit["merchant"]["slug"] == SLUG), &found))
    }

    async fn directory(&self) -> Result<(Option<Shown>, String), Failure> {
        let found = get(self.port, "/api/v1/stores/directory?limit=100").await?;
        let stores = found["data"].as_array().ok_or("the directory has no data")?;
        Ok(listed(stores.iter().any(|store| store["slug"] == SLUG), &found))
    }

    async fn plain_call(&self) -> Result<(Option<Shown>, String), Failure> {
        let (name, arguments) = ("get_merchant_profile", json!({}));
        let (status, answer) = tool(self.port, &self.agent.key, SLUG, name, &arguments).await?;
        let shown = match status {
            200 => Some(Shown::Listed),
            403 if answer["error"] == SUSPENDED => Some(Shown::Suspended),
            _ => None,
        };
        Ok((shown, format!("{status} {answer}")))
    }

    /// An MCP client gets a failed result, not a status.
    async fn mcp_call(&self) -> Result<(Option<Shown>, String), Failure> {
        let body = call_without_id("get_merchant_profile", &json!({}));
        let key = Some(self.agent.key.as_str());
        let request = mcp_post(SLUG, MCP_VERSION, key, body, &Value::Null);
        let answer = Client::exchange(self.port, &request).await?;
        let message: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let result = &message["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let envelope: Value = serde_json::from_str(text).unwrap_or_default();
        let is_refused = result["isError"] == true && envelope["error"] == SUSPENDED;
        let shown = match answer.status {
            200 if is_refused => Some(Shown::Suspended),
            200 if result["structuredContent"].is_object() => Some(Shown::Listed),
            _ => None,
        };
        Ok((shown, format!("{} {}", answer.status, answer.body)))
    }

    /// Nothing is bought at a store with such a score; a suspended one says so.
    async fn checkout(&self) -> Result<(Option<Shown>, String), Failure> {
        let mut client = self.agent.client(self.port);
        let reply = self.agent.complete(&mut client, &self.cart, None).await;
        let shown = match &reply {
            Reply::Error(403, code) if code == SUSPENDED => Some(Shown::Suspended),
            Reply::Error(403, code) if code == "forbidden" => Some(Shown::Listed),
            _ => None,
        };
        Ok((shown, format!("{reply:?}")))
    }

    /// Fails unless the agent and the merchant can read an order.
    pub(super) async fn read_order(&self, order: OrderId) -> Result<(), Failure> {
        let (port, key) = (self.port, &self.agent.key);
        let path = format!("/agent/orders/{order}");
        let (status, answer) = agent_call(port, key, "GET", &path, &Value::Null).await?;
        ensure(status == 200, || format!("GET {path}: {status} {answer}"))?;
        let ids = json!({ "ids": [order] });
        let (status, answer) = tool(port, key, SLUG, "onx_get_orders", &ids).await?;
        ensure(status == 200, || format!("onx_get_orders: {status} {answer}"))?;
        let path = format!("/merchant/orders/{order}");
        let (status, answer) = call(port, &self.store_key, "GET", &path, &Value::Null).await?;
        ensure(status == 200, || format!("GET {path}: {status} {answer}"))
    }

    /// Fails unless the newest notice to the merchant is of this kind and gives reasons. Returns it.
    pub(super) async fn newest_notice(&self, kind: &str) -> Result<Value, Failure> {
        let notices = call(self.port, &self.store_key, "GET", "/merchant/notices", &Value::Null);
        let (status, mut notices) = notices.await?;
        let newest = notices["data"][0].take();
        let has_reasons =
            newest["details"]["reasons"].as_array().is_some_and(|reasons| !reasons.is_empty());
        ensure(status == 200 && newest["kind"] == kind && has_reasons, || {
            format!("the newest notice is not {kind}: {status} {newest}")
        })?;
        Ok(newest)
    }
}

fn listed(is_listed: bool, answer: &Value) -> (Option<Shown>, String) {
    let shown = if is_listed { Shown::Listed } else { Shown::Suspended };
    (Some(shown), answer.to_string())
}

/// Returns what a record of the score shows, if it has this score.
fn judged(record: &Value, score: f64, is_suspended: bool) -> (Option<Shown>, String) {
    let has_score = record["score"].as_f64().is_some_and(|found| (found - score).abs() < 1e-9);
    let shown = if is_suspended { Shown::Suspended } else { Shown::Listed };
    (has_score.then_some(shown), record.to_string())
}

async fn get(port: u16, path: &str) -> Result<Value, Failure> {
    match Client::new(port).get(path).await {
        Delivery::Answered { status: 200, body } => Ok(serde_json::from_str(&body)?),
        other => Err(format!("GET {path}: {other:?}").into()),
    }
}
