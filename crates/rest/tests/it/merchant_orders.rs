//! Orders of a store, for its merchant.

use axum::http::Method;
use serde_json::{Value, json};

use crate::sale::{Sale, UNKNOWN_ORDER};

#[tokio::test]
async fn a_merchant_lists_and_reads_orders() {
    let sale = Sale::new().await;
    let list = async |query: &str| {
        sale.merchant(&sale.shop, Method::GET, &format!("/orders{query}"), &[], &Value::Null).await
    };
    let all = list("").await;
    assert_eq!(all.body["data"][0]["order_id"], json!(sale.order));
    assert_eq!(all.body["data"][0]["buyer"]["email"], "eve@example.com");
    assert!(all.body["data"][0].get("permalink_url").is_none(), "the link is the buyer's");
    for (query, count) in [
        ("?status=pending", 1),
        ("?status=shipped", 0),
        ("?origin=souk", 1),
        ("?origin=pushed", 0),
        ("?created_min=2100-01-01T00:00:00Z", 0),
        ("?updated_min=2026-01-01T00:00:00Z&updated_max=2100-01-01T00:00:00Z", 1),
    ] {
        assert_eq!(list(query).await.body["data"].as_array().unwrap().len(), count, "{query}");
    }
    for wrong in ["?cursor=ignore", "?status=ignore", "?origin=pushed&status=pending"] {
        assert_eq!(list(wrong).await.error(), (400, "invalid_request"), "{wrong}");
    }
    let unbounded = list("?updated_max=2100-01-01T00:00:00Z").await;
    assert_eq!(unbounded.error(), (400, "invalid_request"));
    assert_eq!(unbounded.body["details"]["field"], "updated_min");
    let path = format!("/orders/{}", sale.order);
    let read = sale.merchant(&sale.shop, Method::GET, &path, &[], &Value::Null).await;
    assert_eq!(read.header("etag"), "\"1\"");
    assert_eq!(read.body["data"], all.body["data"][0]);
}

#[tokio::test]
async fn a_merchant_takes_an_order_from_confirmation_to_delivery() {
    let sale = Sale::new().await;
    let path = format!("/orders/{}", sale.order);
    let change = async |headers: &[(&str, &str)], body: Value| {
        sale.merchant(&sale.shop, Method::PATCH, &path, headers, &body).await
    };
    let reviewed = change(&[], json!({ "action": "review" })).await;
    assert_eq!(reviewed.body["data"]["status"], "manual_review");
    let blocked = change(&[], json!({ "action": "ship" })).await;
    assert_eq!(blocked.error(), (409, "invalid_status_transition"));
    assert_eq!(blocked.body["details"]["from"], "manual_review");
    let confirmed = change(&[("if-match", "\"2\"")], json!({ "action": "confirm" })).await;
    assert_eq!((confirmed.status, confirmed.header("etag")), (200, "\"3\""));
    for (header, body) in [
        (Some(("if-match", "\"2\"")), json!({ "action": "process" })),
        (None, json!({ "action": "process", "version": 2 })),
    ] {
        let headers: Vec<(&str, &str)> = header.into_iter().collect();
        let outdated = change(&headers, body).await;
        assert_eq!(outdated.error(), (409, "invalid_status_transition"));
        assert_eq!(outdated.body["details"]["current_version"], 3);
    }
    let differing =
        change(&[("if-match", "\"3\"")], json!({ "action": "process", "version": 2 })).await;
    assert_eq!(differing.error(), (400, "invalid_request"));
    assert_eq!(
        change(&[("if-match", "*")], json!({ "action": "process" })).await.body["data"]["status"],
        "processing"
    );
    let part = json!({
        "action": "ship", "items": [{ "line_id": sale.mugs, "quantity": 1 }], "carrier": "DHL",
        "tracking_number": "JD1", "tracking_url": "https://dhl.example/JD1",
        "expected_by": "2026-12-01T00:00:00Z",
    });
    let key = [("idempotency-key", "ship")];
    let shipped = change(&key, part.clone()).await;
    assert_eq!(shipped.body["data"]["status"], "partially_shipped", "{}", shipped.body);
    assert_eq!(change(&key, part).await.body, shipped.body, "the same idempotency key");
    let conflict = change(&key, json!({ "action": "ship" })).await;
    assert_eq!(conflict.error(), (409, "idempotency_conflict"));
    let fulfillment = shipped.body["data"]["fulfillments"][0]["id"].clone();
    let delivered = json!({ "action": "deliver", "fulfillment_ids": [fulfillment] });
    let delivered = change(&[], delivered).await;
    assert_eq!(delivered.body["data"]["fulfillments"][0]["status"], "delivered");
    let canceled = json!({
        "action": "cancel", "reason": "out_of_stock",
        "items": [{ "line_id": sale.bowl, "quantity": 1 }],
    });
    let canceled = change(&[], canceled).await;
    assert_eq!(canceled.body["data"]["items"][1]["status"], "removed");
    change(&[], json!({ "action": "ship" })).await;
    let delivered = change(&[], json!({ "action": "deliver" })).await;
    assert_eq!(delivered.body["data"]["status"], "delivered");
    assert_eq!(delivered.body["data"]["fulfillment_status"], "fulfilled");
    assert!(delivered.body["data"]["returnable_until"].is_string());
}

#[tokio::test]
async fn a_version_that_no_order_has_is_a_conflict() {
    let sale = Sale::new().await;
    let path = format!("/orders/{}", sale.order);
    let confirm = json!({ "action": "confirm" });
    // The first is 1 in its lower 32 bits.
    for tag in ["\"4294967297\"", "\"9223372036854775807\""] {
        let headers = [("if-match", tag)];
        let refused = sale.merchant(&sale.shop, Method::PATCH, &path, &headers, &confirm).await;
        assert_eq!(refused.error(), (409, "invalid_status_transition"), "{tag}");
        assert_eq!(refused.body["details"]["current_version"], 1, "{tag}");
    }
    assert_eq!(sale.read().await["version"], 1);
}

#[tokio::test]
async fn an_invalid_change_names_its_field() {
    let sale = Sale::new().await;
    let path = format!("/orders/{}", sale.order);
    let item = |line: &str, quantity: u32| json!([{ "line_id": line, "quantity": quantity }]);
    let unknown = "line_0000000000000000000000000000abcd";
    for (body, field) in [
        (json!({ "action": "ignore" }), "action"),
        (json!({ "action": "confirm", "carrier": "DHL" }), "carrier"),
        (json!({ "action": "deliver", "items": item(&sale.mugs, 1) }), "items"),
        (json!({ "action": "ship", "reason": "fraud" }), "reason"),
        (json!({ "action": "cancel" }), "reason"),
        (json!({ "action": "ship", "items": [] }), "items"),
        (json!({ "action": "ship", "items": item(&sale.mugs, 3) }), "items[0].quantity"),
        (json!({ "action": "ship", "items": item(unknown, 1) }), "items[0].line_id"),
        (json!({ "action": "ship", "tracking_url": "javascript:x" }), "tracking_url"),
        (json!({ "action": "ship", "expected_by": "0000-01-01T00:00:00+00:01" }), "expected_by"),
        (json!({ "action": "ship", "expected_by": "9999-12-31T23:59:59-00:01" }), "expected_by"),
        (json!({ "action": "ship", "expected_by": "2100-01-01T00:00:00Z" }), "expected_by"),
        (json!({ "action": "ship", "note": "x" }), "note"),
    ] {
        let refused = sale.merchant(&sale.shop, Method::PATCH, &path, &[], &body).await;
        assert_eq!(refused.error(), (400, "invalid_request"), "{body}");
        assert_eq!(refused.body["details"]["field"], field, "{}", refused.body);
    }
    assert_eq!(sale.read().await["version"], 1);
}

#[tokio::test]
async fn refunds_never_exceed_what_was_paid() {
    let sale = Sale::new().await;
    let path = format!("/orders/{}/refunds", sale.order);
    let refund = async |headers: &[(&str, &str)], body: Value| {
        sale.merchant(&sale.shop, Method::POST, &path, headers, &body).await
    };
    let key = [("idempotency-key", "refund")];
    let ten = json!({ "amount": 10, "currency": "EUR", "reason": "damaged", "reference": "RF-1" });
    let first = refund(&key, ten.clone()).await;
    assert_eq!((first.status, &first.body["data"]["amount"]), (201, &json!(10.0)));
    assert_eq!(refund(&key, ten.clone()).await.body, first.body, "the same idempotency key");
    assert_eq!(refund(&[], ten).await.body, first.body, "the same reference");
    let outdated = json!({ "amount": 1, "currency": "EUR", "reason": "other", "version": 1 });
    assert_eq!(refund(&[], outdated).await.error(), (409, "invalid_status_transition"));
    let much = refund(&[], json!({ "amount": 35.01, "currency": "EUR", "reason": "other" })).await;
    assert_eq!(much.error(), (400, "invalid_request"));
    assert_eq!(much.body["details"]["available"], 35.0);
    for (body, field) in [
        (json!({ "amount": 1, "reason": "other" }), "currency"),
        (json!({ "amount": 1.001, "currency": "EUR", "reason": "other" }), "amount"),
        (json!({ "amount": 1, "currency": "USD", "reason": "other" }), "currency"),
        (json!({ "amount": 0, "currency": "EUR", "reason": "other" }), "amount"),
        (json!({ "currency": "EUR", "reason": "other" }), "currency"),
        (json!({ "currency": "USD", "reason": "other" }), "currency"),
    ] {
        assert_eq!(refund(&[], body.clone()).await.body["details"]["field"], field, "{body}");
    }
    let noted = json!({ "reason": "goodwill", "note": "Sorry!", "reference": "RF-2" });
    let rest = refund(&[], noted).await;
    assert_eq!(rest.body["data"]["amount"], 35.0);
    let order = sale.read().await;
    let adjustments = order["adjustments"].as_array().unwrap();
    assert!(adjustments.iter().any(|it| it["note"] == "Sorry!"), "{order}");
    assert!(!order.to_string().contains("RF-2"), "the reference is the merchant's: {order}");
    assert_eq!(
        (&order["payment_status"], &order["totals"]["refunded"]),
        (&json!("refunded"), &json!(45.0))
    );
}

#[tokio::test]
async fn an_order_of_another_store_does_not_exist() {
    let sale = Sale::new().await;
    let other = sale.market.open("other", Some(0.9), true).await;
    let dispute = sale.open_dispute().await;
    let calls = |order: &str, dispute: &str| {
        let returned = "ret_0000000000000000000000000000abcd";
        [
            (Method::GET, format!("/orders/{order}"), Value::Null),
            (Method::PATCH, format!("/orders/{order}"), json!({ "action": "confirm" })),
            (Method::POST, format!("/orders/{order}/refunds"), json!({ "reason": "other" })),
            (
                Method::PATCH,
                format!("/orders/{order}/returns/{returned}"),
                json!({ "action": "approve" }),
            ),
            (Method::GET, format!("/orders/{order}/disputes/{dispute}"), Value::Null),
            (
                Method::POST,
                format!("/orders/{order}/disputes/{dispute}/statements"),
                json!({ "statement": "x" }),
            ),
        ]
    };
    let none = calls(UNKNOWN_ORDER, "dsp_0000000000000000000000000000abcd");
    for ((method, path, body), (_, unknown, _)) in
        calls(&sale.order, &dispute).into_iter().zip(none)
    {
        let foreign = sale.merchant(&other, method.clone(), &path, &[], &body).await;
        let none = sale.merchant(&other, method, &unknown, &[], &body).await;
        assert_eq!(foreign.error(), (404, "order_not_found"), "{path}");
        assert_eq!(foreign.body, none.body, "{path}");
    }
    for list in ["/orders", "/returns", "/disputes"] {
        let listed = sale.merchant(&other, Method::GET, list, &[], &Value::Null).await;
        assert_eq!(listed.body["data"], json!([]), "{list}");
    }
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one list of orders and its answer")]
async fn pushed_orders_are_taken_or_refused_by_themselves() {
    let sale = Sale::new().await;
    let order = |id: &str| {
        json!({
            "external_id": id, "status": "shipped", "currency": "EUR", "total_amount": "24.90",
            "items": [{ "sku": "MUG-1", "name": "Mug", "quantity": 2, "unit_price": 12.45 }],
            "placed_at": "2026-01-31T12:00:00Z",
        })
    };
    let with = |id: &str, field: &str, value: Value| {
        let mut order = order(id);
        order[field] = value;
        order
    };
    let push = async |orders: Value| {
        let body = json!({ "orders": orders });
        sale.merchant(&sale.shop, Method::POST, "/orders", &[], &body).await.body["data"].clone()
    };
    let pushed = push(json!([
        order("A-1"),
        with("A-2", "status", json!("ignore")),
        order("A-1"),
        with("A-3", "total_amount", json!("24.901")),
        with("A-4", "items", json!([{ "sku": "S", "name": "N", "quantity": 0, "unit_price": 1 }])),
        { "external_id": "A-5", "do as I say": 1 },
        with("A-6", "currency", json!("EURO")),
        order("A-2"),
        order("A-3"),
        with("A-7", "total_amount", json!("-1")),
    ]))
    .await;
    let results = pushed["results"].as_array().unwrap();
    let outcome = |it: &Value| {
        (
            it["external_id"].as_str().unwrap().to_owned(),
            it["status"].as_str().unwrap().to_owned(),
            it["error"]["field"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let found: Vec<(String, String, String)> = results.iter().map(outcome).collect();
    let expected = [
        ("A-1", "created", ""),
        ("A-2", "failed", "status"),
        ("A-1", "failed", "external_id"),
        ("A-3", "failed", "total_amount"),
        ("A-4", "failed", "items[0].quantity"),
        ("A-5", "failed", ""),
        ("A-6", "failed", "currency"),
        // The call has named these before, in an order that was refused.
        ("A-2", "failed", "external_id"),
        ("A-3", "failed", "external_id"),
        ("A-7", "failed", "total_amount"),
    ];
    let expected =
        expected.map(|(id, status, field)| (id.to_owned(), status.to_owned(), field.to_owned()));
    assert_eq!(found, expected);
    assert_eq!((&pushed["created"], &pushed["failed"]), (&json!(1), &json!(9)));
    assert_eq!(results[1]["error"]["code"], "invalid_request");
    assert!(!pushed.to_string().contains("do as I say") && !pushed.to_string().contains("ignore"));
    assert_eq!(push(json!([order("A-1")])).await["unchanged"], 1);
    assert_eq!(push(json!([with("A-1", "status", json!("delivered"))])).await["updated"], 1);
    let id = results[0]["order_id"].as_str().unwrap();
    let get =
        async |path: &str| sale.merchant(&sale.shop, Method::GET, path, &[], &Value::Null).await;
    let read = get(&format!("/orders/{id}")).await;
    assert_eq!(read.body["data"]["external_id"], "A-1");
    assert_eq!((&read.body["data"]["status"], read.header("etag")), (&json!("delivered"), ""));
    let listed = get("/orders?origin=pushed").await;
    assert_eq!(listed.body["data"], json!([read.body["data"]]));
    assert_eq!(get("/orders").await.body["data"].as_array().unwrap().len(), 1);
    let body = json!({ "action": "confirm" });
    let path = format!("/orders/{id}");
    let changed = sale.merchant(&sale.shop, Method::PATCH, &path, &[], &body).await;
    assert_eq!(changed.error(), (404, "order_not_found"));
    let agent = sale.agent(&sale.key, Method::GET, &path, &Value::Null).await;
    assert_eq!(agent.error(), (404, "order_not_found"));
    let many: Vec<Value> = (0..501).map(|number| order(&format!("B-{number}"))).collect();
    let body = json!({ "orders": many });
    let refused = sale.merchant(&sale.shop, Method::POST, "/orders", &[], &body).await;
    assert_eq!(refused.error(), (400, "invalid_request"));
}

#[tokio::test]
async fn a_merchant_names_the_refund_of_a_return_if_less_is_left() {
    let sale = Sale::new().await;
    sale.deliver().await;
    let refund = json!({ "amount": 40, "currency": "EUR", "reason": "late_delivery" });
    let path = format!("/orders/{}/refunds", sale.order);
    sale.merchant(&sale.shop, Method::POST, &path, &[], &refund).await;
    let returned = sale.request_return().await;
    let path = format!("/orders/{}/returns/{returned}", sale.order);
    let change =
        async |body: Value| sale.merchant(&sale.shop, Method::PATCH, &path, &[], &body).await;
    change(json!({ "action": "approve" })).await;
    change(json!({ "action": "receive" })).await;
    let bare = change(json!({ "action": "settle", "currency": "EUR" })).await;
    assert_eq!(bare.body["details"]["field"], "currency");
    let much = change(json!({ "action": "settle" })).await;
    assert_eq!(much.error(), (400, "invalid_request"));
    let details = &much.body["details"];
    assert_eq!((&details["field"], &details["available"]), (&json!("refund"), &json!(5.0)));
    let settled = change(json!({ "action": "settle", "refund": 5, "currency": "EUR" })).await;
    assert_eq!(settled.body["data"]["refund_amount"], 5.0, "{}", settled.body);
}

#[tokio::test]
async fn received_items_are_rejected_without_an_inspection() {
    let sale = Sale::new().await;
    sale.deliver().await;
    let returned = sale.request_return().await;
    let path = format!("/orders/{}/returns/{returned}", sale.order);
    let change =
        async |body: Value| sale.merchant(&sale.shop, Method::PATCH, &path, &[], &body).await;
    let reject = json!({ "action": "reject", "reason": "used" });
    change(json!({ "action": "approve" })).await;
    assert_eq!(change(reject.clone()).await.error(), (409, "invalid_status_transition"));
    change(json!({ "action": "receive" })).await;
    let rejected = change(reject).await;
    assert_eq!(rejected.body["data"]["status"], "rejected", "{}", rejected.body);
}

#[tokio::test]
async fn a_merchant_declines_or_rejects_a_return() {
    let sale = Sale::new().await;
    sale.deliver().await;
    let returned = sale.request_return().await;
    let path = format!("/orders/{}/returns/{returned}", sale.order);
    let change = async |headers: &[(&str, &str)], body: Value| {
        sale.merchant(&sale.shop, Method::PATCH, &path, headers, &body).await
    };
    for (body, field) in [
        (json!({ "action": "decline" }), "reason"),
        (json!({ "action": "approve", "reason": "used" }), "reason"),
        (json!({ "action": "receive", "refund": 1, "currency": "EUR" }), "refund"),
        (json!({ "action": "cancel" }), "action"),
    ] {
        let refused = change(&[], body).await;
        assert_eq!(refused.error(), (400, "invalid_request"));
        assert_eq!(refused.body["details"]["field"], field);
    }
    let outdated = change(&[("if-match", "\"1\"")], json!({ "action": "approve" })).await;
    assert_eq!(outdated.error(), (409, "invalid_status_transition"));
    let early = change(&[], json!({ "action": "settle" })).await;
    assert_eq!(early.error(), (409, "invalid_status_transition"));
    assert_eq!(early.body["details"]["from"], "requested");
    let key = [("idempotency-key", "decline")];
    let body = json!({ "action": "decline", "reason": "used" });
    let declined = change(&key, body.clone()).await;
    assert_eq!(declined.body["data"]["decline_reason"], "used");
    assert_eq!(change(&key, body).await.body, declined.body, "the same idempotency key");
    let list = async |query: &str| {
        let path = format!("/returns{query}");
        let found = sale.merchant(&sale.shop, Method::GET, &path, &[], &Value::Null).await;
        found.body["data"].as_array().map(Vec::len)
    };
    assert_eq!(list("").await, Some(1));
    assert_eq!(list("?status=requested").await, Some(0));
    assert_eq!(list(&format!("?order_id={}", sale.order)).await, Some(1));
    assert_eq!(list("?cursor=x").await, None);
}

#[tokio::test]
async fn pushed_orders_count_for_the_bytes_of_the_day() {
    let sale = Sale::new().await;
    let order = |number: u32| {
        json!({
            "external_id": format!("A-{number}"), "status": "shipped", "currency": "EUR",
            "total_amount": "24.90", "placed_at": "2026-01-31T12:00:00Z",
        })
    };
    let push = async |orders: Value| {
        let body = json!({ "orders": orders });
        sale.merchant(&sale.shop, Method::POST, "/orders", &[], &body).await
    };
    let used = "SELECT coalesce(sum(bytes), 0)::bigint FROM catalog_upload";
    let used = async || -> i64 {
        sqlx::query_scalar(used).fetch_one(&mut sale.market.test.raw().await).await.unwrap()
    };
    let before = used().await;
    // Each counts at least 1 KiB.
    assert_eq!(push(json!([order(1), order(2)])).await.body["data"]["created"], 2);
    assert_eq!(used().await, before + 2_048);
    let mut work = database::Work::for_platform(sale.market.test.database()).await.unwrap();
    let quota = catalog::Quota::UploadBytesPerDay;
    let maximum = Some(before + 4_000);
    catalog::set_quota(&mut work, sale.shop.merchant, quota, maximum).await.unwrap();
    work.commit().await.unwrap();
    let refused = push(json!([order(3), order(4)])).await;
    assert_eq!(refused.error(), (429, "rate_limit_exceeded"));
    assert_eq!(refused.body["details"]["bucket"], "upload_bytes_per_day");
    assert_eq!(push(json!([order(5)])).await.body["data"]["created"], 1);
    assert_eq!(used().await, before + 3_072);
}
