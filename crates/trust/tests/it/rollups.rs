//! Facts counted by day and account.

use std::time::Duration;

use database::Work;
use orders::{
    Actor, CancelReason, DisputeReason, NewDispute, NewStatement, Order, PaymentStatus, Viewer,
};
use primitives::{Currency, DisputeId, Id, KeyId, MerchantId, Money, UserId};
use serde_json::json;
use sqlx::Connection;
use testkit::StoreBuilder;
use trust::ROLL_UP_DELAY;

use crate::purchases::{DAY, Purchases, Report, id, key, order};

const BOUGHT: &str =
    "2026-11-15: amount_minor 2990, completed 1, kept 1, lasting 1, orders 1, started 1";

#[tokio::test]
async fn a_purchase_is_counted_on_the_days_of_its_facts() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.settle().await;
    assert_eq!(shop.days(1).await, [BOUGHT]);
    shop.advance(DAY);
    shop.ship(1).await;
    shop.advance(Duration::from_hours(23));
    shop.deliver(1).await;
    shop.settle().await;
    let expected = [BOUGHT, "2026-11-16: in_stock 1", "2026-11-17: delivered 1, on_time 1"];
    assert_eq!(shop.days(1).await, expected);
    assert!(shop.days(2).await.is_empty());
    assert_eq!(shop.count("SELECT delivered FROM trust_tally").await, 1);
    shop.advance(2 * DAY);
    shop.roll_up().await;
    assert_eq!(shop.days(1).await, expected, "delivered in time, so never late");
    assert_eq!(shop.count("SELECT count(*) FROM trust_stale_day").await, 0);
    shop.check().await;
}

#[tokio::test]
async fn a_checkout_counts_on_the_day_of_its_start() {
    let shop = Purchases::open().await;
    shop.advance(Duration::from_hours(15) + Duration::from_mins(50));
    shop.start(1, key(1, 1)).await;
    shop.start(2, key(1, 1)).await;
    shop.settle().await;
    assert_eq!(shop.days(1).await, ["2026-11-15: started 2"]);
    shop.advance(Duration::from_mins(20));
    shop.complete(1, key(1, 1)).await;
    shop.settle().await;
    let expected = [
        "2026-11-15: completed 1, kept 1, lasting 1, started 2",
        "2026-11-16: amount_minor 2990, orders 1",
    ];
    assert_eq!(shop.days(1).await, expected);
    shop.check().await;
}

#[tokio::test]
async fn the_keys_of_an_account_are_one_agent() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.buy(2, key(1, 2)).await;
    shop.buy(3, key(2, 1)).await;
    shop.settle().await;
    let both = "2026-11-15: amount_minor 5980, completed 2, kept 2, lasting 2, orders 2, started 2";
    assert_eq!((shop.days(1).await, shop.days(2).await), (vec![both.into()], vec![BOUGHT.into()]));
}

#[tokio::test]
async fn sandboxes_and_keys_without_an_account_never_count() {
    let shop = Purchases::open().await;
    let mut work = Work::for_checkout(shop.database(), shop.merchant).await.unwrap();
    let sandbox = Order { is_sandbox: true, ..order(1, key(1, 1), work.now()) };
    orders::place(&mut work, shop.merchant, "attic", &sandbox).await.unwrap();
    shop.publish(&mut work, "order.changed", sandbox.id.uuid()).await;
    work.commit().await.unwrap();
    shop.settle().await;
    assert_eq!(shop.count("SELECT count(*) FROM trust_stale_day").await, 0);
    let unknown = KeyId::from_random(9_999);
    shop.buy(2, unknown).await;
    shop.report(2, unknown, report("accepted", 2_990)).await;
    shop.settle().await;
    trust::rebuild(shop.database(), shop.merchant).await.unwrap();
    assert_eq!(shop.count("SELECT count(*) FROM trust_agent_day").await, 0);
}

#[tokio::test]
async fn repeated_events_change_nothing() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.ship(1).await;
    shop.settle().await;
    let before = shop.evidence().await;
    let mut work = Work::for_platform(shop.database()).await.unwrap();
    // The newest event first, and all of them again.
    shop.publish(&mut work, "order.changed", id::<primitives::OrderId>(1).uuid()).await;
    shop.publish(&mut work, "checkout.changed", id::<primitives::CheckoutId>(1).uuid()).await;
    jobs::delete_cursor(&mut work, "trust.rollups").await.unwrap();
    work.commit().await.unwrap();
    for _ in 0..2 {
        shop.settle().await;
    }
    assert_eq!(shop.evidence().await, before);
    shop.check().await;
}

#[tokio::test]
async fn a_cancellation_as_out_of_stock_takes_the_completion_back() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.settle().await;
    assert_eq!(shop.days(1).await, [BOUGHT]);
    shop.advance(DAY);
    shop.cancel(1, Some(1), CancelReason::OutOfStock).await;
    shop.cancel(1, None, CancelReason::OutOfStock).await;
    shop.settle().await;
    let expected = [
        "2026-11-15: amount_minor 2990, completed 1, lasting 1, orders 1, started 1",
        "2026-11-16: late 1, out_of_stock 1",
    ];
    assert_eq!(shop.days(1).await, expected);
    shop.advance(2 * DAY);
    shop.roll_up().await;
    assert_eq!(shop.days(1).await, expected, "late once");
    shop.check().await;
}

#[tokio::test]
async fn an_order_that_is_short_of_units_is_neither_in_stock_nor_on_time() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.cancel(1, Some(1), CancelReason::OutOfStock).await;
    shop.ship(1).await;
    shop.advance(DAY);
    shop.deliver(1).await;
    shop.settle().await;
    let expected = [
        "2026-11-15: amount_minor 2990, completed 1, lasting 1, late 1, orders 1, out_of_stock 1, started 1",
        "2026-11-16: delivered 1",
    ];
    assert_eq!(shop.days(1).await, expected);
}

#[tokio::test]
async fn a_delivery_is_late_when_the_promised_time_passes_without_an_event() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.settle().await;
    shop.advance(DAY + Duration::from_hours(23));
    // Another fact of the promised day, which is computed before the promised time.
    shop.start(2, key(1, 1)).await;
    shop.settle().await;
    assert_eq!(shop.days(1).await, [BOUGHT, "2026-11-17: started 1"]);
    shop.advance(Duration::from_hours(1));
    shop.roll_up().await;
    let late = [BOUGHT, "2026-11-17: late 1, started 1"];
    assert_eq!(shop.days(1).await, late);
    shop.ship(1).await;
    shop.advance(DAY);
    shop.deliver(1).await;
    shop.settle().await;
    let expected = [BOUGHT, "2026-11-17: in_stock 1, late 1, started 1", "2026-11-18: delivered 1"];
    assert_eq!(shop.days(1).await, expected);
    assert_eq!(shop.count("SELECT count(*) FROM trust_stale_day").await, 0);
    shop.check().await;
}

#[tokio::test]
async fn an_order_that_was_canceled_in_time_is_not_late() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.buy(2, key(2, 1)).await;
    shop.cancel_as_agent(1, key(1, 1)).await;
    shop.settle().await;
    shop.advance(2 * DAY);
    shop.roll_up().await;
    shop.cancel_as_agent(2, key(2, 1)).await;
    shop.settle().await;
    assert_eq!(shop.days(1).await, ["2026-11-15: amount_minor 2990"]);
    let canceled = "2026-11-15: amount_minor 2990, completed 1, kept 1, orders 1, started 1";
    assert_eq!(shop.days(2).await, [canceled, "2026-11-17: late 1"], "canceled after that time");
    shop.check().await;
}

#[tokio::test]
async fn a_purchase_that_is_canceled_after_its_day_is_settled_counts_but_does_not_last() {
    let shop = Purchases::open().await;
    let agent = key(1, 1);
    for number in 1..=4 {
        shop.buy(number, agent).await;
    }
    let counted = |completed: u32, lasting: u32| {
        let (kept, orders, started) = (completed, completed, completed);
        format!(
            "2026-11-15: amount_minor 11960, completed {completed}, kept {kept}, lasting {lasting}, orders {orders}, \
             started {started}"
        )
    };
    shop.advance(Duration::from_hours(22) - Duration::from_secs(1));
    shop.cancel_as_agent(1, agent).await;
    // Six hours after the end of the day.
    shop.advance(Duration::from_secs(1));
    shop.settle().await;
    assert_eq!(shop.days(1).await, [counted(3, 3)], "refunds are deducted later");
    shop.cancel_as_agent(2, agent).await;
    shop.settle().await;
    assert_eq!(shop.days(1).await, [counted(3, 2)]);
    shop.check().await;
    // To the last second before ten days after the end of the day. Twice the days were rolled up.
    let passed = Duration::from_hours(6) + 2 * ROLL_UP_DELAY + Duration::from_secs(1);
    shop.advance((10 * DAY).checked_sub(passed).unwrap());
    shop.cancel_as_agent(3, agent).await;
    shop.advance(Duration::from_secs(1));
    shop.cancel_as_agent(4, agent).await;
    shop.settle().await;
    let late = String::from("2026-11-17: late 2");
    assert_eq!(shop.days(1).await, [counted(3, 1), late], "canceled after the promised time");
    shop.check().await;
    let rebuilt = trust::rebuild(shop.database(), shop.merchant).await.unwrap();
    assert_eq!(rebuilt.changed, 0);
}

#[tokio::test]
async fn a_shortage_counts_also_if_the_buyer_cancels_the_rest() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.cancel(1, Some(1), CancelReason::OutOfStock).await;
    shop.cancel_as_agent(1, key(1, 1)).await;
    shop.settle().await;
    let short = "2026-11-15: amount_minor 2990, completed 1, lasting 1, late 1, orders 1, out_of_stock 1, started 1";
    assert_eq!(shop.days(1).await, [short]);
    shop.check().await;
}

#[tokio::test]
async fn a_checkout_that_is_completed_when_its_day_counts_already_is_not_completed() {
    let shop = Purchases::open().await;
    shop.start(1, key(1, 1)).await;
    shop.start(2, key(1, 1)).await;
    shop.advance(Duration::from_hours(22) - Duration::from_secs(1));
    shop.complete(1, key(1, 1)).await;
    // Six hours after the end of the day.
    shop.advance(Duration::from_secs(1));
    shop.complete(2, key(1, 1)).await;
    shop.settle().await;
    let expected = [
        "2026-11-15: completed 1, kept 1, lasting 1, started 2",
        "2026-11-16: amount_minor 5980, orders 2",
    ];
    assert_eq!(shop.days(1).await, expected);
    shop.check().await;
}

#[tokio::test]
async fn orders_in_another_currency_add_no_amount() {
    let shop = Purchases::open().await;
    let mut work = Work::for_checkout(shop.database(), shop.merchant).await.unwrap();
    let total = Money::new(2_990, Currency::USD);
    let dollars = Order { total, ..order(1, key(1, 1), work.now()) };
    orders::place(&mut work, shop.merchant, "attic", &dollars).await.unwrap();
    work.commit().await.unwrap();
    shop.settle().await;
    assert_eq!(shop.days(1).await, ["2026-11-15: orders 1"]);
    shop.check().await;
}

#[tokio::test]
async fn an_order_whose_payment_failed_is_no_purchase() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.report(1, key(1, 1), report("accepted", 2_990)).await;
    shop.settle().await;
    let operator = shop.acting(Actor::platform(UserId::from_random(1)), Viewer::All);
    let (by, failed) = (testkit::administration(), PaymentStatus::Failed);
    orders::set_payment_status(&operator, by, id(1), failed).await.unwrap();
    shop.settle().await;
    assert_eq!(shop.days(1).await, ["2026-11-15: started 1"]);
    shop.advance(3 * DAY);
    shop.roll_up().await;
    assert_eq!(shop.days(1).await, ["2026-11-15: started 1"]);
}

fn report(outcome: &'static str, reported_minor: i64) -> Report {
    Report { outcome, reported_minor: Some(reported_minor), is_open: false, parts: json!([]) }
}

#[tokio::test]
async fn a_reported_amount_counts_once_and_a_different_one_wins() {
    let shop = Purchases::open().await;
    let agent = key(1, 1);
    shop.report(1, agent, report("accepted", 2_990)).await;
    shop.report(2, agent, report("accepted", 2_990)).await;
    // The same number of another currency.
    shop.report(3, agent, report("amount_mismatch", 2_990)).await;
    // No evidence: a total that the quote left open, and a report without an amount.
    let open = Report { is_open: true, ..report("accepted", 3_500) };
    shop.report(4, agent, open).await;
    shop.report(5, agent, Report { reported_minor: None, ..report("accepted", 0) }).await;
    shop.settle().await;
    assert_eq!(shop.days(1).await, ["2026-11-15: price_different 1, price_equal 2"]);
    shop.advance(DAY);
    shop.report(2, agent, report("refund_due", 3_100)).await;
    shop.report(1, agent, report("refund_due", 2_990)).await;
    shop.settle().await;
    let expected =
        ["2026-11-15: price_different 1, price_equal 1", "2026-11-16: price_different 1"];
    assert_eq!(shop.days(1).await, expected);
    shop.check().await;
}

#[tokio::test]
async fn a_dispute_counts_when_it_is_lost() {
    let shop = Purchases::open().await;
    let (agent, merchant) = (shop.as_agent(key(1, 1)), shop.as_merchant());
    for (number, minor) in [(1, 500), (2, 0)] {
        shop.buy(number, key(1, 1)).await;
        let (reason, statement) = (DisputeReason::Damaged, String::from("It is broken."));
        let dispute = NewDispute { reason, statement, evidence: Vec::new() };
        let opened = orders::open_dispute(&agent, id(number), dispute).await.unwrap();
        let dispute: DisputeId = opened.subject.unwrap().parse().unwrap();
        let proposed_refund = (minor > 0).then(|| Money::new(minor, Currency::EUR));
        let (text, evidence) = (String::from("We are sorry."), Vec::new());
        let answer = NewStatement { text, evidence, proposed_refund };
        orders::answer_dispute(&merchant, id(number), dispute, answer).await.unwrap();
        if minor > 0 {
            shop.advance(DAY);
            orders::accept_proposal(&agent, id(number), dispute).await.unwrap();
        } else {
            orders::withdraw_dispute(&agent, id(number), dispute).await.unwrap();
        }
    }
    shop.settle().await;
    let second = "2026-11-16: amount_minor 2990, completed 1, disputes_lost 1, kept 1, lasting 1, orders 1, started 1";
    assert_eq!(shop.days(1).await, [BOUGHT, second], "a dispute that was withdrawn is not lost");
    shop.check().await;
}

#[tokio::test]
async fn a_mark_during_a_computation_is_not_lost() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.settle().await;
    shop.start(2, key(1, 1)).await;
    shop.follow().await;
    shop.advance(ROLL_UP_DELAY);
    let mut blocking = shop.test.raw().await;
    let mut lock = blocking.begin().await.unwrap();
    sqlx::query("SELECT FROM trust_agent_day FOR UPDATE").execute(&mut *lock).await.unwrap();
    let meanwhile = async {
        let blocked = "SELECT count(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while shop.count(blocked).await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        shop.start(3, key(1, 1)).await;
        shop.follow().await;
        lock.rollback().await.unwrap();
    };
    tokio::join!(shop.roll_up(), meanwhile);
    let with = |started: u32| {
        format!(
            "2026-11-15: amount_minor 2990, completed 1, kept 1, lasting 1, orders 1, started {started}"
        )
    };
    assert_eq!(
        shop.days(1).await,
        [with(2)],
        "the third one was started after the facts were read"
    );
    // The day has not ended: it is counted again after ten minutes, not all the time.
    shop.advance(ROLL_UP_DELAY);
    shop.roll_up().await;
    assert_eq!(shop.days(1).await, [with(2)]);
    shop.advance(Duration::from_mins(10).checked_sub(ROLL_UP_DELAY).unwrap());
    shop.roll_up().await;
    assert_eq!(shop.days(1).await, [with(3)]);
    let waiting = "SELECT count(*) FROM trust_stale_day WHERE day < '2026-11-16'";
    assert_eq!(shop.count(waiting).await, 0);
}

#[tokio::test]
async fn a_rebuild_equals_what_events_led_to() {
    let shop = Purchases::open().await;
    for number in 1..=6 {
        let agent = key(1 + number % 2, 1);
        shop.buy(number, agent).await;
        shop.report(number, agent, report("accepted", 2_989 + i64::from(number > 2))).await;
        match number {
            1 | 2 => shop.cancel(number, None, CancelReason::OutOfStock).await,
            3 | 4 => shop.ship(number).await,
            _ => {}
        }
        shop.advance(DAY);
        if number == 3 {
            shop.deliver(number).await;
        }
        shop.settle().await;
    }
    shop.check().await;
    let before = shop.evidence().await;
    assert_eq!(trust::rebuild(shop.database(), shop.merchant).await.unwrap().changed, 0);
    assert_eq!(shop.evidence().await, before);

    shop.execute(
        "UPDATE trust_agent_day SET started = started + 1 WHERE day = '2026-11-15';
         DELETE FROM trust_agent_day WHERE day = '2026-11-16'; UPDATE trust_tally SET delivered = 7",
    )
    .await;
    let found = trust::check_days(shop.database(), shop.merchant).await.unwrap();
    assert!(found.rows.len() >= 2 && found.delivered == Some((7, 1)), "{found:?}");
    assert_eq!(trust::rebuild(shop.database(), shop.merchant).await.unwrap().changed, 2);
    assert_eq!(shop.evidence().await, before);

    shop.execute(
        "DELETE FROM trust_agent_day; DELETE FROM trust_tally; DELETE FROM trust_stale_day",
    )
    .await;
    trust::rebuild(shop.database(), shop.merchant).await.unwrap();
    assert_eq!(shop.evidence().await, before);
    shop.advance(3 * DAY);
    shop.roll_up().await;
    shop.check().await;
    assert_ne!(shop.evidence().await, before, "a promised time has passed");
}

#[tokio::test]
async fn days_whose_facts_are_gone_remain_as_they_are() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.settle().await;
    shop.advance(125 * DAY);
    shop.execute("DELETE FROM agent_event").await;
    shop.ship(1).await;
    shop.settle().await;
    trust::rebuild(shop.database(), shop.merchant).await.unwrap();
    let days = shop.days(1).await;
    assert_eq!(
        (days[0].as_str(), days.last().unwrap().as_str()),
        (BOUGHT, "2027-03-20: in_stock 1")
    );
}

#[tokio::test]
async fn a_store_that_cannot_be_computed_does_not_stop_others() {
    let shop = Purchases::open().await;
    let merchant = MerchantId::from_random(2);
    StoreBuilder::new("cellar").merchant(merchant).build(shop.database()).await;
    let mut work = Work::for_checkout(shop.database(), merchant).await.unwrap();
    let other = order(1, key(1, 1), work.now());
    orders::place(&mut work, merchant, "cellar", &other).await.unwrap();
    work.commit().await.unwrap();
    shop.buy(2, key(1, 1)).await;
    shop.execute(
        "ALTER TABLE trust_agent_day ADD CONSTRAINT broken
         CHECK (merchant_id <> '00000000-0000-0000-0000-000000000002')",
    )
    .await;
    shop.settle().await;
    assert_eq!(shop.days(1).await, [BOUGHT]);
    let failed = "SELECT count(*) FROM sweep_failure WHERE sweep = 'trust.roll_up'";
    assert_eq!(shop.count(failed).await, 1);
    shop.execute("ALTER TABLE trust_agent_day DROP CONSTRAINT broken").await;
    shop.roll_up().await;
    assert_eq!(shop.count("SELECT count(*) FROM trust_agent_day").await, 2);
    assert_eq!(shop.count(failed).await, 0);
}

#[tokio::test]
async fn a_store_reads_only_its_own_evidence() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.settle().await;
    for (merchant, rows) in [(shop.merchant, 1), (MerchantId::from_random(2), 0)] {
        for table in ["SELECT count(*) FROM trust_agent_day", "SELECT count(*) FROM trust_tally"] {
            let reading = shop.reading(merchant);
            let count = reading.run(async |sql| -> Result<i64, trust::TrustError> {
                Ok(sqlx::query_scalar(table).fetch_one(&mut **sql).await?)
            });
            assert_eq!(count.await.unwrap(), rows, "{table}");
        }
    }
    for refused in [
        "SELECT count(*) FROM trust_stale_day",
        "UPDATE trust_tally SET delivered = 99",
        "INSERT INTO trust_agent_day SELECT * FROM trust_agent_day",
        "DELETE FROM trust_agent_day",
    ] {
        let mut work = Work::for_checkout(shop.database(), shop.merchant).await.unwrap();
        assert!(sqlx::query(refused).execute(work.sql()).await.is_err(), "{refused}");
    }
}
