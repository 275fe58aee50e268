//! Which facts count: cancellations by the merchant, times of delivery, prices, and limits.

use std::time::Duration;

use database::Work;
use jobs::{Runner, RunnerSettings, Scheduled};
use orders::{
    ActorKind, CancelReason, DisputeStatus, HistoryKind, Order, OrderStatus, RefundReason,
    Resolution,
};
use primitives::{Currency, Money};
use serde_json::{Value, json};
use trust::PurgeDays;

use crate::purchases::{DAY, Purchases, Report, id, key};

const BOUGHT: &str =
    "2026-11-15: amount_minor 2990, completed 1, kept 1, lasting 1, orders 1, started 1";

#[tokio::test]
async fn whatever_reason_a_merchant_states_a_canceled_order_is_neither_kept_nor_in_time() {
    let reasons = [
        (CancelReason::OutOfStock, ", out_of_stock 1"),
        (CancelReason::PriceError, ", price_different 1"),
        (CancelReason::Undeliverable, ""),
        (CancelReason::Other, ""),
    ];
    for (reason, also) in reasons {
        let shop = Purchases::open().await;
        shop.buy(1, key(1, 1)).await;
        shop.report(1, key(1, 1), report("accepted", 2_990)).await;
        shop.settle().await;
        shop.advance(DAY);
        // One of two units; the other is shipped, and delivered in time.
        shop.cancel(1, Some(1), reason).await;
        shop.ship(1).await;
        shop.deliver(1).await;
        shop.settle().await;
        let days = shop.days(1).await;
        let bought = "2026-11-15: amount_minor 2990, completed 1, lasting 1, orders 1, started 1";
        let late = format!("2026-11-16: delivered 1, late 1{also}");
        assert_eq!(days, [bought.to_owned(), late], "{reason}");
        shop.check().await;
        shop.advance(10 * DAY);
        shop.roll_up().await;
        assert_eq!(shop.days(1).await, days, "{reason}: late once");
    }
}

#[tokio::test]
async fn an_order_that_is_canceled_for_the_buyer_or_for_fraud_counts_as_if_it_had_not_happened() {
    let shop = Purchases::open().await;
    for number in 1..=4 {
        shop.buy(number, key(1, 1)).await;
    }
    shop.settle().await;
    shop.cancel(1, None, CancelReason::BuyerRequest).await;
    shop.cancel(2, None, CancelReason::Fraud).await;
    // A part is enough: otherwise units that are missing would be canceled as requested, and the rest would count as kept.
    shop.cancel(3, Some(1), CancelReason::BuyerRequest).await;
    shop.ship(3).await;
    shop.deliver(3).await;
    // A reason of the merchant's own decides.
    shop.cancel(4, Some(1), CancelReason::BuyerRequest).await;
    shop.cancel(4, None, CancelReason::Other).await;
    shop.settle().await;
    let one = "2026-11-15: amount_minor 11960, completed 1, delivered 1, lasting 1, late 1, orders 1, started 1";
    assert_eq!(shop.days(1).await, [one]);
    shop.advance(3 * DAY);
    shop.roll_up().await;
    assert_eq!(shop.days(1).await, [one], "what is canceled in time is not late");
    shop.check().await;
}

#[tokio::test]
async fn a_cancellation_for_the_buyer_does_not_take_back_that_an_order_was_late() {
    let shop = Purchases::open().await;
    for number in 1..=2 {
        shop.buy(number, key(1, 1)).await;
    }
    shop.settle().await;
    // One unit of the second order arrives in time, the other never.
    shop.ship_units(2, 1).await;
    shop.deliver(2).await;
    shop.advance(3 * DAY);
    shop.cancel(1, None, CancelReason::BuyerRequest).await;
    shop.cancel(2, None, CancelReason::BuyerRequest).await;
    shop.settle().await;
    let days = shop.days(1).await;
    assert_eq!(
        days,
        ["2026-11-15: amount_minor 5980", "2026-11-17: late 2", "2026-11-18: delivered 1"]
    );
    shop.check().await;
}

#[tokio::test]
async fn an_order_without_a_promise_has_to_be_delivered_within_thirty_days() {
    let shop = Purchases::open().await;
    let unpromised = |order: Order| Order { terms: json!({}), ..order };
    for number in 1..=2 {
        shop.start(number, key(number, 1)).await;
        shop.complete_as(number, key(number, 1), unpromised).await;
    }
    shop.settle().await;
    shop.advance(29 * DAY + Duration::from_hours(23));
    shop.ship(1).await;
    shop.deliver(1).await;
    shop.settle().await;
    shop.advance(Duration::from_hours(1));
    shop.roll_up().await;
    let delivered = "2026-12-15: delivered 1, in_stock 1, on_time 1";
    assert_eq!(shop.days(1).await, [BOUGHT, delivered]);
    assert_eq!(shop.days(2).await, [BOUGHT, "2026-12-15: late 1"]);
    assert_eq!(shop.count("SELECT count(*) FROM trust_stale_day").await, 0);
    shop.check().await;
}

#[tokio::test]
async fn a_promise_of_more_than_sixty_days_postpones_no_fact() {
    let shop = Purchases::open().await;
    let far = |order: Order| Order { terms: json!({ "shipping": { "days_max": 365 } }), ..order };
    for number in 1..=2 {
        shop.start(number, key(number, 1)).await;
        shop.complete_as(number, key(number, 1), far).await;
    }
    shop.settle().await;
    shop.advance(59 * DAY + Duration::from_hours(23));
    shop.ship(1).await;
    shop.deliver(1).await;
    shop.settle().await;
    shop.advance(Duration::from_hours(1));
    shop.roll_up().await;
    let delivered = "2027-01-14: delivered 1, in_stock 1, on_time 1";
    assert_eq!(shop.days(1).await, [BOUGHT, delivered]);
    assert_eq!(shop.days(2).await, [BOUGHT, "2027-01-14: late 1"]);
    assert_eq!(shop.count("SELECT count(*) FROM trust_stale_day").await, 0);
    shop.check().await;
    // Delivered as promised, and too late.
    shop.advance(DAY);
    shop.ship(2).await;
    shop.deliver(2).await;
    shop.settle().await;
    let days = ["2027-01-14: late 1", "2027-01-15: delivered 1, in_stock 1"];
    assert_eq!(shop.days(2).await[1..], days);
    shop.check().await;
}

fn report(outcome: &'static str, reported_minor: i64) -> Report {
    Report { outcome, reported_minor: Some(reported_minor), is_open: false, parts: json!([]) }
}

/// An amount of a report beside that of the quote; `None` if the quote left it open.
fn part(field: &str, expected_minor: Option<i64>, reported_minor: i64, currency: &str) -> Value {
    json!({
        "field": field, "expected_minor": expected_minor, "reported_minor": reported_minor,
        "currency": currency,
    })
}

#[tokio::test]
async fn of_an_open_quote_the_amounts_that_it_states_are_compared() {
    let shop = Purchases::open().await;
    let agent = key(1, 1);
    let open = |outcome, parts: &[Value]| Report {
        is_open: true,
        parts: json!(parts),
        ..report(outcome, 3_500)
    };
    let subtotal = |minor| part("subtotal", Some(2_500), minor, "EUR");
    let tax = part("tax", None, 510, "EUR");
    let total = part("total_amount", None, 3_500, "EUR");
    // No evidence: only what was open.
    shop.report(1, agent, open("accepted", &[tax.clone(), total.clone()])).await;
    shop.report(2, agent, open("accepted", &[subtotal(2_500), tax, total])).await;
    shop.settle().await;
    assert_eq!(shop.days(1).await, ["2026-11-15: price_equal 1"]);
    shop.report(3, agent, open("refund_due", &[subtotal(2_600)])).await;
    shop.report(4, agent, open("refund_due", &[part("discount", Some(0), 0, "USD")])).await;
    // Rejected because its parts do not add up to its total.
    shop.report(5, agent, open("amount_mismatch", &[])).await;
    shop.settle().await;
    assert_eq!(shop.days(1).await, ["2026-11-15: price_different 3, price_equal 1"]);
    shop.check().await;
}

#[tokio::test]
async fn the_price_of_the_quote_counts_only_if_the_order_remains() {
    let shop = Purchases::open().await;
    let agent = key(1, 1);
    for number in 1..=7 {
        shop.buy(number, agent).await;
        shop.report(number, agent, report("accepted", 2_990)).await;
    }
    // Another price, of an order that is canceled as well.
    shop.buy(8, agent).await;
    shop.report(8, agent, report("amount_mismatch", 3_100)).await;
    shop.settle().await;
    let equal = "SELECT sum(price_equal)::bigint FROM trust_agent_day";
    assert_eq!(shop.count(equal).await, 7);
    shop.cancel(1, None, CancelReason::BuyerRequest).await;
    shop.cancel(2, Some(1), CancelReason::Fraud).await;
    shop.cancel(3, Some(1), CancelReason::Undeliverable).await;
    shop.cancel(8, None, CancelReason::BuyerRequest).await;
    // Before the day of the report is settled.
    shop.cancel_as_agent(4, agent).await;
    shop.settle().await;
    assert_eq!(shop.count(equal).await, 3);
    shop.check().await;

    // Of a settled day, an account takes nothing back, and the merchant does.
    shop.advance(DAY);
    shop.cancel_as_agent(5, agent).await;
    shop.settle().await;
    assert_eq!(shop.count(equal).await, 3);
    shop.cancel(6, None, CancelReason::Other).await;
    shop.settle().await;
    assert_eq!(shop.count(equal).await, 2);
    let different = "SELECT sum(price_different)::bigint FROM trust_agent_day";
    assert_eq!(shop.count(different).await, 1, "what is adverse remains");
    shop.check().await;
    assert_eq!(trust::rebuild(shop.database(), shop.merchant).await.unwrap().changed, 0);
}

#[tokio::test]
async fn nothing_good_counts_of_an_order_that_was_paid_after_its_checkout_had_ended() {
    let shop = Purchases::open().await;
    shop.list_products(9).await;
    let agent = key(1, 1);
    let late = |order: Order| Order { status: OrderStatus::ManualReview, ..order };
    for number in 1..=4 {
        shop.start(number, agent).await;
        shop.complete_as(number, agent, late).await;
        shop.report(number, agent, report("accepted", 2_990)).await;
        orders::confirm(&shop.as_merchant(), id(number), None).await.unwrap();
    }
    // A merchant does not hide that the checkouts were abandoned by canceling their orders.
    shop.cancel(2, None, CancelReason::BuyerRequest).await;
    shop.cancel(3, None, CancelReason::OutOfStock).await;
    shop.ship(1).await;
    shop.deliver(1).await;
    shop.settle().await;
    assert_eq!(shop.days(1).await, ["2026-11-15: late 1, out_of_stock 1, started 4"]);
    shop.advance(3 * DAY);
    shop.roll_up().await;
    let promised = "2026-11-17: late 1";
    assert_eq!(shop.days(1).await, ["2026-11-15: late 1, out_of_stock 1, started 4", promised]);
    assert_eq!(shop.count("SELECT delivered FROM trust_tally").await, 0);
    shop.check().await;
}

#[tokio::test]
async fn amounts_beyond_every_number_stop_no_score() {
    let shop = Purchases::open().await;
    shop.list_products(9).await;
    let most = |order: Order| Order { total: Money::new(i64::MAX, Currency::EUR), ..order };
    for number in 1..=3 {
        shop.start(number, key(1, 1)).await;
        shop.complete_as(number, key(1, 1), most).await;
    }
    shop.execute(
        "INSERT INTO order_refund (merchant_id, order_id, refund_id, amount_minor, reason, created_at)
         SELECT merchant_id, order_id, order_id, total_minor, 'dispute', '2026-11-15T09:00:00Z' FROM placed_order",
    )
    .await;
    shop.settle().await;
    let most = "2026-11-15: amount_minor 9000000000000000000, completed 3, kept 3, lasting 3, orders 3, started 3";
    assert_eq!(shop.days(1).await, [most]);
    shop.advance(2 * DAY);
    assert!(shop.recompute().await.score.is_some());
    shop.check().await;
}

#[tokio::test]
async fn the_first_five_hundred_checkouts_of_an_account_on_a_day_are_looked_at() {
    let shop = Purchases::open().await;
    // 400 of each key of the account in turn, from the begin of the day on, then a purchase; and one of another account.
    shop.execute(
        "INSERT INTO agent_event (merchant_id, checkout_id, kind, agent_key_id, at)
         SELECT store.merchant_id, md5(n::text)::uuid, 'CHECKOUT_START', key.key_id,
                '2026-11-15T00:00:00Z'::timestamptz + n * interval '1 second'
         FROM store, generate_series(0, 799) AS n,
              (SELECT key_id, row_number() OVER (ORDER BY key_id) AS number FROM platform.agent_key
               WHERE user_id = '00000000-0000-0000-0000-000000000001') AS key
         WHERE n % 2 + 1 = key.number",
    )
    .await;
    shop.buy(1, key(1, 1)).await;
    shop.start(2, key(2, 1)).await;
    shop.settle().await;
    assert_eq!(shop.days(1).await, ["2026-11-15: amount_minor 2990, orders 1, started 500"]);
    assert_eq!(shop.days(2).await, ["2026-11-15: started 1"]);
    shop.check().await;
}

#[tokio::test]
async fn of_an_account_five_delivered_orders_count_and_only_those_of_days_that_count() {
    let shop = Purchases::open().await;
    shop.list_products(9).await;
    let deliver = async |numbers: std::ops::RangeInclusive<u128>, account: u128| {
        for number in numbers {
            shop.buy(number, key(account, 1)).await;
            shop.ship(number).await;
            shop.deliver(number).await;
        }
        shop.settle().await;
    };
    let tally = "SELECT delivered FROM trust_tally";
    deliver(1..=20, 1).await;
    assert_eq!(shop.count(tally).await, 5);
    deliver(21..=23, 2).await;
    assert_eq!(shop.count(tally).await, 8);
    shop.check().await;
    assert_eq!(trust::rebuild(shop.database(), shop.merchant).await.unwrap().changed, 0);
    assert_eq!(shop.count(tally).await, 8);
    shop.execute("UPDATE trust_account_tally SET delivered = 4 WHERE delivered = 20").await;
    let found = trust::check_days(shop.database(), shop.merchant).await.unwrap();
    assert!(!found.is_empty(), "{found:?}");
    trust::rebuild(shop.database(), shop.merchant).await.unwrap();
    shop.check().await;

    let delivered = async || {
        shop.recompute().await;
        let detail = "SELECT (state ->> 'delivered_total')::bigint FROM trust_detail";
        shop.count(detail).await
    };
    assert_eq!(delivered().await, 0, "their day has not ended");
    shop.advance(2 * DAY);
    assert_eq!(delivered().await, 8);
    deliver(24..=30, 2).await;
    assert_eq!((shop.count(tally).await, delivered().await), (10, 8));
}

#[tokio::test]
async fn orders_that_were_delivered_long_ago_are_counted_page_by_page() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.ship(1).await;
    shop.deliver(1).await;
    shop.settle().await;
    // 2,500 copies for two accounts. A page has 1,000, and many were delivered at the same time.
    shop.execute(
        "INSERT INTO placed_order
         SELECT (jsonb_populate_record(placed, jsonb_build_object('order_id', md5(n::text)::uuid,
                     'checkout_id', md5('checkout' || n)::uuid, 'cart_id', md5('cart' || n)::uuid,
                     'agent_key_id', keys.ids[n % 2 + 1]))).*
         FROM placed_order AS placed, generate_series(1, 2500) AS n,
              (SELECT array_agg(key_id ORDER BY key_id) AS ids FROM platform.agent_key
               WHERE key_id IN (SELECT min(key_id::text)::uuid FROM platform.agent_key GROUP BY user_id)) AS keys;
         INSERT INTO order_history
         SELECT (jsonb_populate_record(entry, jsonb_build_object('order_id', md5(n::text)::uuid,
                     'occurred_at', entry.occurred_at + n / 600 * interval '1 minute'))).*
         FROM order_history AS entry, generate_series(1, 2500) AS n
         WHERE entry.kind = 'status_changed' AND entry.status = 'delivered'",
    )
    .await;
    shop.advance(150 * DAY);
    trust::rebuild(shop.database(), shop.merchant).await.unwrap();
    let all = "SELECT sum(delivered)::bigint FROM trust_account_tally";
    let total = "SELECT delivered FROM trust_tally";
    assert_eq!((shop.count(all).await, shop.count(total).await), (2_501, 10));
    shop.check().await;
    // An order whose payment failed does not count, nor do tallies of accounts that bought nothing: more than a page of them.
    shop.execute(
        "UPDATE placed_order SET status = 'failed' WHERE order_id = md5('7')::uuid;
         INSERT INTO trust_account_tally
         SELECT merchant_id, md5(n::text)::uuid, 1 FROM trust_tally, generate_series(1, 2500) AS n",
    )
    .await;
    trust::rebuild(shop.database(), shop.merchant).await.unwrap();
    assert_eq!((shop.count(all).await, shop.count(total).await), (2_500, 10));
    shop.check().await;
}

#[tokio::test]
async fn rows_are_kept_for_120_days_and_delivered_orders_for_ever() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    shop.ship(1).await;
    shop.deliver(1).await;
    shop.settle().await;
    let kept = async || {
        let mut work = Work::for_platform(shop.database()).await.unwrap();
        jobs::enqueue(&mut work, &PurgeDays::for_epoch(1)).await.unwrap();
        work.commit().await.unwrap();
        let runner = Runner::new(shop.database().clone(), RunnerSettings::default());
        assert_eq!(runner.register::<PurgeDays>(()).run_until_idle().await.unwrap(), 1);
        shop.count("SELECT count(*) FROM trust_agent_day").await
    };
    shop.advance(120 * DAY);
    assert_eq!(kept().await, 1);
    shop.advance(DAY);
    assert_eq!(kept().await, 0);
    trust::rebuild(shop.database(), shop.merchant).await.unwrap();
    assert_eq!(shop.count("SELECT delivered FROM trust_tally").await, 1);
}

/// Returns the texts that a column is compared with.
fn compared_with(sql: &str, column: &str) -> Vec<String> {
    let sql = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut texts = Vec::new();
    for (operator, end) in [(" = '", "'"), (" <> '", "'"), (" IN ('", ")"), (" NOT IN ('", ")")] {
        for rest in sql.split(&format!("{column}{operator}")).skip(1) {
            let list = rest.split(end).next().unwrap_or_default();
            texts.extend(list.trim_end_matches('\'').split("', '").map(String::from));
        }
    }
    texts
}

#[test]
fn the_statements_compare_with_texts_that_orders_stores() {
    let statements = [
        include_str!("../../../database/migrations/20261119000110_order_facts_by_age.sql"),
        include_str!("../../../database/migrations/20261119000112_resolved_disputes.sql"),
        include_str!("../../../database/migrations/20261119000130_trust_facts.sql"),
        include_str!("../../../database/migrations/20261119000441_ended_pushed_orders.sql"),
        include_str!("../../src/table/rollup/delivered.rs"),
        include_str!("../../src/table/rollup/facts.rs"),
        include_str!("../../src/table/rollup/stale.rs"),
        include_str!("../../src/table/adverse_orders.rs"),
    ]
    .concat();
    let unknown = |column: &str, is_known: fn(&str) -> bool| -> Vec<String> {
        let texts = compared_with(&statements, column);
        assert!(!texts.is_empty(), "{column}");
        texts.into_iter().filter(|text| !is_known(text)).collect()
    };
    let none: [String; 0] = [];
    let of_others = ["CHECKOUT_START", "CHECKOUT_COMPLETE", "late", "short", "lost"];
    let kinds = unknown("kind", |text| HistoryKind::parse(text).is_some());
    assert!(kinds.iter().all(|kind| of_others.contains(&kind.as_str())), "{kinds:?}");
    let is_status =
        |text: &str| OrderStatus::parse(text).is_some() || DisputeStatus::parse(text).is_some();
    assert_eq!(unknown("status", is_status), none);
    assert_eq!(unknown("actor", |text| ActorKind::parse(text).is_some()), none);
    assert_eq!(unknown("reason", |text| CancelReason::parse(text).is_some()), none);
    assert_eq!(unknown("resolution", |text| Resolution::parse(text).is_some()), none);
    let refunds = compared_with(include_str!("../../src/table/state.rs"), "refund.reason");
    let is_known = |text: &String| RefundReason::parse(text).is_some();
    assert!(refunds.len() == 5 && refunds.iter().all(is_known), "{refunds:?}");
}
