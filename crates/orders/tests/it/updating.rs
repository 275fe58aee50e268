//! Changing destination and note: who may change what, until when, and what the merchant learns of it.

use std::time::Duration;

use orders::{
    Actor, BuyerOptions, Changed, ConfirmationLevel, DisputeReason, LockedDestination, NewDispute,
    NewRefund, NewStatement, Order, OrderContext, OrderError, OrderUpdate, RefundReason,
    ReturnAction, ReturnOutcome, Viewer,
};
use primitives::{Details, DisputeId, HintNames, Id, Problem};
use serde_json::{Value, json};

use crate::desk::{Desk, euros, item, priced};
use crate::shop::{Shop, agent, order};

const UPDATED: &str = "order.updated";

/// Returns an order with a destination whose terms were approved in this way.
fn approved(number: u128, confirmation: ConfirmationLevel) -> Order {
    let destination = json!({ "country": "US", "region": "NY", "city": "Albany", "name": "Eve" });
    let id = order(number).confirmation_id;
    let confirmation_id = id.filter(|_| confirmation != ConfirmationLevel::Attested);
    let terms = json!({ "destination": destination });
    Order { terms, confirmation, confirmation_id, ..order(number) }
}

fn elsewhere() -> Value {
    json!({ "country": "US", "region": "NY", "city": "Buffalo", "name": "Mallory" })
}

async fn redirect(context: &OrderContext<'_>, number: u128) -> Result<Changed, OrderError> {
    let update = OrderUpdate { destination: Some(elsewhere()), note: None };
    orders::update(context, order(number).id, None, update).await
}

async fn annotate(context: &OrderContext<'_>, number: u128) -> Result<Changed, OrderError> {
    let update = OrderUpdate { destination: None, note: Some(String::from("Ring twice.")) };
    orders::update(context, order(number).id, None, update).await
}

impl Shop {
    fn as_buyer(&self) -> OrderContext<'_> {
        self.acting(Actor::BUYER, Viewer::All)
    }
}

#[tokio::test]
async fn an_agent_redirects_no_order_that_a_person_approved() {
    let shop = Shop::open().await;
    let agent = shop.as_agent(1);
    for (number, level) in (1..).zip(ConfirmationLevel::ALL) {
        shop.place(&approved(number, *level)).await.unwrap();
        let redirected = redirect(&agent, number).await;
        let details = shop.details(order(number).id).await;
        let events = shop.events(order(number).id, UPDATED).await;
        if *level == ConfirmationLevel::Attested {
            assert_eq!(redirected.unwrap().details, details);
            assert_eq!((details.order.destination(), events.len()), (Some(&elsewhere()), 1));
            continue;
        }
        let refused = redirected.unwrap_err();
        assert_eq!(refused.code().code(), "confirmation_required", "{level}");
        let reason = LockedDestination::ApprovedByPerson;
        assert!(
            matches!(&refused, OrderError::DestinationLocked { reason: it, order_page: None } if *it == reason)
        );
        assert_eq!((details.order.version, events.len()), (1, 0), "{level}");
        assert_eq!(details.order.destination(), details.order.terms.get("destination"));
        // The note is not part of what was approved.
        annotate(&agent, number).await.unwrap();
        redirect(&shop.as_buyer(), number).await.unwrap();
    }
}

#[tokio::test]
async fn only_the_key_that_bought_changes_the_destination() {
    let shop = Shop::open().await;
    shop.place(&approved(1, ConfirmationLevel::Attested)).await.unwrap();
    let of_account = Viewer::Agent(vec![agent(1), agent(2)]);
    let other = shop.acting(Actor::agent(agent(2)), of_account.clone());
    let refused = redirect(&other, 1).await.unwrap_err().with_order_page(|| String::from("/page"));
    let mut details = Details::default();
    refused.details(&mut details);
    let details = details.into_json(HintNames::MCP);
    assert_eq!(details["reason"], "placed_by_another_key");
    assert_eq!(details["order_page"], "/page");
    assert!(details["hint"].as_str().unwrap().contains("order_page"));
    annotate(&other, 1).await.unwrap();
    redirect(&shop.acting(Actor::agent(agent(1)), of_account), 1).await.unwrap();
}

#[tokio::test]
async fn the_destination_changes_until_the_order_is_prepared_and_the_note_until_it_is_shipped() {
    let shop = Shop::open().await;
    let (merchant, buyer, id) = (shop.as_merchant(), shop.as_buyer(), order(1).id);
    shop.place(&approved(1, ConfirmationLevel::Hosted)).await.unwrap();
    let options = async || BuyerOptions::of(&shop.details(id).await, order(1).created_at);
    orders::confirm(&merchant, id, None).await.unwrap();
    orders::hold_for_review(&merchant, id, None).await.unwrap();
    assert!(options().await.can_change_destination);
    redirect(&buyer, 1).await.unwrap();
    orders::confirm(&merchant, id, None).await.unwrap();
    orders::start_processing(&merchant, id, None).await.unwrap();
    assert!(!options().await.can_change_destination);
    redirect(&buyer, 1).await.unwrap();
    assert_eq!(shop.events(id, UPDATED).await.len(), 1, "the same address again changes nothing");
    let moved = json!({ "country": "US", "region": "NY", "city": "Utica" });
    let update = OrderUpdate { destination: Some(moved), note: None };
    let late = orders::update(&buyer, id, None, update).await;
    assert!(matches!(late, Err(OrderError::InvalidTransition { .. })), "{late:?}");
    assert_eq!(shop.details(id).await.order.destination(), Some(&elsewhere()));
    annotate(&buyer, 1).await.unwrap();
}

#[tokio::test]
async fn country_and_region_stay_as_they_were_approved() {
    let shop = Shop::open().await;
    let (buyer, id) = (shop.as_buyer(), order(1).id);
    shop.place(&approved(1, ConfirmationLevel::Hosted)).await.unwrap();
    let change = async |destination: Value| {
        let update = OrderUpdate { destination: Some(destination), note: None };
        orders::update(&buyer, id, None, update).await
    };
    for (wrong, name) in [
        (json!({ "country": "CA", "region": "NY" }), "destination.country"),
        (json!({ "country": "US", "region": "NJ" }), "destination.region"),
        (json!({ "country": "US", "region": 7 }), "destination.region"),
    ] {
        let refused = change(wrong.clone()).await;
        let Err(OrderError::InvalidField { field, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(field, name, "{wrong}");
    }
    assert_eq!(shop.details(id).await.order.version, 1);
    let changed = change(json!({ "country": "US", "city": "Buffalo" })).await.unwrap();
    let stored = json!({ "country": "US", "region": "NY", "city": "Buffalo" });
    assert_eq!(changed.details.order.destination(), Some(&stored));
    // A region cannot be added either.
    let terms = json!({ "destination": { "country": "DE" } });
    shop.place(&Order { terms, ..order(2) }).await.unwrap();
    let destination = Some(json!({ "country": "DE", "region": "BE" }));
    let refused =
        orders::update(&buyer, order(2).id, None, OrderUpdate { destination, note: None });
    assert!(matches!(refused.await, Err(OrderError::InvalidField { .. })));
}

#[tokio::test]
async fn an_order_that_was_approved_without_a_destination_gets_none() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    shop.place(&Order { terms: json!({ "destination": null }), ..order(2) }).await.unwrap();
    for number in [1, 2] {
        let refused = redirect(&shop.as_buyer(), number).await;
        let Err(OrderError::InvalidField { field, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(field, "destination");
        let details = shop.details(order(number).id).await;
        assert!(!BuyerOptions::of(&details, details.order.created_at).can_change_destination);
        assert_eq!(details.order.version, 1);
    }
}

#[tokio::test]
async fn an_update_is_published_without_the_address() {
    let shop = Shop::open().await;
    let id = order(1).id;
    shop.place(&approved(1, ConfirmationLevel::Hosted)).await.unwrap();
    let note = Some(String::from("Ring twice."));
    let update = OrderUpdate { destination: Some(elsewhere()), note };
    for _ in 0..2 {
        orders::update(&shop.as_buyer(), id, None, update.clone()).await.unwrap();
    }
    let events = shop.events(id, UPDATED).await;
    let [event] = &events[..] else { panic!("{events:?}") };
    assert_eq!(event["fields"], json!(["destination", "note"]));
    assert_eq!((&event["sequence"], &event["changedBy"]), (&json!(2), &json!("buyer")));
    assert_eq!((&event["status"], &event["reason"]), (&json!("pending"), &Value::Null));
    let text = event.to_string();
    for hidden in ["Buffalo", "Mallory", "Albany", "Eve", "Ring"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    let sandbox = Order { is_sandbox: true, ..approved(2, ConfirmationLevel::Hosted) };
    shop.place(&sandbox).await.unwrap();
    redirect(&shop.as_buyer(), 2).await.unwrap();
    assert_eq!(shop.events(order(2).id, UPDATED).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_buyer_can_accept_a_proposal_as_long_as_that_much_is_left() {
    let shop = Shop::open().await;
    let (buyer, merchant, id) = (shop.as_buyer(), shop.as_merchant(), order(1).id);
    shop.place(&order(1)).await.unwrap();
    let new = NewDispute {
        reason: DisputeReason::Other,
        statement: String::from("Nothing arrived."),
        evidence: Vec::new(),
    };
    let opened = orders::open_dispute(&buyer, id, new).await.unwrap().subject.unwrap();
    let dispute: DisputeId = opened.parse().unwrap();
    let options = async || BuyerOptions::of(&shop.details(id).await, order(1).created_at);
    let before = options().await;
    assert_eq!((before.acceptable_disputes, before.withdrawable_disputes), (vec![], vec![dispute]));
    let answer = NewStatement {
        text: String::from("Sorry."),
        evidence: Vec::new(),
        proposed_refund: Some(euros(1_50)),
    };
    orders::answer_dispute(&merchant, id, dispute, answer).await.unwrap();
    assert_eq!(options().await.acceptable_disputes, [dispute]);
    let (reason, note, reference) = (RefundReason::Goodwill, None, None);
    let amount = Some(euros(order(1).total.minor() - 1_49));
    let refund = NewRefund { amount, reason, note, reference };
    orders::refund(&merchant, id, None, refund).await.unwrap();
    let after = options().await;
    assert_eq!((after.acceptable_disputes, after.withdrawable_disputes), (vec![], vec![dispute]));
    let refused = orders::accept_proposal(&buyer, id, dispute).await;
    assert!(matches!(refused, Err(OrderError::RefundExceeded { .. })), "{refused:?}");
    orders::withdraw_dispute(&buyer, id, dispute).await.unwrap();
    assert!(options().await.withdrawable_disputes.is_empty());
}

#[tokio::test]
async fn after_twenty_returns_of_the_agent_nothing_is_eligible_for_it() {
    let order = priced(1);
    let desk = Desk::with_delivered(&order).await;
    let check = async |viewer: Viewer| {
        let merchant = desk.shop.merchant;
        let reading = database::Reading::for_store(desk.database(), merchant).unwrap();
        let found = orders::eligibility(&reading, merchant, order.id, &viewer).await.unwrap();
        let record = found.1.record(&found.0.order);
        (record.eligible, record.items[0].returnable_quantity)
    };
    for _ in 0..20 {
        assert_eq!(check(Viewer::Agent(vec![agent(1)])).await, (true, 3));
        let id = desk.request_units(&order, 1).await;
        desk.change(&order, id, ReturnAction::Cancel).await.unwrap();
    }
    assert_eq!(check(Viewer::Agent(vec![agent(1)])).await, (false, 3));
    let items = vec![item(order.lines[0].line, 1)];
    let refused = desk.request(&order, items, ReturnOutcome::Refund).await;
    assert!(matches!(refused, Err(OrderError::InvalidField { .. })), "{refused:?}");
    assert_eq!(check(Viewer::All).await, (true, 3), "the buyer has returns of its own");
}

/// Whether a form is shown and whether the verb accepts it is one rule.
#[tokio::test]
async fn what_a_buyer_can_do_is_what_the_verbs_accept() {
    let shop = Shop::open().await;
    let (buyer, id) = (shop.as_buyer(), order(1).id);
    shop.place(&approved(1, ConfirmationLevel::Hosted)).await.unwrap();
    let dispute = || NewDispute {
        reason: DisputeReason::Other,
        statement: String::from("Nothing arrived."),
        evidence: Vec::new(),
    };
    let options = async || {
        let reading = database::Reading::for_store(shop.test.database(), shop.merchant).unwrap();
        orders::buyer_options(&reading, shop.merchant, id).await.unwrap().1
    };
    for _ in 0..5 {
        let before = options().await;
        assert!(before.can_open_dispute && before.answerable_disputes.is_empty());
        let opened = orders::open_dispute(&buyer, id, dispute()).await.unwrap();
        let opened = opened.subject.unwrap().parse().unwrap();
        let during = options().await;
        assert!(!during.can_open_dispute);
        assert_eq!(during.answerable_disputes, [opened]);
        orders::withdraw_dispute(&buyer, id, opened).await.unwrap();
    }
    assert!(!options().await.can_open_dispute, "five are the most");
    assert!(orders::open_dispute(&buyer, id, dispute()).await.is_err());
    shop.place(&approved(2, ConfirmationLevel::Hosted)).await.unwrap();
    let second = shop.details(order(2).id).await;
    let end = second.order.created_at.plus(Duration::from_hours(120 * 24));
    let before_end = second.order.created_at.plus(Duration::from_hours(120 * 24 - 1));
    assert!(BuyerOptions::of(&second, before_end).can_open_dispute);
    assert!(!BuyerOptions::of(&second, end).can_open_dispute);
    let unknown = primitives::OrderId::from_random(99);
    let reading = database::Reading::for_store(shop.test.database(), shop.merchant).unwrap();
    let missing = orders::buyer_options(&reading, shop.merchant, unknown).await;
    assert!(matches!(missing, Err(OrderError::NotFound)));
}
