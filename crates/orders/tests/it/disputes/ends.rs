//! Decisions, agreements and withdrawals.

use super::*;
use crate::desk::available;

/// Opens a dispute and answers it.
async fn under_review(case: &Case) -> DisputeId {
    let id = case.open().await;
    case.answer(&by_merchant(), id, statement("It was delivered.")).await.unwrap();
    id
}

/// Asserts what every end has: one entry, one event and one notice.
async fn assert_ended(case: &Case, id: DisputeId, actor: &Actor, resolution: &str) -> Dispute {
    let (details, dispute) = case.read(id).await;
    let now = Timestamp::from_unix_micros(testkit::START);
    let now = now.plus(details.order.updated_at.since(now));
    assert_eq!((dispute.resolved_at, dispute.updated_at), (Some(now), now));
    let entries: Vec<_> =
        details.history.iter().filter(|it| it.details["dispute_id"] == json!(id)).collect();
    let last = entries.last().unwrap();
    assert_eq!((last.kind, &last.actor), (HistoryKind::DisputeChanged, actor));
    assert_eq!(last.details["dispute_status"], json!(dispute.status));
    let notices = case.notices().await;
    let mut expected =
        json!({ "order_id": order(1).id, "dispute_id": id, "resolution": resolution });
    if let Some(minor) = dispute.refund_minor {
        expected["refund_amount"] = json!(euros(minor).to_decimal());
        expected["currency"] = json!("EUR");
    }
    assert_eq!(notices.last(), Some(&(NoticeKind::DisputeResolved, expected)));
    let ends = |(kind, _): &&(NoticeKind, Value)| *kind == NoticeKind::DisputeResolved;
    let posted = i64::try_from(notices.iter().filter(ends).count()).unwrap();
    assert_eq!(posted, case.shop.count(RESOLVED).await, "one notice and one event for each end");
    dispute
}

#[tokio::test]
async fn an_administrator_decides_for_the_buyer_and_moves_no_money() {
    let case = Case::new().await;
    let id = under_review(&case).await;
    case.advance(DAY);
    let verdict = decision(Resolution::Buyer, Some(euros(2_990)));
    let decided = case.decide(&by_platform(), id, verdict).await.unwrap();
    assert_eq!((decided.details.order.refunded_minor, decided.details.refunds.len()), (0, 0));
    let dispute = assert_ended(&case, id, &by_platform(), "buyer").await;
    assert_eq!(dispute.status, DisputeStatus::Resolved);
    assert_eq!((dispute.resolution, dispute.refund_minor), (Some(Resolution::Buyer), Some(2_990)));
    let note = dispute.statements.last().unwrap();
    assert_eq!((note.actor, note.text.as_str()), (ActorKind::Platform, "The parcel was lost."));
    let body: Vec<u8> = sqlx::query_scalar(
        "SELECT webhook_body.body FROM webhook_event JOIN webhook_body USING (merchant_id, event_id)
         WHERE kind = 'dispute.resolved'",
    )
    .fetch_one(&mut case.shop.test.raw().await)
    .await
    .unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (&body["disputeStatus"], &body["resolution"]),
        (&json!("resolved"), &json!("buyer"))
    );
    assert_eq!((&body["refundAmount"], &body["currency"]), (&json!(29.9), &json!("EUR")));
    assert_eq!((&body["sequence"], &body["changedBy"]), (&json!(5), &json!("platform")));
}

#[tokio::test]
async fn an_administrator_decides_for_the_merchant() {
    let case = Case::new().await;
    let id = under_review(&case).await;
    case.decide(&by_platform(), id, decision(Resolution::Merchant, None)).await.unwrap();
    let dispute = assert_ended(&case, id, &by_platform(), "merchant").await;
    assert_eq!((dispute.resolution, dispute.refund_minor), (Some(Resolution::Merchant), None));
}

#[tokio::test]
async fn a_decision_follows_its_rules() {
    let case = Case::new().await;
    let id = under_review(&case).await;
    let platform = by_platform();
    for actor in [by_agent(), Actor::BUYER, by_merchant(), Actor::SYSTEM] {
        let verdict = decision(Resolution::Merchant, None);
        assert_eq!(field(case.decide(&actor, id, verdict).await), "actor");
    }
    let currency = Some(Money::new(1, Currency::Usdc));
    for (resolution, refund, wrong) in [
        (Resolution::Agreement, None, "resolution"),
        (Resolution::Merchant, Some(euros(1)), "refund"),
        (Resolution::Buyer, Some(euros(0)), "refund"),
        (Resolution::Buyer, currency, "currency"),
    ] {
        let refused = case.decide(&platform, id, decision(resolution, refund)).await;
        assert_eq!(field(refused), wrong);
    }
    let silent = Decision { reason: String::from(" "), ..decision(Resolution::Buyer, None) };
    assert_eq!(field(case.decide(&platform, id, silent).await), "reason");
    case.shop.execute("UPDATE placed_order SET refunded_minor = 2000").await.unwrap();
    let exceeded = case.decide(&platform, id, decision(Resolution::Buyer, Some(euros(991)))).await;
    assert_eq!(available(&exceeded), "refund: 9.90 EUR");
    let (_, dispute) = case.read(id).await;
    assert_eq!((dispute.status, dispute.statements.len()), (DisputeStatus::UnderReview, 2));
    case.decide(&platform, id, decision(Resolution::Buyer, Some(euros(990)))).await.unwrap();
}

#[tokio::test]
async fn a_dispute_is_decided_after_the_answer_or_the_deadline_and_not_before() {
    let case = Case::new().await;
    let id = case.open().await;
    case.advance((DAY * 7).saturating_sub(MICRO));
    let verdict = || decision(Resolution::Buyer, None);
    assert_eq!(refused_in(&case.decide(&by_platform(), id, verdict()).await), "open");
    case.advance(MICRO);
    // Also before the job has run.
    case.decide(&by_platform(), id, verdict()).await.unwrap();
    let dispute = assert_ended(&case, id, &by_platform(), "buyer").await;
    assert_eq!((dispute.answered_at, dispute.refund_minor), (None, None));
}

#[tokio::test]
async fn the_buyers_side_accepts_the_proposal_of_the_merchant() {
    for actor in [by_agent(), Actor::BUYER] {
        let case = Case::new().await;
        let id = under_review(&case).await;
        assert_eq!(field(case.accept(&actor, id).await), "dispute_id", "there is no proposal");
        case.propose(id, euros(1_200)).await.unwrap();
        for other in [by_merchant(), by_platform(), Actor::SYSTEM] {
            assert_eq!(field(case.accept(&other, id).await), "actor");
        }
        let accepted = case.accept(&actor, id).await.unwrap();
        assert_eq!(accepted.details.order.refunded_minor, 0);
        let dispute = assert_ended(&case, id, &actor, "agreement").await;
        assert_eq!(dispute.status, DisputeStatus::Resolved);
        let agreed = (Some(Resolution::Agreement), Some(1_200));
        assert_eq!((dispute.resolution, dispute.refund_minor), agreed);
    }
}

#[tokio::test]
async fn a_proposal_above_what_is_left_cannot_be_accepted_and_can_be_lowered_to_it() {
    let case = Case::new().await;
    let id = under_review(&case).await;
    case.propose(id, euros(1_200)).await.unwrap();
    // The merchant was faster than the acceptance.
    case.shop.execute("UPDATE placed_order SET refunded_minor = 2000").await.unwrap();
    let before = case.read(id).await;
    for actor in [by_agent(), Actor::BUYER] {
        let refused = case.accept(&actor, id).await;
        assert_eq!(available(&refused), "proposed_refund: 9.90 EUR");
    }
    assert_eq!(case.read(id).await, before);
    assert_eq!(field(case.propose(id, euros(989)).await), "proposed_refund");
    case.propose(id, euros(990)).await.unwrap();
    case.accept(&by_agent(), id).await.unwrap();
    assert_eq!(case.read(id).await.1.refund_minor, Some(990));
}

#[tokio::test]
async fn only_a_paid_order_is_refunded_by_a_dispute() {
    let case = Case::new().await;
    let id = under_review(&case).await;
    case.propose(id, euros(100)).await.unwrap();
    for payment in ["unpaid", "authorized", "failed", "disputed"] {
        let set = sqlx::query("UPDATE placed_order SET payment_status = $1").bind(payment);
        set.execute(&mut case.shop.test.raw().await).await.unwrap();
        assert_eq!(available(&case.propose(id, euros(100)).await), "proposed_refund: 0.00 EUR");
        assert_eq!(available(&case.accept(&by_agent(), id).await), "proposed_refund: 0.00 EUR");
        let verdict = decision(Resolution::Buyer, Some(euros(1)));
        let decided = case.decide(&by_platform(), id, verdict).await;
        assert_eq!(available(&decided), "refund: 0.00 EUR", "{payment}");
    }
    case.decide(&by_platform(), id, decision(Resolution::Buyer, None)).await.unwrap();
}

#[tokio::test]
async fn only_the_buyer_ends_a_dispute_that_the_buyer_opened() {
    for is_accepted in [true, false] {
        let case = Case::new().await;
        let opened = case.try_open(&Actor::BUYER, new_dispute()).await.unwrap();
        let id: DisputeId = opened.subject.unwrap().parse().unwrap();
        case.propose(id, euros(100)).await.unwrap();
        let before = case.read(id).await;
        for refused in [case.accept(&by_agent(), id).await, case.withdraw(&by_agent(), id).await] {
            let refused = refused.unwrap_err().with_order_page(|| String::from("/page"));
            assert_eq!(refused.code(), primitives::ErrorCode::InvalidStatusTransition);
            let facts = facts(&refused);
            assert_eq!(
                (&facts["from"], &facts["order_page"]),
                (&json!("under_review"), &json!("/page"))
            );
            assert!(facts["hint"].as_str().unwrap().contains("order_page"), "{facts}");
        }
        assert_eq!(case.read(id).await, before);
        // The agent may still say something.
        case.answer(&by_agent(), id, statement("I bought what you asked for.")).await.unwrap();
        let ended = if is_accepted {
            case.accept(&Actor::BUYER, id).await
        } else {
            case.withdraw(&Actor::BUYER, id).await
        };
        assert!(!ended.unwrap().details.disputes[0].status.is_open());
    }
}

#[tokio::test]
async fn a_refused_change_of_a_dispute_names_what_is_possible() {
    let case = Case::new().await;
    let id = case.open().await;
    let verdict = || decision(Resolution::Buyer, None);
    let early = case.decide(&by_platform(), id, verdict()).await.unwrap_err();
    assert_eq!(facts(&early), json!({ "from": "open", "allowed": ["under_review", "withdrawn"] }));
    assert_eq!(early.to_string(), "invalid transition: the dispute is open");
    let second = case.try_open(&Actor::BUYER, new_dispute()).await.unwrap_err();
    let facts_of_second = facts(&second);
    assert_eq!(facts_of_second["from"], "open");
    assert_eq!(facts_of_second["dispute_id"], json!(id));
    case.advance(DAY * 7);
    let late = case.answer(&by_merchant(), id, statement("Too late.")).await.unwrap_err();
    let allowed = json!(["resolved", "withdrawn"]);
    assert_eq!(facts(&late), json!({ "from": "under_review", "allowed": allowed }));
    case.withdraw(&by_agent(), id).await.unwrap();
    let again = case.withdraw(&by_agent(), id).await.unwrap_err();
    assert_eq!(facts(&again), json!({ "from": "withdrawn", "allowed": [] }));
}

#[tokio::test]
async fn the_buyers_side_withdraws_an_open_dispute() {
    let case = Case::new().await;
    for (number, actor) in [by_agent(), Actor::BUYER].into_iter().enumerate() {
        let id = if number == 0 { case.open().await } else { under_review(&case).await };
        for other in [by_merchant(), by_platform(), Actor::SYSTEM] {
            assert_eq!(field(case.withdraw(&other, id).await), "actor");
        }
        case.withdraw(&actor, id).await.unwrap();
        let dispute = assert_ended(&case, id, &actor, "withdrawn").await;
        assert_eq!(dispute.status, DisputeStatus::Withdrawn);
        assert_eq!((dispute.resolution, dispute.refund_minor), (None, None));
    }
}

#[tokio::test]
async fn a_dispute_that_has_ended_does_not_change() {
    let case = Case::new().await;
    for end in ["resolved", "withdrawn"] {
        let id = case.open().await;
        case.propose(id, euros(100)).await.unwrap();
        if end == "resolved" {
            case.accept(&by_agent(), id).await.unwrap();
        } else {
            case.withdraw(&by_agent(), id).await.unwrap();
        }
        let before = case.read(id).await;
        for actor in [by_agent(), Actor::BUYER, by_merchant(), by_platform()] {
            assert_eq!(refused_in(&case.answer(&actor, id, statement("a")).await), end);
        }
        assert_eq!(refused_in(&case.propose(id, euros(200)).await), end);
        let verdict = decision(Resolution::Buyer, None);
        assert_eq!(refused_in(&case.decide(&by_platform(), id, verdict).await), end);
        for actor in [by_agent(), Actor::BUYER] {
            assert_eq!(refused_in(&case.accept(&actor, id).await), end);
            assert_eq!(refused_in(&case.withdraw(&actor, id).await), end);
        }
        assert_eq!(case.read(id).await, before);
    }
    assert_eq!((case.shop.count(OPENED).await, case.shop.count(RESOLVED).await), (2, 2));
}

#[tokio::test]
async fn of_concurrent_ends_one_succeeds() {
    let case = Case::new().await;
    let id = case.open().await;
    case.propose(id, euros(100)).await.unwrap();
    let (agent, buyer, platform) = (by_agent(), Actor::BUYER, by_platform());
    let ends = tokio::join!(
        case.withdraw(&agent, id),
        case.accept(&buyer, id),
        case.decide(&platform, id, decision(Resolution::Buyer, None)),
        case.withdraw(&buyer, id),
    );
    let ends = [ends.0, ends.1, ends.2, ends.3];
    assert_eq!(ends.iter().filter(|end| end.is_ok()).count(), 1, "{ends:?}");
    assert_eq!(case.shop.count(RESOLVED).await, 1);
}
