//! Refunds through a provider: what is requested is reserved.

use std::time::Duration;

use payments::{
    NewPaymentRefund, Payment, PaymentError, PaymentRefund, PaymentRefundStatus, ProviderName,
};
use primitives::{Currency, Id, Money, OrderId};

use crate::shop::{Shop, session};

impl Shop {
    async fn request(&self, payment: &Payment, minor: i64) -> Result<PaymentRefund, PaymentError> {
        let mut work = self.work(self.merchant).await;
        let new = NewPaymentRefund {
            order: OrderId::from_random(1),
            amount: Money::new(minor, Currency::EUR),
            reason: "goodwill",
            note: None,
        };
        let refund = payments::create_refund(&mut work, payment, new).await?;
        work.commit().await?;
        Ok(refund)
    }

    async fn stored(&self, refund: &PaymentRefund) -> PaymentRefund {
        let reading = self.reading(self.merchant);
        payments::find_refund(&reading, self.merchant, refund.id).await.unwrap().unwrap().0
    }
}

#[tokio::test]
async fn requested_refunds_never_exceed_the_charge() {
    let shop = Shop::open().await;
    let payment = shop.create_paid(session(1), "pi_1").await;
    let (one, two) = tokio::join!(shop.request(&payment, 2_000), shop.request(&payment, 2_000));
    assert!(one.is_ok() ^ two.is_ok(), "{one:?} {two:?}");
    let requested = one.or(two).unwrap();
    assert_eq!(shop.find(payment.id).await.totals.refundable_minor(), 990);
    // The provider is asked with what is stored.
    assert_eq!(shop.stored(&requested).await, requested);
    let mut work = shop.work(shop.merchant).await;
    assert!(payments::record_refund_refused(&mut work, &payment, &requested).await.unwrap());
    assert!(!payments::record_refund_refused(&mut work, &payment, &requested).await.unwrap());
    work.commit().await.unwrap();
    assert_eq!(shop.find(payment.id).await.totals.refundable_minor(), 2_990);
    let declined = shop.create_live(session(2)).await;
    let refused = shop.request(&declined, 1).await;
    assert!(matches!(refused, Err(PaymentError::ExceedsCharge)), "nothing was charged");
}

#[tokio::test]
async fn a_refund_is_recorded_in_the_ledger_once() {
    let shop = Shop::open().await;
    let payment = shop.create_paid(session(1), "pi_1").await;
    let refund = shop.request(&payment, 500).await.unwrap();
    let done = async || {
        let mut work = shop.work(shop.merchant).await;
        let done = payments::record_refund_done(&mut work, &payment, &refund, "re_1").await;
        work.commit().await.unwrap();
        done.unwrap()
    };
    let (one, two) = tokio::join!(done(), done());
    assert!(one ^ two);
    let mut work = shop.work(shop.merchant).await;
    assert!(!payments::record_refund_refused(&mut work, &payment, &refund).await.unwrap());
    work.commit().await.unwrap();
    let totals = shop.find(payment.id).await.totals;
    assert_eq!((totals.refunded_minor, totals.refunding_minor), (500, 0));
    assert_eq!(shop.stored(&refund).await.status, PaymentRefundStatus::Done);
    let reading = shop.reading(shop.merchant);
    let balances = payments::balances(&reading, shop.merchant).await.unwrap();
    let stripe = ProviderName::Stripe.as_str();
    let of_stripe = balances.iter().find(|it| it.account == stripe);
    assert_eq!(of_stripe.unwrap().balance_minor, 2_490);
}

#[tokio::test]
async fn an_unknown_refund_is_repeated_for_less_than_a_day_and_a_pending_one_for_ever() {
    let shop = Shop::open().await;
    let payment = shop.create_paid(session(1), "pi_1").await;
    let unknown = shop.request(&payment, 500).await.unwrap();
    let pending = shop.request(&payment, 600).await.unwrap();
    let due = async || {
        let now = shop.test.database().local_now();
        let reading = database::Reading::for_platform(shop.test.database());
        let due = reading.run(async |sql| payments::find_due_refunds(sql, now, None, 10).await);
        due.await.unwrap().into_iter().map(|(_, id, _)| id).collect::<Vec<_>>()
    };
    assert_eq!(due().await, []);
    shop.test.clock().advance(Duration::from_mins(1));
    assert_eq!(due().await.len(), 2);
    for elapsed in [Duration::ZERO, Duration::from_hours(24)] {
        shop.test.clock().advance(elapsed);
        for (refund, reference) in [(&unknown, None), (&pending, Some("re_1"))] {
            let refund = shop.stored(refund).await;
            let mut work = shop.work(shop.merchant).await;
            payments::record_refund_open(&mut work, &payment, &refund, reference).await.unwrap();
            work.commit().await.unwrap();
        }
    }
    shop.test.clock().advance(Duration::from_hours(2));
    assert_eq!(due().await, [pending.id], "another key would return the money again");
    assert_eq!(shop.stored(&unknown).await.status, PaymentRefundStatus::Unknown);
    assert_eq!(shop.stored(&pending).await.status, PaymentRefundStatus::Pending);
    assert_eq!(shop.find(payment.id).await.totals.refunding_minor, 1_100, "both stay reserved");
}
