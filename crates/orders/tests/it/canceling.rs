//! Canceling units, changing what a buyer may change, and payments that are lost.

use catalog::ProductDraft;
use orders::{
    Actor, CancelReason, Cancellation, HistoryKind, LineUnits, Order, OrderContext, OrderError,
    OrderStatus, OrderUpdate, PaymentStatus, Shipment, Viewer,
};
use primitives::{Details, ErrorCode, HintNames, KeyId, Problem as _, VariantId};
use serde_json::{Value, json};

use crate::fulfillment::{story, units};
use crate::shop::{Shop, agent, order};

fn canceled(items: &[LineUnits], reason: CancelReason) -> Cancellation {
    Cancellation { items: items.to_vec(), reason, note: None }
}

/// Returns an order of the first variant of a shirt, twice, and of two mugs.
async fn stocked(shop: &Shop, number: u128) -> Order {
    let mut raw = shop.test.raw().await;
    let find = "SELECT product_id FROM product WHERE external_id = $1";
    let mut placed = order(number);
    for (line, external_id) in placed.lines.iter_mut().zip(["shirt", "mug"]) {
        line.product =
            sqlx::query_scalar(find).bind(external_id).fetch_one(&mut raw).await.unwrap();
    }
    let find = "SELECT variant_id FROM variant WHERE sku = 'S'";
    let variant: VariantId = sqlx::query_scalar(find).fetch_one(&mut raw).await.unwrap();
    placed.lines[0].variant = Some(variant);
    placed
}

impl Shop {
    /// Opens a store whose mug and shirt are sold out.
    async fn sold_out() -> Self {
        let shop = Self::open().await;
        let small = catalog::VariantDraft {
            sku: String::from("S"),
            price: Some(catalog::Amount::new("5")),
            stock_quantity: Some(0),
            ..catalog::VariantDraft::default()
        };
        let shirt =
            ProductDraft { variants: vec![small], ..testkit::product_draft("shirt", "5", 0) };
        shop.put_products(&[testkit::product_draft("mug", "5", 0), shirt]).await;
        shop.execute("DELETE FROM outbox").await.unwrap();
        shop
    }

    /// Returns stock and status of the shirt's variant and of the mug.
    async fn stock(&self) -> [(Option<i32>, String); 2] {
        let mut raw = self.test.raw().await;
        let variant = "SELECT stock_quantity, stock_status FROM variant";
        let product = "SELECT stock_quantity, stock_status FROM product WHERE external_id = 'mug'";
        [
            sqlx::query_as(variant).fetch_one(&mut raw).await.unwrap(),
            sqlx::query_as(product).fetch_one(&mut raw).await.unwrap(),
        ]
    }

    async fn product_events(&self) -> i64 {
        self.count("SELECT count(*) FROM outbox WHERE topic = 'product.changed'").await
    }

    async fn cancel(
        &self,
        number: u128,
        items: &[LineUnits],
        reason: CancelReason,
    ) -> Result<orders::Changed, OrderError> {
        orders::cancel(&self.as_merchant(), order(number).id, None, canceled(items, reason)).await
    }
}

fn counted(quantity: i32, status: &str) -> (Option<i32>, String) {
    (Some(quantity), status.to_owned())
}

#[tokio::test]
async fn a_part_is_canceled_without_a_transition_and_the_rest_with_one() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let part = [units(101, 1), units(1, 1), units(101, 1)];
    let first = shop.cancel(1, &part, CancelReason::PriceError).await.unwrap();
    assert_eq!((first.details.order.status, first.subject), (OrderStatus::Pending, None));
    let lines: Vec<u32> = first.details.order.lines.iter().map(|line| line.canceled).collect();
    assert_eq!(lines, [1, 2]);
    shop.cancel(1, &[], CancelReason::OutOfStock).await.unwrap();
    let details = shop.details(order(1).id).await;
    assert_eq!(story(&details), ["(lines_canceled)", "(lines_canceled)", "canceled"]);
    let reasons: Vec<_> = details.history.iter().map(|it| it.reason.as_deref().unwrap()).collect();
    assert_eq!(reasons, ["price_error", "out_of_stock", "out_of_stock"]);
    let named = |items: &[LineUnits]| {
        let item = |it: &LineUnits| json!({ "line_id": it.line, "quantity": it.quantity });
        json!({ "items": items.iter().map(item).collect::<Vec<_>>() })
    };
    assert_eq!(details.history[0].details, named(&[units(101, 2), units(1, 1)]));
    assert_eq!(details.history[1].details, named(&[units(1, 1)]));
}

#[tokio::test]
async fn only_units_that_are_not_shipped_can_be_canceled() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let part = Shipment { items: vec![units(1, 2), units(101, 1)], ..Shipment::default() };
    orders::ship(&shop.as_merchant(), order(1).id, None, part).await.unwrap();
    for (items, field) in [
        (vec![units(1, 1)], "items[0].quantity"),
        (vec![units(101, 1), units(101, 1)], "items[0].quantity"),
        (vec![units(101, 1), units(1, 1)], "items[1].quantity"),
    ] {
        let refused = shop.cancel(1, &items, CancelReason::Other).await;
        let Err(OrderError::QuantityExceeded { field: named, .. }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(named, field);
    }
    let refused = shop.cancel(1, &[units(9, 1)], CancelReason::Other).await;
    assert!(matches!(refused, Err(OrderError::UnknownLine { .. })), "{refused:?}");
    let refused = shop.cancel(1, &[units(101, 0)], CancelReason::Other).await;
    assert!(matches!(refused, Err(OrderError::InvalidField { .. })), "{refused:?}");
}

#[tokio::test]
async fn an_order_whose_missing_units_are_canceled_is_shipped() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let part = Shipment { items: vec![units(1, 2)], ..Shipment::default() };
    orders::ship(&shop.as_merchant(), order(1).id, None, part).await.unwrap();
    shop.cancel(1, &[units(101, 1)], CancelReason::OutOfStock).await.unwrap();
    shop.cancel(1, &[units(101, 1)], CancelReason::OutOfStock).await.unwrap();
    let details = shop.details(order(1).id).await;
    let end = ["partially_shipped", "(lines_canceled)", "(lines_canceled)", "shipped"];
    assert_eq!(story(&details)[3..], end);
    assert_eq!((details.order.delivered_at, details.order.returnable_until), (None, None));
}

#[tokio::test]
async fn an_order_whose_other_units_are_delivered_is_delivered_with_the_cancellation() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let (merchant, id) = (shop.as_merchant(), order(1).id);
    let part = Shipment { items: vec![units(1, 2)], ..Shipment::default() };
    orders::ship(&merchant, id, None, part).await.unwrap();
    orders::deliver(&merchant, id, None, Vec::new()).await.unwrap();
    let day = std::time::Duration::from_hours(24);
    shop.test.clock().advance(day);
    shop.cancel(1, &[], CancelReason::Undeliverable).await.unwrap();
    let details = shop.details(id).await;
    assert_eq!(story(&details)[4..], ["(delivered)", "(lines_canceled)", "shipped", "delivered"]);
    let end = details.history.iter().rev().take(3).map(|it| it.reason.as_deref());
    assert!(end.eq([Some("undeliverable"); 3]), "{details:?}");
    // The units were delivered before, and can be returned from now on.
    let placed_at = order(1).created_at;
    assert_eq!(details.order.delivered_at, Some(placed_at));
    assert_eq!(details.order.returnable_until, Some(placed_at.plus(day * 15)));
}

#[tokio::test]
async fn a_cancellation_and_a_shipment_of_the_last_unit_exclude_each_other() {
    let shop = Shop::open().await;
    let mut single = order(1);
    single.lines.truncate(1);
    single.lines[0].quantity = 1;
    shop.place(&single).await.unwrap();
    let merchant = shop.as_merchant();
    let cancellation = canceled(&[], CancelReason::Other);
    let (shipped, canceled) = tokio::join!(
        orders::ship(&merchant, single.id, None, Shipment::default()),
        orders::cancel(&merchant, single.id, None, cancellation),
    );
    assert!(shipped.is_ok() ^ canceled.is_ok(), "{shipped:?} {canceled:?}");
    let status = shop.details(single.id).await.order.status;
    let expected = if shipped.is_ok() { OrderStatus::Shipped } else { OrderStatus::Canceled };
    assert_eq!(status, expected);
}

#[tokio::test]
async fn canceled_units_go_back_into_stock() {
    let shop = Shop::sold_out().await;
    let placed = stocked(&shop, 1).await;
    shop.place(&placed).await.unwrap();
    let out = || counted(0, "out_of_stock");
    assert_eq!(shop.stock().await, [out(), out()]);
    shop.cancel(1, &[units(1, 1)], CancelReason::BuyerRequest).await.unwrap();
    assert_eq!(shop.stock().await, [counted(1, "low_stock"), out()]);
    assert_eq!(shop.product_events().await, 1);
    shop.cancel(1, &[], CancelReason::Fraud).await.unwrap();
    assert_eq!(shop.stock().await, [counted(2, "low_stock"), counted(2, "low_stock")]);
    assert_eq!(shop.product_events().await, 3);
}

#[tokio::test]
async fn units_that_the_merchant_does_not_have_stay_out_of_stock() {
    let shop = Shop::sold_out().await;
    shop.place(&stocked(&shop, 1).await).await.unwrap();
    shop.cancel(1, &[], CancelReason::OutOfStock).await.unwrap();
    let out = counted(0, "out_of_stock");
    assert_eq!(shop.stock().await, [out.clone(), out]);
    assert_eq!(shop.product_events().await, 0);
}

#[tokio::test]
async fn a_refused_cancellation_changes_no_stock() {
    let shop = Shop::sold_out().await;
    shop.place(&stocked(&shop, 1).await).await.unwrap();
    shop.cancel(1, &[], CancelReason::Other).await.unwrap();
    let stock = shop.stock().await;
    let again = shop.cancel(1, &[], CancelReason::Other).await;
    let is_refused =
        matches!(again, Err(OrderError::InvalidTransition { from: OrderStatus::Canceled }));
    assert!(is_refused, "{again:?}");
    assert_eq!(shop.stock().await, stock);
}

#[tokio::test]
async fn units_of_a_sandbox_go_back_to_the_stock_of_its_key() {
    let shop = Shop::sold_out().await;
    let placed = Order { is_sandbox: true, ..stocked(&shop, 1).await };
    shop.place(&placed).await.unwrap();
    for key in [agent(1), agent(2)] {
        sell_in_sandbox(&shop, key).await;
    }
    let own = shop.as_agent(1);
    let cancellation = canceled(&[units(101, 2)], CancelReason::BuyerRequest);
    orders::cancel(&own, placed.id, None, cancellation).await.unwrap();
    let sold: Vec<(KeyId, i32)> =
        sqlx::query_as("SELECT agent_key_id, sold FROM sandbox_stock ORDER BY agent_key_id")
            .fetch_all(&mut shop.test.raw().await)
            .await
            .unwrap();
    assert_eq!(sold, [(agent(1), 1), (agent(2), 3)]);
    let out = counted(0, "out_of_stock");
    assert_eq!((shop.stock().await, shop.product_events().await), ([out.clone(), out], 0));
}

/// Records that a sandbox key has bought three mugs.
async fn sell_in_sandbox(shop: &Shop, key: KeyId) {
    let sold = "INSERT INTO sandbox_stock SELECT merchant_id, $1, product_id, 0, 3, updated_at FROM product
                WHERE external_id = 'mug'";
    sqlx::query(sold).bind(key.uuid()).execute(&mut shop.test.raw().await).await.unwrap();
}

#[tokio::test]
async fn a_buyer_leaves_a_note_and_a_merchant_states_a_reason() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let note = |text: &str| Some(text.to_owned());
    let cancellation = |text: &str| {
        let items = vec![units(1, 1)];
        Cancellation { items, reason: CancelReason::BuyerRequest, note: note(text) }
    };
    let id = order(1).id;
    let refused = orders::cancel(&shop.as_merchant(), id, None, cancellation("No.")).await;
    let Err(OrderError::InvalidField { field, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(field, "note");
    let long = orders::cancel(&shop.as_agent(1), id, None, cancellation(&"x".repeat(2_001))).await;
    assert!(matches!(long, Err(OrderError::InvalidField { .. })), "{long:?}");
    let sent = cancellation(" One <i>only</i>.");
    let by_agent = orders::cancel(&shop.as_agent(1), id, None, sent).await.unwrap();
    assert_eq!(by_agent.details.order.note, note("One only."));
    let silent = canceled(&[units(101, 1)], CancelReason::BuyerRequest);
    orders::cancel(&shop.as_agent(1), id, None, silent).await.unwrap();
    let details = shop.details(id).await;
    assert_eq!(details.order.note, note("One only."));
    assert!(
        !format!("{:?}", details.history).contains("only"),
        "texts are not part of the history"
    );
}

#[tokio::test]
async fn a_cancellation_is_published_with_the_names_of_what_it_changed() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let (agent, id) = (shop.as_agent(1), order(1).id);
    shop.cancel(1, &[units(1, 1)], CancelReason::OutOfStock).await.unwrap();
    for items in [vec![units(1, 1)], vec![units(101, 1)]] {
        let (reason, note) = (CancelReason::BuyerRequest, Some(String::from("One is enough.")));
        orders::cancel(&agent, id, None, Cancellation { items, reason, note }).await.unwrap();
    }
    let rest = canceled(&[], CancelReason::BuyerRequest);
    orders::cancel(&agent, id, None, rest).await.unwrap();
    assert_eq!(story(&shop.details(id).await)[3..], ["(lines_canceled)", "canceled"]);
    let mut events = shop.events(id, "order.updated").await;
    events.sort_by_key(|event| event["sequence"].as_i64());
    let published = |event: &Value| json!([event["fields"], event["reason"], event["changedBy"]]);
    assert_eq!(
        events.iter().map(published).collect::<Value>(),
        json!([
            [["items"], "out_of_stock", "merchant"],
            [["items", "note"], "buyer_request", "agent"],
            // The same note again.
            [["items"], "buyer_request", "agent"],
            [["items"], "buyer_request", "agent"],
        ])
    );
    assert!(!format!("{events:?}").contains("enough"), "texts are not part of events");
}

#[tokio::test]
async fn agents_and_buyers_do_not_state_the_reasons_of_merchants() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let (agent, buyer) = (shop.as_agent(1), shop.acting(Actor::BUYER, Viewer::All));
    let all = CancelReason::ALL.iter().copied();
    for reason in all.filter(|it| *it != CancelReason::BuyerRequest) {
        for context in [&agent, &buyer] {
            let refused = orders::cancel(context, order(1).id, None, canceled(&[], reason)).await;
            let Err(OrderError::InvalidField { field, .. }) = refused else {
                panic!("{refused:?}")
            };
            assert_eq!(field, "reason");
        }
    }
    assert_eq!(shop.details(order(1).id).await.order.version, 1);
}

#[tokio::test]
async fn a_buyer_who_cancels_too_late_is_not_told_that_canceling_is_allowed() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let id = order(1).id;
    orders::start_processing(&shop.as_merchant(), id, None).await.unwrap();
    let part = Shipment { items: vec![units(1, 2)], ..Shipment::default() };
    for (from, allowed) in [
        ("processing", json!(["partially_shipped", "shipped"])),
        ("partially_shipped", json!(["shipped"])),
        ("shipped", json!(["delivered"])),
    ] {
        for context in [shop.as_agent(1), shop.acting(Actor::BUYER, Viewer::All)] {
            let cancellation = canceled(&[], CancelReason::BuyerRequest);
            let refused = orders::cancel(&context, id, None, cancellation).await.unwrap_err();
            assert_eq!(refused.code(), ErrorCode::InvalidStatusTransition);
            let mut details = Details::default();
            refused.details(&mut details);
            let facts = details.into_json(HintNames::MCP);
            assert_eq!((&facts["from"], &facts["allowed"]), (&json!(from), &allowed));
        }
        let next = if from == "processing" { part.clone() } else { Shipment::default() };
        if from != "shipped" {
            orders::ship(&shop.as_merchant(), id, None, next).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_buyer_changes_destination_and_note() {
    let shop = Shop::open().await;
    let terms = json!({ "destination": { "country": "DE", "city": "Berlin" } });
    shop.place(&Order { terms, ..order(1) }).await.unwrap();
    let (buyer, id) = (shop.acting(Actor::BUYER, Viewer::All), order(1).id);
    let update = async |destination: Option<Value>, note: Option<&str>| {
        let note = note.map(str::to_owned);
        orders::update(&buyer, id, None, OrderUpdate { destination, note }).await
    };
    let moved = json!({ "country": "DE", "city": "Bonn" });
    update(Some(moved.clone()), Some("Ring <b>twice</b>.")).await.unwrap();
    let changed = shop.details(id).await;
    assert_eq!(changed.order.destination(), Some(&moved));
    assert_eq!(changed.order.note.as_deref(), Some("Ring twice."));
    assert_eq!(changed.history[0].kind, HistoryKind::Updated);
    assert_eq!(changed.history[0].details, json!({ "fields": ["destination", "note"] }));
    // Nothing new.
    update(Some(moved.clone()), Some(" Ring twice. ")).await.unwrap();
    update(None, None).await.unwrap();
    assert_eq!(shop.details(id).await, changed);

    for wrong in [json!({ "country": "FR" }), json!({ "city": "Bonn" }), json!("DE"), Value::Null] {
        let refused = update(Some(wrong.clone()), None).await;
        let Err(OrderError::InvalidField { field, .. }) = refused else {
            panic!("{wrong}: {refused:?}")
        };
        assert_eq!(field, "destination.country");
    }
    update(None, Some(" ")).await.unwrap();
    let details = shop.details(id).await;
    assert_eq!((&details.order.note, details.order.destination()), (&None, Some(&moved)));
    assert_eq!(story(&details), ["(updated)", "(updated)"]);
    assert_eq!(details.order.terms["destination"]["city"], "Berlin", "the approved terms remain");
}

#[tokio::test]
async fn a_pending_order_whose_payment_is_lost_fails_and_its_units_go_back() {
    let shop = Shop::sold_out().await;
    shop.place(&stocked(&shop, 1).await).await.unwrap();
    shop.cancel(1, &[units(1, 1)], CancelReason::OutOfStock).await.unwrap();
    for _ in 0..2 {
        // The second call changes nothing.
        shop.set_payment(1, PaymentStatus::Failed).await.unwrap();
    }
    let details = shop.details(order(1).id).await;
    assert_eq!(story(&details), ["(lines_canceled)", "failed"]);
    assert_eq!(details.history[1].reason.as_deref(), Some("payment_failed"));
    assert_eq!(details.order.payment_status(), PaymentStatus::Failed);
    assert_eq!(shop.stock().await, [counted(1, "low_stock"), counted(2, "low_stock")]);
}

#[tokio::test]
async fn the_status_of_a_payment_is_recorded() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let id = order(1).id;
    for derived in [PaymentStatus::PartiallyRefunded, PaymentStatus::Refunded] {
        let refused = shop.set_payment(1, derived).await;
        let Err(OrderError::InvalidField { field, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(field, "payment_status");
    }
    orders::confirm(&shop.as_merchant(), id, None).await.unwrap();
    for payment in [PaymentStatus::Disputed, PaymentStatus::Failed, PaymentStatus::Failed] {
        shop.set_payment(1, payment).await.unwrap();
    }
    let details = shop.details(id).await;
    assert_eq!(story(&details), ["confirmed", "(payment_changed)", "(payment_changed)"]);
    assert_eq!(details.history[1].details, json!({ "payment_status": "disputed" }));
    let events = shop.events(id, "order.updated").await;
    let [first, second] = &events[..] else { panic!("{events:?}") };
    for event in [first, second] {
        assert_eq!(event["fields"], json!(["payment_status"]));
    }
    let read = shop.read(id, None).await.unwrap();
    assert_eq!((read.status, read.payment), (OrderStatus::Confirmed, PaymentStatus::Failed));
}

#[tokio::test]
async fn a_repeated_cancellation_restocks_once() {
    let shop = Shop::sold_out().await;
    shop.place(&stocked(&shop, 1).await).await.unwrap();
    let request = ("cancel", &json!({}));
    let key = jobs::IdempotencyKey::new(shop.merchant, &"skey_1", "k-1", request).unwrap();
    for _ in 0..2 {
        let context = OrderContext { idempotency_key: Some(&key), ..shop.as_merchant() };
        let cancellation = canceled(&[units(101, 1)], CancelReason::Other);
        orders::cancel(&context, order(1).id, None, cancellation).await.unwrap();
    }
    assert_eq!(shop.stock().await[1], counted(1, "low_stock"));
}
