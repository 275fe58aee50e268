//! What goes wrong after the facilitator was asked: only the chain decides.

use checkout::AgentPaymentStatus;
use primitives::{ErrorCode, Problem};
use testkit::token_payments::{START_SECONDS, Script};

use super::{Market, PAY_TO};
use crate::shop::agent;

#[tokio::test]
async fn whatever_the_facilitator_says_a_transfer_on_the_chain_pays() {
    for script in [
        Script::SettlesAndHangs,
        Script::SettlesAndCloses,
        Script::SettlesAndFails,
        Script::SettlesAndBabbles,
        Script::SettlesAndDenies,
        Script::IsOvertaken,
    ] {
        let market = Market::open().await;
        let owner = agent(1);
        let (checkout, quoted) = market.session_and_quote(&owner).await;
        market.facilitator.set(script);
        let payload = market.wallet.pay(&quoted, 1);
        let paid = market.pay(&owner, checkout, Some(&payload)).await.unwrap();
        assert_eq!(paid.status(), AgentPaymentStatus::Settled);
        market.assert_paid_once().await;
    }
}

#[tokio::test]
async fn while_the_outcome_is_unknown_nothing_else_is_asked_for_or_accepted() {
    for script in [Script::Broadcasts, Script::Hangs, Script::Refuses, Script::Lies] {
        let market = Market::open().await;
        let owner = agent(1);
        let (checkout, quoted) = market.session_and_quote(&owner).await;
        market.facilitator.set(script);
        let payload = market.wallet.pay(&quoted, 1);
        for sent in [Some(&payload), Some(&payload), None] {
            let pending = market.pay(&owner, checkout, sent).await.unwrap();
            assert_eq!(pending.status(), AgentPaymentStatus::Pending);
            let response = pending.response();
            assert!(!response.success && response.transaction.is_none());
            assert_eq!(response.error_reason.as_deref(), Some("settlement_pending"));
        }
        assert_eq!(market.facilitator.settled().len(), 1, "the facilitator is not pressed");
        let other = market.wallet.pay(&quoted, 2);
        let refused = market.pay(&owner, checkout, Some(&other)).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::PaymentAlreadyProcessed);
        assert!(refused.required().is_none());
        market.assert_unpaid().await;
        // The transaction gets into a block later.
        market.chain.transfer(&payload.payload.authorization).unwrap();
        market.pass(40);
        market.reconcile().await;
        market.assert_paid_once().await;
        let paid = market.pay(&owner, checkout, Some(&payload)).await.unwrap();
        assert_eq!(paid.status(), AgentPaymentStatus::Settled);
        let refused = market.pay(&owner, checkout, Some(&other)).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::PaymentAlreadyProcessed);
    }
}

#[tokio::test]
async fn the_facilitator_gets_the_same_bytes_again_after_a_pause() {
    let market = Market::open().await;
    let owner = agent(1);
    let (checkout, quoted) = market.session_and_quote(&owner).await;
    market.facilitator.set(Script::Hangs);
    let payload = market.wallet.pay(&quoted, 1);
    market.pay(&owner, checkout, Some(&payload)).await.unwrap();
    market.facilitator.set(Script::Settles);
    market.pass(10);
    market.pay(&owner, checkout, Some(&payload)).await.unwrap();
    assert_eq!(market.facilitator.settled().len(), 1);
    market.pass(10);
    let paid = market.pay(&owner, checkout, Some(&payload)).await.unwrap();
    assert_eq!(paid.status(), AgentPaymentStatus::Settled);
    let settled = market.facilitator.settled();
    assert_eq!((settled.len(), &settled[0]), (2, &settled[1]));
    market.assert_paid_once().await;
}

#[tokio::test]
async fn an_authorization_that_cannot_be_used_any_more_has_failed_and_another_can_pay() {
    for (script, reason) in
        [(Script::IsCanceled, "canceled"), (Script::IsSpentElsewhere, "nonce_used_elsewhere")]
    {
        let market = Market::open().await;
        let owner = agent(1);
        let (checkout, quoted) = market.session_and_quote(&owner).await;
        market.facilitator.set(script);
        let payload = market.wallet.pay(&quoted, 1);
        for _ in 0..2 {
            let failed = market.pay(&owner, checkout, Some(&payload)).await.unwrap_err();
            assert_eq!(failed.code(), ErrorCode::PaymentInvalid);
            assert_eq!(failed.required().unwrap().accepts, [quoted.clone()]);
            let response = failed.response().unwrap();
            assert_eq!(response.error_reason.as_deref(), Some(reason));
        }
        market.assert_unpaid().await;
        market.facilitator.set(Script::Settles);
        let another = market.wallet.pay(&quoted, 2);
        let paid = market.pay(&owner, checkout, Some(&another)).await.unwrap();
        assert_eq!(paid.status(), AgentPaymentStatus::Settled);
        market.assert_paid_once().await;
    }
}

#[tokio::test]
async fn an_authorization_that_expires_unused_has_failed() {
    let market = Market::open().await;
    let owner = agent(1);
    let (checkout, quoted) = market.session_and_quote(&owner).await;
    market.facilitator.set(Script::Lies);
    let payload = market.wallet.pay(&quoted, 1);
    market.pay(&owner, checkout, Some(&payload)).await.unwrap();
    market.pass(119);
    market.reconcile().await;
    let pending = market.pay(&owner, checkout, Some(&payload)).await.unwrap();
    assert_eq!(pending.status(), AgentPaymentStatus::Pending, "a block can still contain it");
    market.pass(1);
    let failed = market.pay(&owner, checkout, Some(&payload)).await.unwrap_err();
    assert_eq!(failed.response().unwrap().error_reason.as_deref(), Some("expired"));
    market.assert_unpaid().await;
    assert!(market.chain.received(PAY_TO).is_empty());
    market.facilitator.set(Script::Settles);
    let quoted = market.quote(&owner, checkout).await;
    let another = market.wallet.pay_at(&quoted, 2, START_SECONDS + 120);
    market.pay(&owner, checkout, Some(&another)).await.unwrap();
    market.assert_paid_once().await;
}

#[tokio::test]
async fn a_time_that_has_passed_decides_nothing_while_the_chain_cannot_be_read() {
    let market = Market::open().await;
    let owner = agent(1);
    let (checkout, quoted) = market.session_and_quote(&owner).await;
    market.facilitator.set(Script::SettlesAndHangs);
    let payload = market.wallet.pay(&quoted, 1);
    let pay = market.pay(&owner, checkout, Some(&payload));
    let node_fails = async {
        while market.facilitator.settled().is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        market.chain.set_down(true);
    };
    let (pending, ()) = tokio::join!(pay, node_fails);
    assert_eq!(pending.unwrap().status(), AgentPaymentStatus::Pending);
    market.pass(3_000);
    market.reconcile().await;
    let pending = market.pay(&owner, checkout, Some(&payload)).await.unwrap();
    assert_eq!(pending.status(), AgentPaymentStatus::Pending);
    market.chain.set_down(false);
    market.pass(3_700);
    market.reconcile().await;
    market.assert_paid_once().await;
}

#[tokio::test]
async fn nothing_is_begun_while_facilitator_or_node_is_unavailable() {
    let market = Market::open().await;
    let owner = agent(1);
    let (checkout, quoted) = market.session_and_quote(&owner).await;
    let payload = market.wallet.pay(&quoted, 1);
    let refused = async || market.pay(&owner, checkout, Some(&payload)).await.unwrap_err().code();
    market.facilitator.set(Script::Down);
    assert_eq!(refused().await, ErrorCode::FacilitatorUnavailable);
    market.facilitator.set(Script::Settles);
    market.chain.set_down(true);
    assert_eq!(refused().await, ErrorCode::FacilitatorUnavailable);
    assert_eq!(market.count("SELECT count(*) FROM payment").await, 0);
    market.chain.set_down(false);
    market.pay(&owner, checkout, Some(&payload)).await.unwrap();
    market.assert_paid_once().await;
}

#[tokio::test]
async fn a_process_that_ends_after_the_commit_leaves_a_payment_that_is_settled() {
    let market = Market::open().await;
    let owner = agent(1);
    let (checkout, quoted) = market.session_and_quote(&owner).await;
    market.facilitator.set(Script::Hangs);
    let payload = market.wallet.pay(&quoted, 1);
    market.pay(&owner, checkout, Some(&payload)).await.unwrap();
    // As if the facilitator had never been asked.
    let unsent = "UPDATE x402_authorization SET sent_count = 0, sent_at = NULL";
    sqlx::query(unsent).execute(&mut market.shop.test.raw().await).await.unwrap();
    market.facilitator.set(Script::Settles);
    market.pass(40);
    market.reconcile().await;
    assert_eq!(market.facilitator.settled().len(), 2);
    market.assert_paid_once().await;
}
