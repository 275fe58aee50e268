//! The tools for orders (docs/contract/mcp.md#order-tools).

mod onx_schemas;
mod refusals;
pub(crate) mod shop;
mod visibility;

use orders::ReturnAction;
use primitives::{Id as _, OrderId, ReturnId};
use serde_json::{Value, json};

use crate::app::{TestApp, redacted};
use shop::Shopper;

const STORE: &str = "kivikiri";

async fn shopper(app: &TestApp) -> Shopper<'_> {
    let key = app.buyer_key("me@example.com").await;
    Shopper::at(app, STORE, key).await
}

fn custom<'field>(record: &'field Value, name: &str) -> &'field Value {
    let fields = record["customFields"].as_array().unwrap();
    fields.iter().find(|field| field["name"] == name).map_or(&Value::Null, |field| &field["value"])
}

#[tokio::test]
async fn an_order_is_followed_from_the_payment_to_the_delivery() {
    let app = TestApp::start().await;
    let me = shopper(&app).await;
    let order = me.buy(2).await;
    let of_order = json!({ "order_id": order });
    let status = me.ok("get_order_status", of_order.clone()).await;
    assert_eq!((&status["status"], &status["tracking"]), (&json!("pending"), &json!([])));
    assert_eq!(status["next_expected_event"], json!({ "event": "confirmed" }));
    assert_eq!(status["buyer"]["email"], "ada@buyers.example");
    let page = status["permalink_url"].as_str().unwrap();
    assert_eq!(app.get(page.strip_prefix("http://souk.test").unwrap()).await.status, 200);

    me.ship(order).await;
    let status = me.ok("get_order_status", of_order.clone()).await;
    assert_eq!(status["status"], "shipped");
    assert_eq!(status["tracking"][0]["tracking_number"], "TRACK-77");
    assert_eq!(status["next_expected_event"]["event"], "delivered");
    let shipped = me.ok("onx_get_fulfillments", json!({ "orderIds": [order] })).await;
    insta::assert_json_snapshot!(redacted(shipped["fulfillments"][0].clone()), @r#"
    {
      "createdAt": "2026-11-15T08:00:00Z",
      "customFields": [
        {
          "name": "tracking_url",
          "value": "https://carrier.example/TRACK-77"
        }
      ],
      "id": "ful_[id]",
      "lineItems": [
        {
          "id": "line_[id]",
          "name": "Eel, Moving",
          "quantity": 2,
          "sku": "LN-152",
          "unitPrice": 68.0
        },
        {
          "id": "line_[id]",
          "name": "Juniper Branch",
          "quantity": 2,
          "sku": "LN-153",
          "unitPrice": 54.0
        }
      ],
      "orderId": "ord_[id]",
      "shippingAddress": {
        "address1": "Way 1",
        "city": "Turku",
        "country": "EE",
        "firstName": "Ada Maria",
        "lastName": "Salo",
        "zipCodeOrPostalCode": "20100"
      },
      "shippingCarrier": "Posti",
      "status": "shipped",
      "tenantId": "kivikiri",
      "trackingNumbers": [
        "TRACK-77"
      ],
      "updatedAt": "2026-11-15T08:00:00Z"
    }
    "#);

    orders::deliver(&me.merchant(), order, None, Vec::new()).await.unwrap();
    let status = me.ok("get_order_status", of_order).await;
    assert_eq!((&status["status"], &status["tracking"]), (&json!("delivered"), &json!([])));
    let next = &status["next_expected_event"];
    assert_eq!(*next, json!({ "event": "completed", "by": status["returnable_until"] }));
    let delivered = me.ok("onx_get_fulfillments", json!({})).await;
    assert_eq!(delivered["fulfillments"][0]["status"], "delivered");
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one snapshot or one list of arguments")]
async fn an_order_has_the_form_of_onx() {
    let app = TestApp::start().await;
    let me = shopper(&app).await;
    me.buy(2).await;
    let found = me.ok("onx_get_orders", json!({})).await;
    let mut order = found["orders"][0].clone();
    let page = custom(&order, "order_page").as_str().unwrap().to_owned();
    assert!(page.starts_with("http://souk.test/kivikiri/orders/ord_"), "{page}");
    order["customFields"].as_array_mut().unwrap().retain(|field| field["name"] != "order_page");
    order["name"] = json!(order["name"].as_str().unwrap().len());
    insta::assert_json_snapshot!(redacted(order), @r#"
    {
      "billingAddress": {
        "email": "ada@buyers.example",
        "firstName": "Ada",
        "lastName": "Salo"
      },
      "createdAt": "2026-11-15T08:00:00Z",
      "currency": "USDC",
      "customFields": [
        {
          "name": "fulfillment_status",
          "value": "unfulfilled"
        },
        {
          "name": "promised_by",
          "value": "2026-11-25T08:00:00Z"
        }
      ],
      "id": "ord_[id]",
      "lineItems": [
        {
          "customFields": [
            {
              "name": "product_id",
              "value": "prod_7619a769ad445fcab583a9cbcea6b111"
            }
          ],
          "id": "line_[id]",
          "name": "Eel, Moving",
          "quantity": 2,
          "sku": "LN-152",
          "totalPrice": 136.0,
          "unitPrice": 68.0
        },
        {
          "customFields": [
            {
              "name": "product_id",
              "value": "prod_67ec6d99f057598e8267c2c568663235"
            }
          ],
          "id": "line_[id]",
          "name": "Juniper Branch",
          "quantity": 2,
          "sku": "LN-153",
          "totalPrice": 108.0,
          "unitPrice": 54.0
        }
      ],
      "name": 10,
      "orderDiscount": 0.0,
      "orderTax": 0.0,
      "paymentStatus": "paid",
      "refunds": [],
      "shippingAddress": {
        "address1": "Way 1",
        "city": "Turku",
        "country": "EE",
        "firstName": "Ada Maria",
        "lastName": "Salo",
        "zipCodeOrPostalCode": "20100"
      },
      "shippingClass": "Standard, free",
      "shippingPrice": 0.0,
      "status": "pending",
      "subTotalPrice": 244.0,
      "tenantId": "kivikiri",
      "totalPrice": 244.0,
      "updatedAt": "2026-11-15T08:00:00Z"
    }
    "#);
}

#[tokio::test]
async fn orders_are_selected_by_every_argument() {
    let app = TestApp::start().await;
    let me = shopper(&app).await;
    let (first, second) = (me.buy(1).await, me.buy(1).await);
    me.ship(second).await;
    let select = async |arguments: Value| -> Vec<OrderId> {
        let found = me.ok("onx_get_orders", arguments).await;
        assert_eq!(found["success"], true);
        let ids = found["orders"].as_array().unwrap().iter().map(|order| &order["id"]);
        let mut ids: Vec<OrderId> = ids.map(|id| id.as_str().unwrap().parse().unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    let number = |id: OrderId| id.to_string()[4..14].to_uppercase();
    let mut both = [first, second];
    both.sort_unstable();
    let (past, time) = ("2026-11-14T08:00:00Z", "2026-11-15T08:00:00Z");
    for (arguments, selected) in [
        (json!({}), &both[..]),
        (json!({ "ids": [first] }), &[first]),
        (json!({ "order_ids": [first] }), &[first]),
        (json!({ "ids": [OrderId::from_random(7)] }), &[]),
        (json!({ "externalIds": ["SHOP-1"] }), &[]),
        (json!({ "externalIds": [] , "names": null }), &both),
        (json!({ "statuses": ["shipped", "canceled"] }), &[second]),
        (json!({ "names": [number(first), "0000000000"] }), &[first]),
        (json!({ "names": [number(first).to_lowercase()] }), &[first]),
        (json!({ "names": [number(first)], "ids": [second] }), &[]),
        (json!({ "names": ["0000000000"] }), &[]),
        (json!({ "createdAtMin": time, "createdAtMax": time, "updatedAtMin": time }), &both),
        (json!({ "createdAtMin": "2026-11-15T08:00:01Z" }), &[]),
        (json!({ "updatedAtMin": past, "updatedAtMax": "2026-11-15T07:59:59.5+00:00" }), &[]),
        (json!({ "updatedAtMin": past, "updatedAtMax": "2100-01-01T00:00:00Z" }), &both),
        (json!({ "skip": 2 }), &[]),
    ] {
        assert_eq!(select(arguments.clone()).await, selected, "{arguments}");
    }
    let unbounded = me.refused("onx_get_orders", json!({ "updatedAtMax": time })).await;
    assert_eq!(unbounded["details"]["field"], "updatedAtMin", "{unbounded}");
    let page = select(json!({ "pageSize": 1 })).await;
    let next = select(json!({ "pageSize": 1, "skip": 1 })).await;
    assert_ne!(page, next);
    let bare = me.ok("onx_get_orders", json!({ "includeLineItems": false })).await;
    assert_eq!(bare["orders"][0]["lineItems"], json!([]));
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one snapshot or one list of arguments")]
async fn items_are_returned_in_both_forms() {
    let app = TestApp::start().await;
    let me = shopper(&app).await;
    let order = me.buy(2).await;
    let (line, sku) = me.line(order).await;
    let of_order = json!({ "order_id": order });
    let check = me.ok("check_return_eligibility", of_order.clone()).await;
    assert_eq!(
        (&check["eligible"], &check["items"][0]["reason"]),
        (&json!(false), &json!("not_delivered"))
    );
    me.deliver(order).await;
    let check = me.ok("check_return_eligibility", of_order.clone()).await;
    insta::assert_json_snapshot!(redacted(check), @r#"
    {
      "currency": "USDC",
      "eligible": true,
      "items": [
        {
          "line_id": "line_[id]",
          "refund_amount": 136.0,
          "returnable_quantity": 2
        },
        {
          "line_id": "line_[id]",
          "refund_amount": 108.0,
          "returnable_quantity": 2
        }
      ],
      "order_id": "ord_[id]",
      "outcomes": [
        "refund",
        "exchange",
        "store_credit",
        "replacement"
      ],
      "return_window_days": 14,
      "returnable_until": "2026-11-29T08:00:00Z"
    }
    "#);

    let flat = json!({ "order_id": order, "items": [{ "line_id": line, "quantity": 1 }], "reason": "size_issue",
                       "note": "too small", "idempotency_key": "one" });
    let first = me.ok("onx_create_return", flat.clone()).await;
    insta::assert_json_snapshot!(redacted(without_page(first["return"].clone())), @r#"
    {
      "createdAt": "2026-11-15T08:00:00Z",
      "customFields": [
        {
          "name": "currency",
          "value": "USDC"
        }
      ],
      "customerNote": "too small",
      "id": "ret_[id]",
      "labels": [],
      "orderId": "ord_[id]",
      "outcome": "refund",
      "requestedAt": "2026-11-15T08:00:00Z",
      "returnLineItems": [
        {
          "name": "Eel, Moving",
          "orderLineItemId": "line_[id]",
          "quantityReturned": 1,
          "returnReason": "size_issue",
          "sku": "LN-152",
          "unitPrice": 68.0
        }
      ],
      "status": "requested",
      "tenantId": "kivikiri",
      "totalQuantity": 1,
      "updatedAt": "2026-11-15T08:00:00Z"
    }
    "#);
    let again = me.ok("onx_create_return", flat.clone()).await;
    assert_eq!(again["return"]["id"], first["return"]["id"], "the same idempotency key");
    let mut other = flat;
    other["reason"] = json!("other");
    assert_eq!(me.refused("onx_create_return", other).await["error"], "idempotency_conflict");

    let item = json!({ "orderLineItemId": line, "sku": sku, "quantityReturned": 1, "returnReason": "defective" });
    let onx = json!({ "orderId": order, "outcome": "exchange", "returnLineItems": [item] });
    let second = me.ok("onx_create_return", json!({ "return": onx })).await;
    assert_eq!(second["return"]["outcome"], "exchange");
    let check = me.ok("check_return_eligibility", of_order).await;
    assert_eq!(check["items"][0]["reason"], "already_returned");

    check_filters(&me, order, second["return"]["id"].as_str().unwrap().parse().unwrap()).await;
}

/// Approves one of two returns and lists them with each filter.
async fn check_filters(me: &Shopper<'_>, order: OrderId, id: ReturnId) {
    let approve = ReturnAction::Approve { instructions: Some(String::from("Dock 9")) };
    orders::change_return(&me.merchant(), order, id, None, approve).await.unwrap();
    for (arguments, count) in [
        (json!({}), 2),
        (json!({ "ids": [id] }), 1),
        (json!({ "orderIds": [order], "statuses": ["requested"] }), 1),
        (json!({ "outcomes": ["exchange"], "statuses": ["approved"] }), 1),
        (json!({ "outcomes": ["store_credit"] }), 0),
        (json!({ "returnNumbers": ["R-1"] }), 0),
        (json!({ "returnNumbers": [] }), 2),
        (json!({ "updatedAtMin": "2027-01-01T00:00:00Z" }), 0),
        (json!({ "skip": 1 }), 1),
        (json!({ "pageSize": 1 }), 1),
    ] {
        let found = me.ok("onx_get_returns", arguments.clone()).await;
        assert_eq!(found["returns"].as_array().unwrap().len(), count, "{arguments}");
    }
    let approved = me.ok("onx_get_returns", json!({ "ids": [id] })).await;
    assert_eq!(approved["returns"][0]["returnInstructions"], "Dock 9");
}

/// Removes the link to the page of the order, whose token differs.
fn without_page(mut record: Value) -> Value {
    let page = record.as_object_mut().unwrap().remove("statusPageUrl").unwrap();
    assert!(page.as_str().unwrap().contains("/orders/ord_"), "{page}");
    record
}

#[tokio::test]
async fn an_order_is_changed_and_canceled_before_it_is_prepared() {
    let app = TestApp::start().await;
    let me = shopper(&app).await;
    let order = me.buy(2).await;
    let (line, sku) = me.line(order).await;
    let address = json!({ "address1": "Lane 2", "address2": "c/o Berg", "city": "Turku", "country": "ee",
                          "firstName": "Eva", "lastName": "Berg" });
    let update = json!({ "id": order, "updates": { "shippingAddress": address, "orderNote": "ring twice" } });
    let refused = me.refused("onx_update_order", update.clone()).await;
    assert_eq!(refused["error"], "confirmation_required", "a person approved the address");
    assert_eq!(refused["details"]["reason"], "approved_by_person");
    let found = me.ok("get_order_status", json!({ "order_id": order })).await;
    assert_eq!(refused["details"]["order_page"], found["permalink_url"]);
    let unchanged = (&found["version"], &found["shipping_address"]["city"]);
    assert_eq!(unchanged, (&json!(1), &json!("Turku")));
    // As if only the agent stated that a person approved.
    sqlx::query("UPDATE placed_order SET confirmation_level = 'attested', confirmation_id = NULL")
        .execute(&mut app.test.raw().await)
        .await
        .unwrap();
    for _ in 0..2 {
        let updated = me.ok("onx_update_order", update.clone()).await["order"].clone();
        let shown = &updated["shippingAddress"];
        assert_eq!(
            *shown,
            json!({ "address1": "Lane 2, c/o Berg", "city": "Turku", "country": "EE",
                    "firstName": "Eva", "lastName": "Berg" })
        );
        assert_eq!(updated["orderNote"], "ring twice");
    }
    let history = &me.ok("get_order_status", json!({ "order_id": order })).await["status_history"];
    assert_eq!(history.as_array().unwrap().len(), 2, "repeating changes nothing: {history}");
    assert_eq!(history[1]["actor"], "agent");

    let one = json!({ "orderId": order, "reason": "changed mind", "notes": "one is enough",
                      "lineItems": [{ "sku": sku, "quantity": 1, "id": line }] });
    let partly = me.ok("onx_cancel_order", one).await["order"].clone();
    assert_eq!(
        (&partly["status"], &partly["orderNote"]),
        (&json!("pending"), &json!("changed mind\none is enough"))
    );
    assert_eq!(custom(&partly["lineItems"][0], "canceled"), "1");
    let by_sku = json!({ "order_id": order, "lineItems": [{ "sku": sku, "quantity": 1 }] });
    assert_eq!(me.ok("onx_cancel_order", by_sku).await["order"]["status"], "pending");
    let rest = me.ok("onx_cancel_order", json!({ "orderId": order })).await;
    assert_eq!(rest["order"]["status"], "canceled");
    let status = me.ok("get_order_status", json!({ "order_id": order })).await;
    assert!(status.get("next_expected_event").is_none(), "{status}");
    let again = me.refused("onx_cancel_order", json!({ "orderId": order })).await;
    assert_eq!(
        (&again["error"], &again["details"]["from"]),
        (&json!("invalid_status_transition"), &json!("canceled"))
    );
}

#[tokio::test]
async fn a_dispute_is_opened_and_followed_and_feedback_recorded() {
    let app = TestApp::start().await;
    let me = shopper(&app).await;
    let order = me.buy(1).await;
    let open = json!({ "order_id": order, "reason": "not_received", "statement": "It never came.",
                       "evidence": ["https://files.example/a.jpg"], "idempotency_key": "d" });
    let opened = me.ok("open_dispute", open.clone()).await;
    assert_eq!((&opened["status"], &opened["opened_by"]), (&json!("open"), &json!("agent")));
    let id = opened["dispute_id"].clone();
    assert_eq!(me.ok("open_dispute", open).await["dispute_id"], id, "the same idempotency key");
    let read = me.ok("get_dispute", json!({ "dispute_id": id })).await;
    assert_eq!(read["statements"][0]["statement"], "It never came.");
    let second = json!({ "order_id": order, "reason": "other", "statement": "again" });
    let refused = me.refused("open_dispute", second).await;
    assert_eq!(refused["error"], "invalid_status_transition");
    let details = &refused["details"];
    assert_eq!((&details["dispute_id"], &details["from"]), (&id, &json!("open")));
    let adjustments = &me.ok("get_order_status", json!({ "order_id": order })).await["adjustments"];
    assert_eq!(adjustments[0]["id"], id);

    for outcome in ["problem_unresolved", "problem_resolved"] {
        let feedback = json!({ "order_id": order, "outcome": outcome, "note": "slow" });
        let recorded = me.ok("submit_agent_feedback", feedback).await;
        assert_eq!(recorded, json!({ "order_id": order, "outcome": outcome }));
    }
    let stored: Vec<String> = sqlx::query_scalar("SELECT outcome FROM order_feedback")
        .fetch_all(&mut app.test.raw().await)
        .await
        .unwrap();
    assert_eq!(stored, ["problem_resolved"]);
}
