//! Two cells side by side: each serves its own merchants and refuses the other's.

use primitives::{Id, MerchantId};
use serde_json::json;

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
