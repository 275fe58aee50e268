//! Bodies that arrive slowly (docs/contract/limits.md#body-limits).

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::{Method, Request};
use futures::StreamExt;
use futures::stream;
use serde_json::json;
use tokio::sync::mpsc;
use tower::ServiceExt;

use crate::app::TestApp;

/// Bytes of the longest body.
const BYTES: usize = 16 * 1024 * 1024;

/// Returns a push of products that announces the longest body and stops after its beginning. Sends a message once the
/// server waits for the rest.
fn stalled_push(key: &str, stalled: mpsc::UnboundedSender<()>) -> Request<Body> {
    let beginning = stream::iter([Ok::<_, Infallible>(Bytes::from(vec![b' '; 70 * 1024]))]);
    let rest = stream::once(async move {
        let _ = stalled.send(());
        std::future::pending().await
    });
    Request::patch("/api/v1/merchant/products")
        .header("authorization", format!("Bearer {key}"))
        .header("content-length", BYTES)
        .body(Body::from_stream(beginning.chain(rest)))
        .unwrap()
}

#[tokio::test]
async fn slow_bodies_of_two_stores_do_not_keep_a_third_waiting() {
    let app = TestApp::start().await;
    let (sender, mut stalled) = mpsc::unbounded_channel();
    let mut slow = Vec::new();
    for slug in ["kivikiri", "skarvdal"] {
        let key = app.store_key(app.merchant(slug).await).await;
        for _ in 0..2 {
            let push = stalled_push(&key, sender.clone());
            slow.push(tokio::spawn(app.router.clone().oneshot(push)));
        }
    }
    // One of each store: the second one of a store waits for the first.
    for _ in 0..2 {
        stalled.recv().await.unwrap();
    }
    let key = app.store_key(app.merchant("wiederlicht").await).await;
    let headers = [("authorization", format!("Bearer {key}"))];
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let products = json!({ "products": [], "padding": "x".repeat(70 * 1024) });
    let answer = app.request(Method::PATCH, "/merchant/products", &headers, &products).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    assert_eq!(answer.json()["details"]["field"], "padding", "it was read");
    assert!(slow.iter().all(|body| !body.is_finished()), "it waited for a slow body to end");
    let first = slow.swap_remove(0).await.unwrap().unwrap();
    assert_eq!(first.status(), 400, "too slow");
}
