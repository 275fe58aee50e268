//! The ledger: it balances, nothing in it changes, and no more is returned than was charged.

use payments::{
    Charge, ChargeOutcome, NewTransfer, Payment, PaymentError, PaymentStatus, PaymentTotals,
    ProviderName, StatedBy, TransferKind,
};
use primitives::{Currency, Money};

use crate::shop::{Shop, TOTAL, charge, paid, session};

fn euros(minor: i64) -> Money {
    Money::new(minor, Currency::EUR)
}

impl Shop {
    /// Records a transfer in its own transaction.
    async fn transfer(
        &self,
        payment: &Payment,
        kind: TransferKind,
        source: &str,
        amount: Money,
    ) -> Result<Option<PaymentTotals>, PaymentError> {
        let mut work = self.work(payment.merchant).await;
        let stated_by = StatedBy::Provider;
        let transfer = NewTransfer { kind, source, amount, stated_by };
        let recorded = payments::record_transfer(&mut work, payment, &transfer).await?;
        work.commit().await?;
        Ok(recorded)
    }

    /// Returns the names of the accounts with their balances.
    async fn balances(&self) -> Vec<(String, Currency, i64)> {
        let reading = self.reading(self.merchant);
        let balances = payments::balances(&reading, self.merchant).await.unwrap();
        balances.into_iter().map(|it| (it.account, it.currency, it.balance_minor)).collect()
    }
}

#[tokio::test]
async fn every_currency_balances_to_zero() {
    let shop = Shop::open().await;
    let payment = shop.create_live(session(1)).await;
    let fee = Some(Money::new(117, Currency::USD));
    let outcome = ChargeOutcome::Paid(Charge { fee, ..charge("pi_1") });
    assert!(shop.record(payment.id, &outcome).await);
    shop.transfer(&payment, TransferKind::Refund, "rfd_1", euros(490)).await.unwrap();
    shop.transfer(&payment, TransferKind::Reversal, "dp_1", euros(500)).await.unwrap();
    let balances = shop.balances().await;
    let expected = [
        ("fees", Currency::USD, 117),
        ("refunds", Currency::EUR, 490),
        ("reversals", Currency::EUR, 500),
        ("sales", Currency::EUR, -2_990),
        ("stripe", Currency::EUR, 2_000),
        ("stripe", Currency::USD, -117),
    ];
    let mut found: Vec<_> = balances
        .iter()
        .map(|(account, currency, minor)| (account.as_str(), *currency, *minor))
        .collect();
    found.sort_by_key(|(account, currency, _)| (*account, currency.code()));
    assert_eq!(found, expected);
    for currency in [Currency::EUR, Currency::USD] {
        let of_currency = balances.iter().filter(|(_, it, _)| *it == currency);
        assert_eq!(of_currency.map(|(.., minor)| minor).sum::<i64>(), 0);
    }
    let reading = shop.reading(shop.merchant);
    let transfers = payments::transfers(&reading, shop.merchant, payment.id).await.unwrap();
    assert_eq!(transfers.len(), 4);
    let totals = shop.find(payment.id).await.totals;
    assert_eq!(
        (totals.charged_minor, totals.refunded_minor, totals.reversed_minor),
        (2_990, 490, 500)
    );
    assert_eq!(totals.refundable_minor(), 2_000);
}

#[tokio::test]
async fn a_movement_is_recorded_once() {
    let shop = Shop::open().await;
    let payment = shop.create_paid(session(1), "pi_1").await;
    let refund = async || {
        shop.transfer(&payment, TransferKind::Refund, "rfd_1", euros(10)).await.unwrap().is_some()
    };
    let (one, two) = tokio::join!(refund(), refund());
    assert!(one ^ two);
    assert!(!refund().await);
    let of_another_kind = shop.transfer(&payment, TransferKind::Fee, "rfd_1", euros(10)).await;
    assert!(of_another_kind.unwrap().is_some());
    assert_eq!(shop.find(payment.id).await.totals.refunded_minor, 10);
    assert!(!shop.record(payment.id, &paid("pi_1")).await);
    assert_eq!(shop.find(payment.id).await.totals.charged_minor, 2_990);
}

#[tokio::test]
async fn no_more_is_returned_than_was_charged() {
    let shop = Shop::open().await;
    let payment = shop.create_paid(session(1), "pi_1").await;
    let refund = async |source: &'static str, minor| {
        shop.transfer(&payment, TransferKind::Refund, source, euros(minor)).await
    };
    refund("rfd_1", 2_000).await.unwrap();
    let reversed = shop.transfer(&payment, TransferKind::Reversal, "dp_1", euros(991)).await;
    assert!(matches!(reversed, Err(PaymentError::ExceedsCharge)), "{reversed:?}");
    let (one, two) = tokio::join!(refund("rfd_2", 600), refund("rfd_3", 600));
    assert!(one.is_ok() ^ two.is_ok(), "{one:?} {two:?}");
    assert_eq!(shop.find(payment.id).await.totals.refunded_minor, 2_600);
    let unpaid = shop.create_live(session(2)).await;
    let refused = shop.transfer(&unpaid, TransferKind::Refund, "rfd_4", euros(1)).await;
    assert!(matches!(refused, Err(PaymentError::ExceedsCharge)), "{refused:?}");
    let more = "UPDATE payment SET charged_minor = amount_minor + 1 WHERE status = 'paid'";
    let refused = shop.execute(more).await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().constraint(), Some("payment_charged"));
}

#[tokio::test]
async fn the_ledger_has_real_money_only() {
    let shop = Shop::open().await;
    let test = shop.create(session(1)).await.unwrap();
    assert!(shop.record(test.id, &paid("test_1")).await);
    assert_eq!(shop.balances().await, []);
    let refused = shop.transfer(&test, TransferKind::Charge, "pay_1", TOTAL).await;
    assert!(refused.is_err(), "{refused:?}");
    let charged =
        shop.execute("UPDATE payment SET charged_minor = amount_minor").await.unwrap_err();
    assert_eq!(charged.as_database_error().unwrap().constraint(), Some("payment_charged"));
    let declined = shop.create_live(session(2)).await;
    assert!(shop.record(declined.id, &ChargeOutcome::Declined).await);
    assert_eq!(shop.balances().await, []);
    let mut work = shop.work(shop.merchant).await;
    let own_page = shop.attempt(session(3), ProviderName::Merchant, TOTAL);
    let reported = payments::create(&mut work, shop.merchant, own_page).await.unwrap();
    work.commit().await.unwrap();
    assert!(shop.record(reported.id, &paid("A-1")).await);
    let reading = shop.reading(shop.merchant);
    let transfers = payments::transfers(&reading, shop.merchant, reported.id).await.unwrap();
    assert_eq!(transfers[0].stated_by, StatedBy::Merchant);
    assert_eq!(
        (transfers[0].debited.as_str(), transfers[0].credited.as_str()),
        ("merchant", "sales")
    );
}

#[tokio::test]
async fn nothing_in_the_ledger_changes() {
    let shop = Shop::open().await;
    shop.create_paid(session(1), "pi_1").await;
    for sql in ["UPDATE ledger_transfer SET amount_minor = 1", "DELETE FROM ledger_transfer"] {
        let mut work = shop.work(shop.merchant).await;
        let refused = sqlx::query(sql).execute(work.sql()).await.unwrap_err().to_string();
        assert!(refused.contains("permission denied"), "{refused}");
        work.rollback().await.unwrap();
    }
    let other = shop.another_merchant().await;
    let reading = shop.reading(other);
    assert_eq!(
        payments::balances(&reading, other).await.unwrap(),
        [],
        "a store reads its own rows"
    );
    let same = "INSERT INTO ledger_transfer SELECT merchant_id, kind, 'x', payment_id, debited, debited, currency,
                amount_minor, stated_by, recorded_at FROM ledger_transfer";
    let refused = shop.execute(same).await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().constraint(), Some("ledger_transfer_accounts"));
    let zero = "INSERT INTO ledger_transfer SELECT merchant_id, kind, 'x', payment_id, debited, credited, currency,
                0, stated_by, recorded_at FROM ledger_transfer";
    let refused = shop.execute(zero).await.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().constraint(), Some("ledger_transfer_amount"));
}

#[tokio::test]
async fn late_money_is_recorded_once_with_and_without_an_order() {
    let shop = Shop::open().await;
    for (number, is_order_placed) in [(1, true), (2, false)] {
        let payment = shop.create_live(session(number)).await;
        let reference = format!("pi_{number}");
        let late = async |payment: &Payment| {
            let mut work = shop.work(shop.merchant).await;
            let charge = charge(&reference);
            let recorded =
                payments::record_late_charge(&mut work, payment, &charge, is_order_placed).await;
            work.commit().await.unwrap();
            recorded.unwrap().is_some()
        };
        assert!(!late(&payment).await, "it has not ended");
        assert!(shop.record(payment.id, &ChargeOutcome::Ended).await);
        let ended = shop.find(payment.id).await;
        let (one, two) = tokio::join!(late(&ended), late(&ended));
        assert!(one ^ two);
        assert!(!late(&ended).await);
        let status = if is_order_placed { PaymentStatus::Paid } else { PaymentStatus::Expired };
        let found = shop.find(payment.id).await;
        assert_eq!((found.status, found.totals.charged_minor), (status, 2_990));
        assert_eq!(found.reference, Some(reference));
    }
    let sales = shop.balances().await.into_iter().find(|(account, ..)| account == "sales");
    assert_eq!(sales.unwrap().2, -5_980);
}
