//! From the confirmation to the delivery: every edge of the state machine, and what each verb refuses.

use std::collections::BTreeSet;
use std::time::Duration;

use database::Work;
use jobs::{IdempotencyError, IdempotencyKey};
use orders::{
    ActorKind, CancelReason, Cancellation, Changed, CompleteOrders, HistoryKind, LineUnits, Order,
    OrderContext, OrderDetails, OrderError, OrderStatus, OrderUpdate, PaymentStatus, Shipment,
    TRANSITIONS,
};
use primitives::{FulfillmentId, Id, LineId, OrderId, Timestamp};
use serde_json::{Value, json};

use crate::shop::{Shop, order};

/// Units of the line with this number.
pub(crate) fn units(line: u128, quantity: u32) -> LineUnits {
    LineUnits { line: LineId::from_random(line), quantity }
}

fn shipment(items: &[LineUnits]) -> Shipment {
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

/// One step of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Confirm,
    Review,
    Process,
    ShipOne,
    ShipRest,
    Deliver,
    CancelOne,
    CancelRest,
    FailPayment,
    Update,
    /// The return window ends, and the job runs.
    Complete,
}

impl Shop {
    /// Acts on the order with this number, whose first line has the same number.
    async fn act(
        &self,
        context: &OrderContext<'_>,
        number: u128,
        step: Step,
    ) -> Result<Changed, OrderError> {
        let id = order(number).id;
        let cancellation = |items| Cancellation { items, reason: CancelReason::Other, note: None };
        match step {
            Step::Confirm => orders::confirm(context, id, None).await,
            Step::Review => orders::hold_for_review(context, id, None).await,
            Step::Process => orders::start_processing(context, id, None).await,
            Step::ShipOne => orders::ship(context, id, None, shipment(&[units(number, 1)])).await,
            Step::ShipRest => orders::ship(context, id, None, Shipment::default()).await,
            Step::Deliver => orders::deliver(context, id, None, Vec::new()).await,
            Step::CancelOne => {
                orders::cancel(context, id, None, cancellation(vec![units(number + 100, 1)])).await
            }
            Step::CancelRest => orders::cancel(context, id, None, cancellation(Vec::new())).await,
            Step::FailPayment => {
                orders::set_payment_status(context, id, PaymentStatus::Failed).await
            }
            Step::Update => {
                let note = Some(String::from("Ring twice."));
                orders::update(context, id, None, OrderUpdate { note, destination: None }).await
            }
            Step::Complete => {
                self.test.clock().advance(Duration::from_hours(14 * 24));
                self.run::<CompleteOrders>().await;
                Ok(Changed { details: self.details(id).await, subject: None })
            }
        }
    }

    /// Places the order with this number and leads it to a status.
    async fn lead(&self, number: u128, to: OrderStatus) {
        use Step::{
            CancelRest, Complete, Confirm, Deliver, FailPayment, Process, Review, ShipOne, ShipRest,
        };
        let steps: &[Step] = match to {
            OrderStatus::Pending => &[],
            OrderStatus::Confirmed => &[Confirm],
            OrderStatus::Processing => &[Process],
            OrderStatus::PartiallyShipped => &[ShipOne],
            OrderStatus::Shipped => &[ShipRest],
            OrderStatus::Delivered => &[ShipRest, Deliver],
            OrderStatus::Completed => &[ShipRest, Deliver, Complete],
            OrderStatus::ManualReview => &[Review],
            OrderStatus::Canceled => &[CancelRest],
            OrderStatus::Failed => &[FailPayment],
        };
        self.place(&order(number)).await.unwrap();
        for step in steps {
            self.act(&self.as_merchant(), number, *step).await.unwrap();
        }
        assert_eq!(self.read(order(number).id, None).await.unwrap().status, to);
    }

    /// Leads an order to each status and acts on it, and returns the outcome: the new status, `=` if nothing changed,
    /// `+` if the history has another entry, or `-` if the step was refused because of the status.
    async fn outcomes(&self, context: &OrderContext<'_>, steps: &[Step]) -> String {
        let (mut table, mut number) = (String::new(), 0);
        for status in OrderStatus::ALL {
            table.extend(["\n", status.as_str(), ":"]);
            for step in steps {
                number += 1;
                self.lead(number, *status).await;
                let before = self.details(order(number).id).await;
                let acted = self.act(context, number, *step).await;
                let after = self.details(order(number).id).await;
                let outcome = match acted {
                    Err(OrderError::InvalidTransition { from }) => {
                        assert_eq!((from, &after), (*status, &before));
                        "-"
                    }
                    Err(error) => panic!("{status} {step:?}: {error}"),
                    Ok(changed) => {
                        assert_eq!(changed.details, after);
                        match after.order.status {
                            now if now != *status => now.as_str(),
                            _ if after == before => "=",
                            _ => "+",
                        }
                    }
                };
                table.extend([" ", outcome]);
            }
        }
        table
    }
}

#[tokio::test]
async fn every_verb_of_the_merchant_does_in_every_status_what_the_table_says() {
    use Step::{
        CancelOne, CancelRest, Confirm, Deliver, Process, Review, ShipOne, ShipRest, Update,
    };
    let shop = Shop::open().await;
    let steps =
        [Confirm, Review, Process, ShipOne, ShipRest, Deliver, CancelOne, CancelRest, Update];
    insta::assert_snapshot!(shop.outcomes(&shop.as_merchant(), &steps).await, @r#"
    pending: confirmed manual_review processing partially_shipped shipped - + canceled +
    confirmed: = manual_review processing partially_shipped shipped - + canceled +
    processing: = - = partially_shipped shipped - + canceled +
    partially_shipped: = - = + shipped + + shipped -
    shipped: = - = - - delivered - - -
    delivered: = - = - - = - - -
    completed: = - = - - = - - -
    manual_review: confirmed = - - - - + canceled +
    canceled: - - - - - - - - -
    failed: - - - - - - - - -
    "#);
}

#[tokio::test]
async fn agents_and_buyers_cancel_until_the_merchant_processes_the_order_and_change_it_until_it_is_shipped()
 {
    let shop = Shop::open().await;
    let steps = [Step::CancelOne, Step::CancelRest, Step::Update];
    let by_agent = shop.outcomes(&shop.as_agent(1), &steps).await;
    insta::assert_snapshot!(by_agent, @r#"
    pending: + canceled +
    confirmed: + canceled +
    processing: - - +
    partially_shipped: - - -
    shipped: - - -
    delivered: - - -
    completed: - - -
    manual_review: + canceled +
    canceled: - - -
    failed: - - -
    "#);
    let buyer = shop.acting(orders::Actor::BUYER, orders::Viewer::All);
    shop.lead(51, OrderStatus::Processing).await;
    let refused = shop.act(&buyer, 51, Step::CancelRest).await;
    assert!(matches!(refused, Err(OrderError::InvalidTransition { .. })), "{refused:?}");
    shop.lead(52, OrderStatus::Confirmed).await;
    shop.act(&buyer, 52, Step::CancelRest).await.unwrap();
}

#[tokio::test]
async fn the_verbs_make_exactly_the_transitions_of_the_table() {
    use Step::{
        CancelOne, CancelRest, Complete, Confirm, Deliver, FailPayment, Process, Review, ShipOne,
        ShipRest,
    };
    let shop = Shop::open().await;
    let mut made = BTreeSet::new();
    let scripts: [&[Step]; 9] = [
        &[Confirm, Process, ShipOne, ShipOne, CancelOne, ShipRest, Deliver, Complete],
        &[Review, Confirm, Review, CancelRest],
        &[Confirm, Review, Confirm, CancelRest],
        &[CancelOne, CancelRest],
        &[Process, CancelRest],
        &[ShipRest, Deliver, Complete],
        &[ShipOne, Deliver, CancelRest, Complete],
        &[ShipOne, CancelRest, Deliver],
        &[FailPayment],
    ];
    for (number, script) in (1..).zip(scripts) {
        shop.place(&order(number)).await.unwrap();
        for step in script {
            shop.act(&shop.as_merchant(), number, *step).await.unwrap();
        }
        let history = shop.details(order(number).id).await.history;
        let transitions = history.iter().filter(|it| it.kind == HistoryKind::StatusChanged);
        made.extend(transitions.map(|it| (it.previous_status, it.status)));
    }
    let table: BTreeSet<_> = TRANSITIONS.iter().map(|(from, _, to)| (*from, *to)).collect();
    assert_eq!(made, table);
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
    assert_eq!((field.as_str(), shop.details(id).await.fulfillments.len()), ("fulfillments", 50));
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

#[tokio::test]
async fn a_change_is_made_to_the_expected_version_only() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let (merchant, id) = (shop.as_merchant(), order(1).id);
    orders::start_processing(&merchant, id, Some(1)).await.unwrap();
    let before = shop.details(id).await;
    let (update, all) = (OrderUpdate::default(), Vec::new());
    let cancellation = Cancellation { items: Vec::new(), reason: CancelReason::Other, note: None };
    for version in [1, 2, 4] {
        let version = Some(version);
        for result in [
            orders::confirm(&merchant, id, version).await,
            orders::hold_for_review(&merchant, id, version).await,
            orders::start_processing(&merchant, id, version).await,
            orders::ship(&merchant, id, version, Shipment::default()).await,
            orders::deliver(&merchant, id, version, all.clone()).await,
            orders::cancel(&merchant, id, version, cancellation.clone()).await,
            orders::update(&merchant, id, version, update.clone()).await,
        ] {
            assert!(
                matches!(result, Err(OrderError::VersionConflict { current: 3 })),
                "{result:?}"
            );
        }
    }
    assert_eq!(shop.details(id).await, before);
}

#[tokio::test]
async fn a_repeated_request_is_executed_once() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let id = order(1).id;
    let key = |request: Value| {
        IdempotencyKey::new(shop.merchant, &"skey_1", "k-1", ("ship", &request)).unwrap()
    };
    let (one, other) = (key(json!({ "units": 1 })), key(json!({ "units": 2 })));
    let shipped = async |key: &IdempotencyKey| {
        let context = OrderContext { idempotency_key: Some(key), ..shop.as_merchant() };
        orders::ship(&context, id, Some(1), shipment(&[units(1, 1)])).await
    };
    let (first, second) = tokio::join!(shipped(&one), shipped(&one));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert!(first.subject.is_some());
    assert_eq!((&first.subject, &first.details), (&second.subject, &second.details));
    let conflict = shipped(&other).await;
    let is_conflict = matches!(conflict, Err(OrderError::Idempotency(IdempotencyError::Conflict)));
    assert!(is_conflict, "{conflict:?}");
    assert_eq!(shop.details(id).await, first.details);
    // Another agent does not learn of it.
    let key = key(json!({ "units": 1 }));
    let foreign = OrderContext { idempotency_key: Some(&key), ..shop.as_agent(2) };
    let replayed = orders::ship(&foreign, id, Some(1), shipment(&[units(1, 1)])).await;
    assert!(matches!(replayed, Err(OrderError::NotFound)), "{replayed:?}");
}

#[tokio::test]
async fn a_refused_request_does_not_use_up_its_idempotency_key() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let key = IdempotencyKey::new(shop.merchant, &"skey_1", "k-1", ("ship", &json!({}))).unwrap();
    let context = OrderContext { idempotency_key: Some(&key), ..shop.as_merchant() };
    let refused = orders::deliver(&context, order(1).id, None, Vec::new()).await;
    assert!(matches!(refused, Err(OrderError::InvalidTransition { .. })), "{refused:?}");
    let confirmed = orders::confirm(&context, order(1).id, None).await.unwrap();
    assert_eq!(confirmed.details.order.status, OrderStatus::Confirmed);
}

#[tokio::test]
async fn an_order_that_the_caller_does_not_see_cannot_be_changed() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    shop.place(&order(1)).await.unwrap();
    shop.place(&Order { is_sandbox: true, ..order(2) }).await.unwrap();
    let (agent, merchant) = (shop.as_agent(2), shop.as_merchant());
    let elsewhere = OrderContext { merchant: other, ..shop.as_merchant() };
    let unknown = OrderId::from_random(9);
    for (context, id) in [
        (&agent, order(1).id),
        (&elsewhere, order(1).id),
        (&merchant, order(2).id),
        (&merchant, unknown),
    ] {
        let changed = orders::confirm(context, id, None).await;
        assert!(matches!(changed, Err(OrderError::NotFound)), "{changed:?}");
    }
}

#[tokio::test]
async fn a_sandbox_order_has_a_history_and_no_events() {
    let shop = Shop::open().await;
    shop.place(&Order { is_sandbox: true, ..order(1) }).await.unwrap();
    let context = shop.acting(orders::Actor::SYSTEM, orders::Viewer::All);
    for step in [Step::ShipOne, Step::CancelRest, Step::Deliver] {
        shop.act(&context, 1, step).await.unwrap();
    }
    let details = shop.details(order(1).id).await;
    assert_eq!(details.order.status, OrderStatus::Delivered);
    assert_eq!(shop.count("SELECT count(*) FROM webhook_event").await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM outbox WHERE topic LIKE 'order.%'").await, 0);
}

#[tokio::test]
async fn history_and_refunds_cannot_be_rewritten() {
    let shop = Shop::open().await;
    shop.lead(1, OrderStatus::Delivered).await;
    for statement in [
        "UPDATE order_history SET reason = 'other'",
        "DELETE FROM order_history",
        "UPDATE order_fulfillment SET carrier = 'other'",
        "DELETE FROM order_fulfillment",
        "UPDATE order_refund SET amount_minor = 1",
        "DELETE FROM order_refund",
    ] {
        let mut work = Work::for_checkout(shop.test.database(), shop.merchant).await.unwrap();
        let refused = sqlx::raw_sql(statement).execute(work.sql()).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{statement}: {refused}");
    }
    for table in ["order_history", "order_fulfillment", "order_refund", "placed_order"] {
        let mut work = Work::for_store(shop.test.database(), shop.merchant).await.unwrap();
        let insert = format!("INSERT INTO {table} SELECT * FROM {table}");
        let refused = sqlx::raw_sql(sqlx::AssertSqlSafe(insert)).execute(work.sql()).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("permission denied"), "{table}: {refused}");
    }
}
