//! The methodology (docs/contract/trust.md#methodology-document), the scores and their history.

use serde_json::{Value, json};
use trust::MethodologyVersion;

use crate::app::{TestApp, call};

#[tokio::test]
async fn the_methodology_is_published_as_specified() {
    let app = TestApp::start().await;
    let answer = app.get("/api/v1/trust/methodology").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let document = answer.json();
    assert_eq!(document["version"], "2.0");
    assert_eq!(document["update_cadence"], "every_6_hours");
    assert_eq!(document["formula"], "weighted_sum_clamped_0_1");
    assert_eq!(document["suspension_threshold"], 0.2);
    assert_eq!(document["agent_threshold"], 0.7);
    let components = document["components"].as_object().unwrap();
    assert_eq!(components.len(), 12);
    assert_eq!(components["price_accuracy"]["weight"], 0.12);
    assert_eq!(components["policy_coverage"]["source"], "declared");
    let weights: f64 = components.values().map(|rule| rule["weight"].as_f64().unwrap()).sum();
    assert!((weights - 1.0).abs() < 1e-9, "{weights}");
    for field in ["last_updated", "thresholds", "anti_manipulation", "dispute_process", "ranking"] {
        assert!(!document[field].is_null(), "{field} is missing");
    }
    assert_eq!(document["v41_methodology"]["status"], "dormant");
}

#[tokio::test]
async fn a_score_has_components_and_a_history() {
    let app = TestApp::start().await;
    let score = app.get("/api/v1/trust/scores/demo-store").await.json()["data"].clone();
    let profile = app.get("/api/v1/stores/demo-store").await.json()["data"].clone();
    assert_eq!(score["score"], profile["trust_score"]);
    assert_eq!(
        (&score["label"], &score["basis"]),
        (&Value::from("VERIFIED"), &Value::from("demo"))
    );
    assert_eq!(score["components"].as_object().unwrap().len(), 12);
    assert_eq!(score["evidence_hash"].as_str().map(str::len), Some(64));

    let path = "/api/v1/trust/scores/demo-store/history";
    let points = |answer: Value| answer["data"]["points"].as_array().unwrap().len();
    assert_eq!(points(app.get(path).await.json()), 90);
    let week = format!("{path}?from=2026-10-26T00:00:00Z&to=2026-11-01T12:00:00Z");
    assert_eq!(points(app.get(&week).await.json()), 7);
    let few = app.get(&format!("{path}?limit=5")).await.json();
    let epochs = few["data"]["points"].as_array().unwrap().iter().map(|it| it["epoch"].as_i64());
    let epochs: Vec<i64> = epochs.map(Option::unwrap).collect();
    assert_eq!(epochs.len(), 5, "{epochs:?}");
    assert!(epochs.is_sorted_by(|newer, older| newer > older), "{epochs:?}");
    let wrong = app.get(&format!("{path}?from=yesterday")).await;
    assert_eq!((wrong.status.as_u16(), wrong.code().as_str()), (400, "invalid_request"));
    assert!(wrong.text.contains("from"), "{}", wrong.text);
    for path in ["/api/v1/trust/scores/nobody", "/api/v1/trust/scores/nobody/history"] {
        assert_eq!(app.get(path).await.code(), "store_not_found");
    }
}

#[tokio::test]
async fn a_trust_history_is_short_over_mcp() {
    let app = TestApp::start().await;
    let path = "/demo-store/mcp";
    let history = async |arguments: Value| {
        let answer = app.post_json(path, &call("get_trust_history", arguments)).await.json();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        let points = answer["result"]["structuredContent"]["points"].as_array().unwrap().len();
        (text.len(), points)
    };
    let (bytes, points) = history(json!({})).await;
    assert!(points == 15 && bytes / 4 <= 1_000, "{points} points, {bytes} bytes");
    assert_eq!(history(json!({ "limit": 60 })).await.1, 60);
    assert_eq!(history(json!({ "limit": 0 })).await.1, 1);
}

#[tokio::test]
async fn the_methodology_says_which_one_is_in_force() {
    let test = TestApp::start().await.test;
    let app = TestApp::with_settings(test, |settings| {
        settings.trust_methodology = MethodologyVersion::V41;
    });
    let document = app.get("/api/v1/trust/methodology").await.json();
    assert_eq!(document["v41_methodology"]["status"], "active");
    let tool = call("get_trust_methodology", json!({}));
    let answer = app.post_json("/demo-store/mcp", &tool).await.json();
    let short = &answer["result"]["structuredContent"];
    assert_eq!(short["v41_methodology"]["status"], "active");
    assert!(short.get("units").is_none(), "{short}");
}
