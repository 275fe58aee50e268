//! A merchant sees the search queries of its own store only (docs/contract/merchant-api.md#analytics).

use axum::body::Body;
use axum::http::{Method, Request};
use database::Work;
use identity::{Actor, Role};
use primitives::{Id, MerchantId, Plan};
use search::{Analytics, CallerKind};
use serde_json::{Value, json};

use crate::app::TestApp;

async fn searches(app: &TestApp, key: &str, query: &str) -> Value {
    let request = Request::builder()
        .uri(format!("/api/v1/merchant/analytics/searches{query}"))
        .header("host", "souk.test")
        .header("authorization", format!("Bearer {key}"));
    let answer = app.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["data"].clone()
}

#[tokio::test]
async fn a_merchant_sees_the_queries_of_its_own_store() {
    let app = TestApp::start().await;
    let world = demo::world();
    let stores = [&world.stores[0], &world.stores[1]].map(|store| MerchantId::from_uuid(store.id));
    let analytics = Analytics::start(app.test.database().clone());
    for (query, hits) in [("Coffee", 4), ("coffee", 1), ("unicorn", 0), ("jane@doe.example", 0)] {
        analytics.record(Some(stores[0]), query, CallerKind::Agent, hits);
    }
    analytics.record(Some(stores[1]), "secret plans", CallerKind::Agent, 1);
    analytics.record(None, "everywhere", CallerKind::Anonymous, 1);
    analytics.flush().await.unwrap();

    let own = app.store_key(stores[0]).await;
    let row = |query: &str, searches: i64, without_result: i64, average_hits: f64| {
        json!({ "query": query, "searches": searches, "without_result": without_result,
                "average_hits": average_hits })
    };
    let missed = json!([row("(address)", 1, 1, 0.0), row("unicorn", 1, 1, 0.0)]);
    let mut top = missed.clone();
    top.as_array_mut().unwrap().insert(0, row("coffee", 2, 0, 2.5));
    let expected = json!({ "top": top, "without_result": missed });
    assert_eq!(searches(&app, &own, "").await, expected);
    let short = searches(&app, &own, "?days=1&limit=1").await;
    assert_eq!(short["top"], json!([top[0]]));
    assert_eq!(short["without_result"], json!([missed[0]]));

    app.test.clock().advance(std::time::Duration::from_hours(48));
    let nothing = json!({ "top": [], "without_result": [] });
    assert_eq!(searches(&app, &own, "?days=2").await, nothing);
    assert_eq!(searches(&app, &own, "?days=30").await, expected);
    let all = "/merchant/analytics/searches?days=1000";
    let auth = [("authorization", &*format!("Bearer {own}"))];
    let refused = app.request(Method::GET, all, &auth, &Value::Null).await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (403, "tier_required"));
    assert_eq!(refused.json()["details"]["required_plan"], "GROWTH");
    let owner = app.person("owner@example.com", &[(&world.stores[0].slug, Role::Owner)]).await;
    let mut work = Work::for_platform(app.test.database()).await.unwrap();
    identity::set_plan(&mut work, Actor::Operator, owner, Plan::Growth).await.unwrap();
    work.commit().await.unwrap();
    assert_eq!(searches(&app, &own, "?days=1000").await, expected);
}
