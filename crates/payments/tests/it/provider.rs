//! What a provider receives, and what an unavailable one leaves behind.

use std::sync::Mutex;

use payments::{
    ChargeFuture, ChargeOutcome, ChargeRequest, PaymentError, Provider, ProviderUnavailable,
    TestProvider,
};
use primitives::{Currency, Money};

use crate::shop::{Shop, session};

/// Records the requests it receives and returns no outcome; `find` returns that of the test provider.
#[derive(Debug, Default)]
struct UnavailableProvider {
    requests: Mutex<Vec<ChargeRequest>>,
}

impl Provider for UnavailableProvider {
    fn name(&self) -> &'static str {
        "test"
    }

    fn is_live(&self) -> bool {
        false
    }

    fn charge<'request>(
        &'request self,
        request: &'request ChargeRequest,
    ) -> ChargeFuture<'request> {
        self.requests.lock().unwrap().push(request.clone());
        Box::pin(async { Err(ProviderUnavailable) })
    }

    fn find<'request>(&'request self, request: &'request ChargeRequest) -> ChargeFuture<'request> {
        TestProvider.find(request)
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
        provider.charge(&created.charge_request()).await.unwrap_err();
        let requests = std::mem::take(&mut *provider.requests.lock().unwrap());
        let [request] = &requests[..] else { panic!("{requests:?}") };
        assert_eq!((request.payment, request.amount), (created.id, amount));
        assert_eq!(request.instrument, "test_approves");
        // The process that reconciles the payment sends the same request.
        let stored = shop.all_pending().await.pop().unwrap().1.charge_request();
        assert_eq!((stored.payment, stored.amount), (request.payment, request.amount));
        assert_eq!(stored.instrument, request.instrument);
        shop.record(created.id, &ChargeOutcome::Declined).await;
    }
}

#[tokio::test]
async fn an_unavailable_provider_leaves_a_pending_payment_that_can_be_settled_later() {
    let shop = Shop::open().await;
    let provider = UnavailableProvider::default();
    let created = shop.create(session(1)).await.unwrap();
    provider.charge(&created.charge_request()).await.unwrap_err();
    insta::assert_json_snapshot!(shop.rows().await, @r#"
    [
      {
        "amount_minor": 2990,
        "begun_at": "2026-11-15T08:00:00+00:00",
        "checkout_id": "00000000-0000-0000-0000-000000000001",
        "currency": "EUR",
        "ended_at": null,
        "instrument": "test_approves",
        "merchant_id": "00000000-0000-0000-0000-000000000001",
        "provider": "test",
        "reference": null,
        "status": "begun"
      }
    ]
    "#);
    let again = shop.create(session(1)).await;
    assert!(matches!(again, Err(PaymentError::AlreadyProcessed)), "the charge may have succeeded");

    let [(merchant, pending)] = &shop.all_pending().await[..] else { panic!("no pending payment") };
    assert_eq!((*merchant, pending), (shop.merchant, &created));
    let outcome = provider.find(&pending.charge_request()).await.unwrap();
    assert!(shop.record(pending.id, &outcome).await);
    let paid = shop.find_paid(session(1)).await.unwrap().unwrap();
    assert_eq!(paid.reference, Some(format!("test_{}", created.id)));
}
