//! Decisions, agreements and withdrawals.

use super::*;

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
    let expected = json!({ "order_id": order(1).id, "dispute_id": id, "resolution": resolution });
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
    let body: Vec<u8> =
        sqlx::query_scalar("SELECT body FROM webhook_event WHERE kind = 'dispute.resolved'")
            .fetch_one(&mut case.shop.test.raw().await)
            .await
            .unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (&body["disputeStatus"], &body["resolution"]),
        (&json!("resolved"), &json!("buyer"))
    );
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
        (Resolution::Buyer, Some(euros(0)), "amount"),
        (Resolution::Buyer, currency, "currency"),
    ] {
        let refused = case.decide(&platform, id, decision(resolution, refund)).await;
        assert_eq!(field(refused), wrong);
    }
    let silent = Decision { note: String::from(" "), ..decision(Resolution::Buyer, None) };
    assert_eq!(field(case.decide(&platform, id, silent).await), "note");
    case.shop.execute("UPDATE placed_order SET refunded_minor = 2000").await.unwrap();
    let exceeded = case.decide(&platform, id, decision(Resolution::Buyer, Some(euros(991)))).await;
    let Err(OrderError::RefundExceeded { available, .. }) = exceeded else {
        panic!("{exceeded:?}")
    };
    assert!((available - 9.9).abs() < f64::EPSILON);
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
        // What was agreed stands, also if the merchant was faster than the acceptance.
        case.shop.execute("UPDATE placed_order SET refunded_minor = 2000").await.unwrap();
        let accepted = case.accept(&actor, id).await.unwrap();
        assert_eq!(accepted.details.order.refunded_minor, 2_000);
        let dispute = assert_ended(&case, id, &actor, "agreement").await;
        assert_eq!(dispute.status, DisputeStatus::Resolved);
        let agreed = (Some(Resolution::Agreement), Some(1_200));
        assert_eq!((dispute.resolution, dispute.refund_minor), agreed);
    }
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
