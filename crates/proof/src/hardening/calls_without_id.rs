//! `calls-without-id`: a `tools/call` without `id`, the shape that the specification shows, is executed for a plain HTTP
//! caller and is a notification of an MCP client, which executes nothing.

use serde_json::{Value, json};

use super::deployment::{Deployment, call_without_id, plain_post, product_of};
use crate::http::Client;
use crate::report::{Failure, Trial, Verdict, ensure};

const STORE: &str = "kivikiri";

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let deployment = Deployment::of(&trial).await?;
    let port = deployment.souk.port;
    let key = deployment.buyer_key(&["agent:cart", "agent:checkout"]).await?;
    let items = json!([{ "product_id": product_of(STORE)?, "quantity": 1 }]);
    let create = call_without_id("create_cart", &json!({ "items": items }));
    let credential = ("X-Agent-Api-Key", key.as_str());
    let mut body = create.clone();
    for id in [None, Some(Value::Null)] {
        if let Some(id) = id {
            body["id"] = id;
        }
        let answer = Client::exchange(port, &plain_post(STORE, &[credential], &body)).await?;
        let parsed: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let cart = parsed["result"]["structuredContent"]["cart_id"].as_str().unwrap_or_default();
        let is_answered = parsed.get("id") == Some(&Value::Null) && cart.starts_with("cart_");
        ensure(answer.status == 200 && is_answered, || {
            format!("a plain call without id: {} {:?}", answer.status, answer.body)
        })?;
    }
    let list = json!({ "jsonrpc": "2.0", "method": "tools/list" });
    let listed = Client::exchange(port, &plain_post(STORE, &[], &list)).await?;
    ensure(listed.status == 200 && listed.body.contains("\"create_cart\""), || {
        format!("a plain tools/list without id: {} {:?}", listed.status, listed.body)
    })?;
    let before = carts(&deployment).await?;
    for header in [("MCP-Protocol-Version", "2025-11-25"), ("Accept", "text/event-stream")] {
        let answer =
            Client::exchange(port, &plain_post(STORE, &[credential, header], &create)).await?;
        ensure(answer.status == 202 && answer.body.is_empty(), || {
            format!("{header:?}: expected 202, got {} {:?}", answer.status, answer.body)
        })?;
    }
    let executed = carts(&deployment).await? - before;
    ensure(executed == 0, || format!("{executed} notifications were executed"))?;
    Ok(String::from(
        "without id and with null: executed and answered for a plain HTTP caller (2 carts, a listing); 2 notifications of MCP \
         clients executed nothing",
    ))
}

async fn carts(deployment: &Deployment) -> Result<i64, Failure> {
    let mut raw = deployment.test.raw().await;
    Ok(sqlx::query_scalar("SELECT count(*) FROM cart").fetch_one(&mut raw).await?)
}
