//! `rotated-keys`: an agent that rotates its key keeps its cart, its session and its idempotency keys.

use serde_json::{Value, json};

use super::shop::{Answer, Shop, call, expect_error, tool};
use crate::checkout::store::Agent;
use crate::http::{Client, Delivery};
use crate::identity::agent_key_for;
use crate::report::{Failure, Trial, Verdict, ensure};

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let shop = Shop::open(&trial).await?;
    let port = shop.port();
    let token = shop.deployment.account("GROWTH").await?.log_in(port).await?;
    let scopes = ["agent:cart", "agent:checkout"];
    let (id, old) = agent_key_for(port, &token, &scopes).await?;
    let open = field(&create(&shop, &old, 1).await?, "cart_id")?;
    let path = format!("/agent-keys/{id}/rotate");
    let (status, rotated) = call(port, &token, "POST", &path, &Value::Null).await?;
    let new = rotated["data"]["api_key"].as_str().filter(|_| status == 201);
    let new = new.ok_or_else(|| format!("the key was not rotated: {status} {rotated}"))?.to_owned();
    ensure(rotated["data"]["key_id"] == id.as_str(), || format!("another key id: {rotated}"))?;
    let read = tool(port, &new, &shop.slug, "get_cart", &json!({ "cart_id": open })).await?;
    ensure(read.0 == 200, || format!("the rotated key has lost its cart: {read:?}"))?;
    // The response to the first call was lost: the agent repeats it with the new text.
    let repeated = field(&create(&shop, &new, 1).await?, "cart_id")?;
    ensure(repeated == open, || format!("{repeated} instead of {open}: a second cart"))?;
    let other = create(&shop, &new, 2).await?;
    expect_error("another request under the same key", &other, 409, "idempotency_conflict")?;
    let session = field(&complete(&shop, &old, &open).await?, "checkout_id")?;
    let again = field(&complete(&shop, &new, &open).await?, "checkout_id")?;
    ensure(again == session, || format!("{again} instead of {session}: a second session"))?;
    let path = format!("/api/v1/agent/checkout/{session}");
    for key in [&old, &new] {
        let found = Client::new(port).with_agent_key(key).get(&path).await;
        ensure(matches!(found, Delivery::Answered { status: 200, .. }), || {
            format!("the rotated key has lost its session: {found:?}")
        })?;
    }
    let repeated = shop.complete(&Agent::at(&shop.slug, &old), &open).await?;
    ensure(repeated == session, || format!("{repeated} instead of {session}"))?;
    let made = "SELECT count(*) FROM cart WHERE merchant_id = $1";
    let made = shop.count(made).await?;
    ensure(made == 1, || format!("{made} carts were created"))?;
    Ok(String::from(
        "the cart of a rotated key read and completed, its session read with both texts; its idempotency keys recognize repeated \
         calls and reject other ones; same key id",
    ))
}

/// Creates a cart under an idempotency key.
async fn create(shop: &Shop, key: &str, quantity: u32) -> Result<Answer, Failure> {
    let items = json!([{ "product_id": shop.products[0], "quantity": quantity }]);
    let new = json!({ "items": items, "ship_to": { "country": "DE", "city": "Berlin", "street": "Way 1" }, "idempotency_key": "one" });
    tool(shop.port(), key, &shop.slug, "create_cart", &new).await
}

/// Completes a checkout under an idempotency key.
async fn complete(shop: &Shop, key: &str, cart: &str) -> Result<Answer, Failure> {
    let arguments = json!({ "cart_id": cart, "idempotency_key": "two" });
    tool(shop.port(), key, &shop.slug, "complete_checkout", &arguments).await
}

fn field(answer: &Answer, name: &str) -> Result<String, Failure> {
    let text = answer.1[name].as_str().map(str::to_owned);
    text.ok_or_else(|| format!("no {name}: {answer:?}").into())
}
