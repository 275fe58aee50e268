//! Orders and disputes of all stores, for administrators.

use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};

use crate::sale::{Sale, UNKNOWN_ORDER};

#[tokio::test]
async fn an_administrator_decides_a_dispute() {
    let sale = Sale::new().await;
    let admin = sale.administrator().await;
    let dispute = sale.open_dispute().await;
    let path = format!("/disputes/{dispute}");
    let get = async |path: &str| {
        sale.admin(&admin, Method::GET, path, &[], &Value::Null).await.body["data"].clone()
    };
    assert_eq!(get("/disputes").await, json!([]), "the merchant may still answer");
    assert_eq!(get(&path).await["status"], "open");
    let decide = async |headers: &[(&str, &str)], body: Value| {
        sale.admin(&admin, Method::POST, &format!("{path}/decision"), headers, &body).await
    };
    let for_buyer = json!({
        "resolution": "buyer", "refund": 45, "currency": "EUR", "reason": "No proof of delivery.",
    });
    let early = decide(&[], for_buyer.clone()).await;
    assert_eq!(early.error(), (409, "invalid_status_transition"));
    let answer = format!("/orders/{}/disputes/{dispute}/statements", sale.order);
    let sent = json!({ "statement": "We sent it." });
    sale.merchant(&sale.shop, Method::POST, &answer, &[], &sent).await;
    let listed = get("/disputes").await[0].clone();
    assert_eq!((&listed["dispute_id"], &listed["statement_count"]), (&json!(dispute), &json!(2)));
    assert!(listed.get("statements").is_none(), "{listed}");
    assert_eq!(get(&path).await["statements"][1]["statement"], "We sent it.");
    for (body, field) in [
        (json!({ "resolution": "agreement", "reason": "x" }), "resolution"),
        (json!({ "resolution": "buyer" }), "reason"),
        (json!({ "resolution": "buyer", "refund": 1, "reason": "x" }), "currency"),
        (json!({ "resolution": "buyer", "currency": "EUR", "reason": "x" }), "currency"),
        (
            json!({ "resolution": "buyer", "refund": 1, "currency": "USD", "reason": "x" }),
            "currency",
        ),
        (json!({ "resolution": "buyer", "refund": 0, "currency": "EUR", "reason": "x" }), "refund"),
    ] {
        assert_eq!(decide(&[], body).await.body["details"]["field"], field);
    }
    let much = json!({ "resolution": "buyer", "refund": 45.01, "currency": "EUR", "reason": "x" });
    let details = decide(&[], much).await.body["details"].clone();
    assert_eq!((&details["available"], &details["field"]), (&json!(45.0), &json!("refund")));
    let key = [("idempotency-key", "decision")];
    let decided = decide(&key, for_buyer.clone()).await;
    assert_eq!(decided.body["data"]["resolution"], "buyer", "{}", decided.body);
    assert_eq!(decided.body["data"]["refund_amount"], 45.0);
    assert_eq!(decide(&key, for_buyer.clone()).await.body, decided.body, "the same key");
    assert_eq!(decide(&[], for_buyer).await.error(), (409, "invalid_status_transition"));
    assert_eq!(get("/disputes").await, json!([]));
    let audited = "SELECT count(*) FROM platform.audit_entry WHERE act = 'dispute.decided'";
    assert_eq!(sale.market.count(audited).await, 1);
    let notices = sale.market.read(&sale.shop, "/notices").await;
    assert_eq!(notices.body["data"][0]["kind"], "dispute_resolved");
    assert_eq!(notices.body["data"][0]["details"]["refund_amount"], 45.0);
    assert_eq!(notices.body["data"][0]["details"]["currency"], "EUR");
    let unknown = "/disputes/dsp_0000000000000000000000000000abcd";
    let none = sale.admin(&admin, Method::GET, unknown, &[], &Value::Null).await;
    assert_eq!(none.error(), (404, "not_found"));
}

#[tokio::test]
async fn a_dispute_without_an_answer_can_be_decided_after_the_deadline() {
    let sale = Sale::new().await;
    let dispute = sale.open_dispute().await;
    sale.market.test.clock().advance(Duration::from_hours(7 * 24));
    let admin = sale.administrator().await;
    let answer = format!("/orders/{}/disputes/{dispute}/statements", sale.order);
    let late = json!({ "statement": "We sent it." });
    let late = sale.merchant(&sale.shop, Method::POST, &answer, &[], &late).await;
    assert_eq!(late.error(), (409, "invalid_status_transition"));
    let path = format!("/disputes/{dispute}/decision");
    let body = json!({ "resolution": "merchant", "reason": "Delivered, says the carrier." });
    let decided = sale.admin(&admin, Method::POST, &path, &[], &body).await;
    assert_eq!(decided.body["data"]["resolution"], "merchant", "{}", decided.body);
}

#[tokio::test]
async fn an_administrator_reads_an_order_without_personal_data() {
    let sale = Sale::new().await;
    let admin = sale.administrator().await;
    let path = format!("/orders/{}", sale.order);
    let note = json!({ "note": "ring twice" });
    let noted = sale.agent(&sale.key, Method::PATCH, &path, &note).await;
    assert_eq!(noted.body["data"]["note"], "ring twice");
    sale.deliver().await;
    let mut request = sale.one_mug();
    request["note"] = json!("I am Eve");
    let returned = sale.agent(&sale.key, Method::POST, &format!("{path}/returns"), &request).await;
    assert_eq!(returned.body["data"]["customer_note"], "I am Eve", "{}", returned.body);
    let dispute = sale.open_dispute().await;
    let read = sale.admin(&admin, Method::GET, &path, &[], &Value::Null).await;
    let order = &read.body["data"];
    assert_eq!((&order["order_id"], &order["status"]), (&json!(sale.order), &json!("delivered")));
    assert_eq!(order["fulfillments"][0]["carrier"], "DHL");
    assert_eq!(order["adjustments"][1]["id"], json!(dispute));
    assert_eq!(order["returns"][0]["return_id"], returned.body["data"]["return_id"]);
    assert!(order["returns"][0].get("customer_note").is_none(), "{order}");
    assert!(!read.body.to_string().contains("I am Eve"), "{}", read.body);
    let history = sale.read().await["status_history"].clone();
    assert_eq!(order["status_history"], history);
    for personal in ["buyer", "note", "permalink_url"] {
        assert!(order.get(personal).is_none(), "{personal}");
    }
    assert_eq!(order["shipping_address"], json!({ "country": "DE" }));
    let unknown = format!("/orders/{UNKNOWN_ORDER}");
    let missing = sale.admin(&admin, Method::GET, &unknown, &[], &Value::Null).await;
    assert_eq!(missing.error(), (404, "order_not_found"));
}

#[tokio::test]
async fn an_administrator_sets_the_payment_status() {
    let sale = Sale::new().await;
    let admin = sale.administrator().await;
    let path = format!("/orders/{}/payment-status", sale.order);
    let set = async |headers: &[(&str, &str)], status: &str| {
        let body = json!({ "payment_status": status, "reason": "The bank says so." });
        sale.admin(&admin, Method::POST, &path, headers, &body).await
    };
    let audited = async || {
        let query = "SELECT count(*) FROM platform.audit_entry WHERE act = 'order.payment_set'";
        sale.market.count(query).await
    };
    let key = [("idempotency-key", "status")];
    let disputed = set(&key, "disputed").await;
    assert_eq!(disputed.body["data"]["payment_status"], "disputed", "{}", disputed.body);
    assert_eq!(set(&key, "disputed").await.body, disputed.body, "the same key");
    assert_eq!(set(&[], "disputed").await.body, disputed.body, "the same status");
    assert_eq!(audited().await, 1);
    for personal in ["buyer", "note", "permalink_url"] {
        assert!(disputed.body["data"].get(personal).is_none(), "{personal}");
    }
    assert_eq!(disputed.body["data"]["shipping_address"], json!({ "country": "DE" }));
    assert_eq!(set(&[], "refunded").await.error(), (400, "invalid_request"));
    assert_eq!(set(&[], "failed").await.body["data"]["status"], "failed");
    assert_eq!(audited().await, 2);
    let unknown = format!("/orders/{UNKNOWN_ORDER}/payment-status");
    let body = json!({ "payment_status": "paid", "reason": "x" });
    let none = sale.admin(&admin, Method::POST, &unknown, &[], &body).await;
    assert_eq!(none.error(), (404, "order_not_found"));
    let history = sale.read().await["status_history"].clone();
    assert_eq!(history[1]["actor"], "platform");
}
