//! Purging sandbox orders, and erasing the data of buyers.

use database::{Reading, Work};
use orders::{
    DisputeReason, FeedbackOutcome, NewDispute, NewStatement, Order, OrderUpdate, ReturnAction,
    ReturnOutcome, ReturnRequest, ReturnStatus, Shipment, Viewer,
};
use primitives::DisputeId;
use serde_json::json;

use crate::desk::{Desk, item, priced};
use crate::shop::{Shop, order};

/// Rows that have a text of the buyer's side.
const SECRETS: &str = "SELECT (SELECT count(*) FROM placed_order AS it WHERE it::text LIKE '%secret%')
                            + (SELECT count(*) FROM order_return AS it WHERE it::text LIKE '%secret%')
                            + (SELECT count(*) FROM order_feedback AS it WHERE it::text LIKE '%secret%')
                            + (SELECT count(*) FROM dispute_statement AS it WHERE it::text LIKE '%secret%')";

/// Delivers a placed order and lets all parties write about it. Returns its dispute.
async fn write_everywhere(desk: &Desk, order: &Order) -> DisputeId {
    let secret = || String::from("secret");
    let (agent, buyer, merchant) = (desk.agent(1), desk.buyer(), desk.merchant());
    let destination = Some(json!({ "country": "DE", "street": "secret" }));
    let update = OrderUpdate { destination, note: Some(secret()) };
    orders::update(&buyer, order.id, None, update).await.unwrap();
    orders::ship(&merchant, order.id, None, Shipment::default()).await.unwrap();
    orders::deliver(&merchant, order.id, None, Vec::new()).await.unwrap();
    let request = ReturnRequest {
        items: vec![item(order.lines[0].line, 1)],
        outcome: ReturnOutcome::Refund,
        note: Some(secret()),
    };
    orders::request_return(&agent, order.id, request).await.unwrap();
    let outcome = FeedbackOutcome::ProblemUnresolved;
    orders::submit_feedback(&agent, order.id, outcome, Some(secret())).await.unwrap();
    let dispute = NewDispute {
        reason: DisputeReason::Damaged,
        statement: secret(),
        evidence: vec![String::from("https://secret.example/")],
    };
    let opened = orders::open_dispute(&buyer, order.id, dispute).await.unwrap();
    let id = opened.subject.unwrap().parse().unwrap();
    let answer = NewStatement {
        text: String::from("ours"),
        evidence: vec![String::from("https://ours.example/")],
        proposed_refund: None,
    };
    orders::answer_dispute(&merchant, order.id, id, answer).await.unwrap();
    id
}

#[tokio::test]
async fn a_purge_deletes_only_the_sandbox_order_of_a_session() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    let purged = Order { is_sandbox: true, ..order(1) };
    let kept = [Order { is_sandbox: true, ..order(2) }, order(3)];
    shop.place(&purged).await.unwrap();
    for order in &kept {
        shop.place(order).await.unwrap();
    }
    shop.place_for(other, &purged).await.unwrap();

    for deleted in [1, 0] {
        let mut work = Work::for_checkout(shop.test.database(), shop.merchant).await.unwrap();
        let purge = orders::purge_sandbox(&mut work, shop.merchant, purged.checkout).await;
        assert_eq!(purge.unwrap(), deleted);
        let real = orders::purge_sandbox(&mut work, shop.merchant, kept[1].checkout).await;
        assert_eq!(real.unwrap(), 0);
        work.commit().await.unwrap();
    }
    assert!(shop.read(purged.id, None).await.is_err());
    for order in kept {
        assert_eq!(shop.read(order.id, None).await.unwrap(), order);
    }
    assert_eq!(shop.read_for(other, purged.id, None).await.unwrap(), purged);
}

#[tokio::test]
async fn an_erasure_removes_the_carrier_that_the_buyers_side_named_and_not_that_of_the_merchant() {
    let desk = Desk::open().await;
    let parties = [(1, desk.agent(1)), (2, desk.buyer()), (3, desk.merchant())];
    for (number, context) in &parties {
        let (order, id) = desk.return_in(*number, ReturnStatus::Approved).await;
        let sent = ReturnAction::MarkInTransit {
            carrier: Some(String::from("Post")),
            tracking_number: Some(String::from("T-1")),
        };
        orders::change_return(context, order.id, id, None, sent).await.unwrap();
    }
    let mut work = Work::for_platform(desk.database()).await.unwrap();
    let erased = orders::erase_buyer(&mut work, "EVE@example.com").await.unwrap();
    assert_eq!(erased.len(), 3);
    work.commit().await.unwrap();
    for (number, carrier, tracking_number) in
        [(1, None, None), (2, None, None), (3, Some("Post"), Some("T-1"))]
    {
        let it = desk.only_return(priced(number).id).await;
        assert_eq!(
            (it.carrier.as_deref(), it.tracking_number.as_deref()),
            (carrier, tracking_number)
        );
    }
}

#[tokio::test]
async fn an_erasure_removes_what_the_buyers_side_wrote_and_nothing_of_the_merchant() {
    let desk = Desk::open().await;
    let approved = json!({ "country": "DE", "city": "secret" });
    let terms = json!({ "returns": { "window_days": 30 }, "destination": approved });
    let order = Order { terms, ..priced(1) };
    desk.shop.place(&order).await.unwrap();
    let id = write_everywhere(&desk, &order).await;
    assert_eq!(desk.shop.count(SECRETS).await, 4);
    let mut work = Work::for_platform(desk.database()).await.unwrap();
    let erased = orders::erase_buyer(&mut work, "eve@example.com").await.unwrap();
    assert_eq!(erased.len(), 1);
    work.commit().await.unwrap();
    assert_eq!(desk.shop.count(SECRETS).await, 0);

    let merchant = desk.shop.merchant;
    let reading = Reading::for_store(desk.database(), merchant).unwrap();
    let read = orders::dispute(&reading, merchant, id, &Viewer::All).await;
    let (details, dispute) = read.unwrap();
    let statements = dispute.statements.iter().map(|it| (it.text.as_str(), it.evidence.len()));
    assert_eq!(statements.collect::<Vec<_>>(), [("[erased]", 0), ("ours", 1)]);
    let country = json!({ "country": "DE" });
    assert_eq!(details.order.destination.as_ref(), Some(&country));
    assert_eq!(details.order.terms["destination"], country);
}

#[tokio::test]
async fn real_orders_cannot_be_deleted_or_made_those_of_a_sandbox() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    shop.place(&Order { is_sandbox: true, ..order(2) }).await.unwrap();
    let database = shop.test.database();
    for statement in [
        "UPDATE placed_order SET is_sandbox = true",
        "UPDATE placed_order SET total_minor = 1",
        "UPDATE placed_order SET confirmation_level = 'hosted'",
        "UPDATE placed_order SET terms = '{}'",
        "UPDATE order_return SET customer_note = 'other'",
        "UPDATE order_return SET requested_at = updated_at",
        "UPDATE order_dispute SET reason = 'other'",
        "UPDATE order_dispute SET respond_by = decide_by",
        "UPDATE order_feedback SET agent_key_id = order_id",
        "DELETE FROM order_return",
        "DELETE FROM order_dispute",
        "DELETE FROM order_feedback",
    ] {
        let mut work = Work::for_checkout(database, shop.merchant).await.unwrap();
        let refused = sqlx::raw_sql(statement).execute(work.sql()).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{statement}: {refused}");
    }
    for statement in [
        "DELETE FROM placed_order",
        "UPDATE placed_order SET is_sandbox = true",
        "UPDATE placed_order SET status = 'completed'",
        "UPDATE order_dispute SET status = 'withdrawn'",
        "UPDATE order_return SET status = 'closed'",
        "UPDATE order_return SET instructions = 'other'",
    ] {
        let mut work = Work::for_platform(database).await.unwrap();
        let refused = sqlx::raw_sql(statement).execute(work.sql()).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{statement}: {refused}");
    }
    let mut work = Work::for_checkout(database, shop.merchant).await.unwrap();
    let deleted = sqlx::raw_sql("DELETE FROM placed_order").execute(work.sql()).await.unwrap();
    assert_eq!(deleted.rows_affected(), 1);
    work.commit().await.unwrap();
    assert_eq!(shop.read(order(1).id, None).await.unwrap(), order(1));
}
