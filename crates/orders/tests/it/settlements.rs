//! Settlements of returns: the money to the minor unit, and who may do what.

use std::time::Duration;

use orders::{
    CloseReturns, DeclineReason, Order, OrderContext, OrderError, PaymentStatus, RefundReason,
    ReturnAction, ReturnCondition, ReturnOutcome, ReturnStatus,
};
use primitives::{Currency, Money, ReturnId};
use serde_json::json;

use crate::desk::{
    Desk, available, euros, invalid_field, item, merchant, priced, settle, unknown_return,
};
use crate::return_edges::actions;

#[tokio::test]
async fn partial_returns_are_refunded_with_their_part_of_discounts_and_tax() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let mut refunds = Vec::new();
    for _ in 0..3 {
        let id = desk.request_units(&order, 1).await;
        desk.receive(&order, id).await;
        refunds.push(desk.settle(&order, id).await);
    }
    let single = vec![item(order.lines[1].line, 1)];
    let id = desk.request(&order, single, ReturnOutcome::StoreCredit).await.unwrap();
    desk.receive(&order, id).await;
    refunds.push(desk.settle(&order, id).await);
    assert_eq!(refunds, [3_96, 3_96, 3_98, 5_97]);

    // Everything but the shipping.
    let details = desk.details(order.id).await;
    assert_eq!(details.order.refunded_minor, 22_77 - 4_90);
    assert_eq!(details.order.payment_status(), PaymentStatus::PartiallyRefunded);
    for it in &details.returns {
        let refunds = details.refunds.iter().filter(|refund| refund.return_id == Some(it.id));
        let refunds: Vec<_> = refunds.map(|refund| (refund.amount_minor, refund.reason)).collect();
        assert_eq!(refunds, [(it.refund_minor.unwrap(), RefundReason::Returned)]);
        assert_eq!(it.restocking_fee_minor, Some(0));
    }
    let events = desk.events("order.refunded").await;
    assert_eq!(events.len(), 4);
    assert_eq!(events[3]["returnId"], json!(id));
    assert_eq!(events[3]["refundedTotal"], json!(17.87));
}

#[tokio::test]
async fn the_order_of_settlements_does_not_change_their_sum() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let mut ids: Vec<ReturnId> = Vec::new();
    for _ in 0..3 {
        ids.push(desk.request_units(&order, 1).await);
    }
    // The second is rejected and closed. Its unit is returned again.
    for id in &ids {
        desk.receive(&order, *id).await;
    }
    let mut refunds = vec![desk.settle(&order, ids[2]).await];
    desk.change(&order, ids[1], ReturnAction::Inspect { conditions: Vec::new() }).await.unwrap();
    let reject = ReturnAction::Reject { reason: DeclineReason::Used };
    desk.change(&order, ids[1], reject).await.unwrap();
    desk.change(&order, ids[1], ReturnAction::Close).await.unwrap();
    desk.change(&order, ids[2], ReturnAction::Close).await.unwrap();
    refunds.push(desk.settle(&order, ids[0]).await);
    let again = desk.request_units(&order, 1).await;
    desk.receive(&order, again).await;
    refunds.push(desk.settle(&order, again).await);
    assert_eq!(refunds, [3_96, 3_96, 3_98]);
}

#[tokio::test]
async fn a_restocking_fee_is_kept_and_a_refund_of_0_is_none() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    for (fee, refunded, kept) in [(96, 3_00, 96), (3_96, 0, 3_96), (3_98, 0, 3_98)] {
        let id = desk.request_units(&order, 1).await;
        desk.receive(&order, id).await;
        // The last unit has the share of 3.98.
        for refund in [None, Some(0), Some(3_98)] {
            let too_high = desk.change(&order, id, settle(refund, Some(3_99))).await;
            assert_eq!(invalid_field(too_high), "restocking_fee");
        }
        let changed = desk.change(&order, id, settle(None, Some(fee))).await.unwrap();
        let it = changed.details.returns.iter().find(|it| it.id == id).unwrap();
        assert_eq!(it.status, ReturnStatus::Refunded);
        assert_eq!((it.refund_minor, it.restocking_fee_minor), (Some(refunded), Some(kept)));
    }
    let details = desk.details(order.id).await;
    assert_eq!((details.refunds.len(), details.order.refunded_minor), (1, 3_00));
    assert_eq!(desk.events("order.refunded").await.len(), 1);
}

#[tokio::test]
async fn a_merchant_refunds_more_than_the_share_but_not_more_than_is_left() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let id = desk.request_units(&order, 1).await;
    desk.receive(&order, id).await;
    let before = desk.details(order.id).await;
    let too_much = desk.change(&order, id, settle(Some(22_78), None)).await;
    assert_eq!(available(&too_much), "refund: 22.77 EUR");
    for (field, action) in
        [("refund", settle(Some(-1), None)), ("restocking_fee", settle(None, Some(-1)))]
    {
        assert_eq!(invalid_field(desk.change(&order, id, action).await), field);
    }
    let dollars =
        |refund, restocking_fee| ReturnAction::Settle { refund, restocking_fee, reference: None };
    let dollar = Some(Money::new(1, Currency::USD));
    for action in [dollars(dollar, None), dollars(None, dollar)] {
        assert_eq!(invalid_field(desk.change(&order, id, action).await), "currency");
    }
    // The inspection on the way was rolled back as well.
    assert_eq!(desk.details(order.id).await, before);
    let changed = desk.change(&order, id, settle(Some(22_77), Some(1_00))).await.unwrap();
    assert_eq!(changed.details.order.payment_status(), PaymentStatus::Refunded);

    // Nothing is left for the next one.
    let id = desk.request_units(&order, 1).await;
    desk.receive(&order, id).await;
    for refund in [Some(1), None] {
        let refused = desk.change(&order, id, settle(refund, None)).await;
        assert_eq!(available(&refused), "refund: 0.00 EUR");
    }
    let changed = desk.change(&order, id, settle(Some(0), None)).await.unwrap();
    let it = changed.details.returns.iter().find(|it| it.id == id).unwrap();
    assert_eq!((it.status, it.refund_minor), (ReturnStatus::Refunded, Some(0)));
    assert_eq!(desk.details(order.id).await.refunds.len(), 1);
}

#[tokio::test]
async fn a_settlement_that_the_verb_would_let_through_meets_the_constraint() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let id = desk.request_units(&order, 1).await;
    desk.receive(&order, id).await;
    let before = desk.details(order.id).await;
    desk.shop
        .execute(
            "ALTER TABLE placed_order DROP CONSTRAINT placed_order_refunded,
                 ADD CONSTRAINT placed_order_refunded CHECK (refunded_minor < 396)",
        )
        .await
        .unwrap();
    let refused = desk.change(&order, id, settle(None, None)).await;
    assert_eq!(available(&refused), "refund: 22.77 EUR");
    assert_eq!(desk.details(order.id).await, before);
}

#[tokio::test]
async fn a_computed_refund_above_what_is_left_is_refused_until_the_merchant_names_it() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let refund = orders::NewRefund {
        amount: Some(euros(21_00)),
        reason: RefundReason::LateDelivery,
        note: None,
        reference: Some(String::from("re_1")),
    };
    orders::refund(&desk.merchant(), order.id, None, refund).await.unwrap();
    let id = desk.request_units(&order, 3).await;
    desk.receive(&order, id).await;
    let with_reference = |reference: &str, refund: Option<i64>| ReturnAction::Settle {
        refund: refund.map(euros),
        restocking_fee: None,
        reference: Some(reference.to_owned()),
    };
    let known = desk.change(&order, id, with_reference("re_1", Some(1_77))).await;
    assert_eq!(invalid_field(known), "reference");
    // The share is 11.90.
    let before = desk.details(order.id).await;
    for action in [with_reference("re_2", None), settle(None, Some(10_12))] {
        let refused = desk.change(&order, id, action).await;
        assert_eq!(available(&refused), "refund: 1.77 EUR");
    }
    assert_eq!(desk.details(order.id).await, before);
    let changed = desk.change(&order, id, with_reference("re_2", Some(1_77))).await.unwrap();
    assert_eq!(changed.details.returns[0].refund_minor, Some(1_77));
    assert_eq!(changed.details.order.refunded_minor, 22_77);
}

#[tokio::test]
async fn a_fee_that_leaves_what_is_left_settles_the_return() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let refund = orders::NewRefund {
        amount: Some(euros(21_00)),
        reason: RefundReason::LateDelivery,
        note: None,
        reference: None,
    };
    orders::refund(&desk.merchant(), order.id, None, refund).await.unwrap();
    let id = desk.request_units(&order, 3).await;
    desk.receive(&order, id).await;
    let changed = desk.change(&order, id, settle(None, Some(10_13))).await.unwrap();
    let it = &changed.details.returns[0];
    assert_eq!((it.refund_minor, it.restocking_fee_minor), (Some(1_77), Some(10_13)));
}

#[tokio::test]
async fn of_concurrent_settlements_and_refunds_none_exceeds_the_total() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let id = desk.request_units(&order, 3).await;
    desk.receive(&order, id).await;
    let context = desk.merchant();
    let refund = || {
        let refund = orders::NewRefund {
            amount: Some(euros(12_00)),
            reason: RefundReason::Other,
            note: None,
            reference: None,
        };
        orders::refund(&context, order.id, None, refund)
    };
    let settlement = || desk.change(&order, id, settle(Some(12_00), None));
    let results = tokio::join!(refund(), settlement(), refund(), settlement());
    let results = [results.0, results.1, results.2, results.3];
    assert_eq!(results.iter().filter(|it| it.is_ok()).count(), 1, "{results:?}");
    let details = desk.details(order.id).await;
    assert_eq!((details.refunds.len(), details.order.refunded_minor), (1, 12_00));
}

#[tokio::test]
async fn an_exchange_moves_no_money() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    for outcome in [ReturnOutcome::Exchange, ReturnOutcome::Replacement] {
        let items = vec![item(order.lines[0].line, 1)];
        let id = desk.request(&order, items, outcome).await.unwrap();
        desk.receive(&order, id).await;
        let reference = Some(String::from("re_1"));
        let referenced = ReturnAction::Settle { refund: None, restocking_fee: None, reference };
        for (field, action) in [
            ("refund", settle(Some(1), None)),
            ("restocking_fee", settle(None, Some(1))),
            ("reference", referenced),
        ] {
            assert_eq!(invalid_field(desk.change(&order, id, action).await), field);
        }
        let changed = desk.change(&order, id, settle(None, None)).await.unwrap();
        let it = changed.details.returns.last().unwrap();
        assert_eq!((it.status, it.refund_minor), (ReturnStatus::Exchanged, Some(0)));
    }
    let details = desk.details(order.id).await;
    assert_eq!((details.refunds.len(), details.order.refunded_minor), (0, 0));
    // The exchanged units count as returned: the third unit has the last share.
    let id = desk.request_units(&order, 1).await;
    desk.receive(&order, id).await;
    assert_eq!(desk.settle(&order, id).await, 3_98);
}

#[tokio::test]
async fn a_return_keeps_what_happened_to_it() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let id = desk.request_units(&order, 1).await;
    let line = order.lines[0].line;
    let at = |micros| desk.shop.test.clock().advance(Duration::from_micros(micros));
    for (name, action) in actions(line) {
        at(1);
        if matches!(name, "approve" | "mark in transit" | "receive" | "inspect" | "reject") {
            desk.change(&order, id, action).await.unwrap();
        }
    }
    let it = desk.only_return(order.id).await;
    assert_eq!(it.instructions.as_deref(), Some("Ring twice"));
    assert_eq!((it.carrier.as_deref(), it.tracking_number.as_deref()), (Some("Post"), Some("T-1")));
    assert_eq!(it.items[0].condition, Some(ReturnCondition::Opened));
    assert_eq!(it.decline_reason, Some(DeclineReason::Damaged));
    let since =
        |time: Option<primitives::Timestamp>| time.unwrap().since(it.requested_at).as_micros();
    assert_eq!(
        (since(it.received_at), since(it.settled_at), since(Some(it.updated_at))),
        (4, 7, 7)
    );
    assert_eq!((it.refund_minor, it.restocking_fee_minor), (Some(0), None));
}

#[tokio::test]
async fn texts_and_conditions_are_checked() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let id = desk.request_units(&order, 1).await;
    let long = |length: usize| Some("x".repeat(length));
    let approve = |instructions| ReturnAction::Approve { instructions };
    assert_eq!(invalid_field(desk.change(&order, id, approve(long(2_001))).await), "instructions");
    desk.change(&order, id, approve(long(2_000))).await.unwrap();
    for (field, carrier, tracking_number) in
        [("carrier", long(101), None), ("tracking_number", None, long(101))]
    {
        let send = ReturnAction::MarkInTransit { carrier, tracking_number };
        assert_eq!(invalid_field(desk.change(&order, id, send).await), field);
    }
    desk.change(&order, id, ReturnAction::Receive).await.unwrap();
    let (used, line, other) = (ReturnCondition::Used, order.lines[0].line, order.lines[1].line);
    let inspect = |conditions| ReturnAction::Inspect { conditions };
    let twice = desk.change(&order, id, inspect(vec![(line, used), (line, used)])).await;
    assert_eq!(invalid_field(twice), "conditions[1].line_id");
    let unknown = desk.change(&order, id, inspect(vec![(line, used), (other, used)])).await;
    let Err(OrderError::UnknownLine { field }) = unknown else { panic!("{unknown:?}") };
    assert_eq!(field, "conditions[1].line_id");
    assert_eq!(desk.only_return(order.id).await.items[0].condition, None);
}

#[tokio::test]
async fn a_return_that_the_caller_does_not_see_is_not_found() {
    let (order, other) = (priced(1), priced(2));
    let desk = Desk::with_delivered(&order).await;
    desk.deliver(&other).await;
    let id = desk.request_units(&order, 1).await;
    let act = async |context: OrderContext<'_>, order: &Order, id| {
        let action = ReturnAction::MarkInTransit { carrier: None, tracking_number: None };
        orders::change_return(&context, order.id, id, None, action).await
    };
    for (context, order, id) in [
        (desk.merchant(), &other, id),
        (desk.merchant(), &order, unknown_return()),
        (desk.agent(1), &other, id),
    ] {
        let unknown = act(context, order, id).await;
        assert!(matches!(unknown, Err(OrderError::ReturnNotFound)), "{unknown:?}");
    }
    let store = desk.shop.another_merchant().await;
    for context in [desk.agent(2), merchant(desk.database(), store)] {
        let unknown = act(context, &order, id).await;
        assert!(matches!(unknown, Err(OrderError::NotFound)), "{unknown:?}");
    }
    let reading = database::Reading::for_store(desk.database(), desk.shop.merchant).unwrap();
    let found = orders::order_of_return(&reading, desk.shop.merchant, id).await.unwrap();
    assert_eq!(found, order.id);
    let reading = database::Reading::for_store(desk.database(), store).unwrap();
    let unknown = orders::order_of_return(&reading, store, id).await;
    assert!(matches!(unknown, Err(OrderError::ReturnNotFound)), "{unknown:?}");
}

#[tokio::test]
async fn agents_and_buyers_send_and_withdraw_and_merchants_do_the_rest() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let id = desk.request_units(&order, 1).await;
    for context in [desk.agent(1), desk.buyer()] {
        for (name, action) in actions(order.lines[0].line) {
            // Canceling works, and is part of the test of all edges.
            if name == "cancel" {
                continue;
            }
            let result = orders::change_return(&context, order.id, id, None, action).await;
            if name == "mark in transit" {
                // Not possible yet, but not because of the caller.
                let is_early = matches!(result, Err(OrderError::InvalidReturnTransition { .. }));
                assert!(is_early, "{result:?}");
            } else {
                assert_eq!(invalid_field(result), "action", "{name}");
            }
        }
    }
    let cancel = ReturnAction::Cancel;
    let by_merchant = orders::change_return(&desk.merchant(), order.id, id, None, cancel).await;
    assert_eq!(invalid_field(by_merchant), "action");
    desk.change(&order, id, ReturnAction::Approve { instructions: None }).await.unwrap();
    let send = ReturnAction::MarkInTransit { carrier: None, tracking_number: None };
    orders::change_return(&desk.buyer(), order.id, id, None, send).await.unwrap();
    let stale =
        orders::change_return(&desk.merchant(), order.id, id, Some(1), ReturnAction::Receive).await;
    assert!(matches!(stale, Err(OrderError::VersionConflict { .. })), "{stale:?}");
}

#[tokio::test]
async fn settled_returns_are_closed_after_14_days() {
    let desk = Desk::open().await;
    let settled = [ReturnStatus::Refunded, ReturnStatus::Exchanged, ReturnStatus::Rejected];
    let mut returns = Vec::new();
    for (number, status) in (1..).zip(settled) {
        returns.push((desk.return_in(number, status).await.0, status));
    }
    let open = desk.return_in(9, ReturnStatus::Inspected).await.0;
    desk.shop.test.clock().advance(Duration::from_hours(14 * 24) - Duration::from_micros(1));
    desk.sweep::<CloseReturns>().await;
    for (order, status) in &returns {
        assert_eq!(desk.only_return(order.id).await.status, *status);
    }
    desk.shop.test.clock().advance(Duration::from_micros(1));
    desk.sweep::<CloseReturns>().await;
    for (order, _) in &returns {
        let details = desk.details(order.id).await;
        assert_eq!(details.returns[0].status, ReturnStatus::Closed);
        assert_eq!(details.history.last().unwrap().actor, orders::Actor::SYSTEM);
    }
    assert_eq!(desk.only_return(open.id).await.status, ReturnStatus::Inspected);
    let closed = desk.events("return.updated").await;
    let closed = closed.iter().filter(|event| event["returnStatus"] == json!("closed"));
    assert_eq!(closed.count(), 3);
    desk.sweep::<CloseReturns>().await;
}
