//! Two cells side by side: each serves its own merchants and refuses the other's.

use http::Method;
use identity::Role;
use primitives::{Id, MerchantId};
use serde_json::{Value, json};

use crate::app::{TestApp, call};

/// Assigns even shards to the first cell and odd shards to the second, in both directories.
async fn split(app: &TestApp) {
    let split = "UPDATE platform.cell_shard SET cell = CASE shard % 2 WHEN 0 THEN 'cell-1' ELSE 'cell-2' END;
                 UPDATE platform.cell_epoch SET epoch = 2";
    sqlx::raw_sql(split).execute(&mut app.test.raw().await).await.unwrap();
    app.test.database().refresh_directory().await.unwrap();
}

#[tokio::test]
async fn each_store_is_served_by_exactly_one_cell() {
    let (first, second) = (TestApp::in_cell("cell-1").await, TestApp::in_cell("cell-2").await);
    split(&first).await;
    split(&second).await;
    let world = demo::world();
    let mut served = [0, 0];
    for store in world.stores.iter().filter(|s| s.active && s.trust_score.is_none_or(|t| t >= 0.2))
    {
        let owner = usize::from(database::shard_of(MerchantId::from_uuid(store.id)) % 2);
        let path = format!("/{}/mcp", store.slug);
        for (cell, app) in [&first, &second].into_iter().enumerate() {
            let answer = app.post_json(&path, &call("get_merchant_profile", json!({}))).await;
            if cell == owner {
                assert_eq!(answer.status, 200, "{}", store.slug);
                served[cell] += 1;
            } else {
                assert_eq!(answer.status, 503, "{}", store.slug);
                assert_eq!(answer.json()["details"]["reason"], "wrong_cell");
                assert_eq!(answer.json()["details"]["directory_epoch"], 2);
            }
        }
    }
    assert!(
        served.iter().all(|count| *count > 2),
        "both cells must serve several stores: {served:?}"
    );
}

#[tokio::test]
async fn a_cell_that_lost_a_store_refuses_the_settings_of_its_owner() {
    let app = TestApp::start().await;
    app.person("owner@kivikiri.example", &[("kivikiri", Role::Owner)]).await;
    let token = app.log_in("owner@kivikiri.example").await;
    let headers = [("authorization", token.as_str())];
    let path = "/merchant/settings";
    let mut settings =
        app.request(Method::GET, path, &headers, &Value::Null).await.json()["data"].clone();
    settings["confirmation_policy"] = json!("hosted");
    // The process has not read the new directory yet.
    let moved =
        "UPDATE platform.cell_shard SET cell = 'cell-2'; UPDATE platform.cell_epoch SET epoch = 2";
    sqlx::raw_sql(moved).execute(&mut app.test.raw().await).await.unwrap();
    let refused = app.request(Method::PUT, path, &headers, &settings).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert_eq!(refused.json()["details"]["reason"], "wrong_cell");
    let back = "UPDATE platform.cell_shard SET cell = 'cell-1'";
    sqlx::raw_sql(back).execute(&mut app.test.raw().await).await.unwrap();
    assert_eq!(app.request(Method::PUT, path, &headers, &settings).await.status, 200);
}
