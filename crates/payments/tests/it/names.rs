//! Names of statuses, methods and instruments.

use payments::{
    ChargeOutcome, PaymentError, PaymentMethod, PaymentStatus, Provider, TestInstrument,
    TestProvider,
};
use primitives::{ErrorCode, Problem};

use crate::shop::{Shop, paid, session};

#[tokio::test]
async fn an_unknown_status_cannot_be_stored() {
    let shop = Shop::open().await;
    shop.create(session(1)).await.unwrap();
    let refused = shop.execute("UPDATE payment SET status = 'lost', ended_at = begun_at").await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().constraint(), Some("payment_status_check"));
}

#[tokio::test]
async fn every_status_can_be_stored() {
    let shop = Shop::open().await;
    for (number, outcome) in [(1, None), (2, Some(paid("A-1"))), (3, Some(ChargeOutcome::Declined))]
    {
        let payment = shop.create(session(number)).await.unwrap();
        if let Some(outcome) = outcome {
            assert!(shop.record(payment.id, &outcome).await);
        }
    }
    let rows = shop.rows().await;
    let mut stored: Vec<_> =
        rows.as_array().unwrap().iter().map(|row| row["status"].as_str().unwrap()).collect();
    stored.sort_unstable();
    let mut names: Vec<_> = PaymentStatus::ALL.iter().map(|status| status.as_str()).collect();
    names.sort_unstable();
    assert_eq!(stored, names);
}

#[tokio::test]
async fn an_unknown_stored_currency_is_an_error_and_not_a_default() {
    let shop = Shop::open().await;
    let payment = shop.create(session(1)).await.unwrap();
    shop.record(payment.id, &paid("A-1")).await;
    shop.execute("UPDATE payment SET currency = 'GOLD'").await.unwrap();
    let read = shop.find_paid(session(1)).await;
    let Err(error @ PaymentError::Unreadable) = read else { panic!("{read:?}") };
    assert_eq!((error.code(), error.is_transient()), (ErrorCode::InternalError, false));
}

#[tokio::test]
async fn an_unknown_name_is_no_payment_method() {
    let parse = |name| PaymentMethod::parse(name).map(PaymentMethod::as_str);
    assert_eq!(
        ["stripe", "x402", "paypal"].map(parse),
        [Some("stripe"), Some("x402"), Some("paypal")]
    );
    assert_eq!(["gold", "Stripe", "", " stripe"].map(parse), [None; 4]);
}

#[tokio::test]
async fn the_test_provider_declines_an_unknown_instrument() {
    let shop = Shop::open().await;
    let mut request = shop.create(session(1)).await.unwrap().charge_request();
    for (instrument, is_paid) in [
        (TestInstrument::Approves.as_str(), true),
        (TestInstrument::Declines.as_str(), false),
        ("tok_unknown", false),
    ] {
        instrument.clone_into(&mut request.instrument);
        let charged = TestProvider.charge(&request).await.unwrap();
        assert_eq!(charged != ChargeOutcome::Declined, is_paid, "{instrument}");
        assert_eq!(TestProvider.find(&request).await.unwrap(), charged, "{instrument}");
    }
}
