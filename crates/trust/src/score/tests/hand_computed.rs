//! Merchants whose score is computed by hand. Weights are in hundredths: completeness 11, freshness 11, price 12, availability
//! 8, policies 8, checkout success 11, fulfillment 8, disputes 7, satisfaction 8, latency 5, reviews 5, consistency 6. A store
//! without purchases, ratings and calls has 11 + 11 + 8 + 6 = 36 of them. `c` is the confidence: (units - 5) / 70.

use merchants::{Band, SUSPENSION_THRESHOLD};

use super::*;
use crate::{Component, Computed, score};

/// A merchant with its score.
type Merchant = (&'static str, Store, f64);

fn check(merchants: Vec<Merchant>) {
    for (name, Store(evidence), expected) in merchants {
        let computed = score(&evidence).score;
        let is_equal = computed.is_some_and(|score| (score - expected).abs() <= 1e-12);
        assert!(is_equal, "{name}: {computed:?} instead of {expected}");
    }
}

fn half() -> Store {
    Store::new().complete(500_000)
}

#[test]
fn at_least_thirty_merchants_have_the_score_computed_by_hand() {
    let merchants = [by_state(), by_latency(), by_units(), by_facts()].into_iter().flatten();
    let merchants: Vec<Merchant> = merchants.collect();
    assert!(merchants.len() >= 30, "{}", merchants.len());
    check(merchants);
}

/// Stores of which nobody bought: the state makes the score.
fn by_state() -> Vec<Merchant> {
    let never = || Store::new().synced(None);
    let nothing = never().complete(0).consistent(0).policies([false; 3]);
    vec![
        ("no defect", Store::new(), 1.0),
        ("nothing but products", nothing, 0.0),
        // 5.5 + 11 + 8 + 6 = 30.5
        ("half of the products complete", half(), 30.5 / 36.0),
        // 11 + 11 + 8 + 3 = 33
        ("half of the products consistent", Store::new().consistent(500_000), 33.0 / 36.0),
        // 36 - 8 * 2 / 3 = 92 / 3
        ("one policy of three", Store::new().policies([true, false, false]), 92.0 / 108.0),
        // 36 - 8 / 3 = 100 / 3
        ("two policies of three", Store::new().policies([false, true, true]), 100.0 / 108.0),
        ("no policy", Store::new().policies([false; 3]), 28.0 / 36.0),
        ("never synchronized", never(), 25.0 / 36.0),
        ("synchronized after the time of the score", never().synced(Some(EPOCH.end())), 1.0),
        ("synchronized 24 hours ago", Store::new().synced_minutes_ago(24 * 60), 1.0),
        // 24 h 36 min: 1 - 0.6 / 144 = 239 / 240; 36 - 11 / 240 = 8629 / 240
        ("36 minutes too old", Store::new().synced_minutes_ago(24 * 60 + 36), 8_629.0 / 8_640.0),
        // (168 - 96) / 144 = 0.5
        ("synchronized 96 hours ago", Store::new().synced_minutes_ago(96 * 60), 30.5 / 36.0),
        ("synchronized a week ago", Store::new().synced_minutes_ago(168 * 60), 25.0 / 36.0),
        ("synchronized a month ago", Store::new().synced_minutes_ago(720 * 60), 25.0 / 36.0),
        // 9.00 / 2 / 5 = 0.9; (36 + 4.5) / 41
        ("ratings of 4 and 5", Store::new().rated(2, 900), 40.5 / 41.0),
        ("ratings of 0", Store::new().rated(7, 0), 36.0 / 41.0),
    ]
}

/// Latency counts from fifty calls.
fn by_latency() -> Vec<Merchant> {
    vec![
        ("49 slow calls", half().latency(&[(60_000, 49)]), 30.5 / 36.0),
        ("50 slow calls", Store::new().latency(&[(60_000, 50)]), 36.0 / 41.0),
        // (2000 - 1100) / 1800 = 0.5
        ("p95 of 1100 ms", Store::new().latency(&[(1_100, 50)]), 38.5 / 41.0),
        ("5 slow calls of 100", half().latency(&[(200, 95), (60_000, 5)]), 35.5 / 41.0),
        ("6 slow calls of 100", Store::new().latency(&[(200, 94), (60_000, 6)]), 36.0 / 41.0),
    ]
}

/// Every threshold: a score on it, and one that is a millionth of the weight of consistency below: 6 / 36 / 1,000,000.
#[test]
fn a_score_on_a_threshold_is_in_the_band_and_one_below_is_not() {
    let none = [false; 3];
    let edges = [
        // 36 - 6 * 0.3 = 34.2
        (Store::new(), 700_000, 0.95, Band::Elite, Band::Verified, false),
        // 36 - 6 * 0.9 = 30.6
        (Store::new(), 100_000, 0.85, Band::Verified, Band::Standard, false),
        // 36 - 11 * 0.6 - 6 * 0.7 = 25.2
        (Store::new().complete(400_000), 300_000, 0.7, Band::Standard, Band::Caution, false),
        // 36 - 11 * 0.8 - 8 - 6 * 0.2 = 18
        (
            Store::new().complete(200_000).policies(none),
            800_000,
            0.5,
            Band::Caution,
            Band::Restricted,
            false,
        ),
        // 11 * 0.6 + 6 * 0.1 = 7.2
        (
            Store::new().complete(600_000).policies(none).synced(None),
            100_000,
            0.2,
            Band::Restricted,
            Band::Restricted,
            true,
        ),
    ];
    for (store, consistent, threshold, band, lower_band, is_suspended_below) in edges {
        let on = score(&store.clone().consistent(consistent).0).score.unwrap();
        assert_eq!(on.to_bits(), f64::to_bits(threshold), "{on} is not {threshold}");
        assert!(Band::of(on) == band && on >= SUSPENSION_THRESHOLD, "{on}");
        let below = score(&store.consistent(consistent - 1).0).score.unwrap();
        assert!((threshold - below - 1e-6 / 6.0).abs() <= 1e-12, "{below}");
        assert_eq!(Band::of(below), lower_band);
        assert_eq!(below < SUSPENSION_THRESHOLD, is_suspended_below, "{below}");
    }
}

/// The thresholds once more with evidence of purchases.
#[test]
fn units_reach_thresholds_too() {
    check(vec![
        // availability, 40 units, c = 0.5, all bad; a third of the products inconsistent: (36 - 2) / (36 + 4) = 0.85
        (
            "0.85",
            Store::new().products(3).complete(3).consistent(2).accounts(40, stock(0, 1)),
            0.85,
        ),
        // price, 75 units, c = 1: (36 + 12 * 0.8) / 48 = 0.95
        ("0.95", Store::new().accounts(60, prices(1, 0)).accounts(15, prices(0, 1)), 0.95),
        // 75 units, c = 1, no price equal: (36 - 6 * 0.4) / 48 = 0.7
        ("0.70", Store::new().consistent(600_000).accounts(75, prices(0, 1)), 0.7),
    ]);
}

#[test]
fn without_listed_products_nothing_applies() {
    let store = Store::new().products(0).complete(0).consistent(0).rated(3, 1_500);
    let computed = score(&store.accounts(80, prices(1, 0)).latency(&[(100, 90)]).0);
    assert_eq!(computed.score, None);
    assert_eq!(computed.figures.len(), 12);
    assert!(computed.figures.values().all(Option::is_none));
}

/// A component gains weight with its units.
fn by_units() -> Vec<Merchant> {
    vec![
        ("5 units", half().accounts(5, prices(0, 1)), 30.5 / 36.0),
        // c = 1 / 70: 36 / (36 + 12 / 70) = 2520 / 2532
        ("6 units", Store::new().accounts(6, prices(0, 1)), 2_520.0 / 2_532.0),
        // c = 35 / 70: (36 + 6 * 0.5) / (36 + 6)
        (
            "40 units",
            Store::new().accounts(20, prices(1, 0)).accounts(20, prices(0, 1)),
            39.0 / 42.0,
        ),
        // c = 69 / 70: 36 / (36 + 12 * 69 / 70) = 2520 / 3348
        ("74 units", Store::new().accounts(74, prices(0, 1)), 2_520.0 / 3_348.0),
        // c = 1: 36 / 48
        ("75 units", Store::new().accounts(75, prices(0, 1)), 0.75),
        ("150 units", Store::new().accounts(150, prices(0, 1)), 0.75),
        // A day with 3 of 4 has the value 0.75: (36 + 6 * 0.75) / 42
        ("days of 3 and 1", Store::new().accounts(40, prices(3, 1)), 40.5 / 42.0),
        // The number of facts on a day does not matter.
        ("days of 300 and 100", Store::new().accounts(40, prices(300, 100)), 40.5 / 42.0),
    ]
}

/// Each component of units has its facts.
fn by_facts() -> Vec<Merchant> {
    let kept_60 = Store::new().accounts(60, checkouts(1, 1, 1)).accounts(15, checkouts(1, 1, 0));
    vec![
        // c = 0.5: 36 / (36 + 8 * 0.5)
        ("out of stock", Store::new().accounts(40, stock(0, 1)), 0.9),
        // (36 + 8 * 0.8) / 44
        (
            "late",
            Store::new().accounts(60, deliveries(1, 0)).accounts(15, deliveries(0, 1)),
            42.4 / 44.0,
        ),
        // Both checkout rates are 0.8: (36 + 19 * 0.8) / 55
        ("orders not kept", kept_60, 51.2 / 55.0),
        // 2 checkouts of 5 kept on each day: (36 + 19 * 0.4) / 55
        ("2 of 5", Store::new().accounts(75, checkouts(5, 2, 2)), 43.6 / 55.0),
        // r = 72 / 75 = 0.96, 1 - 4 * 0.04 = 0.84: (36 + 7 * 0.84) / 43
        (
            "disputes",
            Store::new().accounts(72, disputes(1, 0)).accounts(3, disputes(0, 1)),
            41.88 / 43.0,
        ),
        // r = 0.75: 0. c = 0.5: 36 / 39.5
        ("a quarter disputed", Store::new().accounts(40, disputes(3, 1)), 36.0 / 39.5),
        ("all disputed", Store::new().accounts(40, disputes(0, 9)), 36.0 / 39.5),
    ]
}

#[test]
fn an_account_counts_up_to_its_limit() {
    let mixed: Vec<_> = (0..10)
        .map(|day| (Day(MIDDLE.0 + day), prices(u32::from(day < 5), u32::from(day >= 5))))
        .collect();
    check(vec![
        // 20 days of one account are 5 units: not applicable.
        ("one account", half().accounts_of_days(1, 20, prices(0, 1)), 30.5 / 36.0),
        // 10 units, c = 1 / 14: 36 / (36 + 12 / 14) = 252 / 258
        ("two accounts", Store::new().accounts_of_days(2, 20, prices(0, 1)), 252.0 / 258.0),
        // 5 units of 0.5 and 35 of 1: r = 37.5 / 40 = 0.9375; c = 0.5: (36 + 6 * 0.9375) / 42
        (
            "half good, half bad",
            Store::new().account(&mixed).accounts(35, prices(1, 0)),
            41.625 / 42.0,
        ),
        // Satisfaction: 1 unit of each account, 5 units, not applicable. Success: 25 units, c = 2 / 7: 36 / (36 + 22 / 7)
        (
            "5 accounts, 5 days",
            Store::new().accounts_of_days(5, 5, checkouts(1, 1, 0)),
            252.0 / 274.0,
        ),
        // Success: 50 units, c = 9 / 14. Satisfaction: 10 units, c = 1 / 14. Weights 99 / 14 + 8 / 14, both 0.5:
        // (504 + 53.5) / (504 + 107)
        (
            "10 accounts, 5 days",
            Store::new().accounts_of_days(5, 5, checkouts(1, 1, 1)).accounts_of_days(
                5,
                5,
                checkouts(1, 1, 0),
            ),
            557.5 / 611.0,
        ),
    ]);
}

#[test]
fn unpaid_days_count_as_far_as_days_with_a_matured_purchase() {
    let days = |unpaid: i32| -> Vec<(Day, DayCounts)> {
        let unpaid = (1..=unpaid).map(|day| (Day(MIDDLE.0 + day), checkouts(9, 0, 0)));
        [(MIDDLE, checkouts(1, 1, 1))].into_iter().chain(unpaid).collect()
    };
    let accounts =
        |unpaid: i32| (0..35).fold(Store::new(), |store, _| store.account(&days(unpaid)));
    check(vec![
        ("never paid", half().accounts_of_days(100, 30, checkouts(50, 0, 0)), 30.5 / 36.0),
        // 1 paid day: success 35 units and satisfaction 35 units, c = 3 / 7, all good.
        ("no unpaid day", accounts(0), 1.0),
        // 1 + 1 days. Success: 70 units, c = 13 / 14, r = 0.5. Satisfaction: 35 units, c = 3 / 7, r = 0.5. Weights
        // 143 / 14 + 48 / 14: (504 + 95.5) / (504 + 191)
        ("one unpaid day", accounts(1), 599.5 / 695.0),
        // 1 / 3 of each of 3 unpaid days: the same.
        ("three unpaid days", accounts(3), 599.5 / 695.0),
        ("thirty unpaid days", accounts(30), 599.5 / 695.0),
        // Starts on a day with a purchase are not unpaid: 1 of 10 kept. c = 3 / 7: 19 * 3 / 7 = 57 / 7:
        // (252 + 5.7) / (252 + 57)
        ("a purchase on the day", Store::new().accounts(35, checkouts(10, 1, 1)), 257.7 / 309.0),
    ]);
}

/// 35 accounts with a purchase on one day, and with an unpaid day.
fn bought_and_started(day: Day, bought: DayCounts) -> Store {
    let days = [(day, bought), (Day(MIDDLE.0 + 1), checkouts(9, 0, 0))];
    (0..35).fold(Store::new(), |store, _| store.account(&days))
}

/// Success has 35 * (1 + m) units of an account's 1 good and m unpaid, and satisfaction 35 of the same share. Weights 11 * c and
/// 8 * 3 / 7, in parts of 1 / 56, of which the state has 2016.
#[test]
fn a_purchase_supports_an_unpaid_day_as_far_as_it_has_matured() {
    let bought = checkouts(1, 1, 1);
    let young = Day(NEWEST_MATURED.0 + 1);
    let maturing = |steps: i64| bought_and_started(young, bought).at(EPOCH.0 + steps);
    let leaving = |steps: i64| bought_and_started(OLDEST, bought).at(EPOCH.0 + steps);
    check(vec![
        ("bought yesterday", bought_and_started(NEWEST, bought), 1.0),
        ("ten days ago", maturing(0), 1.0),
        // m = 1 / 4: 43.75 units, c = 31 / 56, r = 0.8. 341 + 192 = 533: (2016 + 426.4) / 2549
        ("a quarter", maturing(1), 2_442.4 / 2_549.0),
        // m = 1 / 2: 52.5 units, c = 38 / 56, r = 2 / 3. 418 + 192 = 610: (2016 + 1220 / 3) / 2626
        ("a half", maturing(2), 7_268.0 / 7_878.0),
        // m = 3 / 4: 61.25 units, c = 45 / 56, r = 4 / 7. 495 + 192 = 687: (2016 + 2748 / 7) / 2703
        ("three quarters", maturing(3), 16_860.0 / 18_921.0),
        // m = 1: "one unpaid day" above.
        ("matured", maturing(4), 599.5 / 695.0),
        ("the newest that has matured", bought_and_started(NEWEST_MATURED, bought), 599.5 / 695.0),
        ("the oldest day", leaving(0), 599.5 / 695.0),
        // 3 / 4 good and 3 / 4 unpaid: 52.5 units, c = 38 / 56, r = 0.5: (2016 + 305) / 2626
        ("the first step out", leaving(1), 2_321.0 / 2_626.0),
        // 1 / 2 and 1 / 2: 35 units of both rates, c = 3 / 7, r = 0.5: (252 + 28.5) / 309
        ("the second step out", leaving(2), 280.5 / 309.0),
    ]);
}

/// 35 units of both rates: c = 3 / 7, 19 * 3 / 7 = 57 / 7, in sevenths of which the state has 252.
#[test]
fn checkouts_that_were_not_completed_count_when_the_purchase_of_their_day_matures() {
    let young = Day(NEWEST_MATURED.0 + 1);
    let maturing =
        |steps: i64| Store::new().at(EPOCH.0 + steps).accounts_on(young, 35, checkouts(10, 1, 1));
    check(vec![
        // 1 of 1 that was bought.
        ("ten days ago", maturing(0), 1.0),
        // 0.25 * 0.1 + 0.75 * 1 = 0.775: 57 * 0.775 = 44.175
        ("a quarter", maturing(1), 296.175 / 309.0),
        // 0.5 * 0.1 + 0.5 * 1 = 0.55: 57 * 0.55 = 31.35
        ("a half", maturing(2), 283.35 / 309.0),
        // 1 of 10: 5.7
        ("matured", maturing(4), 257.7 / 309.0),
        // A shortage counts from the first day: 0 of 1.
        ("short", Store::new().accounts_on(young, 35, checkouts(1, 1, 0)), 252.0 / 309.0),
        // 1 of 2. The purchase supports what was started on its day, and no unpaid day: 28.5
        ("used once", bought_and_started(MIDDLE, checkouts(2, 1, 1)), 280.5 / 309.0),
    ]);
}

#[test]
fn a_purchase_that_was_canceled_is_good_and_supports_nothing() {
    let canceled = |lasting: u32, counts: DayCounts| DayCounts { lasting, ..counts };
    check(vec![
        ("an unpaid day", bought_and_started(MIDDLE, canceled(0, checkouts(1, 1, 1))), 1.0),
        ("the same day", bought_and_started(MIDDLE, canceled(0, checkouts(10, 1, 1))), 1.0),
        // One of two is not canceled: "one unpaid day" above.
        ("one of two", bought_and_started(MIDDLE, canceled(1, checkouts(2, 2, 2))), 599.5 / 695.0),
        // A shortage counts as before: 0 of 1.
        ("short", Store::new().accounts(35, canceled(0, checkouts(1, 1, 0))), 252.0 / 309.0),
    ]);
}

#[test]
fn days_enter_and_leave_in_four_steps() {
    let entering = |steps: i64| {
        let day = Day(NEWEST.0 + 1);
        Store::new().at(EPOCH.0 + steps).accounts_on(day, 24, prices(0, 1))
    };
    let leaving =
        |steps: i64| Store::new().at(EPOCH.0 + steps).accounts_on(OLDEST, 8, prices(0, 1));
    check(vec![
        ("not settled", entering(0), 1.0),
        // 24 / 4 = 6 units, c = 1 / 70
        ("first step", entering(1), 2_520.0 / 2_532.0),
        // 12 units, c = 7 / 70: 36 / 37.2
        ("second step", entering(2), 36.0 / 37.2),
        // 18 units, c = 13 / 70: 2520 / (2520 + 156)
        ("third step", entering(3), 2_520.0 / 2_676.0),
        // 24 units, c = 19 / 70: 2520 / (2520 + 228)
        ("fourth step", entering(4), 2_520.0 / 2_748.0),
        ("fifth step", entering(5), 2_520.0 / 2_748.0),
        // 8 units, c = 3 / 70: 2520 / (2520 + 36)
        ("the oldest day", leaving(0), 2_520.0 / 2_556.0),
        // 8 * 3 / 4 = 6 units
        ("first step out", leaving(1), 2_520.0 / 2_532.0),
        ("second step out, 4 units", leaving(2), 1.0),
        ("gone", leaving(4), 1.0),
        ("a day ahead", Store::new().accounts_on(Day(NEWEST.0 + 2), 80, prices(0, 1)), 1.0),
    ]);
    // 32 accounts: 8 * (4, 3, 2, 1, 0) units; c = 27, 19, 11, 3, 0 of 70.
    let many = |steps| Store::new().at(EPOCH.0 + steps).accounts_on(OLDEST, 32, prices(0, 1));
    check(vec![
        ("32 units", many(0), 2_520.0 / (2_520.0 + 12.0 * 27.0)),
        ("24 units", many(1), 2_520.0 / (2_520.0 + 12.0 * 19.0)),
        ("16 units", many(2), 2_520.0 / (2_520.0 + 12.0 * 11.0)),
        ("8 units", many(3), 2_520.0 / (2_520.0 + 12.0 * 3.0)),
        ("0 units", many(4), 1.0),
    ]);
}

const EVERYTHING: DayCounts = DayCounts {
    started: 1,
    completed: 1,
    lasting: 1,
    kept: 1,
    orders: 1,
    in_stock: 1,
    out_of_stock: 0,
    on_time: 1,
    late: 0,
    delivered: 1,
    price_equal: 1,
    price_different: 0,
    disputes_lost: 0,
    amount_minor: 100,
};

/// Returns a store to which every component applies with its whole weight: 60 good days, 15 bad ones, of which 3 have a dispute
/// instead of an order. `counts` leaves facts out.
///
/// 0.9 * 11 + 0.5 * 11 + 0.8 * 12 + 0.8 * 8 + 8 + 0.8 * 11 + 0.8 * 8 + 0.84 * 7 + 0.8 * 8 + 0.5 * 5 + 0.9 * 5 + 0.5 * 6 = 76.88
fn everything(counts: impl Fn(DayCounts) -> DayCounts) -> Store {
    let bad = DayCounts {
        kept: 0,
        in_stock: 0,
        out_of_stock: 1,
        on_time: 0,
        late: 1,
        price_equal: 0,
        price_different: 1,
        ..EVERYTHING
    };
    Store::new()
        .complete(900_000)
        .synced_minutes_ago(96 * 60)
        .consistent(500_000)
        .rated(2, 900)
        .latency(&[(1_100, 50)])
        .accounts(60, counts(EVERYTHING))
        .accounts(12, counts(bad))
        .accounts(3, counts(DayCounts { orders: 0, disputes_lost: 1, ..bad }))
}

#[test]
fn the_weight_of_a_component_without_data_is_redistributed() {
    use Component as C;
    let all = |counts: DayCounts| counts;
    let without = |counts: fn(DayCounts) -> DayCounts| everything(counts);
    let merchants: [(&[Component], Store, f64); 9] = [
        (&[], everything(all), 0.768_8),
        // 76.88 - 9.6
        (
            &[C::PriceAccuracy],
            without(|day| DayCounts { price_equal: 0, price_different: 0, ..day }),
            67.28 / 88.0,
        ),
        // 76.88 - 6.4
        (
            &[C::AvailabilityAccuracy],
            without(|day| DayCounts { in_stock: 0, out_of_stock: 0, ..day }),
            70.48 / 92.0,
        ),
        // 76.88 - 8.8 - 6.4
        (
            &[C::CheckoutSuccessRate, C::AgentSatisfactionRate],
            without(|day| DayCounts { started: 0, completed: 0, lasting: 0, kept: 0, ..day }),
            61.68 / 81.0,
        ),
        // 76.88 - 6.4
        (
            &[C::FulfillmentRate],
            without(|day| DayCounts { on_time: 0, late: 0, ..day }),
            70.48 / 92.0,
        ),
        // 76.88 - 5.88
        (
            &[C::DisputeRate],
            without(|day| DayCounts { orders: 0, disputes_lost: 0, ..day }),
            71.0 / 93.0,
        ),
        // 76.88 - 2.5
        (&[C::ResponseLatency], everything(all).latency(&[]), 74.38 / 95.0),
        // 76.88 - 4.5
        (&[C::ReviewSentiment], everything(all).rated(0, 0), 72.38 / 95.0),
        // 76.88 - 7: what remains without any of both
        (
            &[C::ResponseLatency, C::ReviewSentiment],
            everything(all).latency(&[]).rated(0, 0),
            69.88 / 90.0,
        ),
    ];
    for (missing, Store(evidence), expected) in merchants {
        let Computed { score, figures, .. } = score(&evidence);
        assert!((score.unwrap() - expected).abs() <= 1e-12, "{missing:?}: {score:?}");
        for (component, figure) in figures {
            assert_eq!(figure.is_none(), missing.contains(&component), "{component}");
        }
    }
}

#[test]
fn satisfaction_needs_accounts_where_success_needs_days() {
    let computed = score(&Store::new().accounts_of_days(5, 5, checkouts(1, 1, 1)).0);
    assert!(computed.figures[&Component::CheckoutSuccessRate].is_some());
    assert!(computed.figures[&Component::AgentSatisfactionRate].is_none());
}

#[test]
fn a_score_is_provisional_below_twenty_delivered_orders() {
    for (delivered, is_provisional) in [(0, true), (19, true), (20, false), (1_000, false)] {
        let computed = score(&Store::new().delivered(delivered).0);
        assert_eq!((computed.score, computed.provisional), (Some(1.0), is_provisional));
    }
    assert!(score(&Store::new().products(0).delivered(19).0).provisional);
}

#[test]
fn the_sample_is_known_also_if_it_is_too_small() {
    let evidence = Store::new().accounts(4, prices(3, 1)).0;
    assert!(score(&evidence).figures[&Component::PriceAccuracy].is_none());
    let sample = Component::PriceAccuracy.sample(&evidence);
    assert_eq!((sample.measured, sample.accounts), (Some(0.75), 4));
    assert_eq!((sample.good, sample.bad), (12, 4));
    assert!((sample.units - 4.0).abs() <= 1e-12);
}
