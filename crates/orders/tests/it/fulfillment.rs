//! Shipments and deliveries: what each records, and what is refused.

use std::time::Duration;

use database::Reading;
use orders::{
    ActorKind, HistoryKind, LineUnits, Order, OrderDetails, OrderError, OrderStatus, Shipment,
    Viewer,
};
use primitives::{FulfillmentId, Id, LineId, Timestamp};
use serde_json::{Value, json};

use crate::machine::Step;
use crate::shop::{Shop, order};
/// Units of the line with this number.
pub(crate) fn units(line: u128, quantity: u32) -> LineUnits {
    LineUnits { line: LineId::from_random(line), quantity }
}

/// A shipment of these units.
pub(crate) fn shipment(items: &[LineUnits]) -> Shipment {
    Shipment { items: items.to_vec(), ..Shipment::default() }
}

/// Returns the names of the kinds of all entries, with the status after each transition.
pub(crate) fn story(details: &OrderDetails) -> Vec<String> {
    let entry = |it: &orders::HistoryEntry| match it.kind {
        HistoryKind::StatusChanged => it.status.to_string(),
        kind => format!("({kind})"),
    };
    details.history.iter().map(entry).collect()
}
#[tokio::test]
async fn a_shipment_confirms_and_processes_the_order_and_records_each_step() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    shop.test.clock().advance(Duration::from_secs(5));
    let now = order(1).created_at.plus(Duration::from_secs(5));
    let expected_by = now.plus(Duration::from_hours(48));
    let sent = Shipment {
        items: vec![units(101, 1), units(1, 1), units(101, 1)],
        carrier: Some(String::from(" Post\u{0}\n<b>Nord</b> ")),
        tracking_number: Some(String::from("JD 014")),
        tracking_url: Some(String::from("HTTPS://Track.example/JD 014")),
        expected_by: Some(expected_by),
    };
    let changed = orders::ship(&shop.as_merchant(), order(1).id, Some(1), sent).await.unwrap();
    let details = shop.details(order(1).id).await;
    assert_eq!(changed.details, details);
    assert_eq!(story(&details), ["confirmed", "processing", "(shipped)", "partially_shipped"]);
    let [fulfillment] = details.fulfillments.as_slice() else { panic!("{details:?}") };
    assert_eq!(changed.subject, Some(fulfillment.id.to_string()));
    assert_eq!(details.history[2].details, json!({ "fulfillment_id": fulfillment.id }));
    assert_eq!(fulfillment.items, [units(101, 2), units(1, 1)]);
    assert_eq!(fulfillment.carrier.as_deref(), Some("Post Nord"));
    assert_eq!(fulfillment.tracking_url.as_deref(), Some("https://track.example/JD%20014"));
    let times = (fulfillment.shipped_at, fulfillment.expected_by, fulfillment.delivered_at);
    assert_eq!(times, (now, Some(expected_by), None));
    let shipped: Vec<u32> = details.order.lines.iter().map(|line| line.shipped).collect();
    assert_eq!((shipped, details.order.updated_at), (vec![1, 2], now));
    for entry in &details.history {
        let by = (entry.actor.kind, entry.actor.id.as_deref(), entry.occurred_at);
        assert_eq!(by, (ActorKind::Merchant, Some("skey_1"), now));
    }
    let events = shop.events(order(1).id, "order.status_changed").await;
    let of_shipment = events.iter().find(|it| it["status"] == "partially_shipped").unwrap();
    let mut body = of_shipment.clone();
    (body["id"], body["fulfillment"]["id"]) = (json!("[id]"), json!("[id]"));
    insta::assert_json_snapshot!(body, @r#"
    {
      "changedBy": "merchant",
      "currency": "EUR",
      "event": "order.status_changed",
      "fulfillment": {
        "carrier": "Post Nord",
        "id": "[id]",
        "items": [
          {
            "lineId": "line_00000000000000000000000000000065",
            "quantity": 2
          },
          {
            "lineId": "line_00000000000000000000000000000001",
            "quantity": 1
          }
        ],
        "trackingNumber": "JD 014",
        "trackingUrl": "https://track.example/JD%20014"
      },
      "id": "[id]",
      "merchantSlug": "attic",
      "orderId": "ord_00000000000000000000000000000001",
      "previousStatus": "processing",
      "reason": null,
      "sequence": 5,
      "status": "partially_shipped",
      "timestamp": "2026-11-15T08:00:05Z",
      "totalAmount": 29.9
    }
    "#);
    let others = events.iter().filter(|it| it["status"] != "partially_shipped");
    assert!(others.map(|it| &it["fulfillment"]).all(Value::is_null));
}

#[tokio::test]
async fn a_further_part_is_recorded_without_a_transition() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let (merchant, id) = (shop.as_merchant(), order(1).id);
    for part in [units(1, 1), units(101, 1), units(101, 1), units(1, 1)] {
        orders::ship(&merchant, id, None, shipment(&[part])).await.unwrap();
    }
    let details = shop.details(id).await;
    let parts =
        ["(shipped)", "partially_shipped", "(shipped)", "(shipped)", "(shipped)", "shipped"];
    assert_eq!(story(&details)[2..], parts);
    assert_eq!(details.fulfillments.len(), 4);
}

#[tokio::test]
async fn a_shipment_names_lines_of_the_order_and_no_more_units_than_are_left() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let (merchant, id) = (shop.as_merchant(), order(1).id);
    let shipped = async |items: &[LineUnits]| match orders::ship(
        &merchant,
        id,
        None,
        shipment(items),
    )
    .await
    {
        Err(OrderError::UnknownLine { field }) => format!("unknown {field}"),
        Err(OrderError::QuantityExceeded { field, requested, available }) => {
            format!("{field}: {requested} of {available}")
        }
        Err(OrderError::InvalidField { field, allowed }) => format!("{field}: {allowed}"),
        other => panic!("{other:?}"),
    };
    assert_eq!(shipped(&[units(9, 1)]).await, "unknown items[0].line_id");
    assert_eq!(shipped(&[units(1, 1), units(2, 1)]).await, "unknown items[1].line_id");
    assert_eq!(shipped(&[units(1, 0)]).await, "items[0].quantity: at least 1");
    assert_eq!(shipped(&[units(1, 3)]).await, "items[0].quantity: 3 of 2");
    assert_eq!(shipped(&[units(1, 1), units(101, 3)]).await, "items[1].quantity: 3 of 2");
    assert_eq!(shipped(&[units(1, 1), units(1, 2)]).await, "items[0].quantity: 3 of 2");
    let too_many = [units(1, u32::MAX), units(1, 1)];
    assert_eq!(shipped(&too_many).await, format!("items[0].quantity: {} of 2", u32::MAX));
    let details = shop.details(id).await;
    assert_eq!(details.order, shop.read(id, None).await.unwrap());
    assert_eq!((details.order.version, details.fulfillments.len()), (1, 0));
    orders::ship(&merchant, id, None, shipment(&[units(1, 1)])).await.unwrap();
    assert_eq!(shipped(&[units(1, 2)]).await, "items[0].quantity: 2 of 1");
}

#[tokio::test]
async fn texts_of_a_shipment_are_checked() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let long = "x".repeat(101);
    let long_url = format!("https://a.example/{}", "x".repeat(1_990));
    for (field, value) in [
        ("carrier", long.as_str()),
        ("tracking_number", &long),
        ("tracking_url", "javascript:alert(1)"),
        ("tracking_url", "track.example"),
        ("tracking_url", &long_url),
    ] {
        let text = |name| (name == field).then(|| value.to_owned());
        let sent = Shipment {
            carrier: text("carrier"),
            tracking_number: text("tracking_number"),
            tracking_url: text("tracking_url"),
            ..Shipment::default()
        };
        let refused = orders::ship(&shop.as_merchant(), order(1).id, None, sent).await;
        let Err(OrderError::InvalidField { field: named, .. }) = refused else {
            panic!("{field}: {refused:?}")
        };
        assert_eq!(named, field);
    }
    let empty = Some(String::from(" "));
    let sent = Shipment { carrier: empty.clone(), tracking_url: empty, ..Shipment::default() };
    let shipped = orders::ship(&shop.as_merchant(), order(1).id, None, sent).await.unwrap();
    let fulfillment = &shipped.details.fulfillments[0];
    assert_eq!((&fulfillment.carrier, &fulfillment.tracking_url), (&None, &None));
}

#[tokio::test]
async fn the_announced_delivery_is_within_a_year() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let (merchant, id, now) = (shop.as_merchant(), order(1).id, order(1).created_at);
    let announce = async |expected_by| {
        let sent = Shipment { expected_by: Some(expected_by), ..shipment(&[units(1, 1)]) };
        orders::ship(&merchant, id, None, sent).await
    };
    let (year, micro) = (Duration::from_hours(365 * 24), Duration::from_micros(1));
    for wrong in [
        now.minus(year).minus(micro),
        now.plus(year).plus(micro),
        "0001-01-01T00:00:00Z".parse().unwrap(),
        "9999-12-31T23:59:59Z".parse().unwrap(),
    ] {
        let refused = announce(wrong).await;
        let Err(OrderError::InvalidField { field, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(field, "expected_by");
    }
    assert_eq!(shop.details(id).await.fulfillments, []);
    for right in [now.minus(year), now.plus(year)] {
        announce(right).await.unwrap();
    }
}

#[tokio::test]
async fn a_stored_time_out_of_range_is_an_error_of_its_order() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    orders::ship(&shop.as_merchant(), order(1).id, None, Shipment::default()).await.unwrap();
    let reading = Reading::for_store(shop.test.database(), shop.merchant).unwrap();
    for damage in [
        "UPDATE order_fulfillment SET expected_by = '0001-12-31 23:59:59+00 BC'",
        "UPDATE order_fulfillment SET expected_by = '10000-01-01 00:00:00+00'",
    ] {
        shop.execute(damage).await.unwrap();
        let read = orders::details(&reading, shop.merchant, order(1).id, &Viewer::All).await;
        assert!(matches!(read, Err(OrderError::Database(_))), "{read:?}");
    }
}

#[tokio::test]
async fn an_order_has_at_most_50_shipments() {
    let shop = Shop::open().await;
    let mut large = order(1);
    large.lines[0].quantity = 52;
    shop.place(&large).await.unwrap();
    let (merchant, id) = (shop.as_merchant(), large.id);
    for _ in 0..50 {
        orders::ship(&merchant, id, None, shipment(&[units(1, 1)])).await.unwrap();
    }
    let refused = orders::ship(&merchant, id, None, shipment(&[units(1, 1)])).await;
    let Err(OrderError::InvalidField { field, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((field.as_str(), shop.details(id).await.fulfillments.len()), ("order_id", 50));
}

#[tokio::test]
async fn of_concurrent_shipments_of_the_last_units_as_many_succeed_as_there_are_units() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let (merchant, id) = (shop.as_merchant(), order(1).id);
    let shipped = || orders::ship(&merchant, id, None, shipment(&[units(1, 1)]));
    orders::ship(&merchant, id, None, shipment(&[units(1, 1)])).await.unwrap();
    let (one, two, three) = tokio::join!(shipped(), shipped(), shipped());
    let results = [one, two, three];
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
    for refused in results.into_iter().filter_map(Result::err) {
        let is_exceeded = matches!(refused, OrderError::QuantityExceeded { available: 0, .. });
        assert!(is_exceeded, "{refused}");
    }
    // The very last units: the other shipment finds an order that is shipped.
    let rest = || orders::ship(&merchant, id, None, Shipment::default());
    let (one, two) = tokio::join!(rest(), rest());
    assert!(one.is_ok() ^ two.is_ok(), "{one:?} {two:?}");
    let refused = one.err().or(two.err()).unwrap();
    assert!(matches!(refused, OrderError::InvalidTransition { from: OrderStatus::Shipped }));
    let details = shop.details(id).await;
    assert_eq!((details.order.status, details.fulfillments.len()), (OrderStatus::Shipped, 3));
}

#[tokio::test]
async fn the_database_refuses_quantities_that_do_not_add_up() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    for sql in [
        "UPDATE placed_order SET lines = jsonb_set(lines, '{0,shipped}', '3')",
        "UPDATE placed_order SET lines = jsonb_set(jsonb_set(lines, '{0,shipped}', '1'), '{0,canceled}', '2')",
        "UPDATE placed_order SET lines = jsonb_set(lines, '{1,returned}', '1')",
        "UPDATE placed_order SET lines = jsonb_set(lines, '{1,canceled}', '-1')",
    ] {
        let refused = shop.execute(sql).await.unwrap_err();
        let constraint = refused.as_database_error().unwrap().constraint();
        assert_eq!(constraint, Some("placed_order_quantities"), "{sql}");
    }
}

#[tokio::test]
async fn an_order_is_delivered_with_its_last_fulfillment() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let (merchant, id) = (shop.as_merchant(), order(1).id);
    let mut parcels = Vec::new();
    for part in [units(1, 2), units(101, 1), units(101, 1)] {
        let shipped = orders::ship(&merchant, id, None, shipment(&[part])).await.unwrap();
        parcels.push(shipped.subject.unwrap().parse::<FulfillmentId>().unwrap());
    }
    let unknown = vec![parcels[1], FulfillmentId::from_random(9)];
    let refused = orders::deliver(&merchant, id, None, unknown).await;
    let Err(OrderError::InvalidField { field, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(field, "fulfillment_ids[1]");
    let version = shop.details(id).await.order.version;

    shop.test.clock().advance(Duration::from_hours(1));
    orders::deliver(&merchant, id, Some(version), vec![parcels[1]]).await.unwrap();
    // Nothing new.
    let again = orders::deliver(&merchant, id, Some(version + 1), vec![parcels[1]]).await.unwrap();
    assert_eq!((again.details.order.version, again.subject), (version + 1, None));
    assert_eq!(again.details.order.delivered_at, None);
    shop.test.clock().advance(Duration::from_hours(1));
    orders::deliver(&merchant, id, None, Vec::new()).await.unwrap();

    let details = shop.details(id).await;
    let end = ["shipped", "(delivered)", "(delivered)", "(delivered)", "delivered"];
    assert_eq!(story(&details)[story(&details).len() - 5..], end);
    let hours = |it: Option<Timestamp>| it.unwrap().since(order(1).created_at).as_secs() / 3_600;
    let delivered = details.fulfillments.iter().map(|it| hours(it.delivered_at));
    let mut delivered: Vec<u64> = delivered.collect();
    delivered.sort_unstable();
    assert_eq!((delivered, hours(details.order.delivered_at)), (vec![1, 2, 2], 2));
    assert_eq!(hours(details.order.returnable_until), 2 + 14 * 24);
    // Delivered already.
    orders::deliver(&merchant, id, None, parcels).await.unwrap();
    assert_eq!(shop.details(id).await, details);
}

#[tokio::test]
async fn the_terms_decide_how_long_items_can_be_returned() {
    let shop = Shop::open().await;
    let windows = [
        (json!({ "returns": { "window_days": 30 } }), 30),
        (json!({ "returns": { "window_days": 0 } }), 0),
        (json!({ "returns": { "window_days": null } }), 14),
    ];
    for (number, (terms, days)) in (1..).zip(windows) {
        shop.place(&Order { terms, ..order(number) }).await.unwrap();
        for step in [Step::ShipRest, Step::Deliver] {
            shop.act(&shop.as_merchant(), number, step).await.unwrap();
        }
        let delivered = shop.read(order(number).id, None).await.unwrap();
        let window = delivered.returnable_until.unwrap().since(delivered.delivered_at.unwrap());
        assert_eq!(window, Duration::from_hours(days * 24));
    }
}
