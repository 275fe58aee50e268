//! The trust score of a store, for its merchant.

use std::time::Duration;

use axum::http::Method;
use database::Work;
use serde_json::{Value, json};
use trust::{Cause, Evidence, MethodologyVersion};

use crate::sale::Sale;

/// The account whose facts are counted.
const ACCOUNT: &str = "00000000000000000000000000000abc";

/// A late order of which units were canceled as out of stock, with a dispute, and the score that follows two days later.
async fn scored() -> Sale {
    let sale = Sale::new().await;
    let items = json!([{ "line_id": sale.bowl, "quantity": 1 }]);
    sale.change(json!({ "action": "cancel", "reason": "out_of_stock", "items": items })).await;
    sale.open_dispute().await;
    let promise = "UPDATE placed_order SET promised_by = '2026-11-15T07:00:00Z'";
    sqlx::query(promise).execute(&mut sale.market.test.raw().await).await.unwrap();
    sqlx::query(
        "INSERT INTO trust_agent_day
             (merchant_id, day, account_id, started, completed, kept, orders, amount_minor, in_stock, out_of_stock,
              on_time, late, delivered, price_equal, price_different, disputes_lost)
         VALUES ($1, '2026-11-15', $2::uuid, 1, 1, 0, 1, 4500, 0, 1, 0, 1, 0, 0, 0, 0)",
    )
    .bind(sale.shop.merchant)
    .bind(ACCOUNT)
    .execute(&mut sale.market.test.raw().await)
    .await
    .unwrap();
    sale.market.test.clock().advance(Duration::from_hours(48));
    let (database, merchant) = (sale.market.test.database(), sale.shop.merchant);
    let mut work = Work::for_store(database, merchant).await.unwrap();
    catalog::refresh_quality(&mut work, merchant).await.unwrap();
    work.commit().await.unwrap();
    let mut work = Work::for_platform(database).await.unwrap();
    let in_force = MethodologyVersion::V20;
    trust::recompute(&mut work, merchant, Cause::Requested, in_force).await.unwrap();
    work.commit().await.unwrap();
    sale
}

async fn read(sale: &Sale, path: &str) -> Value {
    let answer = sale.merchant(&sale.shop, Method::GET, path, &[], &Value::Null).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["data"].clone()
}

/// Returns a component of a score.
fn component<'score>(score: &'score Value, name: &str) -> &'score Value {
    let components = score["components"].as_array().unwrap();
    components.iter().find(|it| it["component"] == name).unwrap()
}

#[tokio::test]
async fn a_merchant_sees_what_each_component_costs_and_what_mends_it() {
    let sale = scored().await;
    let trust = read(&sale, "/trust").await;
    let score = trust["score"].as_f64().unwrap();
    assert_eq!((&trust["label"], &trust["suspended"]), (&json!("RESTRICTED"), &json!(false)));
    assert_eq!((&trust["cause"], &trust["revision"]), (&json!("requested"), &json!(0)));
    assert_eq!(trust["next_label"]["label"], "CAUTION");
    let components = trust["components"].as_array().unwrap();
    assert_eq!(components.len(), 12);
    let lost: Vec<f64> = components.iter().map(|it| it["points_lost"].as_f64().unwrap()).collect();
    assert!(lost.is_sorted_by(|one, next| one >= next), "{lost:?}");
    assert!((lost.iter().sum::<f64>() + score - 1.0).abs() < 0.001, "{trust}");

    let complete = component(&trust, "catalog_completeness");
    assert_eq!(
        (&complete["evidence"]["good"], &complete["evidence"]["bad"]),
        (&json!(0), &json!(2))
    );
    let defects = json!([{ "defect": "missing_gtin", "products": 2 }]);
    assert_eq!(complete["products"]["defects"], defects);
    assert_eq!(complete["products"]["failing"][0]["external_id"], "bowl");
    assert_eq!(complete["calls"], json!(["GET /api/v1/merchant/quality?defect=missing_gtin"]));
    assert_eq!(complete["influenced_by"], json!(["merchant"]));
    let gain = complete["mend"]["score"].as_f64().unwrap() - score;
    assert!((gain - complete["points_lost"].as_f64().unwrap()).abs() < 0.001, "{complete}");
    let policies = component(&trust, "policy_coverage");
    let missing = json!(["policies.shipping_days_max", "policies.privacy_url"]);
    assert_eq!(policies["evidence"]["missing_settings"], missing);

    let stock = component(&trust, "availability_accuracy");
    assert_eq!((&stock["applicable"], &stock["evidence"]["units"]), (&json!(false), &json!(1.0)));
    for name in ["availability_accuracy", "fulfillment_rate", "dispute_rate"] {
        assert_eq!(component(&trust, name)["orders"], json!([sale.order]), "{name}");
    }
}

#[tokio::test]
async fn what_was_mended_since_the_last_score_is_expected() {
    let sale = scored().await;
    let before = read(&sale, "/trust").await;
    let policies = json!({ "policies": { "privacy_url": "https://shop.example/privacy" } });
    assert_eq!(sale.market.patch(&sale.shop, "/settings", &policies).await.status, 200);
    let after = read(&sale, "/trust").await;
    assert_eq!(after["score"], before["score"]);
    let expected = |trust: &Value| trust["expected_score"].as_f64().unwrap();
    assert!(expected(&after) > expected(&before) + 0.05, "{after}");
    assert_eq!(after["next_computation_at"], before["next_computation_at"]);
}

#[tokio::test]
async fn a_suspended_store_sees_what_would_end_it() {
    let sale = scored().await;
    let suspend = "UPDATE standing SET score = 0.15";
    sqlx::query(suspend).execute(&mut sale.market.test.raw().await).await.unwrap();
    let trust = read(&sale, "/trust").await;
    assert_eq!((&trust["suspended"], &trust["agent_checkout"]), (&json!(true), &json!(false)));
    assert_eq!(trust["suspension"]["points_missing"], 0.05);
    assert!(trust["suspension"]["ends"].as_str().unwrap().contains("0.20"), "{trust}");
}

#[tokio::test]
async fn the_evidence_computes_to_the_score_and_names_no_account() {
    let sale = scored().await;
    let record = read(&sale, "/trust/evidence").await;
    assert_eq!(record["score"], read(&sale, "/trust").await["score"]);
    let days = record["evidence"]["days"].as_array().unwrap();
    assert_eq!((days.len(), &days[0]["counts"]["out_of_stock"]), (1, &json!(1)));
    assert_eq!(days[0]["account"].as_str().unwrap().len(), 32);
    assert_ne!(days[0]["account"], ACCOUNT);
    let evidence: Evidence = serde_json::from_value(record["evidence"].clone()).unwrap();
    assert_eq!(json!(trust::score(&evidence).score), record["score"]);
}

#[tokio::test]
async fn a_store_without_a_score_sees_its_components() {
    let (market, shop) = crate::market::Market::with_shop().await;
    let answer = market.read(&shop, "/trust").await;
    crate::openapi::assert_described("/merchant/trust", &answer);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.body["data"].get("epoch").is_none(), "{}", answer.body);
    assert_eq!(answer.body["data"]["components"].as_array().unwrap().len(), 12);
}
