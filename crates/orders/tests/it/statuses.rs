//! Names of statuses and confirmation levels in PostgreSQL.

use orders::{ConfirmationLevel, Order, OrderError, OrderStatus, PaymentStatus};
use primitives::{ErrorCode, Problem};

use crate::shop::{Shop, order};

#[tokio::test]
async fn every_status_of_order_and_payment_and_every_confirmation_level_can_be_stored_and_read() {
    let shop = Shop::open().await;
    let mut number = 0;
    for status in OrderStatus::ALL.iter().copied() {
        number += 1;
        shop.place(&Order { status, ..order(number) }).await.unwrap();
        let read = shop.read(order(number).id, None).await.unwrap();
        assert_eq!(read.status, status);
    }
    for confirmation in ConfirmationLevel::ALL.iter().copied() {
        number += 1;
        shop.place(&Order { confirmation, ..order(number) }).await.unwrap();
        let read = shop.read(order(number).id, None).await.unwrap();
        assert_eq!(read.confirmation, confirmation);
    }
    let derived = [PaymentStatus::PartiallyRefunded, PaymentStatus::Refunded];
    let reported = PaymentStatus::ALL.iter().copied().filter(|it| !derived.contains(it));
    for payment in reported {
        number += 1;
        shop.place(&Order { payment, ..order(number) }).await.unwrap();
        let read = shop.read(order(number).id, None).await.unwrap();
        assert_eq!(read.payment, payment);
    }
    let names: Vec<&str> = OrderStatus::ALL.iter().map(|status| status.as_str()).collect();
    insta::assert_snapshot!(names.join(" "), @"pending confirmed processing partially_shipped shipped delivered completed manual_review canceled failed");
}

#[tokio::test]
async fn an_unknown_name_cannot_be_stored() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    for (sql, constraint) in [
        ("UPDATE placed_order SET status = 'lost'", "placed_order_status_check"),
        (
            "UPDATE placed_order SET confirmation_level = 'guessed'",
            "placed_order_confirmation_level_check",
        ),
        (
            "UPDATE placed_order SET payment_status = 'refunded'",
            "placed_order_payment_status_check",
        ),
    ] {
        let refused = shop.execute(sql).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().constraint(), Some(constraint));
    }
}

#[tokio::test]
async fn an_unknown_stored_name_is_an_error_and_not_a_default() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    for (without_check, unknown, restored) in [
        (
            "ALTER TABLE placed_order DROP CONSTRAINT placed_order_status_check",
            "UPDATE placed_order SET status = 'lost'",
            "UPDATE placed_order SET status = 'pending'",
        ),
        (
            "ALTER TABLE placed_order DROP CONSTRAINT placed_order_confirmation_level_check",
            "UPDATE placed_order SET confirmation_level = 'guessed'",
            "UPDATE placed_order SET confirmation_level = 'hosted'",
        ),
        (
            "ALTER TABLE placed_order DROP CONSTRAINT placed_order_payment_status_check",
            "UPDATE placed_order SET payment_status = 'promised'",
            "UPDATE placed_order SET payment_status = 'paid'",
        ),
        // The column of the currency has no constraint.
        (
            "SELECT",
            "UPDATE placed_order SET currency = 'GOLD'",
            "UPDATE placed_order SET currency = 'EUR'",
        ),
    ] {
        shop.execute(without_check).await.unwrap();
        shop.execute(unknown).await.unwrap();
        let read = shop.read(order(1).id, None).await;
        let Err(error @ OrderError::Unreadable) = read else { panic!("{unknown}: {read:?}") };
        assert_eq!((error.code(), error.is_transient()), (ErrorCode::InternalError, false));
        shop.execute(restored).await.unwrap();
        assert_eq!(shop.read(order(1).id, None).await.unwrap(), order(1));
    }
}
