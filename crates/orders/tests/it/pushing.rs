//! Pushed orders: each taken or refused by itself, and evidence of nothing.

use std::time::Duration;

use database::Reading;
use orders::{
    OrderCursor, OrderError, OrderParts, OrderStatus, OrdersFilter, PushOutcome, PushResult,
    PushedLine, PushedOrder, Viewer,
};
use primitives::{Currency, Id, MerchantId, Money, OrderId, Timestamp};

use crate::shop::{Shop, agent};

const STORED: &str = "SELECT count(*) FROM pushed_order";
const DAY: Duration = Duration::from_hours(24);
const MICRO: Duration = Duration::from_micros(1);

fn now() -> Timestamp {
    Timestamp::from_unix_micros(testkit::START)
}

fn line() -> PushedLine {
    let (sku, name) = (String::from("MUG-1"), String::from("Mug “Blå”"));
    PushedLine { sku, name, quantity: 2, unit_minor: 1_250 }
}

fn pushed(number: u32) -> PushedOrder {
    PushedOrder {
        external_id: format!("shop-{number}"),
        status: OrderStatus::Shipped,
        currency: Currency::EUR,
        total_minor: 2_500,
        lines: vec![line()],
        placed_at: now().minus(Duration::from_secs(u64::from(number))),
    }
}

async fn push(shop: &Shop, orders: Vec<PushedOrder>) -> Vec<PushResult> {
    push_to(shop, shop.merchant, orders).await
}

async fn push_to(shop: &Shop, merchant: MerchantId, orders: Vec<PushedOrder>) -> Vec<PushResult> {
    let orders = orders.into_iter().map(Ok).collect();
    orders::push(shop.test.database(), merchant, orders).await.unwrap()
}

async fn one(shop: &Shop, order: PushedOrder) -> Result<(OrderId, PushOutcome), OrderError> {
    let result = push(shop, vec![order]).await.remove(0).result;
    result.map(|pushed| (pushed.order, pushed.outcome))
}

fn field<T: std::fmt::Debug>(result: Result<T, OrderError>) -> String {
    let Err(OrderError::InvalidField { field, .. }) = result else { panic!("{result:?}") };
    field
}

fn reading(shop: &Shop) -> Reading {
    Reading::for_store(shop.test.database(), shop.merchant).unwrap()
}

#[tokio::test]
async fn an_order_is_created_updated_and_left_unchanged() {
    let shop = Shop::open().await;
    let (id, outcome) = one(&shop, pushed(1)).await.unwrap();
    assert_eq!(outcome, PushOutcome::Created);
    let stored = orders::pushed_order(&reading(&shop), shop.merchant, id).await.unwrap();
    assert_eq!((stored.id, &stored.order, stored.pushed_at), (id, &pushed(1), now()));

    shop.test.clock().advance(DAY);
    assert_eq!(one(&shop, pushed(1)).await.unwrap(), (id, PushOutcome::Unchanged));
    let again = orders::pushed_order(&reading(&shop), shop.merchant, id).await.unwrap();
    assert_eq!(again, stored, "an unchanged push writes nothing");

    let base = pushed(1);
    let changed_line = PushedLine { quantity: 3, ..line() };
    for changed in [
        PushedOrder { status: OrderStatus::Pending, ..base.clone() },
        PushedOrder { currency: Currency::USD, ..base.clone() },
        PushedOrder { total_minor: 0, ..base.clone() },
        PushedOrder { lines: vec![changed_line], ..base.clone() },
        PushedOrder { lines: Vec::new(), ..base.clone() },
        PushedOrder { placed_at: now().plus(MICRO), ..base.clone() },
    ] {
        assert_eq!(one(&shop, changed.clone()).await.unwrap(), (id, PushOutcome::Updated));
        let stored = orders::pushed_order(&reading(&shop), shop.merchant, id).await.unwrap();
        assert_eq!((stored.order, stored.pushed_at), (changed, now().plus(DAY)));
    }
    assert_eq!(shop.count(STORED).await, 1);
}

#[tokio::test]
async fn the_merchant_says_any_status_in_any_order() {
    let shop = Shop::open().await;
    for (before, after) in OrderStatus::ALL.iter().zip(OrderStatus::ALL.iter().rev()) {
        for status in [*before, *after] {
            let (id, _) = one(&shop, PushedOrder { status, ..pushed(1) }).await.unwrap();
            let stored = orders::pushed_order(&reading(&shop), shop.merchant, id).await.unwrap();
            assert_eq!(stored.order.status, status);
        }
    }
}

#[tokio::test]
async fn each_field_is_checked() {
    let shop = Shop::open().await;
    let base = pushed(1);
    let text = |length| "é".repeat(length);
    let external_id = |id: &str| PushedOrder { external_id: id.to_owned(), ..base.clone() };
    let with = |line: PushedLine| PushedOrder {
        lines: vec![super::pushing::line(), line],
        ..base.clone()
    };
    let placed_at = |placed_at| PushedOrder { placed_at, ..base.clone() };
    let long = text(101);
    for (wrong, name) in [
        (external_id(""), "external_id"),
        (external_id(" "), "external_id"),
        (external_id(&long), "external_id"),
        (external_id("a\nb"), "external_id"),
        (external_id("a\u{0}"), "external_id"),
        (external_id("a\u{202e}b"), "external_id"),
        (external_id("<b>a</b>"), "external_id"),
        (PushedOrder { total_minor: -1, ..base.clone() }, "total_amount"),
        (PushedOrder { lines: vec![line(); 101], ..base.clone() }, "items"),
        (with(PushedLine { sku: String::new(), ..line() }), "items[1].sku"),
        (with(PushedLine { sku: text(101), ..line() }), "items[1].sku"),
        (with(PushedLine { name: String::from("\u{0}"), ..line() }), "items[1].name"),
        (with(PushedLine { name: text(301), ..line() }), "items[1].name"),
        (with(PushedLine { quantity: 0, ..line() }), "items[1].quantity"),
        (with(PushedLine { unit_minor: -1, ..line() }), "items[1].unit_price"),
        (
            with(PushedLine { unit_minor: Money::UNIT_PRICE_MINOR_MAX + 1, ..line() }),
            "items[1].unit_price",
        ),
        (placed_at(now().plus(DAY + MICRO)), "placed_at"),
        (placed_at(Timestamp::from_unix_micros(946_684_799_999_999)), "placed_at"),
    ] {
        assert_eq!(field(one(&shop, wrong.clone()).await), name, "{wrong:?}");
    }
    assert_eq!(shop.count(STORED).await, 0);
    let largest = PushedLine {
        sku: text(100),
        name: text(300),
        quantity: u32::MAX,
        unit_minor: Money::UNIT_PRICE_MINOR_MAX,
    };
    for (number, right) in [
        PushedOrder { external_id: text(100), total_minor: i64::MAX, ..base.clone() },
        PushedOrder { lines: vec![largest; 20], ..base.clone() },
        PushedOrder { lines: vec![line(); 100], ..base.clone() },
        PushedOrder { lines: Vec::new(), total_minor: 0, ..base.clone() },
        placed_at(now().plus(DAY)),
        placed_at(Timestamp::from_unix_micros(946_684_800_000_000)),
        with(PushedLine { unit_minor: 0, quantity: 1, ..line() }),
    ]
    .into_iter()
    .enumerate()
    {
        let (id, _) = one(&shop, right.clone()).await.unwrap();
        let stored = orders::pushed_order(&reading(&shop), shop.merchant, id).await.unwrap();
        assert_eq!(stored.order, right, "{number}");
    }
}

#[tokio::test]
async fn an_order_whose_items_have_too_much_text_is_refused_by_itself() {
    let shop = Shop::open().await;
    let with_text = |number: u32, bytes: usize| {
        let lines = vec![PushedLine { sku: "s".repeat(64), name: "n".repeat(192), ..line() }; 63];
        let name = "n".repeat(bytes - 63 * 256 - 64);
        let last = PushedLine { sku: "s".repeat(64), name, ..line() };
        PushedOrder { lines: [lines, vec![last]].concat(), ..pushed(number) }
    };
    // Markup counts, because it has to be read.
    let name = format!("Mug{}", "<b>".repeat(6_000));
    let marked_up = PushedOrder { lines: vec![PushedLine { name, ..line() }], ..pushed(3) };
    let sent = vec![with_text(1, 16_384), with_text(2, 16_385), marked_up, pushed(4)];
    let mut results = push(&shop, sent).await.into_iter();
    for is_taken in [true, false, false, true] {
        let result = results.next().unwrap().result;
        if is_taken {
            assert_eq!(result.unwrap().outcome, PushOutcome::Created);
        } else {
            assert_eq!(field(result), "items");
        }
    }
    assert_eq!(shop.count(STORED).await, 2);
}

#[tokio::test]
async fn texts_of_the_merchant_are_sanitized() {
    let shop = Shop::open().await;
    let name = String::from(" Mug\u{0} <b>“Blå”</b>\n");
    let sent = PushedOrder {
        external_id: String::from(" shop-1 "),
        lines: vec![PushedLine { name, ..line() }],
        ..pushed(1)
    };
    let result = push(&shop, vec![sent]).await.remove(0);
    assert_eq!(result.external_id, " shop-1 ", "as it was sent");
    let id = result.result.unwrap().order;
    let stored = orders::pushed_order(&reading(&shop), shop.merchant, id).await.unwrap();
    assert_eq!(stored.order, pushed(1));
}

#[tokio::test]
async fn of_500_orders_each_is_taken_or_refused_by_itself() {
    let shop = Shop::open().await;
    assert_eq!(one(&shop, pushed(1)).await.unwrap().1, PushOutcome::Created);
    push(&shop, vec![PushedOrder { total_minor: 1, ..pushed(2) }]).await;
    let mut sent: Vec<Result<PushedOrder, (String, OrderError)>> =
        (1..=500).map(|number| Ok(pushed(number))).collect();
    sent[99] = Err((String::from("shop-100"), OrderError::NotFound));
    sent[199] = Ok(PushedOrder { total_minor: -1, ..pushed(200) });
    sent[299] = Ok(PushedOrder { external_id: String::from(" shop-3 "), ..pushed(300) });
    sent[399] = Ok(PushedOrder { external_id: "x".repeat(5_000), ..pushed(400) });
    // Refused, though the first one with the same id is refused too, by its value or unparsed.
    sent[498] = Ok(pushed(100));
    sent[499] = Ok(pushed(200));
    let results = orders::push(shop.test.database(), shop.merchant, sent).await.unwrap();
    assert_eq!(results.len(), 500);
    for (number, PushResult { external_id, result }) in (1..).zip(results) {
        match number {
            100 => assert!(matches!(result, Err(OrderError::NotFound)), "{result:?}"),
            200 => assert_eq!(field(result), "total_amount"),
            300 => assert_eq!(
                (external_id.as_str(), field(result).as_str()),
                (" shop-3 ", "external_id")
            ),
            400 => assert_eq!((external_id.len(), field(result).as_str()), (100, "external_id")),
            499 | 500 => assert_eq!(field(result), "external_id"),
            _ => {
                let outcome = result.unwrap().outcome;
                let expected = match number {
                    1 => PushOutcome::Unchanged,
                    2 => PushOutcome::Updated,
                    _ => PushOutcome::Created,
                };
                assert_eq!((external_id, outcome), (format!("shop-{number}"), expected));
            }
        }
    }
    assert_eq!(shop.count(STORED).await, 494);
}

#[tokio::test]
async fn more_than_500_orders_are_refused_together() {
    let shop = Shop::open().await;
    let sent = (1..=501).map(|number| Ok(pushed(number))).collect();
    let refused = orders::push(shop.test.database(), shop.merchant, sent).await;
    assert_eq!((field(refused), shop.count(STORED).await), (String::from("orders"), 0));
    assert!(push(&shop, Vec::new()).await.is_empty());
}

#[tokio::test]
async fn concurrent_pushes_of_the_same_orders_store_each_once() {
    let shop = Shop::open().await;
    let forward: Vec<PushedOrder> = (1..=100).map(pushed).collect();
    let backward: Vec<PushedOrder> = forward.iter().rev().cloned().collect();
    let (one, two, three) =
        tokio::join!(push(&shop, forward.clone()), push(&shop, backward), push(&shop, forward));
    let results = one.into_iter().chain(two).chain(three);
    let outcomes: Vec<PushOutcome> = results.map(|it| it.result.unwrap().outcome).collect();
    let count = |outcome| outcomes.iter().filter(|it| **it == outcome).count();
    assert_eq!((count(PushOutcome::Created), count(PushOutcome::Unchanged)), (100, 200));
    assert_eq!(shop.count(STORED).await, 100);
}

#[tokio::test]
async fn a_store_has_at_most_100000_pushed_orders() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    push(&shop, vec![pushed(1)]).await;
    let filled = "INSERT INTO pushed_order SELECT merchant_id, 'old-' || number, gen_random_uuid(), status, currency,
                      total_minor, '[]', placed_at, pushed_at
                  FROM pushed_order, generate_series(1, 99998) AS number";
    assert_eq!(shop.execute(filled).await.unwrap(), 99_998);
    let changed = PushedOrder { total_minor: 1, ..pushed(1) };
    let results = push(&shop, vec![pushed(2), pushed(3), changed, pushed(4)]).await;
    let outcomes: Vec<Option<PushOutcome>> =
        results.into_iter().map(|it| it.result.ok().map(|pushed| pushed.outcome)).collect();
    let (created, updated) = (Some(PushOutcome::Created), Some(PushOutcome::Updated));
    assert_eq!(outcomes, [created, None, updated, None]);
    assert_eq!(field(one(&shop, pushed(5)).await), "external_id");
    assert_eq!(shop.count(STORED).await, 100_000);
    assert!(push_to(&shop, other, vec![pushed(1)]).await.remove(0).result.is_ok());
}

#[tokio::test]
async fn pushed_orders_are_listed_newest_first_in_pages() {
    let shop = Shop::open().await;
    let same = |number| PushedOrder { placed_at: now(), ..pushed(number) };
    push(&shop, vec![pushed(3), same(1), pushed(5), same(2), pushed(4)]).await;
    let (mut seen, mut after): (Vec<(Timestamp, String)>, Option<OrderCursor>) = (Vec::new(), None);
    loop {
        let page = orders::pushed_orders(&reading(&shop), shop.merchant, after, 1).await.unwrap();
        seen.extend(page.orders.into_iter().map(|it| (it.order.placed_at, it.order.external_id)));
        let Some(next) = page.next else { break };
        after = Some(next.to_string().parse().unwrap());
    }
    seen[..2].sort();
    let ids: Vec<&str> = seen.iter().map(|(_, id)| id.as_str()).collect();
    assert_eq!(ids, ["shop-1", "shop-2", "shop-3", "shop-4", "shop-5"]);
}

#[tokio::test]
async fn a_pushed_order_that_cannot_be_read_is_left_out_of_lists() {
    let shop = Shop::open().await;
    let (id, _) = one(&shop, pushed(3)).await.unwrap();
    push(&shop, vec![pushed(1), pushed(2), pushed(4)]).await;
    for damage in [
        "UPDATE pushed_order SET currency = 'GOLD' WHERE external_id = 'shop-3'",
        r#"UPDATE pushed_order SET currency = 'EUR', lines = '[{"quantity": 1}]' WHERE external_id = 'shop-3'"#,
    ] {
        assert_eq!(shop.execute(damage).await.unwrap(), 1);
        let (mut seen, mut after): (Vec<String>, Option<OrderCursor>) = (Vec::new(), None);
        loop {
            let reading = reading(&shop);
            let page = orders::pushed_orders(&reading, shop.merchant, after, 1).await.unwrap();
            seen.extend(page.orders.into_iter().map(|it| it.order.external_id));
            let Some(next) = page.next else { break };
            after = Some(next);
        }
        assert_eq!(seen, ["shop-1", "shop-2", "shop-4"], "{damage}");
        let read = orders::pushed_order(&reading(&shop), shop.merchant, id).await;
        assert!(matches!(read, Err(OrderError::Unreadable)), "{read:?}");
    }
}

#[tokio::test]
async fn a_pushed_order_belongs_to_its_store_alone() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    let (id, _) = one(&shop, pushed(1)).await.unwrap();
    let elsewhere = Reading::for_store(shop.test.database(), other).unwrap();
    for merchant in [shop.merchant, other] {
        let unknown = orders::pushed_order(&elsewhere, merchant, id).await;
        assert!(matches!(unknown, Err(OrderError::NotFound)), "{unknown:?}");
        let page = orders::pushed_orders(&elsewhere, merchant, None, 10).await.unwrap();
        assert!(page.orders.is_empty() && page.next.is_none());
    }
    // The same external id is another order there.
    let result = push_to(&shop, other, vec![pushed(1)]).await.remove(0).result.unwrap();
    assert!(result.order != id && result.outcome == PushOutcome::Created);
}

#[tokio::test]
async fn a_pushed_order_is_no_placed_order_and_no_agent_sees_it() {
    let shop = Shop::open().await;
    let (id, _) = one(&shop, pushed(1)).await.unwrap();
    assert_eq!(shop.count("SELECT count(*) FROM placed_order").await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM webhook_event").await, 0);
    let filter = OrdersFilter { limit: 10, ..OrdersFilter::default() };
    for viewer in [Viewer::Agent(vec![agent(1)]), Viewer::Merchant, Viewer::All] {
        let unknown = orders::details(&reading(&shop), shop.merchant, id, &viewer).await;
        assert!(matches!(unknown, Err(OrderError::NotFound)), "{unknown:?}");
        let (reading, parts) = (reading(&shop), OrderParts::All);
        let listed = orders::orders(&reading, shop.merchant, &viewer, &filter, parts).await;
        assert!(listed.unwrap().orders.is_empty());
    }
    let database = shop.test.database();
    let listed = orders::orders_of_keys_at(database, None, &[agent(1)], &filter).await.unwrap();
    assert!(listed.orders.is_empty());
    let unknown = orders::merchant_of(database, id).await;
    assert!(matches!(unknown, Err(OrderError::NotFound)), "{unknown:?}");
    let unknown =
        orders::pushed_order(&reading(&shop), shop.merchant, OrderId::from_random(9)).await;
    assert!(matches!(unknown, Err(OrderError::NotFound)), "{unknown:?}");
}
