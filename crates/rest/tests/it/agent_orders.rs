//! Orders of agents.

use std::time::Duration;

use axum::http::Method;
use database::Work;
use identity::Actor;
use merchants::{Administration, StoreStatus};
use primitives::Scope;
use serde_json::{Value, json};

use crate::sale::{Sale, UNKNOWN_ORDER};

#[tokio::test]
async fn an_agent_reads_its_order() {
    let sale = Sale::new().await;
    let order = sale.read().await;
    assert_eq!(order["order_id"], json!(sale.order));
    assert_eq!((&order["status"], &order["version"]), (&json!("pending"), &json!(1)));
    assert_eq!(order["payment_status"], "paid");
    assert_eq!(order["totals"]["subtotal"], 45.0);
    assert_eq!((&order["total_amount"], &order["currency"]), (&json!(45.0), &json!("EUR")));
    assert_eq!(
        order["items"][0]["quantity"],
        json!({ "ordered": 2, "current": 2, "fulfilled": 0, "returned": 0 })
    );
    assert_eq!(order["buyer"], json!({ "email": "eve@example.com" }));
    assert_eq!(order["shipping_address"]["street"], "Weg 1");
    assert_eq!(order["policies"]["return_window_days"], 30);
    let history = order["status_history"].as_array().unwrap();
    assert_eq!(history.len(), 1);
    assert_eq!((&history[0]["sequence"], &history[0]["status"]), (&json!(1), &json!("pending")));
    let page = format!("https://souk.example/shop/orders/{}?token=", sale.order);
    assert!(order["permalink_url"].as_str().unwrap().starts_with(&page));
    assert!(order.get("return_status").is_none());
}

#[tokio::test]
async fn an_agent_lists_its_orders_page_by_page() {
    let sale = Sale::new().await;
    let products: Vec<String> = sale.read().await["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["product_id"].as_str().unwrap().to_owned())
        .collect();
    sale.market.test.clock().advance(Duration::from_mins(1));
    let second = sale.buy(&sale.key, &products).await;
    let list = async |query: &str| {
        sale.agent(&sale.key, Method::GET, &format!("/orders{query}"), &Value::Null).await
    };
    let ids = |body: &Value| -> Vec<String> {
        let orders = body["data"].as_array().unwrap().iter();
        orders.map(|order| order["order_id"].as_str().unwrap().to_owned()).collect()
    };
    let all = list("").await;
    assert_eq!(ids(&all.body), [second.clone(), sale.order.clone()]);
    assert_eq!(all.body["meta"], json!({ "total": 2, "page": 1, "limit": 20 }));
    let first = list("?limit=1").await;
    assert_eq!(ids(&first.body), std::slice::from_ref(&second));
    assert_eq!(first.body["meta"]["total_is_estimate"], true);
    let cursor = first.body["meta"]["next_cursor"].as_str().unwrap();
    let next = list(&format!("?limit=1&cursor={cursor}")).await;
    assert_eq!(ids(&next.body), std::slice::from_ref(&sale.order));
    sale.change(json!({ "action": "confirm" })).await;
    assert_eq!(ids(&list("?status=confirmed").await.body), std::slice::from_ref(&sale.order));
    let later = list("?created_min=2100-01-01T00:00:00Z").await;
    assert_eq!(ids(&later.body), [""; 0]);
    assert_eq!(list("?cursor=ignore").await.error(), (400, "invalid_request"));
    assert_eq!(list("?status=ignore").await.error(), (400, "invalid_request"));
}

/// Every call of an agent that names an order, with a valid body.
fn calls(sale: &Sale, order: &str) -> Vec<(Method, String, Value)> {
    let (returned, dispute) =
        ("ret_0000000000000000000000000000abcd", "dsp_0000000000000000000000000000abcd");
    let at = |rest: &str| format!("/orders/{order}{rest}");
    let statement = json!({ "statement": "Nothing came." });
    let opened = json!({ "statement": "Nothing came.", "reason": "not_received" });
    vec![
        (Method::GET, at(""), Value::Null),
        (Method::PATCH, at(""), json!({ "note": "ring" })),
        (Method::POST, at("/cancel"), json!({})),
        (Method::GET, at("/return-eligibility"), Value::Null),
        (Method::POST, at("/returns"), sale.one_mug()),
        (Method::PATCH, at(&format!("/returns/{returned}")), json!({ "action": "cancel" })),
        (Method::POST, at("/disputes"), opened),
        (Method::GET, at(&format!("/disputes/{dispute}")), Value::Null),
        (Method::POST, at(&format!("/disputes/{dispute}/statements")), statement),
        (Method::POST, at(&format!("/disputes/{dispute}/accept")), Value::Null),
        (Method::POST, at(&format!("/disputes/{dispute}/withdraw")), Value::Null),
        (Method::POST, at("/feedback"), json!({ "outcome": "completed" })),
    ]
}

#[tokio::test]
async fn an_order_of_another_agent_does_not_exist() {
    let sale = Sale::new().await;
    let other = sale.market.open("other", Some(0.9), true).await;
    let all = [Scope::AgentCheckout, Scope::AgentOrders];
    let of_another = sale.another_key("eve@example.com", &all, None).await;
    let without_scope = sale.another_key("ada@example.com", &[Scope::AgentCheckout], None).await;
    let elsewhere = sale.another_key("ada@example.com", &all, Some(vec![other.merchant])).await;
    // An invalid idempotency key must not be found before the order.
    let headers: [&[(&str, &str)]; 2] = [&[], &[("idempotency-key", "")]];
    for key in [&of_another, &without_scope, &elsewhere] {
        for header in headers {
            let foreign = calls(&sale, &sale.order);
            for ((method, path, body), (_, unknown, _)) in
                foreign.into_iter().zip(calls(&sale, UNKNOWN_ORDER))
            {
                let answer = sale.agent_with(key, method.clone(), &path, header, &body).await;
                let none = sale.agent_with(key, method.clone(), &unknown, header, &body).await;
                assert_eq!(answer.error(), (404, "order_not_found"), "{method} {path}");
                assert_eq!(answer.body, none.body, "{method} {path}");
            }
        }
        let list = sale.agent(key, Method::GET, "/orders", &Value::Null).await;
        assert_eq!(list.body["data"], json!([]));
    }
    assert_eq!(sale.read().await["version"], 1);
}

#[tokio::test]
async fn a_key_with_the_scope_for_orders_sees_those_of_its_account() {
    let sale = Sale::new().await;
    let shop = vec![sale.shop.merchant];
    for stores in [None, Some(shop)] {
        let key = sale.another_key("ada@example.com", &[Scope::AgentOrders], stores).await;
        let list = sale.agent(&key, Method::GET, "/orders", &Value::Null).await;
        assert_eq!(list.body["data"][0]["order_id"], json!(sale.order));
        let path = format!("/orders/{}", sale.order);
        let note = json!({ "note": "ring twice" });
        let changed = sale.agent(&key, Method::PATCH, &path, &note).await;
        assert_eq!(changed.body["data"]["note"], "ring twice");
    }
}

#[tokio::test]
async fn an_agent_changes_an_order_before_it_ships() {
    let sale = Sale::new().await;
    let path = format!("/orders/{}", sale.order);
    let change = async |body: Value| sale.agent(&sale.key, Method::PATCH, &path, &body).await;
    let to = json!({ "country": "de", "city": "Bonn", "street": "Allee 2" });
    let changed = change(json!({ "destination": to, "note": "ring", "version": 1 })).await;
    let data = &changed.body["data"];
    assert_eq!(
        data["shipping_address"],
        json!({ "country": "DE", "city": "Bonn", "street": "Allee 2" })
    );
    assert_eq!((&data["note"], &data["version"]), (&json!("ring"), &json!(2)));
    let outdated = change(json!({ "note": "x", "version": 1 })).await;
    assert_eq!(outdated.error(), (409, "invalid_status_transition"));
    assert_eq!(outdated.body["details"]["current_version"], 2);
    for (body, field) in [
        (json!({}), "destination"),
        (json!({ "destination": { "country": "FR" } }), "destination.country"),
        (json!({ "destination": { "country": "UK" } }), "destination.country"),
        (json!({ "destination": { "country": "DE", "region": "NW" } }), "destination.region"),
    ] {
        let refused = change(body).await;
        assert_eq!(refused.error(), (400, "invalid_request"));
        assert_eq!(refused.body["details"]["field"], field);
    }
    // The empty text is absent, and a blank one removes the note.
    assert_eq!(change(json!({ "note": "" })).await.body["details"]["field"], "destination");
    assert_eq!(sale.read().await["note"], "ring");
    let removed = change(json!({ "note": " " })).await;
    assert_eq!((removed.status, removed.body["data"].get("note")), (200, None));
    sale.change(json!({ "action": "ship" })).await;
    assert_eq!(change(json!({ "note": "x" })).await.error(), (409, "invalid_status_transition"));
}

#[tokio::test]
async fn the_address_is_changed_by_the_key_that_bought_unless_a_person_approved_it() {
    let sale = Sale::new().await;
    let path = format!("/orders/{}", sale.order);
    let to = json!({ "destination": { "country": "DE", "city": "Bonn", "street": "Allee 2" } });
    let page = sale.read().await["permalink_url"].clone();
    let redirect = async |key: &str, reason: &str| {
        let refused = sale.agent(key, Method::PATCH, &path, &to).await;
        assert_eq!(refused.error(), (409, "confirmation_required"), "{}", refused.body);
        let details = &refused.body["details"];
        assert_eq!((&details["reason"], &details["order_page"]), (&json!(reason), &page));
    };
    let other = sale.another_key("ada@example.com", &[Scope::AgentOrders], None).await;
    redirect(&other, "placed_by_another_key").await;
    let approved = "UPDATE placed_order SET confirmation_level = 'hosted'";
    sqlx::query(approved).execute(&mut sale.market.test.raw().await).await.unwrap();
    redirect(&sale.key, "approved_by_person").await;
    assert_eq!(sale.read().await["version"], 1);
}

#[tokio::test]
async fn a_repeated_cancellation_is_executed_once() {
    let sale = Sale::new().await;
    let path = format!("/orders/{}/cancel", sale.order);
    let key = [("idempotency-key", "one")];
    let cancel =
        async |body: Value| sale.agent_with(&sale.key, Method::POST, &path, &key, &body).await;
    let one = json!({ "items": [{ "line_id": sale.mugs, "quantity": 1 }] });
    let first = cancel(one.clone()).await;
    assert_eq!(first.body["data"]["items"][0]["quantity"]["current"], 1, "{}", first.body);
    assert_eq!(first.body["data"]["adjustments"][0]["type"], "cancellation");
    assert_eq!(first.body["data"]["adjustments"][0]["reason"], "buyer_request");
    assert_eq!(first.body["data"]["adjustments"][0]["items"][0]["line_id"], json!(sale.mugs));
    assert_eq!(cancel(one).await.body, first.body);
    let other = cancel(json!({})).await;
    assert_eq!(other.error(), (409, "idempotency_conflict"));
    let all = sale.agent(&sale.key, Method::POST, &path, &Value::Null).await;
    assert_eq!(all.body["data"]["status"], "canceled");
    let again = sale.agent(&sale.key, Method::POST, &path, &Value::Null).await;
    assert_eq!(again.error(), (409, "invalid_status_transition"));
}

#[tokio::test]
async fn delivered_items_are_returned_and_refunded() {
    let sale = Sale::new().await;
    let at = |rest: &str| format!("/orders/{}{rest}", sale.order);
    let check = async || {
        let path = at("/return-eligibility");
        let answer = sale.agent(&sale.key, Method::GET, &path, &Value::Null).await;
        answer.body["data"].clone()
    };
    assert_eq!(check().await["items"][0]["reason"], "not_delivered");
    let early = sale.agent(&sale.key, Method::POST, &at("/returns"), &sale.one_mug()).await;
    assert_eq!(early.error(), (422, "return_not_eligible"));
    assert_eq!(early.body["details"]["reason"], "not_delivered");
    sale.deliver().await;
    let eligible = check().await;
    assert_eq!(eligible["eligible"], true);
    assert_eq!(eligible["items"][0]["returnable_quantity"], 2);
    assert_eq!(eligible["items"][0]["refund_amount"], 25.0);
    let key = [("idempotency-key", "return")];
    let create = async || {
        let (path, body) = (at("/returns"), sale.one_mug());
        sale.agent_with(&sale.key, Method::POST, &path, &key, &body).await
    };
    let first = create().await;
    assert_eq!((first.status, &first.body["data"]["status"]), (201, &json!("requested")));
    assert_eq!(create().await.body, first.body, "the same idempotency key");
    let returned = first.body["data"]["return_id"].as_str().unwrap();
    let path = at(&format!("/returns/{returned}"));
    let merchant = async |body: Value| {
        sale.merchant(&sale.shop, Method::PATCH, &path, &[], &body).await.body["data"].clone()
    };
    let approved = merchant(json!({ "action": "approve", "instructions": "Send it to us." })).await;
    assert_eq!(approved["instructions"], "Send it to us.");
    let sent = json!({ "action": "in_transit", "carrier": "DHL", "tracking_number": "R1" });
    let sent = sale.agent(&sale.key, Method::PATCH, &path, &sent).await;
    assert_eq!(sent.body["data"]["status"], "in_transit");
    assert_eq!(sale.read().await["return_status"], "in_progress");
    let late = sale.agent(&sale.key, Method::PATCH, &path, &json!({ "action": "cancel" })).await;
    assert_eq!(late.error(), (409, "invalid_status_transition"));
    merchant(json!({ "action": "receive" })).await;
    let condition = json!([{ "line_id": sale.mugs, "condition": "opened" }]);
    merchant(json!({ "action": "inspect", "conditions": condition })).await;
    let fee = json!({ "action": "settle", "restocking_fee": 2.5, "currency": "EUR" });
    let settled = merchant(fee).await;
    assert_eq!((&settled["status"], &settled["refund_amount"]), (&json!("refunded"), &json!(10.0)));
    let order = sale.read().await;
    assert_eq!(order["totals"]["refunded"], 10.0);
    assert_eq!(order["payment_status"], "partially_refunded");
    assert_eq!(order["return_status"], "returned");
    let kinds: Vec<&str> = order["adjustments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["return", "refund"]);
    let listed =
        sale.merchant(&sale.shop, Method::GET, "/returns?status=refunded", &[], &Value::Null).await;
    assert_eq!(listed.body["data"][0]["return_id"], json!(returned));
}

#[tokio::test]
async fn an_agent_withdraws_a_return_that_was_not_sent() {
    let sale = Sale::new().await;
    sale.deliver().await;
    let returned = sale.request_return().await;
    let path = format!("/orders/{}/returns/{returned}", sale.order);
    let change = async |body: Value| sale.agent(&sale.key, Method::PATCH, &path, &body).await;
    let misplaced = change(json!({ "action": "cancel", "carrier": "DHL" })).await;
    assert_eq!(misplaced.body["details"]["field"], "carrier");
    let outdated = change(json!({ "action": "cancel", "version": 1 })).await;
    assert_eq!(outdated.error(), (409, "invalid_status_transition"));
    assert_eq!(change(json!({ "action": "cancel" })).await.body["data"]["status"], "canceled");
    assert_eq!(sale.read().await["return_status"], "none");
    let unknown = format!("/orders/{}/returns/ret_0000000000000000000000000000abcd", sale.order);
    let action = json!({ "action": "cancel" });
    let none = sale.agent(&sale.key, Method::PATCH, &unknown, &action).await;
    assert_eq!(none.error(), (404, "not_found"));
}

#[tokio::test]
async fn a_dispute_ends_by_agreement_or_withdrawal() {
    let sale = Sale::new().await;
    let open = format!("/orders/{}/disputes", sale.order);
    let body = json!({
        "reason": "not_received", "statement": "Nothing came.", "evidence": ["https://a.example/1"],
    });
    let key = [("idempotency-key", "dispute")];
    let first = sale.agent_with(&sale.key, Method::POST, &open, &key, &body).await;
    assert_eq!((first.status, &first.body["data"]["status"]), (201, &json!("open")));
    let again = sale.agent_with(&sale.key, Method::POST, &open, &key, &body).await;
    assert_eq!(again.body, first.body, "the same idempotency key");
    let second = sale.agent(&sale.key, Method::POST, &open, &body).await;
    assert_eq!(second.error(), (409, "invalid_status_transition"));
    let dispute = first.body["data"]["dispute_id"].as_str().unwrap();
    let details = &second.body["details"];
    assert_eq!((&details["dispute_id"], &details["from"]), (&json!(dispute), &json!("open")));
    let at = |rest: &str| format!("/orders/{}/disputes/{dispute}{rest}", sale.order);
    let early = sale.agent(&sale.key, Method::POST, &at("/accept"), &Value::Null).await;
    assert_eq!(early.error(), (400, "invalid_request"));
    let more = json!({ "statement": "Still nothing." });
    let more = sale.agent(&sale.key, Method::POST, &at("/statements"), &more).await;
    assert_eq!(more.body["data"]["statements"].as_array().unwrap().len(), 2);
    for (answer, field) in [
        (json!({ "statement": "Sorry.", "currency": "EUR" }), "currency"),
        (json!({ "statement": "Sorry.", "proposed_refund": 1, "currency": "USD" }), "currency"),
        (
            json!({ "statement": "Sorry.", "proposed_refund": 45.01, "currency": "EUR" }),
            "proposed_refund",
        ),
    ] {
        let refused =
            sale.merchant(&sale.shop, Method::POST, &at("/statements"), &[], &answer).await;
        assert_eq!(refused.body["details"]["field"], field, "{}", refused.body);
    }
    let answer = json!({ "statement": "Sorry.", "proposed_refund": 12.5, "currency": "EUR" });
    let answered = sale.merchant(&sale.shop, Method::POST, &at("/statements"), &[], &answer).await;
    assert_eq!(answered.body["data"]["status"], "under_review", "{}", answered.body);
    let accepted = sale.agent(&sale.key, Method::POST, &at("/accept"), &Value::Null).await;
    assert_eq!(accepted.body["data"]["resolution"], "agreement");
    assert_eq!(accepted.body["data"]["refund_amount"], 12.5);
    let read = sale.agent(&sale.key, Method::GET, &at(""), &Value::Null).await;
    assert_eq!(read.body, accepted.body);
    let listed = sale
        .merchant(&sale.shop, Method::GET, "/disputes?status=resolved", &[], &Value::Null)
        .await;
    let mut listed = listed.body["data"][0].clone();
    assert_eq!((&listed["dispute_id"], &listed["statement_count"]), (&json!(dispute), &json!(3)));
    assert!(listed.get("statements").is_none(), "{listed}");
    let read = sale.merchant(&sale.shop, Method::GET, &at(""), &[], &Value::Null).await;
    assert_eq!(read.body, accepted.body, "the merchant reads the statements of one dispute");
    listed["statements"] = read.body["data"]["statements"].clone();
    assert_eq!(listed, read.body["data"]);
    let next = sale.open_dispute().await;
    let path = format!("/orders/{}/disputes/{next}/withdraw", sale.order);
    let withdrawn = sale.agent(&sale.key, Method::POST, &path, &Value::Null).await;
    assert_eq!(withdrawn.body["data"]["status"], "withdrawn");
}

#[tokio::test]
async fn an_agent_does_not_end_a_dispute_of_the_buyer() {
    let sale = Sale::new().await;
    let context = orders::OrderContext {
        database: sale.market.test.database(),
        merchant: sale.shop.merchant,
        slug: "shop",
        actor: orders::Actor::BUYER,
        viewer: orders::Viewer::All,
        idempotency_key: None,
    };
    let new = orders::NewDispute {
        reason: orders::DisputeReason::UnauthorizedPurchase,
        statement: String::from("I did not want this."),
        evidence: Vec::new(),
    };
    let opened = orders::open_dispute(&context, sale.order.parse().unwrap(), new).await.unwrap();
    let dispute = opened.subject.unwrap();
    let at = |rest: &str| format!("/orders/{}/disputes/{dispute}{rest}", sale.order);
    let answer = json!({ "statement": "Sorry.", "proposed_refund": 1, "currency": "EUR" });
    sale.merchant(&sale.shop, Method::POST, &at("/statements"), &[], &answer).await;
    for end in ["/accept", "/withdraw"] {
        let refused = sale.agent(&sale.key, Method::POST, &at(end), &Value::Null).await;
        assert_eq!(refused.error(), (409, "invalid_status_transition"));
        let details = &refused.body["details"];
        assert_eq!(details["order_page"], sale.read().await["permalink_url"], "{details}");
        assert!(details["hint"].as_str().unwrap().contains("order_page"), "{details}");
    }
    let read = sale.agent(&sale.key, Method::GET, &at(""), &Value::Null).await;
    assert_eq!(read.body["data"]["status"], "under_review");
}

#[tokio::test]
async fn an_agent_gives_feedback() {
    let sale = Sale::new().await;
    let path = format!("/orders/{}/feedback", sale.order);
    for outcome in ["problem_unresolved", "completed"] {
        let body = json!({ "outcome": outcome, "note": "fine" });
        let answer = sale.agent(&sale.key, Method::POST, &path, &body).await;
        assert_eq!(answer.body["data"], json!({ "order_id": sale.order, "outcome": outcome }));
    }
    assert_eq!(sale.market.count("SELECT count(*) FROM order_feedback").await, 1);
    let wrong = sale.agent(&sale.key, Method::POST, &path, &json!({ "outcome": "ignore" })).await;
    assert_eq!(wrong.error(), (400, "invalid_request"));
}

#[tokio::test]
async fn orders_work_at_stores_that_are_not_available() {
    let sale = Sale::new().await;
    sale.deliver().await;
    let reason = "a test".parse().unwrap();
    for (number, status) in
        [StoreStatus::Suspended, StoreStatus::Paused, StoreStatus::Closed].into_iter().enumerate()
    {
        let mut work = Work::for_platform(sale.market.test.database()).await.unwrap();
        let by = Administration { actor: Actor::Operator, reason: &reason };
        merchants::set_status(&mut work, by, sale.shop.merchant, status).await.unwrap();
        work.commit().await.unwrap();
        let listed = sale.agent(&sale.key, Method::GET, "/orders", &Value::Null).await;
        assert_eq!(listed.body["data"].as_array().unwrap().len(), 1);
        assert_eq!(sale.read().await["status"], "delivered");
        if number < 2 {
            let returned = sale.request_return().await;
            let path = format!("/orders/{}/returns/{returned}", sale.order);
            let body = json!({ "action": "approve" });
            let approved = sale.merchant(&sale.shop, Method::PATCH, &path, &[], &body).await;
            assert_eq!(approved.status, 200, "{}", approved.body);
        } else {
            sale.open_dispute().await;
        }
    }
    let close = "UPDATE store SET active = false";
    sqlx::query(close).execute(&mut sale.market.test.raw().await).await.unwrap();
    assert_eq!(sale.read().await["status"], "delivered");
}
