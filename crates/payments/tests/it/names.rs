//! Names of statuses, methods and instruments.

use database::Reading;
use payments::{
    ChargeOutcome, PaymentError, PaymentMethod, PaymentStatus, Provider, ProviderName,
    ProviderPage, ProviderStatus, Providers, TestInstrument, TestProvider,
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
    for (number, outcome) in [
        (1, None),
        (2, Some(paid("A-1"))),
        (3, Some(ChargeOutcome::Declined)),
        (4, Some(ChargeOutcome::Ended)),
    ] {
        let payment = shop.create(session(number)).await.unwrap();
        if let Some(outcome) = outcome {
            assert!(shop.record(payment.id, &outcome).await);
        }
    }
    for number in [5, 6] {
        let payment = shop.create(session(number)).await.unwrap();
        let mut work = shop.work(shop.merchant).await;
        let page =
            ProviderPage { reference: format!("cs_{number}"), url: String::from("https://a") };
        assert!(payments::record_page(&mut work, &payment, &page).await.unwrap());
        if number == 6 {
            assert!(payments::record_processing(&mut work, &payment, None).await.unwrap());
        }
        work.commit().await.unwrap();
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
    let mut attempt = shop.create(session(1)).await.unwrap().attempt();
    for (instrument, is_paid) in [
        (TestInstrument::Approves.as_str(), true),
        (TestInstrument::Declines.as_str(), false),
        ("tok_unknown", false),
    ] {
        instrument.clone_into(&mut attempt.instrument);
        let ProviderStatus::Done(outcome) = TestProvider.status(&attempt).await.unwrap() else {
            panic!("the outcome is known at once")
        };
        assert_eq!(outcome != ChargeOutcome::Declined, is_paid, "{instrument}");
        let closed = TestProvider.expire(&attempt).await.unwrap();
        assert_eq!(closed, ProviderStatus::Done(outcome), "{instrument}");
    }
}

#[tokio::test]
async fn an_unknown_provider_is_an_error_of_its_payment_and_hides_no_other() {
    let shop = Shop::open().await;
    let first = shop.create(session(1)).await.unwrap();
    shop.execute("UPDATE payment SET provider = 'former'").await.unwrap();
    let second = shop.create(session(2)).await.unwrap();
    let later = shop.test.database().local_now().plus(crate::shop::PAYABLE);
    let due = Reading::for_platform(shop.test.database())
        .run(async |sql| payments::find_due(sql, later, None, 10).await)
        .await
        .unwrap();
    let mut ids: Vec<_> = due.into_iter().map(|(_, id, _)| id).collect();
    ids.sort_unstable();
    let mut expected = [first.id, second.id];
    expected.sort_unstable();
    assert_eq!(ids, expected);
    let reading = shop.reading(shop.merchant);
    let read = payments::find(&reading, shop.merchant, first.id).await;
    let Err(PaymentError::UnknownProvider { payment, name }) = read else { panic!("{read:?}") };
    assert_eq!((payment, name.as_str()), (first.id, "former"));
}

#[test]
fn a_provider_is_found_by_its_name() {
    let providers = Providers::from(std::sync::Arc::new(TestProvider));
    let found = providers.find(ProviderName::Test).map(Provider::name);
    assert_eq!(found, Some(ProviderName::Test));
    assert!(providers.find(ProviderName::Stripe).is_none());
    let names: Vec<_> = ProviderName::ALL.iter().map(|name| name.as_str()).collect();
    assert_eq!(names, ["test", "merchant", "stripe", "paypal", "x402"], "names are stored");
}
