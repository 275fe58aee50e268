//! `human_established`: cap 85, weights 0.7 / 0.3 / 0.

use super::*;

pub(super) fn merchants() -> Vec<Merchant> {
    let tier = Tier::HumanEstablished;
    vec![
        // completion 5 of 5 = 100, catalog 100, age 100, volume 5 / 50 = 10:
        // R = (10 * 100 + 20 * 100 + 10 * 100 + 10 * 10) / 50 = 4100 / 50 = 82; 0.7 * 82 + 0.3 * 100 = 87.4, cap 85
        merchant("5 human orders", store().human(5, 0), tier, 87.4, 85.0),
        // The last one before agent_verified_thin; without facts in the window, as above.
        merchant("4 agent orders", store().human(5, 0).agent_orders(4), tier, 87.4, 85.0),
        // volume 50 / 50 = 100: R = 100, D = 100
        merchant("everything at its best", store().human(50, 0), tier, 100.0, 85.0),
        // age 0: R = (1000 + 2000 + 0 + 100) / 50 = 62; 0.7 * 62 + 30 = 73.4
        merchant(
            "a new store",
            store().human(5, 0).change(|evidence| evidence.v41.store_age_days = 0),
            tier,
            73.4,
            73.4,
        ),
        // completion 6 of 10 = 60, catalog (80 + 100) / 2 = 90, age 73 / 365 = 20, volume 6 / 50 = 12:
        // R = (600 + 1800 + 200 + 120) / 50 = 54.4; compliance 75: D = (3000 + 1875 + 2000) / 75 = 91.6667;
        // 0.7 * 54.4 + 0.3 * 91.6667 = 38.08 + 27.5 = 65.58
        merchant(
            "canceled orders, an incomplete catalog, a young store",
            store().human(6, 4).change(|evidence| {
                evidence.state.complete = 80;
                evidence.v41.store_age_days = 73;
                evidence.v41.is_identity_verified = false;
            }),
            tier,
            65.58,
            65.6,
        ),
        // measured: in stock 4 of 5 = 80. proxy: 1 refund of 5 orders, 1 - 4 * 0.2 = 20.
        // R = (30 * 80 + 20 * 20 + 1000 + 2000 + 1000 + 100) / 100 = 69; 0.7 * 69 + 30 = 78.3
        merchant(
            "a refund and a shortage",
            store()
                .human(5, 0)
                .agent_orders(4)
                .days(1..=4, 3, BOUGHT)
                .days(5..=5, 3, DayCounts { in_stock: 0, out_of_stock: 1, on_time: 0, ..BOUGHT })
                .change(|evidence| evidence.v41.refunds.orders = 1),
            tier,
            78.3,
            78.3,
        ),
        // Two refunds of 5 orders: 1 - 4 * 0.4 is below 0. R = (2400 + 0 + 1000 + 2000 + 1000 + 100) / 100 = 65;
        // 0.7 * 65 + 30 = 75.5
        merchant(
            "a signal is not negative",
            store()
                .human(5, 0)
                .agent_orders(4)
                .days(1..=4, 3, BOUGHT)
                .days(5..=5, 3, DayCounts { in_stock: 0, out_of_stock: 1, on_time: 0, ..BOUGHT })
                .change(|evidence| evidence.v41.refunds.orders = 2),
            tier,
            75.5,
            75.5,
        ),
        // Four purchases are no sample: of R only completion, catalog, age and volume apply. As "5 human orders".
        merchant(
            "fewer outcomes than the minimum sample",
            store().human(5, 0).agent_orders(4).days(1..=4, 3, BOUGHT),
            tier,
            87.4,
            85.0,
        ),
        // Two accounts are no sample, however much they buy: 30 orders, no refund. Only the refunds apply:
        // R = (20 * 100 + 1000 + 2000 + 1000 + 100) / 70 = 87.142857; 0.7 * 87.142857 + 30 = 91
        merchant(
            "fewer accounts than the minimum sample",
            store().human(5, 0).days(
                1..=2,
                3,
                DayCounts { orders: 15, in_stock: 15, on_time: 15, ..BOUGHT },
            ),
            tier,
            91.0,
            85.0,
        ),
    ]
}
