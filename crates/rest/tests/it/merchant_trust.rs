//! The trust score of a store, for its merchant.

use std::time::Duration;

use axum::http::Method;
use database::{Reading, Work};
use identity::StoreScope;
use serde_json::{Value, json};
use trust::{Cause, Evidence, MethodologyVersion, ScoreRecord};

use crate::market::{Shop, assert_error};
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
             (merchant_id, day, account_id, started, completed, lasting, kept, orders, amount_minor, in_stock,
              out_of_stock, on_time, late, delivered, price_equal, price_different, disputes_lost)
         VALUES ($1, '2026-11-15', $2::uuid, 1, 1, 1, 0, 1, 4500, 0, 1, 0, 1, 0, 0, 0, 0)",
    )
    .bind(sale.shop.merchant)
    .bind(ACCOUNT)
    .execute(&mut sale.market.test.raw().await)
    .await
    .unwrap();
    sale.market.test.clock().advance(Duration::from_hours(48));
    let (database, merchant) = (sale.market.test.database(), sale.shop.merchant);
    catalog::refresh_quality(database, merchant).await.unwrap();
    let mut work = Work::for_platform(database).await.unwrap();
    let in_force = MethodologyVersion::V20;
    trust::recompute(&mut work, merchant, Cause::Requested, in_force).await.unwrap();
    work.commit().await.unwrap();
    sale
}

async fn read(sale: &Sale, path: &str) -> Value {
    read_with(sale, &sale.shop, path).await
}

async fn read_with(sale: &Sale, shop: &Shop, path: &str) -> Value {
    let answer = sale.merchant(shop, Method::GET, path, &[], &Value::Null).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["data"].clone()
}

/// Returns a component of a score.
fn component<'score>(score: &'score Value, name: &str) -> &'score Value {
    let components = score["components"].as_array().unwrap();
    components.iter().find(|it| it["component"] == name).unwrap()
}

#[tokio::test]
async fn a_merchant_sees_what_each_component_costs_and_what_improves_it() {
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
    let gain = complete["improvement"]["new_score"].as_f64().unwrap() - score;
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
async fn what_was_improved_since_the_last_score_is_expected() {
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
    assert_eq!(trust["ends"]["points_missing"], 0.05);
    assert!(trust["ends"]["when"].as_str().unwrap().contains("0.20"), "{trust}");
    assert_eq!(trust["ends"]["next_computation_at"], trust["next_computation_at"]);
    // The end of the epoch, not the minute of the store.
    assert_eq!(trust["next_computation_at"], "2026-11-17T18:00:00Z");
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
async fn the_evidence_says_whether_it_is_that_of_the_published_score() {
    let sale = scored().await;
    let record = read(&sale, "/trust/evidence").await;
    assert_eq!((&record["is_unchanged"], &record["revision"]), (&json!(true), &json!(0)));
    assert_eq!((&record["stored_score"], &record["epoch"]), (&record["score"], &json!(83_097)));
    let hash = record["evidence_hash"].as_str().unwrap();
    assert_eq!(hash.len(), 64);
    let merchant = sale.shop.merchant;
    let reading = Reading::for_store(sale.market.test.database(), merchant).unwrap();
    let store = merchants::store(&reading, merchant).await.unwrap();
    let newest = trust::latest(&reading, merchant).await.unwrap();
    let published = ScoreRecord::of(&store, newest.as_ref());
    assert_eq!(published.evidence_hash.as_deref(), Some(hash));

    let change = "UPDATE trust_agent_day SET out_of_stock = 0, kept = 1, late = 0";
    sqlx::query(change).execute(&mut sale.market.test.raw().await).await.unwrap();
    let changed = read(&sale, "/trust/evidence").await;
    assert_eq!(changed["is_unchanged"], false);
    assert_eq!(changed["evidence_hash"], hash);
    assert_eq!(changed["stored_score"], record["stored_score"]);
    assert_eq!(changed["evidence"]["days"][0]["counts"]["out_of_stock"], 0);
}

#[tokio::test]
async fn the_days_of_the_evidence_have_pages() {
    let sale = scored().await;
    // The last account bought nothing, and is left out.
    sqlx::query(
        "INSERT INTO trust_agent_day
             (merchant_id, day, account_id, started, completed, lasting, kept, orders, amount_minor, in_stock,
              out_of_stock, on_time, late, delivered, price_equal, price_different, disputes_lost)
         SELECT $1, DATE '2026-11-14', md5('account ' || n)::uuid, 2, bought, bought, bought, bought, 0, bought, 0, 0, 0, 0, 0, 0, 0
         FROM (SELECT n, CASE WHEN n < 7 THEN 1 ELSE 0 END AS bought FROM generate_series(1, 7) AS made (n)) AS account",
    )
    .bind(sale.shop.merchant)
    .execute(&mut sale.market.test.raw().await)
    .await
    .unwrap();
    let whole = read(&sale, "/trust/evidence").await;
    assert_eq!(whole["evidence"]["days"].as_array().unwrap().len(), 7);
    assert!(whole.get("next_cursor").is_none(), "{whole}");
    let (mut days, mut path) = (Vec::new(), String::from("/trust/evidence?limit=3"));
    for rows in [3, 3, 1] {
        let page = read(&sale, &path).await;
        assert_eq!((&page["score"], &page["epoch"]), (&whole["score"], &whole["epoch"]));
        let part = page["evidence"]["days"].as_array().unwrap();
        assert_eq!(part.len(), rows);
        days.extend(part.clone());
        let cursor = page["next_cursor"].as_str().unwrap_or_default();
        path = format!("/trust/evidence?limit=3&cursor={cursor}");
    }
    assert_eq!(json!(days), whole["evidence"]["days"]);
    let wrong = "/trust/evidence?cursor=nonsense";
    let refused = sale.merchant(&sale.shop, Method::GET, wrong, &[], &Value::Null).await;
    assert_error(&refused, 400, "invalid_request", Some("cursor"));
}

#[tokio::test]
async fn products_are_shown_to_keys_that_may_see_the_catalog() {
    let sale = scored().await;
    let orders_only = sale.market.with_scopes(&sale.shop, &[StoreScope::Orders]).await;
    let trust = read_with(&sale, &orders_only, "/trust").await;
    let complete = component(&trust, "catalog_completeness");
    assert!(complete.get("products").is_none(), "{complete}");
    assert_eq!(complete["evidence"]["bad"], 2);
    assert_eq!(complete["calls"], json!(["GET /api/v1/merchant/quality"]));
    assert_eq!(component(&trust, "dispute_rate")["orders"], json!([sale.order]));
    let both = [StoreScope::Orders, StoreScope::Catalog];
    let both = sale.market.with_scopes(&sale.shop, &both).await;
    let trust = read_with(&sale, &both, "/trust").await;
    let complete = component(&trust, "catalog_completeness");
    assert_eq!(complete["products"]["failing"].as_array().unwrap().len(), 2);
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
