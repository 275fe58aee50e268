//! Paying, capturing, closing.

use processors::{InvalidRequest, PaymentState, ProcessorError, Refusal, RefusalReason};
use serde_json::json;

use crate::world::{AMOUNT, World, request, worlds};

fn refusal(result: Result<impl std::fmt::Debug, ProcessorError>) -> Refusal {
    match result.unwrap_err() {
        ProcessorError::Refused(refusal) => refusal,
        error => panic!("{error} is no refusal"),
    }
}

#[tokio::test]
async fn a_paid_payment_has_its_amount_fee_and_reference() {
    for world in worlds().await {
        let request = request(1);
        let payment = world.create(&request).await.unwrap();
        assert_eq!(world.press(&payment, "pay").await, 303);
        if world.is_paypal() {
            assert_eq!(world.fetch(&payment.reference).await.state, PaymentState::Approved);
            let captured = world.capture(&payment.reference, &request.key).await.unwrap();
            assert_eq!(captured, world.fetch(&payment.reference).await);
        }
        let found = world.fetch(&payment.reference).await;
        let matches = found.ensure_matches(&request.key, &request.checkout_reference, AMOUNT);
        assert_eq!(matches, Ok(()));
        let PaymentState::Paid(paid) = found.state else { panic!("{found:?}") };
        assert_eq!(paid.amount, AMOUNT);
        assert!(paid.fee.unwrap().minor() > 0);
        assert_ne!(paid.reference, payment.reference);
    }
}

#[tokio::test]
async fn a_payment_that_was_canceled_on_the_page_is_open() {
    for world in worlds().await {
        let payment = world.create(&request(1)).await.unwrap();
        assert_eq!(world.press(&payment, "cancel").await, 303);
        assert_eq!(world.fetch(&payment.reference).await.state, PaymentState::Open);
    }
}

#[tokio::test]
async fn a_declined_card_leaves_the_page_of_stripe_open() {
    let Some(world) = World::stripe().await else { return };
    let payment = world.create(&request(1)).await.unwrap();
    world.control("outcomes", json!({ "payments": "decline" })).await;
    assert_eq!(world.press(&payment, "pay").await, 200);
    assert_eq!(world.fetch(&payment.reference).await.state, PaymentState::Open);
    world.control("outcomes", json!({ "payments": "succeed" })).await;
    world.press(&payment, "pay").await;
    assert!(world.fetch(&payment.reference).await.state.paid().is_some());
}

#[tokio::test]
async fn after_a_declined_capture_the_buyer_chooses_another_instrument() {
    let Some(world) = World::paypal().await else { return };
    let request = request(1);
    let payment = world.create(&request).await.unwrap();
    world.press(&payment, "pay").await;
    world.control("outcomes", json!({ "payments": "decline" })).await;
    let declined = refusal(world.capture(&payment.reference, &request.key).await);
    assert_eq!(declined.reason, RefusalReason::Declined);
    assert_eq!(declined.code.unwrap().as_str(), "INSTRUMENT_DECLINED");
    assert_eq!(world.fetch(&payment.reference).await.state, PaymentState::Open);
    world.control("outcomes", json!({ "payments": "succeed" })).await;
    world.press(&payment, "pay").await;
    let key = request.key.attempt(2);
    let captured = world.capture(&payment.reference, &key).await.unwrap();
    assert!(captured.state.paid().is_some());
    assert_eq!(world.count("captures").await, 1);
}

#[tokio::test]
async fn a_payment_that_takes_days_succeeds_or_fails_later() {
    for world in worlds().await {
        world.control("outcomes", json!({ "payments": "process" })).await;
        for (number, outcome) in [(1, "succeed"), (2, "fail")] {
            let request = request(number);
            let payment = world.create(&request).await.unwrap();
            world.press(&payment, "pay").await;
            if world.is_paypal() {
                let captured = world.capture(&payment.reference, &request.key).await.unwrap();
                assert_eq!(captured.state, PaymentState::Processing);
            }
            assert_eq!(world.fetch(&payment.reference).await.state, PaymentState::Processing);
            let settle = json!({ "reference": payment.reference, "outcome": outcome });
            world.control("settle", settle).await;
            let state = world.fetch(&payment.reference).await.state;
            match outcome {
                "succeed" => assert_eq!(state.paid().unwrap().amount, AMOUNT),
                _ => assert_eq!(state, PaymentState::Failed),
            }
        }
    }
}

#[tokio::test]
async fn a_capture_whose_answer_is_lost_is_repeated_once() {
    let Some(world) = World::paypal().await else { return };
    for (number, fault) in ["drop_answer", "malformed", "status_500_after"].into_iter().enumerate()
    {
        let request = request(number as u128);
        let payment = world.create(&request).await.unwrap();
        world.press(&payment, "pay").await;
        world.fault("capture", fault).await;
        let lost = world.capture(&payment.reference, &request.key).await.unwrap_err();
        assert!(lost.is_unknown(), "{fault}: {lost}");
        assert_eq!(world.count("captures").await, number + 1, "{fault}: the money was taken");
        let first = world.capture(&payment.reference, &request.key).await.unwrap();
        // PayPal has forgotten the key, or another process captures.
        let second = world.capture(&payment.reference, &request.key.attempt(2)).await.unwrap();
        assert!(first.state.paid().is_some());
        assert_eq!(first, second);
        assert_eq!(world.count("captures").await, number + 1, "{fault}");
    }
}

#[tokio::test]
async fn only_an_approved_payment_is_captured() {
    let Some(world) = World::paypal().await else { return };
    let request = request(1);
    let payment = world.create(&request).await.unwrap();
    let refused = refusal(world.capture(&payment.reference, &request.key).await);
    assert_eq!(refused.reason, RefusalReason::NotApproved);
    assert_eq!(world.count("captures").await, 0);
    world.press(&payment, "pay").await;
    let captured = world.capture(&payment.reference, &request.key).await.unwrap();
    assert!(captured.state.paid().is_some(), "the refusal was not kept under the key");
}

#[tokio::test]
async fn stripe_takes_the_money_by_itself() {
    let Some(world) = World::stripe().await else { return };
    let refused = world.capture("cs_test_1", &request(1).key).await.unwrap_err();
    assert_eq!(refused, ProcessorError::Invalid(InvalidRequest::UnsupportedOperation));
}

#[tokio::test]
async fn an_expired_payment_cannot_be_paid() {
    for world in worlds().await {
        let payment = world.create(&request(1)).await.unwrap();
        let expire = || world.processors.expire(&world.credentials, &payment.reference);
        let expired = expire().await.unwrap();
        if world.is_paypal() {
            assert_eq!(expired.state, PaymentState::Open, "only capturing takes money");
            continue;
        }
        assert_eq!(expired.state, PaymentState::Expired);
        assert_eq!(expire().await.unwrap(), expired);
        assert_eq!(world.press(&payment, "pay").await, 200);
        assert_eq!(world.fetch(&payment.reference).await.state, PaymentState::Expired);
    }
}

#[tokio::test]
async fn a_payment_that_was_paid_before_it_expires_is_paid() {
    for world in worlds().await {
        let request = request(1);
        let payment = world.create(&request).await.unwrap();
        world.press(&payment, "pay").await;
        if world.is_paypal() {
            world.capture(&payment.reference, &request.key).await.unwrap();
        }
        let reference = &payment.reference;
        let expired = world.processors.expire(&world.credentials, reference).await.unwrap();
        assert!(expired.state.paid().is_some());
    }
}

#[tokio::test]
async fn a_payment_that_does_not_exist_is_not_found() {
    for world in worlds().await {
        let missing = world.processors.fetch(&world.credentials, "UNKNOWN1").await;
        assert_eq!(refusal(missing).reason, RefusalReason::NotFound);
        let expired = world.processors.expire(&world.credentials, "UNKNOWN1").await;
        assert_eq!(refusal(expired).reason, RefusalReason::NotFound);
        let invalid = world.processors.fetch(&world.credentials, "../x").await.unwrap_err();
        assert_eq!(invalid, ProcessorError::Invalid(InvalidRequest::Reference));
    }
}
