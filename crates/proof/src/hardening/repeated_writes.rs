//! `repeated-writes`: a write that a client repeats with its idempotency key, because the response was lost, takes effect once:
//! creation of agent keys, cancellation of a session. Concurrent repetitions included.

use serde_json::{Value, json};

use super::deployment::{Deployment, call_without_id, plain_post, product_of};
use crate::http::Client;
use crate::report::{Failure, Trial, Verdict, ensure};
use testkit::{ShownRequest, ShownResponse};

const STORE: &str = "kivikiri";
const REPETITIONS: usize = 8;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let deployment = Deployment::of(&trial).await?;
    let port = deployment.souk.port;
    let token = deployment.account("FREE").await?.log_in(port).await?;
    let bearer = format!("Bearer {token}");
    let create = rest("/api/v1/agent-keys", &bearer, &json!({ "scopes": ["agent:read"] }));
    let answers = repeat(port, &create).await?;
    let ids: Vec<Value> = answers.iter().map(|answer| field(answer, "/data/key_id")).collect();
    let shown = answers.iter().filter(|it| field(it, "/data/api_key").is_string()).count();
    ensure(ids.iter().all(|id| id.is_string() && *id == ids[0]) && shown == 1, || {
        format!("{REPETITIONS} repetitions: ids {ids:?}, {shown} of them with the key")
    })?;
    let other = rest("/api/v1/agent-keys", &bearer, &json!({ "scopes": ["agent:cart"] }));
    let other = Client::exchange(port, &other).await?;
    ensure(other.status == 409, || format!("another request: {} {}", other.status, other.body))?;

    let key = deployment.buyer_key(&["agent:cart", "agent:checkout"]).await?;
    let credential = [("X-Agent-Api-Key", key.as_str())];
    let call = async |name: &str, arguments: Value| {
        let body = call_without_id(name, &arguments);
        Client::exchange(port, &plain_post(STORE, &credential, &body)).await
    };
    let items = json!([{ "product_id": product_of(STORE)?, "quantity": 1 }]);
    let cart = call("create_cart", json!({ "items": items })).await?;
    let cart = field(&cart, "/result/structuredContent/cart_id");
    let session = call("create_checkout", json!({ "cart_id": cart })).await?;
    let session = field(&session, "/result/structuredContent/checkout_id");
    let cancel = |reason: &str| json!({ "checkout_id": session, "reason_code": reason, "idempotency_key": "one" });
    for _ in 0..2 {
        let canceled = call("cancel_checkout", cancel("price")).await?;
        ensure(field(&canceled, "/result/structuredContent/status") == "canceled", || {
            format!("not canceled: {} {}", canceled.status, canceled.body)
        })?;
    }
    let other = call("cancel_checkout", cancel("changed_mind")).await?;
    ensure(other.status == 409, || format!("another request: {} {}", other.status, other.body))?;
    Ok(format!(
        "{REPETITIONS} concurrent repetitions of a key's creation made 1 key and returned its text once; a repeated cancellation \
         is the same; another request under the same idempotency key is 409"
    ))
}

fn rest(path: &str, bearer: &str, body: &Value) -> ShownRequest {
    let mut request =
        plain_post("", &[("Authorization", bearer), ("Idempotency-Key", "one")], body);
    path.clone_into(&mut request.path);
    request
}

/// Sends a request several times at once.
async fn repeat(port: u16, request: &ShownRequest) -> Result<Vec<ShownResponse>, Failure> {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..REPETITIONS {
        let request = request.clone();
        tasks.spawn(async move { Client::exchange(port, &request).await });
    }
    tasks.join_all().await.into_iter().collect()
}

fn field(answer: &ShownResponse, pointer: &str) -> Value {
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    body.pointer(pointer).cloned().unwrap_or_default()
}
