//! Requests of returns: which units can be returned, until when, and by whose terms.

use std::time::Duration;

use database::{Reading, Work};
use merchants::Policies;
use orders::{
    HistoryKind, IneligibleReason, LineUnits, Order, OrderContext, OrderDetails, OrderError,
    RequestedItem, ReturnAction, ReturnEligibility, ReturnOutcome, ReturnReason, ReturnRequest,
    ReturnStatus, ReturnsFilter, Shipment, Viewer,
};
use primitives::{Id, LineId, OrderId, ReturnId};
use serde_json::json;

use crate::desk::{Desk, invalid_field, item, priced};
use crate::shop::agent;

impl Desk {
    async fn eligibility(&self, id: OrderId) -> ReturnEligibility {
        let reading = Reading::for_store(self.database(), self.shop.merchant).unwrap();
        let viewer = Viewer::Agent(vec![agent(1)]);
        let read = orders::eligibility(&reading, self.shop.merchant, id, &viewer).await;
        let (details, eligibility) = read.unwrap();
        assert_eq!(details, self.details(id).await);
        eligibility
    }

    /// Returns the returnable units, the reason and the refund of each line.
    async fn returnable(&self, id: OrderId) -> Vec<(u32, Option<IneligibleReason>, i64)> {
        let lines = self.eligibility(id).await.lines;
        lines.into_iter().map(|line| (line.returnable, line.reason, line.refund_minor)).collect()
    }

    async fn set_window(&self, days: i32) {
        let policies = Policies { return_window_days: Some(days), ..Policies::default() };
        let mut work = Work::for_platform(self.database()).await.unwrap();
        merchants::set_policies(&mut work, self.shop.merchant, &policies).await.unwrap();
        work.commit().await.unwrap();
    }
}

fn with_window(days: Option<u32>) -> Order {
    Order { terms: json!({ "returns": { "window_days": days } }), ..priced(1) }
}

fn returned(details: &OrderDetails) -> Vec<u32> {
    details.order.lines.iter().map(|line| line.returned).collect()
}

/// Returns why the items cannot be returned.
fn reason<T: std::fmt::Debug>(result: &Result<T, OrderError>) -> IneligibleReason {
    let Err(OrderError::NotEligible { reason }) = result else { panic!("{result:?}") };
    *reason
}

async fn request_first(desk: &Desk, order: &Order, quantity: u32) -> Result<ReturnId, OrderError> {
    desk.request(order, vec![item(order.lines[0].line, quantity)], ReturnOutcome::Refund).await
}

#[tokio::test]
async fn a_request_has_an_entry_of_the_history_and_an_event() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let before = desk.details(order.id).await;
    let items = vec![item(order.lines[0].line, 2), item(order.lines[1].line, 1)];
    let note = Some(String::from("<b>too</b> small\u{200b}"));
    let request = ReturnRequest { items, outcome: ReturnOutcome::Exchange, note };
    let changed = orders::request_return(&desk.agent(1), order.id, request).await.unwrap();
    let it = desk.only_return(order.id).await;
    assert_eq!(changed.subject, Some(it.id.to_string()));
    assert_eq!((it.status, it.outcome), (ReturnStatus::Requested, ReturnOutcome::Exchange));
    assert_eq!(it.customer_note.as_deref(), Some("too small"));
    assert_eq!(it.items[0].reason, ReturnReason::SizeIssue);
    assert_eq!(returned(&changed.details), [2, 1]);
    assert_eq!(changed.details.order.status, before.order.status);

    let entry = changed.details.history.last().unwrap();
    assert_eq!(
        (entry.kind, entry.sequence),
        (HistoryKind::ReturnRequested, before.order.version + 1)
    );
    let units: Vec<LineUnits> = serde_json::from_value(entry.details["items"].clone()).unwrap();
    assert_eq!(units[0], LineUnits { line: order.lines[0].line, quantity: 2 });
    assert_eq!(entry.details["return_id"], json!(it.id));
    let events = desk.events("return.created").await;
    let [event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&event["returnId"], &event["returnStatus"]), (&json!(it.id), &json!("requested")));
    assert_eq!((&event["outcome"], &event["changedBy"]), (&json!("exchange"), &json!("agent")));
    assert_eq!(event["items"][1], json!({ "lineId": order.lines[1].line, "quantity": 1 }));
    assert_eq!(event.get("previousReturnStatus"), None);
}

#[tokio::test]
async fn the_window_is_open_until_its_last_microsecond() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let eligibility = desk.eligibility(order.id).await;
    let delivered_at = desk.details(order.id).await.order.delivered_at.unwrap();
    let until = delivered_at.plus(Duration::from_hours(30 * 24));
    assert_eq!((eligibility.until, eligibility.window_days), (Some(until), 30));
    assert_eq!(eligibility.outcomes, ReturnOutcome::ALL);

    let last = Duration::from_hours(30 * 24) - Duration::from_micros(1);
    desk.shop.test.clock().advance(last);
    assert_eq!(desk.returnable(order.id).await, [(3, None, 11_90), (1, None, 5_97)]);
    desk.request_units(&order, 1).await;
    desk.shop.test.clock().advance(Duration::from_micros(1));
    let closed = Some(IneligibleReason::WindowClosed);
    assert_eq!(desk.returnable(order.id).await, [(0, closed, 0), (0, closed, 0)]);
    let late = request_first(&desk, &order, 1).await;
    assert_eq!(reason(&late), IneligibleReason::WindowClosed);
    // A return that was requested in time goes on.
    let requested = desk.only_return(order.id).await;
    desk.receive(&order, requested.id).await;
    assert_eq!(desk.settle(&order, requested.id).await, 3_96);
}

#[tokio::test]
async fn a_request_that_waited_for_the_lock_is_in_time() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let last = Duration::from_hours(30 * 24) - Duration::from_secs(1);
    desk.shop.test.clock().advance(last);
    // The change that it waited for began after the end of the window.
    let later = "UPDATE placed_order SET updated_at = returnable_until + interval '1 second'";
    desk.shop.execute(later).await.unwrap();
    desk.request_units(&order, 1).await;
    let details = desk.details(order.id).await;
    assert!(details.order.returnable_until < Some(details.returns[0].requested_at), "{details:?}");
}

#[tokio::test]
async fn the_terms_of_the_purchase_decide_and_not_the_policies_of_today() {
    let long = with_window(Some(30));
    let desk = Desk::with_delivered(&long).await;
    desk.set_window(1).await;
    desk.advance_days(29);
    desk.request_units(&long, 1).await;

    let short = with_window(Some(2));
    let desk = Desk::with_delivered(&short).await;
    desk.set_window(365).await;
    desk.advance_days(2);
    let late = request_first(&desk, &short, 1).await;
    assert_eq!(reason(&late), IneligibleReason::WindowClosed);

    // Terms without a window have 14 days, and final sales stay final.
    let unstated = with_window(None);
    let desk = Desk::with_delivered(&unstated).await;
    desk.set_window(365).await;
    desk.advance_days(13);
    desk.request_units(&unstated, 1).await;
    desk.advance_days(1);
    let late = request_first(&desk, &unstated, 1).await;
    assert_eq!(reason(&late), IneligibleReason::WindowClosed);

    let last = with_window(Some(0));
    let desk = Desk::with_delivered(&last).await;
    desk.set_window(365).await;
    let refused = request_first(&desk, &last, 1).await;
    assert_eq!(reason(&refused), IneligibleReason::FinalSale);
    let final_sale = Some(IneligibleReason::FinalSale);
    assert_eq!(desk.returnable(last.id).await, [(0, final_sale, 0), (0, final_sale, 0)]);
}

#[tokio::test]
async fn only_delivered_units_are_returned_and_the_window_begins_with_the_last_parcel() {
    let order = priced(1);
    let desk = Desk::open().await;
    desk.shop.place(&order).await.unwrap();
    let not_delivered = Some(IneligibleReason::NotDelivered);
    assert_eq!(desk.returnable(order.id).await, [(0, not_delivered, 0); 2]);
    let early = request_first(&desk, &order, 1).await;
    assert_eq!(reason(&early), IneligibleReason::NotDelivered);

    let items = vec![LineUnits { line: order.lines[0].line, quantity: 2 }];
    let parcel = Shipment { items, ..Shipment::default() };
    let merchant = desk.merchant();
    let shipped = orders::ship(&merchant, order.id, None, parcel).await.unwrap();
    assert_eq!(desk.returnable(order.id).await, [(0, not_delivered, 0); 2]);
    let first = shipped.subject.unwrap().parse().unwrap();
    orders::ship(&merchant, order.id, None, Shipment::default()).await.unwrap();
    orders::deliver(&merchant, order.id, None, vec![first]).await.unwrap();
    assert_eq!(desk.returnable(order.id).await, [(2, None, 7_92), (0, not_delivered, 0)]);
    let too_many = request_first(&desk, &order, 3).await;
    assert_eq!(reason(&too_many), IneligibleReason::QuantityExceeded);
    // The rest is on its way for longer than the window.
    desk.advance_days(40);
    assert_eq!(desk.eligibility(order.id).await.until, None);
    desk.request_units(&order, 1).await;
    orders::deliver(&merchant, order.id, None, Vec::new()).await.unwrap();
    assert_eq!(desk.returnable(order.id).await, [(2, None, 7_94), (1, None, 5_97)]);
    desk.advance_days(30);
    let closed = Some(IneligibleReason::WindowClosed);
    assert_eq!(desk.returnable(order.id).await, [(0, closed, 0), (0, closed, 0)]);
}

#[tokio::test]
async fn a_request_names_each_line_of_the_order_once() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let before = desk.details(order.id).await;
    let [first, second] = [order.lines[0].line, order.lines[1].line];
    let request =
        async |items: Vec<RequestedItem>| desk.request(&order, items, ReturnOutcome::Refund).await;
    assert_eq!(invalid_field(request(vec![]).await), "items");
    assert_eq!(invalid_field(request(vec![item(first, 1); 51]).await), "items");
    let none = vec![item(first, 1), item(second, 0)];
    assert_eq!(invalid_field(request(none).await), "items[1].quantity");
    let twice = vec![item(first, 1), item(second, 1), item(first, 1)];
    assert_eq!(invalid_field(request(twice).await), "items[2].line_id");
    let unknown = request(vec![item(second, 1), item(LineId::from_random(9), 1)]).await;
    let Err(OrderError::UnknownLine { field }) = unknown else { panic!("{unknown:?}") };
    assert_eq!(field, "items[1].line_id");
    for quantity in [4, u32::MAX] {
        let refused = request(vec![item(first, quantity)]).await;
        assert_eq!(reason(&refused), IneligibleReason::QuantityExceeded);
    }
    let long = ReturnRequest {
        items: vec![item(first, 1)],
        outcome: ReturnOutcome::Refund,
        note: Some("x".repeat(2_001)),
    };
    assert_eq!(invalid_field(orders::request_return(&desk.agent(1), order.id, long).await), "note");
    assert_eq!(desk.details(order.id).await, before);
    assert!(desk.events("return.created").await.is_empty());
}

#[tokio::test]
async fn the_same_units_are_not_returned_twice_not_even_at_once() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let whole = || request_first(&desk, &order, 3);
    let results = tokio::join!(whole(), whole(), whole(), whole());
    let results = [results.0, results.1, results.2, results.3];
    assert_eq!(results.iter().filter(|it| it.is_ok()).count(), 1, "{results:?}");
    for refused in results.into_iter().filter(Result::is_err) {
        assert_eq!(reason(&refused), IneligibleReason::AlreadyReturned);
    }
    let details = desk.details(order.id).await;
    assert_eq!((details.returns.len(), returned(&details)), (1, vec![3, 0]));
    assert_eq!(desk.events("return.created").await.len(), 1);
    let already = Some(IneligibleReason::AlreadyReturned);
    assert_eq!(desk.returnable(order.id).await, [(0, already, 0), (1, None, 5_97)]);
}

#[tokio::test]
async fn refused_and_withdrawn_units_can_be_returned_again() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let reason = orders::DeclineReason::Used;
    for actions in [
        vec![ReturnAction::Decline { reason }],
        vec![ReturnAction::Cancel],
        vec![ReturnAction::Approve { instructions: None }, ReturnAction::Cancel],
        vec![
            ReturnAction::Approve { instructions: None },
            ReturnAction::Receive,
            ReturnAction::Inspect { conditions: Vec::new() },
            ReturnAction::Reject { reason },
            ReturnAction::Close,
        ],
    ] {
        let id = desk.request_units(&order, 3).await;
        assert_eq!(returned(&desk.details(order.id).await), [3, 0]);
        for action in actions.clone() {
            desk.change(&order, id, action).await.unwrap();
        }
        assert_eq!(returned(&desk.details(order.id).await), [0, 0], "{actions:?}");
    }
    let id = desk.request_units(&order, 3).await;
    desk.receive(&order, id).await;
    assert_eq!(desk.settle(&order, id).await, 11_90);
    assert_eq!(returned(&desk.details(order.id).await), [3, 0]);
}

#[tokio::test]
async fn an_order_has_20_returns_of_the_agent_and_20_of_the_buyer() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    for _ in 0..20 {
        let id = desk.request_units(&order, 1).await;
        desk.change(&order, id, ReturnAction::Cancel).await.unwrap();
    }
    assert_eq!(invalid_field(request_first(&desk, &order, 1).await), "order_id");
    assert_eq!(desk.details(order.id).await.returns.len(), 20);
    // What the agent requested and canceled takes nothing from the buyer.
    let request = ReturnRequest {
        items: vec![item(order.lines[0].line, 1)],
        outcome: ReturnOutcome::Refund,
        note: None,
    };
    let buyer = desk.buyer();
    for _ in 0..20 {
        let requested = orders::request_return(&buyer, order.id, request.clone()).await.unwrap();
        let id: ReturnId = requested.subject.unwrap().parse().unwrap();
        desk.change(&order, id, ReturnAction::Cancel).await.unwrap();
    }
    let refused = orders::request_return(&buyer, order.id, request).await;
    let Err(OrderError::InvalidField { field, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!((field.as_str(), desk.details(order.id).await.returns.len()), ("order_id", 40));
}

#[tokio::test]
async fn an_order_that_the_caller_does_not_see_has_no_returns() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let request = ReturnRequest {
        items: vec![item(order.lines[0].line, 1)],
        outcome: ReturnOutcome::Refund,
        note: None,
    };
    let foreign = OrderContext { merchant: desk.shop.another_merchant().await, ..desk.buyer() };
    for (context, id) in
        [(desk.agent(2), order.id), (desk.agent(1), priced(9).id), (foreign, order.id)]
    {
        let unknown = orders::request_return(&context, id, request.clone()).await;
        assert!(matches!(unknown, Err(OrderError::NotFound)), "{unknown:?}");
    }
    let reading = Reading::for_store(desk.database(), desk.shop.merchant).unwrap();
    let viewer = Viewer::Agent(vec![agent(2)]);
    let unknown = orders::eligibility(&reading, desk.shop.merchant, order.id, &viewer).await;
    assert!(matches!(unknown, Err(OrderError::NotFound)), "{unknown:?}");
}

#[tokio::test]
async fn a_merchant_lists_its_returns_in_pages_without_those_of_sandboxes() {
    let desk = Desk::open().await;
    let sandbox = Order { is_sandbox: true, ..priced(9) };
    let (first, second) = (priced(1), priced(2));
    let mut newest_first = Vec::new();
    for order in [&first, &second, &sandbox] {
        desk.deliver(order).await;
    }
    for order in [&first, &second, &first, &sandbox, &second] {
        let id = desk.request_units(order, 1).await;
        if order.id != sandbox.id {
            newest_first.insert(0, (order.id, id));
        }
        desk.shop.test.clock().advance(Duration::from_micros(1));
    }
    // Two at the same time are sorted by id.
    let same = [desk.request_units(&first, 1).await, desk.request_units(&second, 1).await];
    let of = |id| if id == same[0] { first.id } else { second.id };
    let mut both = same.map(|id| (of(id), id));
    both.sort_by_key(|(_, id)| *id);
    newest_first.splice(0..0, both);

    let merchant = desk.shop.merchant;
    let reading = Reading::for_store(desk.database(), merchant).unwrap();
    let mut filter = ReturnsFilter { limit: 1, ..ReturnsFilter::default() };
    let mut listed = Vec::new();
    loop {
        let page = orders::merchant_returns(&reading, merchant, &filter).await.unwrap();
        listed.extend(page.returns.iter().map(|(order, it)| (*order, it.id)));
        let Some(next) = page.next else { break };
        filter.after = Some(next.to_string().parse().unwrap());
    }
    assert_eq!(listed, newest_first);

    desk.change(&first, newest_first[3].1, ReturnAction::Approve { instructions: None })
        .await
        .unwrap();
    let all = ReturnsFilter { limit: 10, ..ReturnsFilter::default() };
    let approved = ReturnsFilter { statuses: vec![ReturnStatus::Approved], ..all.clone() };
    let of_second = ReturnsFilter { order: Some(second.id), ..all.clone() };
    for (filter, count) in [(all.clone(), 6), (approved, 1), (of_second, 3)] {
        let page = orders::merchant_returns(&reading, merchant, &filter).await.unwrap();
        assert_eq!((page.returns.len(), page.next), (count, None), "{filter:?}");
    }
    let other = desk.shop.another_merchant().await;
    let reading = Reading::for_store(desk.database(), other).unwrap();
    for store in [merchant, other] {
        let page = orders::merchant_returns(&reading, store, &all).await.unwrap();
        assert_eq!(page.returns, []);
    }
}
