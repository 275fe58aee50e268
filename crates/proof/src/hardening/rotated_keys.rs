//! `rotated-keys`: an agent that rotates its key keeps its cart, its session and its idempotency keys.

use serde_json::{Value, json};

use super::merchant_calls::{Shop, call, tool};
use crate::http::{Client, Delivery};
use crate::identity::{Account, agent_key_for};
use crate::report::{Trial, Verdict, ensure};

pub(crate) async fn prove(_: Trial) -> Verdict {
    let shop = Shop::open().await?;
    let (url, port) = (shop.url(), shop.souk.port);
    let account = Account::create(url, "ada@example.com", "GROWTH").await?;
    let token = account.log_in(port).await?;
    let scopes = ["agent:cart", "agent:checkout"];
    let (id, old) = agent_key_for(port, &token, &scopes).await?;
    let open = shop.cart(&old).await?;
    let path = format!("/agent-keys/{id}/rotate");
    let (status, rotated) = call(port, &token, "POST", &path, &Value::Null).await?;
    let new = rotated["data"]["api_key"].as_str().filter(|_| status == 201);
    let new = new.ok_or_else(|| format!("the key was not rotated: {status} {rotated}"))?.to_owned();
    let read = tool(port, &new, "get_cart", &json!({ "cart_id": open })).await?;
    ensure(read.0 == 200, || format!("the rotated key has lost its cart: {read:?}"))?;
    ensure(rotated["data"]["key_id"] == id.as_str(), || format!("another key id: {rotated}"))?;
    let session = shop.complete(&new, &open).await?;
    let path = format!("/api/v1/agent/checkout/{session}");
    for key in [&old, &new] {
        let found = Client::new(port).with_agent_key(key).get(&path).await;
        ensure(matches!(found, Delivery::Answered { status: 200, .. }), || {
            format!("the rotated key has lost its session: {found:?}")
        })?;
    }
    let again = shop.complete(&old, &open).await?;
    ensure(again == session, || format!("{again} instead of {session}"))?;
    Ok(String::from(
        "the cart of a rotated key read and completed with its new text, its session read with both texts; same key id",
    ))
}
