//! Statements, and the merchant's answer with a proposal.

use super::*;
use crate::desk::available;

#[tokio::test]
async fn the_first_answer_of_the_merchant_puts_a_dispute_under_review() {
    let case = Case::new().await;
    let id = case.open().await;
    case.advance(DAY);
    let now = Timestamp::from_unix_micros(testkit::START).plus(DAY);
    let answer = NewStatement {
        evidence: vec![String::from("https://carrier.example/1")],
        ..statement("It was \u{7}delivered.")
    };
    let changed = case.answer(&by_merchant(), id, answer).await.unwrap();
    assert_eq!(changed.subject.as_deref(), Some(id.to_string().as_str()));
    let (details, dispute) = case.read(id).await;
    assert_eq!(dispute.status, DisputeStatus::UnderReview);
    assert_eq!((dispute.answered_at, dispute.updated_at), (Some(now), now));
    assert_eq!(dispute.decide_by, Some(now.plus(DAY * 14)));
    let said = &dispute.statements[1];
    assert_eq!((said.actor, said.text.as_str()), (ActorKind::Merchant, "It was delivered."));
    assert_eq!(said.evidence, ["https://carrier.example/1"]);
    let entries = details.history[1..].iter();
    let entries: Vec<_> = entries.map(|it| (it.kind, it.reason.as_deref(), &it.details)).collect();
    let changed = json!({ "dispute_id": id, "dispute_status": "under_review" });
    assert_eq!(
        entries,
        [
            (HistoryKind::DisputeAnswered, None, &json!({ "dispute_id": id })),
            (HistoryKind::DisputeChanged, Some("answered"), &changed),
        ]
    );
    assert_eq!(case.shop.count(RESOLVED).await, 0, "an answer publishes no event");

    // Further statements leave the deadline as it is.
    case.advance(DAY);
    case.answer(&by_merchant(), id, statement("Here is more.")).await.unwrap();
    let (details, later) = case.read(id).await;
    assert_eq!((later.answered_at, later.decide_by), (Some(now), dispute.decide_by));
    assert_eq!((later.updated_at, details.history.len()), (now.plus(DAY), 4));
}

#[tokio::test]
async fn statements_of_the_others_leave_the_status_as_it_is() {
    let case = Case::new().await;
    let id = case.open().await;
    for (before, after) in [("open", "under_review"), ("under_review", "under_review")] {
        for actor in [by_agent(), Actor::BUYER, by_platform()] {
            let said = case.answer(&actor, id, statement("Where is it?")).await.unwrap();
            assert_eq!(said.details.disputes[0].status.as_str(), before);
            let entry = said.details.history.last().unwrap();
            assert_eq!((entry.kind, &entry.actor), (HistoryKind::DisputeAnswered, &actor));
        }
        let said = case.answer(&by_merchant(), id, statement("On its way.")).await.unwrap();
        assert_eq!(said.details.disputes[0].status.as_str(), after);
    }
    let kinds = case.read(id).await.1.statements.into_iter().map(|it| it.actor);
    let (a, b, m, p) =
        (ActorKind::Agent, ActorKind::Buyer, ActorKind::Merchant, ActorKind::Platform);
    assert_eq!(kinds.collect::<Vec<_>>(), [a, a, b, p, m, a, b, p, m]);
}

#[tokio::test]
async fn a_job_says_nothing_and_an_invalid_text_is_refused() {
    let case = Case::new().await;
    let id = case.open().await;
    assert_eq!(field(case.answer(&Actor::SYSTEM, id, statement("a")).await), "actor");
    for text in ["", &"x".repeat(4_001)] {
        assert_eq!(field(case.answer(&by_merchant(), id, statement(text)).await), "statement");
    }
    let evidence = vec![String::from("ftp://a.example/")];
    let said = NewStatement { evidence, ..statement("a") };
    assert_eq!(field(case.answer(&by_agent(), id, said).await), "evidence[0]");
    let (details, dispute) = case.read(id).await;
    assert_eq!((dispute.statements.len(), details.history.len()), (1, 1));
}

#[tokio::test]
async fn the_merchant_answers_until_the_deadline_and_not_at_it() {
    let case = Case::new().await;
    let id = case.open().await;
    case.advance((DAY * 7).saturating_sub(MICRO));
    case.answer(&by_merchant(), id, statement("Just in time.")).await.unwrap();
    // Who has answered may add statements after the deadline.
    case.advance(DAY);
    case.answer(&by_merchant(), id, statement("And more.")).await.unwrap();
    case.withdraw(&by_agent(), id).await.unwrap();

    let late = case.open().await;
    case.advance(DAY * 7);
    let answer = case.answer(&by_merchant(), late, statement("Too late.")).await;
    assert_eq!(refused_in(&answer), "under_review", "before the job has run");
    case.answer(&by_agent(), late, statement("Still nothing.")).await.unwrap();
    case.shop.run::<orders::EscalateDisputes>().await;
    let answer = case.answer(&by_merchant(), late, statement("Too late.")).await;
    assert_eq!(refused_in(&answer), "under_review");
    let (_, dispute) = case.read(late).await;
    assert_eq!((dispute.answered_at, dispute.statements.len()), (None, 2));
}

#[tokio::test]
async fn only_the_merchant_proposes_a_refund_of_what_is_left() {
    let case = Case::new().await;
    let id = case.open().await;
    let proposal = NewStatement { proposed_refund: Some(euros(100)), ..statement("a") };
    for actor in [by_agent(), Actor::BUYER, by_platform()] {
        let refused = case.answer(&actor, id, proposal.clone()).await;
        assert_eq!(field(refused), "proposed_refund");
    }
    case.shop.execute("UPDATE placed_order SET refunded_minor = 990").await.unwrap();
    for wrong in [euros(0), euros(-1)] {
        assert_eq!(field(case.propose(id, wrong).await), "proposed_refund");
    }
    assert_eq!(field(case.propose(id, Money::new(1, Currency::USD)).await), "currency");
    let exceeded = case.propose(id, euros(2_001)).await;
    assert_eq!(available(&exceeded), "proposed_refund: 20.00 EUR");
    assert_eq!(case.read(id).await.1.status, DisputeStatus::Open, "nothing was written");
    case.propose(id, euros(2_000)).await.unwrap();
    assert_eq!(case.read(id).await.1.proposed_minor, Some(2_000));
}

#[tokio::test]
async fn a_proposal_is_raised_but_not_lowered_and_stays_without_a_new_one() {
    let case = Case::new().await;
    let id = case.open().await;
    case.propose(id, euros(500)).await.unwrap();
    assert_eq!(field(case.propose(id, euros(499)).await), "proposed_refund");
    case.propose(id, euros(501)).await.unwrap();
    case.answer(&by_merchant(), id, statement("Please accept.")).await.unwrap();
    let (_, dispute) = case.read(id).await;
    assert_eq!((dispute.proposed_minor, dispute.statements.len()), (Some(501), 4));
}

#[tokio::test]
async fn nobody_can_use_up_the_statements_of_another() {
    let case = Case::new().await;
    let id = case.open().await;
    // The opening is the first statement of the agent.
    for (actor, more) in
        [(by_agent(), 32), (Actor::BUYER, 33), (by_merchant(), 33), (by_platform(), 33)]
    {
        for _ in 0..more {
            case.answer(&actor, id, statement("a")).await.unwrap();
        }
    }
    for actor in [by_agent(), Actor::BUYER, by_merchant(), by_platform()] {
        assert_eq!(field(case.answer(&actor, id, statement("a")).await), "statement");
    }
    let options = orders::buyer_options(&case.reading(), case.shop.merchant, order(1).id).await;
    assert_eq!(options.unwrap().1.answerable_disputes, []);
    let verdict = decision(Resolution::Merchant, None);
    let decided = case.decide(&by_platform(), id, verdict).await.unwrap();
    assert_eq!(decided.details.disputes[0].statements.len(), 133, "the decision has its place");
}
