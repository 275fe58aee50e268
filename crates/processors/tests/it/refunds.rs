//! Refunds.

use primitives::{Currency, Money};
use processors::{PaymentState, ProcessorError, Refund, RefundRequest, RefundState, RefusalReason};
use serde_json::json;

use crate::world::{AMOUNT, World, refund, request, worlds};

impl World {
    async fn refund(&self, request: &RefundRequest) -> Result<Refund, ProcessorError> {
        self.processors.refund(&self.credentials, request).await
    }

    async fn fetch_refund(&self, reference: &str) -> Refund {
        self.processors.fetch_refund(&self.credentials, reference).await.unwrap()
    }

    /// Returns the state of the payment with this number.
    async fn state_of(&self, number: u128) -> PaymentState {
        let payment = self.create(&request_of(number)).await.unwrap();
        self.fetch(&payment.reference).await.state
    }
}

/// Requests that are repeated have equal times.
fn request_of(number: u128) -> processors::HostedPaymentRequest {
    use std::sync::OnceLock;
    static NOW: OnceLock<primitives::Timestamp> = OnceLock::new();
    let created_at = *NOW.get_or_init(crate::world::now);
    let expires_at = created_at;
    processors::HostedPaymentRequest { created_at, expires_at, ..request(number) }
}

#[tokio::test]
async fn a_payment_is_refunded_in_parts_and_then_as_a_whole() {
    for world in worlds().await {
        let paid = world.paid(&request_of(1)).await;
        let first = world.refund(&refund(1, &paid, 2_50)).await.unwrap();
        assert_eq!(first.state, RefundState::Succeeded);
        assert_eq!(first.amount, Money::new(2_50, Currency::EUR));
        assert_eq!(first.key.as_deref(), Some(refund(1, &paid, 1).key.as_str()));
        assert_eq!(world.fetch_refund(&first.reference).await, first);
        let PaymentState::PartlyRefunded { payment, refunded } = world.state_of(1).await else {
            panic!("it is partly refunded")
        };
        assert_eq!((payment.amount, refunded), (AMOUNT, Money::new(2_50, Currency::EUR)));
        let second = world.refund(&refund(2, &paid, 10_00)).await.unwrap();
        assert_ne!(second.reference, first.reference);
        let PaymentState::Refunded { refunded, .. } = world.state_of(1).await else {
            panic!("it is refunded")
        };
        assert_eq!(refunded, AMOUNT);
    }
}

#[tokio::test]
async fn a_refund_whose_answer_is_lost_is_made_once() {
    for world in worlds().await {
        let paid = world.paid(&request_of(1)).await;
        for (number, fault) in
            ["drop_answer", "malformed", "status_500_after"].into_iter().enumerate()
        {
            let request = refund(number as u128, &paid, 1_00);
            world.fault("refund", fault).await;
            let lost = world.refund(&request).await.unwrap_err();
            assert!(lost.is_unknown(), "{fault}: {lost}");
            assert_eq!(world.count("refunds").await, number + 1, "{fault}: the work was done");
            let first = world.refund(&request).await.unwrap();
            assert_eq!(world.refund(&request).await.unwrap(), first);
            assert_eq!(world.count("refunds").await, number + 1, "{fault}");
        }
    }
}

#[tokio::test]
async fn no_more_is_refunded_than_was_paid() {
    for world in worlds().await {
        let paid = world.paid(&request_of(1)).await;
        let reason = |result: Result<Refund, ProcessorError>| match result {
            Err(ProcessorError::Refused(refusal)) => refusal.reason,
            other => panic!("{other:?} is no refusal"),
        };
        let too_much = world.refund(&refund(1, &paid, 12_51)).await;
        assert_eq!(reason(too_much), RefusalReason::AmountRefused);
        world.refund(&refund(2, &paid, 12_50)).await.unwrap();
        let again = world.refund(&refund(3, &paid, 1_00)).await;
        assert_eq!(reason(again), RefusalReason::AlreadyRefunded);
        assert_eq!(world.count("refunds").await, 1);
    }
}

#[tokio::test]
async fn a_pending_refund_succeeds_or_fails_later() {
    for world in worlds().await {
        world.control("outcomes", json!({ "refunds": "pend" })).await;
        for (number, outcome, state) in
            [(1, "succeed", RefundState::Succeeded), (2, "fail", RefundState::Failed)]
        {
            let paid = world.paid(&request_of(number)).await;
            let pending = world.refund(&refund(number, &paid, 12_50)).await.unwrap();
            assert_eq!(pending.state, RefundState::Pending);
            assert!(!pending.state.is_final());
            let settle = json!({ "reference": pending.reference, "outcome": outcome });
            world.control("settle-refund", settle).await;
            assert_eq!(world.fetch_refund(&pending.reference).await.state, state);
            let found = world.state_of(number).await;
            match state {
                RefundState::Succeeded => assert!(matches!(found, PaymentState::Refunded { .. })),
                _ => assert!(matches!(found, PaymentState::Paid(_)), "{found:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_refund_can_fail() {
    for world in worlds().await {
        let paid = world.paid(&request_of(1)).await;
        world.control("outcomes", json!({ "refunds": "fail" })).await;
        let failed = world.refund(&refund(1, &paid, 12_50)).await.unwrap();
        assert_eq!(failed.state, RefundState::Failed);
        assert!(matches!(world.state_of(1).await, PaymentState::Paid(_)));
    }
}
