//! `refusals-as-results`: whatever a tool call of an MCP client can be refused for, it gets HTTP 200 with a failed result:
//! common clients end the session or hang on 401, 403 and 429. A plain HTTP caller gets the status.

use serde_json::{Value, json};
use testkit::ShownResponse;

use super::deployment::{Deployment, call_without_id, mcp_post, plain_post, product_of};
use crate::http::Client;
use crate::report::{Failure, Trial, Verdict, ensure};

const STORE: &str = "kivikiri";
const VERSIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// A call that is refused.
struct Refusal {
    slug: &'static str,
    key: Option<String>,
    call: Value,
    status: u16,
    code: &'static str,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let deployment = Deployment::of(&trial).await?;
    let reader = deployment.key_on("FREE", &["agent:read"]).await?;
    let buyer = deployment.key_on("FREE", &["agent:cart"]).await?;
    let items =
        |slug| Ok::<_, Failure>(json!([{ "product_id": product_of(slug)?, "quantity": 1 }]));
    let write =
        |slug| Ok::<_, Failure>(call_without_id("create_cart", &json!({ "items": items(slug)? })));
    let read = call_without_id("get_merchant_profile", &json!({}));
    let wrong = format!("agnt_{}", "7".repeat(64));
    let refusal = |slug, key: Option<&str>, call: &Value, status, code| Refusal {
        slug,
        key: key.map(str::to_owned),
        call: call.clone(),
        status,
        code,
    };
    let refusals = [
        refusal(STORE, None, &write(STORE)?, 401, "unauthorized"),
        refusal("demo-store", None, &write("demo-store")?, 401, "unauthorized"),
        refusal(STORE, Some(&wrong), &read, 401, "unauthorized"),
        refusal(STORE, Some(&reader), &write(STORE)?, 403, "forbidden"),
        refusal("demo-store", Some(&buyer), &write("demo-store")?, 403, "forbidden"),
        refusal("velvetine-outlet", None, &read, 403, "store_suspended"),
    ];
    for refusal in &refusals {
        refusal.check(deployment.souk.port).await?;
    }
    let limited = deployment.limited_port().await?;
    let mut counted = refusal(STORE, Some(&buyer), &read, 429, "rate_limit_exceeded");
    for _ in 0..30 {
        counted.send(limited, None).await?;
    }
    counted.check(limited).await?;
    counted.key = Some(reader);
    counted.call = call_without_id("search_products", &json!({ "query": "bowl" }));
    counted.code = "tool_limit_exceeded";
    for _ in 0..20 {
        counted.send(limited, None).await?;
    }
    counted.check(limited).await?;
    Ok(format!(
        "{} refusals (key, scope, read-only and suspended store, both limits): a status for plain HTTP callers, a failed result \
         with rate limit headers for MCP clients of {VERSIONS:?}",
        refusals.len() + 2
    ))
}

impl Refusal {
    /// Sends the call as a plain HTTP caller, or as an MCP client of a version.
    async fn send(&self, port: u16, version: Option<&str>) -> Result<ShownResponse, Failure> {
        let key = self.key.as_deref();
        let request = match version {
            None => {
                let key = key.map(|key| ("X-Agent-Api-Key", key));
                plain_post(self.slug, key.as_slice(), &self.call)
            }
            // Only the newest version declares capabilities in the call.
            Some(version) => {
                let capabilities = if version == VERSIONS[1] { json!({}) } else { Value::Null };
                mcp_post(self.slug, version, key, self.call.clone(), &capabilities)
            }
        };
        Client::exchange(port, &request).await
    }

    async fn check(&self, port: u16) -> Result<(), Failure> {
        let plain = self.send(port, None).await?;
        let envelope: Value = serde_json::from_str(&plain.body).unwrap_or_default();
        ensure((plain.status, &envelope["error"]) == (self.status, &json!(self.code)), || {
            format!("{} plain: {} {}", self.code, plain.status, plain.body)
        })?;
        for version in VERSIONS {
            let answer = self.send(port, Some(version)).await?;
            let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
            let result = &body["result"];
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            let envelope: Value = serde_json::from_str(text).unwrap_or_default();
            let is_result = answer.status == 200
                && body["id"] == 7
                && result["isError"] == true
                && result.get("structuredContent").is_none()
                && envelope["error"] == self.code;
            ensure(is_result, || {
                format!("{} over MCP {version}: {} {}", self.code, answer.status, answer.body)
            })?;
            let reports = ["x-ratelimit-reset", "retry-after"];
            let is_reported = reports.iter().all(|name| answer.headers.contains_key(*name));
            ensure(self.status != 429 || is_reported, || {
                format!("{}: no rate limit headers: {:?}", self.code, answer.headers)
            })?;
        }
        Ok(())
    }
}
