//! What each form of the page does, and that it does so once.

use std::time::Duration;

use orders::{
    Actor, CancelReason, Cancellation, DeclineReason, LineUnits, NewStatement, OrderContext,
    RequestedItem, ReturnAction, ReturnOutcome, ReturnReason, ReturnRequest,
};
use primitives::Money;

use super::Bought;

#[tokio::test]
async fn the_buyer_cancels_once() {
    let bought = Bought::new().await;
    assert!(bought.page().await.contains("Cancel the order"));
    let details = bought.submit_twice("cancel", "").await;
    assert_eq!((details.order.status.as_str(), details.history.len()), ("canceled", 2));
    assert!(details.history.iter().all(|entry| entry.actor == Actor::BUYER));
    let page = bought.page().await;
    assert!(page.contains("This order was canceled.") && !page.contains("Cancel the order"));
    assert!(page.contains("Items were canceled, on this page"), "{page}");
    assert_eq!(bought.submit("cancel", "").await.status, 409, "it is canceled already");
}

#[tokio::test]
async fn a_suspicion_of_fraud_is_not_told() {
    let bought = Bought::new().await;
    let merchant = bought.merchant();
    let one = LineUnits { line: Bought::line(&bought.details().await), quantity: 1 };
    for (items, reason) in
        [(vec![one], CancelReason::OutOfStock), (Vec::new(), CancelReason::Fraud)]
    {
        let cancellation = Cancellation { items, reason, note: None };
        orders::cancel(&merchant, bought.order, None, cancellation).await.unwrap();
    }
    let page = bought.page().await;
    for told in [
        "This order was canceled.",
        "Items were canceled, by the store: out of stock.",
        "Items were canceled, by the store.",
    ] {
        assert!(page.contains(told), "{told} is not on the page: {page}");
    }
    assert!(!page.to_lowercase().contains("fraud"), "{page}");
}

#[tokio::test]
async fn an_order_that_is_being_prepared_cannot_be_canceled() {
    let bought = Bought::new().await;
    orders::start_processing(&bought.merchant(), bought.order, None).await.unwrap();
    assert!(!bought.page().await.contains("Cancel the order"));
    assert_eq!(bought.submit("cancel", "").await.status, 409);
    assert_eq!(bought.details().await.order.status.as_str(), "processing");
}

#[tokio::test]
async fn the_buyer_changes_the_address_until_the_order_is_prepared() {
    let bought = Bought::new().await;
    let page = bought.page().await;
    assert!(page.contains("/address\" class") && !page.contains("Hidden Way"), "{page}");
    let fields = "&name=Ada+New&street=New+Way+2&city=Newtown&postal_code=20200&country=XX";
    for (missing, kept) in [("name", "nom"), ("street", "s"), ("city", "c"), ("postal_code", "p")] {
        let refused = bought.submit("address", &fields.replace(missing, kept)).await;
        assert_eq!(refused.status, 422, "{missing}");
        assert!(refused.text.contains("Enter the whole address"), "{}", refused.text);
    }
    let long = fields.replace("Newtown", &"x".repeat(101));
    assert_eq!(bought.submit("address", &long).await.status, 422);
    let details = bought.submit_twice("address", fields).await;
    let stored = serde_json::json!({ "country": bought.store.country, "city": "Newtown",
        "postal_code": "20200", "street": "New Way 2", "name": "Ada New" });
    assert_eq!(details.order.destination(), Some(&stored));
    assert_eq!((details.history.len(), &details.history[0].actor), (1, &Actor::BUYER));
    let page = bought.page().await;
    assert!(page.contains(&format!("Newtown, {}", bought.store.country)), "{page}");
    for hidden in ["New Way", "20200", "Ada New"] {
        assert!(!page.contains(hidden), "{hidden} is on the page: {page}");
    }
    orders::start_processing(&bought.merchant(), bought.order, None).await.unwrap();
    assert!(!bought.page().await.contains("/address\""));
    let late = bought.submit("address", &fields.replace("Newtown", "Latetown")).await;
    assert_eq!(late.status, 409);
    assert_eq!(bought.details().await.order.destination(), Some(&stored));
}

#[tokio::test]
async fn a_form_has_at_most_100_fields() {
    let bought = Bought::new().await;
    // Token and version are two of them.
    let refused = bought.submit("cancel", &"&a=b".repeat(99)).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert_eq!(bought.details().await.order.version, 1);
    let accepted = bought.submit("cancel", &"&a=b".repeat(98)).await;
    assert_eq!(accepted.status, 303, "{}", accepted.text);
}

#[tokio::test]
async fn a_return_is_canceled_once() {
    let bought = Bought::new().await;
    bought.deliver().await;
    let line = Bought::line(&bought.details().await);
    let fields = format!("&quantity-{line}=2&reason=other");
    let returned = bought.submit_twice("return", &fields).await.returns[0].id;
    assert!(bought.page().await.contains("Cancel the return"));
    assert_eq!(bought.submit("cancel_return", "&return_id=ret_1").await.status, 404);
    let id = format!("&return_id={returned}");
    let details = bought.submit_twice("cancel_return", &id).await;
    assert_eq!(details.returns[0].status.as_str(), "canceled");
    assert_eq!(details.order.lines[0].returned, 0, "the units can be returned again");
    let page = bought.page().await;
    assert!(page.contains("This return was withdrawn.") && !page.contains("Cancel the return"));
    assert_eq!(bought.submit("cancel_return", &id).await.status, 409);

    let details = bought.submit_twice("return", &fields).await;
    let requested = details.returns.iter().find(|it| it.status.as_str() == "requested");
    let (returned, merchant) = (requested.unwrap().id, bought.merchant());
    let approve = ReturnAction::Approve { instructions: None };
    orders::change_return(&merchant, bought.order, returned, None, approve).await.unwrap();
    assert!(bought.page().await.contains("Cancel the return"));
    let receive = ReturnAction::Receive;
    orders::change_return(&merchant, bought.order, returned, None, receive).await.unwrap();
    assert!(!bought.page().await.contains("Cancel the return"));
}

#[tokio::test]
async fn a_return_is_requested_once_and_followed() {
    let bought = Bought::new().await;
    assert!(bought.page().await.contains("once a shipment has arrived"));
    bought.deliver().await;
    let page = bought.page().await;
    for expected in [
        "Your order was delivered.",
        "Carrier &#38; Co",
        "TRACK-77",
        "<a href=\"https://carrier.example/TRACK-77\" rel=\"noopener noreferrer nofollow\">https://carrier.example/TRACK-77</a>",
        "You can return items until",
        "Request the return",
    ] {
        assert!(page.contains(expected), "{expected} is not on the page: {page}");
    }
    let line = Bought::line(&bought.details().await);
    for (quantity, reason) in
        [("0", "other"), ("", "other"), ("3", "other"), ("x", "other"), ("1", "")]
    {
        let fields = format!("&quantity-{line}={quantity}&reason={reason}");
        let refused = bought.submit("return", &fields).await;
        assert_eq!(refused.status, 422, "{fields}");
        assert!(refused.text.contains("role=\"alert\""), "{}", refused.text);
    }
    let one = format!("&quantity-{line}=1&reason=size_issue");
    let details = bought.submit_twice("return", &one).await;
    assert_eq!((details.returns.len(), details.order.lines[0].returned), (1, 1));
    let returned = &details.returns[0];
    assert_eq!(
        (returned.outcome.as_str(), returned.items[0].reason.as_str()),
        ("refund", "size_issue")
    );
    assert!(bought.page().await.contains("The store has not decided yet."));
    let approve = ReturnAction::Approve { instructions: Some(String::from("Send it to Dock 9")) };
    let merchant = bought.merchant();
    orders::change_return(&merchant, bought.order, returned.id, None, approve).await.unwrap();
    let page = bought.page().await;
    assert!(page.contains("Send it to Dock 9") && page.contains("1 in a return"), "{page}");
    assert!(page.contains("0 to 1,"), "one unit is left: {page}");
    for action in [ReturnAction::Receive, ReturnAction::Reject { reason: DeclineReason::Used }] {
        orders::change_return(&merchant, bought.order, returned.id, None, action).await.unwrap();
    }
    let page = bought.page().await;
    assert!(page.contains("The store did not accept the items."), "{page}");
    assert!(!page.contains("Refunded:"), "nothing was: {page}");
}

#[tokio::test]
async fn the_form_of_a_return_is_shown_as_long_as_one_can_be_requested() {
    let bought = Bought::new().await;
    bought.deliver().await;
    assert!(bought.page().await.contains("Request the return"));
    let line = Bought::line(&bought.details().await);
    let buyer = OrderContext { actor: Actor::BUYER, ..bought.merchant() };
    for _ in 0..20 {
        let items = vec![RequestedItem { line, quantity: 1, reason: ReturnReason::Other }];
        let request = ReturnRequest { items, outcome: ReturnOutcome::Refund, note: None };
        let requested = orders::request_return(&buyer, bought.order, request).await.unwrap();
        let (id, cancel) = (requested.subject.unwrap().parse().unwrap(), ReturnAction::Cancel);
        orders::change_return(&buyer, bought.order, id, None, cancel).await.unwrap();
    }
    let page = bought.page().await;
    assert!(!page.contains("Request the return"), "{page}");
    assert!(page.contains("No further return can be requested on this page."), "{page}");
}

#[tokio::test]
async fn one_version_of_the_page_executes_a_form_once() {
    let bought = Bought::new().await;
    bought.deliver().await;
    let details = bought.details().await;
    let (line, version) = (Bought::line(&details), details.order.version);
    let form = |reason: &str| format!("&quantity-{line}=1&reason={reason}");
    assert_eq!(bought.submit_at(version, "return", &form("other")).await.status, 303);
    let other = bought.submit_at(version, "return", &form("defective")).await;
    assert_eq!(other.status, 409, "another request from a page that is not current");
    assert_eq!(bought.details().await.returns.len(), 1);
}

#[tokio::test]
async fn a_dispute_is_opened_once_and_withdrawn_once() {
    let bought = Bought::new().await;
    for wrong in ["&reason=other&statement=", "&reason=&statement=x", "&reason=anger&statement=x"] {
        let refused = bought.submit("dispute", wrong).await;
        assert!(refused.status == 422 && refused.text.contains("role=\"alert\""), "{wrong}");
    }
    let fields = "&reason=not_received&statement=My+name+is+Eve";
    let details = bought.submit_twice("dispute", fields).await;
    let [dispute] = &details.disputes[..] else { panic!("{:?}", details.disputes) };
    assert_eq!(dispute.statements[0].text, "My name is Eve");
    let page = bought.page().await;
    assert!(page.contains("The order did not arrive.") && page.contains("Withdraw the dispute"));
    assert!(!page.contains("My name is Eve") && !page.contains("Open the dispute"), "{page}");
    assert_eq!(bought.submit("dispute", fields).await.status, 409, "one is open");
    let id = format!("&dispute_id={}", dispute.id);
    assert_eq!(bought.submit("accept", &id).await.status, 400, "nothing is proposed");
    assert_eq!(bought.submit("withdraw", "&dispute_id=dsp_1").await.status, 404);
    let details = bought.submit_twice("withdraw", &id).await;
    assert_eq!(details.disputes[0].status.as_str(), "withdrawn");
    assert_eq!(bought.submit("withdraw", &id).await.status, 409);
    assert!(bought.page().await.contains("Open the dispute"));
}

#[tokio::test]
async fn a_statement_is_added_to_an_open_dispute_once() {
    let bought = Bought::new().await;
    assert!(!bought.page().await.contains("Add the statement"));
    let details = bought.submit_twice("dispute", "&reason=damaged&statement=broken").await;
    let id = format!("&dispute_id={}", details.disputes[0].id);
    assert!(bought.page().await.contains("Add the statement"));
    for wrong in ["", "&statement=", &format!("&statement={}", "x".repeat(4_001))] {
        let refused = bought.submit("statement", &format!("{id}{wrong}")).await;
        assert!(refused.status == 422 && refused.text.contains("role=\"alert\""), "{wrong}");
    }
    let more = "&statement=Eve+has+a+photo&evidence=https%3A%2F%2Ffiles.example%2Fa";
    let details = bought.submit_twice("statement", &format!("{id}{more}")).await;
    let [_, added] = &details.disputes[0].statements[..] else { panic!("{details:?}") };
    assert_eq!((added.actor, added.text.as_str()), (Actor::BUYER.kind, "Eve has a photo"));
    assert!(added.evidence.is_empty(), "the form takes no links");
    assert!(!bought.page().await.contains("Eve has a photo"));
    assert_eq!(bought.submit("statement", "&dispute_id=dsp_1&statement=x").await.status, 404);
    bought.submit_twice("withdraw", &id).await;
    assert!(!bought.page().await.contains("Add the statement"));
    assert_eq!(bought.submit("statement", &format!("{id}{more}")).await.status, 409);
}

#[tokio::test]
async fn the_form_of_a_dispute_is_shown_as_long_as_one_can_be_opened() {
    let bought = Bought::new().await;
    let form = "Open the dispute";
    bought.app.test.clock().advance(Duration::from_hours(120 * 24 - 1));
    assert!(bought.page().await.contains(form));
    bought.app.test.clock().advance(Duration::from_hours(1));
    assert!(!bought.page().await.contains(form));
    let late = bought.submit("dispute", "&reason=other&statement=late").await;
    assert!(late.status == 422 && late.text.contains("can no longer be opened"), "{}", late.text);

    let bought = Bought::new().await;
    for _ in 0..5 {
        let details = bought.submit_twice("dispute", "&reason=other&statement=x").await;
        let id = details.disputes.iter().find(|it| it.status.is_open()).unwrap().id;
        bought.submit_twice("withdraw", &format!("&dispute_id={id}")).await;
    }
    assert!(!bought.page().await.contains(form), "five are the most");
}

#[tokio::test]
async fn a_proposal_is_accepted_once() {
    let bought = Bought::new().await;
    let details = bought.submit_twice("dispute", "&reason=damaged&statement=broken").await;
    let (dispute, currency) = (details.disputes[0].id, details.order.currency());
    let answer = NewStatement {
        text: String::from("We are sorry"),
        evidence: vec![String::from("https://files.example/a")],
        proposed_refund: Some(Money::new(150, currency)),
    };
    let merchant = bought.merchant();
    orders::answer_dispute(&merchant, bought.order, dispute, answer).await.unwrap();
    let page = bought.page().await;
    let proposed = Money::new(150, currency);
    assert!(
        page.contains("We are sorry") && page.contains(&format!("Accept {proposed}")),
        "{page}"
    );
    let (sum, fields) = (details.order.total.minor(), format!("&dispute_id={dispute}"));
    let refund = orders::NewRefund {
        amount: Some(Money::new(sum - 149, currency)),
        reason: orders::RefundReason::Goodwill,
        note: Some(String::from("As agreed by mail")),
        reference: Some(String::from("RF-77")),
    };
    orders::refund(&merchant, bought.order, None, refund).await.unwrap();
    let page = bought.page().await;
    assert!(page.contains("The store: As agreed by mail") && !page.contains("RF-77"), "{page}");
    assert!(!page.contains("Accept "), "less than the proposal is left: {page}");
    let refused = bought.submit("accept", &fields).await;
    assert!(refused.text.contains("The proposal cannot be accepted now"), "{}", refused.text);
    let answer = NewStatement {
        text: String::from("All that is left"),
        evidence: Vec::new(),
        proposed_refund: Some(Money::new(149, currency)),
    };
    orders::answer_dispute(&merchant, bought.order, dispute, answer).await.unwrap();
    let details = bought.submit_twice("accept", &fields).await;
    let dispute = &details.disputes[0];
    assert_eq!((dispute.status.as_str(), dispute.refund_minor), ("resolved", Some(149)));
    assert!(bought.page().await.contains("The proposal of the store was accepted."));
}
