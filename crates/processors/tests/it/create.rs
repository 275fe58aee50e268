//! Creating payments.

use std::time::Duration;

use primitives::{Currency, Money};
use processors::{
    HostedPaymentRequest, InvalidRequest, PaymentState, ProcessorError, UnknownOutcome,
};

use crate::world::{AMOUNT, request, worlds};

#[tokio::test]
async fn a_new_payment_is_open_and_has_what_was_requested() {
    for world in worlds().await {
        let request = request(1);
        let payment = world.create(&request).await.unwrap();
        let found = world.fetch(&payment.reference).await;
        assert_eq!(found.state, PaymentState::Open);
        let matches = found.ensure_matches(&request.key, &request.checkout_reference, AMOUNT);
        assert_eq!(matches, Ok(()));
        if let Some(expires_at) = payment.expires_at {
            assert!(expires_at.since(request.created_at) > Duration::from_mins(59));
        }
        let page = world.page(&payment).await;
        assert!(page.contains("TEST DOUBLE"), "{page}");
    }
}

#[tokio::test]
async fn an_answer_that_is_lost_and_repeated_is_one_payment() {
    for world in worlds().await {
        let faults = ["drop_answer", "cut_body", "malformed", "status_500_after", "oversized"];
        for (number, fault) in faults.into_iter().enumerate() {
            let request = request(number as u128);
            world.fault("create", fault).await;
            let lost = world.create(&request).await.unwrap_err();
            assert!(lost.is_unknown(), "{fault}: {lost}");
            assert_eq!(world.payments().await, number + 1, "{fault}: the work was done");
            let repeated = world.create(&request).await.unwrap();
            let again = world.create(&request).await.unwrap();
            assert_eq!(repeated, again);
            assert_eq!(world.payments().await, number + 1, "{fault}");
        }
    }
}

#[tokio::test]
async fn a_request_that_did_not_arrive_is_repeated() {
    for world in worlds().await {
        world.fault("create", "drop_request").await;
        assert!(world.create(&request(1)).await.unwrap_err().is_unknown());
        assert_eq!(world.payments().await, 0);
        world.create(&request(1)).await.unwrap();
        assert_eq!(world.payments().await, 1);
    }
}

#[tokio::test]
async fn concurrent_calls_create_one_payment() {
    for world in worlds().await {
        let request = request(1);
        let (a, b, c) =
            tokio::join!(world.create(&request), world.create(&request), world.create(&request));
        let (a, b, c) = (a.unwrap(), b.unwrap(), c.unwrap());
        assert!(a == b && b == c);
        assert_eq!(world.payments().await, 1);
    }
}

#[tokio::test]
async fn a_key_belongs_to_one_request() {
    for world in worlds().await {
        let first = request(1);
        world.create(&first).await.unwrap();
        let other = HostedPaymentRequest { amount: Money::new(1_00, Currency::EUR), ..first };
        let refused = world.create(&other).await.unwrap_err();
        assert_eq!(refused, ProcessorError::Unknown(UnknownOutcome::KeyReused));
        assert_eq!(world.payments().await, 1);
    }
}

#[tokio::test]
async fn an_amount_that_a_processor_cannot_express_is_not_sent() {
    for world in worlds().await {
        let amount = Money::new(5_000_000, Currency::Usdc);
        let other = HostedPaymentRequest { amount, ..request(1) };
        let refused = world.create(&other).await.unwrap_err();
        assert_eq!(refused, ProcessorError::Invalid(InvalidRequest::UnsupportedCurrency));
        assert_eq!(world.requests("create").await, 0);
    }
}

#[tokio::test]
async fn amounts_in_currencies_without_decimals_are_exact() {
    for world in worlds().await {
        for (number, code, minor) in [(1, "JPY", 500), (2, "HUF", 104_500)] {
            let amount = Money::new(minor, code.parse().unwrap());
            let request = HostedPaymentRequest { amount, ..request(number) };
            let payment = world.create(&request).await.unwrap();
            assert_eq!(world.fetch(&payment.reference).await.amount, amount);
        }
    }
}
