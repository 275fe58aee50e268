//! What a provider receives, and what an unavailable one leaves behind.

use std::sync::Mutex;

use payments::{
    Attempt, CallError, ChargeOutcome, NextStep, PageRequest, PaymentError, Provider,
    ProviderFuture, ProviderName, ProviderStatus, TestProvider,
};
use primitives::{Currency, Money};

use crate::shop::{Shop, session};

/// Records the attempts it receives and returns no outcome; `status` returns that of the test provider.
#[derive(Debug, Default)]
struct UnavailableProvider {
    attempts: Mutex<Vec<Attempt>>,
}

impl Provider for UnavailableProvider {
    fn name(&self) -> ProviderName {
        ProviderName::Test
    }

    fn is_live(&self) -> bool {
        false
    }

    fn begin<'call>(
        &'call self,
        attempt: &'call Attempt,
        _: &'call PageRequest,
    ) -> ProviderFuture<'call, NextStep> {
        self.attempts.lock().unwrap().push(attempt.clone());
        Box::pin(async { Err(CallError::Unknown) })
    }

    fn status<'call>(
        &'call self,
        attempt: &'call Attempt,
    ) -> ProviderFuture<'call, ProviderStatus> {
        TestProvider.status(attempt)
    }

    fn expire<'call>(
        &'call self,
        attempt: &'call Attempt,
    ) -> ProviderFuture<'call, ProviderStatus> {
        TestProvider.expire(attempt)
    }
}

fn page() -> PageRequest {
    let url = String::from("https://souk.example/");
    PageRequest {
        description: String::from("Attic"),
        success_url: url.clone(),
        cancel_url: url,
        buyer_email: None,
    }
}

#[tokio::test]
async fn the_provider_is_asked_for_exactly_the_amount_of_the_payment() {
    let shop = Shop::open().await;
    let provider = UnavailableProvider::default();
    let amounts = [(0, Currency::EUR), (2_990, Currency::USD), (i64::MAX, Currency::Usdc)]
        .map(|(minor, it)| Money::new(minor, it));
    for (number, amount) in (1..).zip(amounts) {
        let created = shop.create_for(shop.merchant, session(number), amount).await.unwrap();
        provider.begin(&created.attempt(), &page()).await.unwrap_err();
        let attempts = std::mem::take(&mut *provider.attempts.lock().unwrap());
        let [attempt] = &attempts[..] else { panic!("{attempts:?}") };
        assert_eq!((attempt.payment, attempt.amount), (created.id, amount));
        assert_eq!(attempt.instrument, "test_approves");
        // The process that reconciles the payment sends the same attempt.
        assert_eq!(shop.all_pending().await.pop().unwrap().1.attempt(), *attempt);
        shop.record(created.id, &ChargeOutcome::Declined).await;
    }
}

#[tokio::test]
async fn an_unavailable_provider_leaves_a_pending_payment_that_can_be_settled_later() {
    let shop = Shop::open().await;
    let provider = UnavailableProvider::default();
    let created = shop.create(session(1)).await.unwrap();
    provider.begin(&created.attempt(), &page()).await.unwrap_err();
    insta::assert_json_snapshot!(shop.rows().await, @r#"
    [
      {
        "amount_minor": 2990,
        "begun_at": "2026-11-15T08:00:00+00:00",
        "charged_minor": 0,
        "check_count": 0,
        "checkout_id": "00000000-0000-0000-0000-000000000001",
        "currency": "EUR",
        "expires_at": "2026-11-15T08:30:00+00:00",
        "instrument": "test_approves",
        "is_live": false,
        "merchant_id": "00000000-0000-0000-0000-000000000001",
        "next_check_at": "2026-11-15T08:00:30+00:00",
        "provider": "test",
        "refunded_minor": 0,
        "refunding_minor": 0,
        "reversed_minor": 0,
        "status": "begun"
      }
    ]
    "#);
    let again = shop.create(session(1)).await;
    assert!(matches!(again, Err(PaymentError::AlreadyProcessed)), "the charge may have succeeded");

    let [(merchant, pending)] = &shop.all_pending().await[..] else { panic!("no pending payment") };
    assert_eq!((*merchant, pending), (shop.merchant, &created));
    let status = provider.status(&pending.attempt()).await.unwrap();
    let ProviderStatus::Done(outcome) = status else { panic!("{status:?}") };
    assert!(shop.record(pending.id, &outcome).await);
    let paid = shop.find_paid(session(1)).await.unwrap().unwrap();
    assert_eq!(paid.reference, Some(format!("test_{}", created.id)));
}
