//! Placing an order: once, with its event, exactly as given.

use std::time::Duration;

use database::Work;
use orders::Order;
use primitives::{CartId, CheckoutId, Currency, Id, Money};
use serde_json::{Value, json};

use crate::shop::{Shop, constraint, order};

const ORDERS: &str = "SELECT count(*) FROM placed_order";
const PUBLISHED: &str = "SELECT count(*) FROM outbox WHERE topic = 'order.created'";

#[tokio::test]
async fn a_checkout_session_has_one_order() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let second = Order { checkout: CheckoutId::from_random(1), ..order(2) };
    assert_eq!(constraint(shop.place(&second).await), "placed_order_merchant_id_checkout_id_key");
    assert_eq!((shop.count(ORDERS).await, shop.count(PUBLISHED).await), (1, 1));
}

#[tokio::test]
async fn a_cart_has_one_order() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let second = Order { cart: CartId::from_random(1), ..order(2) };
    assert_eq!(constraint(shop.place(&second).await), "placed_order_merchant_id_cart_id_key");
    assert_eq!((shop.count(ORDERS).await, shop.count(PUBLISHED).await), (1, 1));
}

#[tokio::test]
async fn of_two_concurrent_orders_of_a_checkout_session_one_is_placed() {
    let shop = Shop::open().await;
    let (first, second) = (order(1), Order { checkout: CheckoutId::from_random(1), ..order(2) });
    let (one, two) = tokio::join!(shop.place(&first), shop.place(&second));
    assert!(one.is_ok() ^ two.is_ok(), "{one:?} {two:?}");
    assert_eq!((shop.count(ORDERS).await, shop.count(PUBLISHED).await), (1, 1));
}

#[tokio::test]
async fn an_order_and_its_event_exist_only_if_the_transaction_commits() {
    let shop = Shop::open().await;
    let mut work = Work::for_checkout(shop.test.database(), shop.merchant).await.unwrap();
    orders::place(&mut work, shop.merchant, "attic", &order(1)).await.unwrap();
    work.rollback().await.unwrap();
    assert_eq!((shop.count(ORDERS).await, shop.count(PUBLISHED).await), (0, 0));
}

#[tokio::test]
async fn a_sandbox_order_publishes_no_event() {
    let shop = Shop::open().await;
    shop.place(&Order { is_sandbox: true, ..order(1) }).await.unwrap();
    assert_eq!((shop.count(ORDERS).await, shop.count(PUBLISHED).await), (1, 0));
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one snapshot")]
async fn every_field_of_an_order_is_stored() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let stored: Value = sqlx::query_scalar("SELECT to_jsonb(placed_order) FROM placed_order")
        .fetch_one(&mut shop.test.raw().await)
        .await
        .unwrap();
    insta::assert_json_snapshot!(stored, @r#"
    {
      "agent_key_id": "00000000-0000-0000-0000-000000000001",
      "agent_name": "helper",
      "buyer": {
        "email": "eve@example.com"
      },
      "cart_id": "00000000-0000-0000-0000-000000000001",
      "checkout_id": "00000000-0000-0000-0000-000000000001",
      "confirmation_id": "00000000-0000-0000-0000-000000000001",
      "confirmation_level": "hosted",
      "created_at": "2026-11-15T08:00:00+00:00",
      "currency": "EUR",
      "delivered_at": null,
      "destination": null,
      "is_paid_late": false,
      "is_sandbox": false,
      "lines": [
        {
          "line": "line_00000000000000000000000000000001",
          "name": "Mug “Blå” 🫖",
          "product": "prod_00000000000000000000000000000001",
          "quantity": 2,
          "sku": "MUG-1",
          "total_minor": 2499,
          "unit_minor": 1250,
          "variant": "var_00000000000000000000000000000001"
        },
        {
          "line": "line_00000000000000000000000000000065",
          "name": "Mug “Blå” 🫖",
          "product": "prod_00000000000000000000000000000002",
          "quantity": 2,
          "sku": "MUG-1",
          "total_minor": 1,
          "unit_minor": 1250
        }
      ],
      "merchant_id": "00000000-0000-0000-0000-000000000001",
      "note": null,
      "order_id": "00000000-0000-0000-0000-000000000001",
      "payment_provider": "test",
      "payment_reference": "ref-1",
      "payment_status": "paid",
      "promised_by": null,
      "quote_hash": "\\xabababababababababababababababababababababababababababababababab",
      "refunded_minor": 0,
      "returnable_until": null,
      "same_address": null,
      "shipping_minor": null,
      "status": "pending",
      "tax_minor": null,
      "terms": {
        "items": [
          {
            "quantity": 2
          }
        ],
        "rate": 0.19,
        "total": "29.90"
      },
      "total_minor": 2990,
      "updated_at": "2026-11-15T08:00:00+00:00",
      "version": 1
    }
    "#);
}

#[tokio::test]
async fn the_event_has_the_total_and_the_lines_of_the_order() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let body: Vec<u8> = sqlx::query_scalar("SELECT body FROM webhook_body")
        .fetch_one(&mut shop.test.raw().await)
        .await
        .unwrap();
    let mut body: Value = serde_json::from_slice(&body).unwrap();
    body["id"] = json!("[id]");
    insta::assert_json_snapshot!(body, @r#"
    {
      "agentInitiated": true,
      "checkoutId": "chk_00000000000000000000000000000001",
      "currency": "EUR",
      "event": "order.created",
      "humanConfirmation": {
        "level": "hosted",
        "required": true
      },
      "id": "[id]",
      "items": [
        {
          "lineId": "line_00000000000000000000000000000001",
          "productId": "prod_00000000000000000000000000000001",
          "quantity": 2,
          "sku": "MUG-1",
          "unitPrice": 12.5,
          "variantId": "var_00000000000000000000000000000001"
        },
        {
          "lineId": "line_00000000000000000000000000000065",
          "productId": "prod_00000000000000000000000000000002",
          "quantity": 2,
          "sku": "MUG-1",
          "unitPrice": 12.5
        }
      ],
      "merchantSlug": "attic",
      "orderId": "ord_00000000000000000000000000000001",
      "sequence": 1,
      "status": "pending",
      "timestamp": "2026-11-15T08:00:00Z",
      "totalAmount": 29.9
    }
    "#);
}

#[tokio::test]
async fn an_order_is_read_exactly_as_it_was_placed() {
    let shop = Shop::open().await;
    let mut largest = Order { total: Money::new(i64::MAX, Currency::Usdc), ..order(1) };
    (largest.lines[0].unit_minor, largest.lines[0].total_minor) = (i64::MAX, i64::MAX - 1);
    largest.lines[1].quantity = u32::MAX;
    let least = Order {
        total: Money::new(0, Currency::EUR),
        terms: json!({ "rate": 0.1, "large": i64::MAX, "none": null }),
        confirmation_id: None,
        buyer: None,
        ..order(2)
    };
    for expected in [largest, least] {
        shop.place(&expected).await.unwrap();
        assert_eq!(shop.read(expected.id, None).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn the_delivery_that_the_terms_promise_is_stored() {
    let shop = Shop::open().await;
    for (number, days_max) in [(1, 4), (2, 0)] {
        let terms = json!({ "shipping": { "days_min": 0, "days_max": days_max } });
        shop.place(&Order { terms, ..order(number) }).await.unwrap();
        let promised = shop.read(order(number).id, None).await.unwrap().promised_by;
        let slowest = Duration::from_hours(days_max * 24);
        assert_eq!(promised, Some(order(number).created_at.plus(slowest)));
    }
}

#[tokio::test]
async fn a_negative_total_and_an_order_without_lines_are_rejected() {
    let shop = Shop::open().await;
    let negative = Order { total: Money::new(-1, Currency::EUR), ..order(1) };
    // The refunds, 0, are above the total.
    assert_eq!(constraint(shop.place(&negative).await), "placed_order_refunded");
    let empty = Order { lines: Vec::new(), ..order(1) };
    assert_eq!(constraint(shop.place(&empty).await), "placed_order_lines_check");
}
