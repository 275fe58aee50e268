//! `agent_verified_thin`: cap 92, weights 0.45 / 0.25 / 0.3 from 19 orders on. Of evidence of purchases that all went well,
//! E = (25 * 100 + 25 * 100 + 20 * 100 + 10 * 0) / 80 = 87.5: no account came back.

use super::*;

pub(super) fn merchants() -> Vec<Merchant> {
    let tier = Tier::AgentVerifiedThin;
    let five = || store().mixed().days(1..=5, 0, BOUGHT);
    let abandoned = DayCounts { started: 4, ..BOUGHT };
    vec![
        // Share of the evidence 1 / 15: weights 0.63 / 0.35 / 0.02. 0.63 * 75 + 0.35 * 60 + 0.02 * 87.5 = 47.25 + 21 + 1.75
        merchant("5 agent orders", five().agent_orders(5), tier, 70.0, 70.0),
        // 8 / 15: evidence 0.16, the others times 0.84 / 0.7 = 1.2. 0.54 * 75 + 0.3 * 60 + 0.16 * 87.5 = 40.5 + 18 + 14
        merchant("12 agent orders", five().agent_orders(12), tier, 72.5, 72.5),
        // 15 / 15. 0.45 * 75 + 0.25 * 60 + 0.3 * 87.5 = 33.75 + 15 + 26.25
        merchant("19 agent orders", five().agent_orders(19), tier, 75.0, 75.0),
        // humanOrders do not matter any more for the tier, but for R: completion 100, volume 10:
        // R = (3000 + 2000 + 1000 + 1000 + 0 + 100) / 100 = 71. 0.63 * 71 + 21 + 1.75 = 67.48
        merchant("5 human orders", five().human(5, 0).agent_orders(5), tier, 67.48, 67.5),
        // R = D = 100. 0.63 * 100 + 0.35 * 100 + 0.02 * 87.5 = 99.75
        merchant(
            "the cap holds from the first order of the tier",
            store().days(1..=5, 0, BOUGHT).agent_orders(5),
            tier,
            99.75,
            92.0,
        ),
        // No facts in the window: the evidence does not apply, whatever its share. R = 33.3, D = 60, weights 0.45 / 0.7 and
        // 0.25 / 0.7: (15 + 15) / 0.7 = 42.857
        merchant("orders of long ago", store().mixed().agent_orders(7), tier, 30.0 / 0.7, 42.9),
        // Each account started 4 checkouts and completed 1, ten days ago: min(3, 1) abandoned one counts, 50.
        // E = (25 * 50 + 2500 + 2000 + 0) / 80 = 71.875. 33.75 + 15 + 0.3 * 71.875 = 70.3125
        merchant(
            "abandoned checkouts count as often as matured purchases",
            store().mixed().days(1..=5, 10, abandoned).agent_orders(19),
            tier,
            70.3125,
            70.3,
        ),
        // Nine days ago, or canceled: no abandoned one counts, as "19 agent orders".
        merchant(
            "purchases that have not matured",
            store().mixed().days(1..=5, 9, abandoned).agent_orders(19),
            tier,
            75.0,
            75.0,
        ),
        merchant(
            "purchases that were canceled",
            store().mixed().days(1..=5, 10, DayCounts { lasting: 0, ..abandoned }).agent_orders(19),
            tier,
            75.0,
            75.0,
        ),
        // 50 accounts that only start checkouts change nothing: as "19 agent orders".
        merchant(
            "accounts that never buy have no effect",
            five()
                .days(100..=149, 0, DayCounts { started: 10, ..DayCounts::default() })
                .agent_orders(19),
            tier,
            75.0,
            75.0,
        ),
        // 1 of 5 canceled as out of stock: in stock 4 of 5 = 80, kept 4 of 5 = 80, on time 4 of 5 = 80.
        // R = (2400 + 2000 + 1000 + 0) / 80 = 67.5; E = (2000 + 2000 + 2000 + 0) / 80 = 75
        // 0.45 * 67.5 + 15 + 0.3 * 75 = 30.375 + 15 + 22.5 = 67.875
        merchant(
            "a shortage counts for both dimensions",
            store()
                .mixed()
                .days(1..=4, 0, BOUGHT)
                .days(
                    5..=5,
                    0,
                    DayCounts {
                        kept: 0,
                        in_stock: 0,
                        out_of_stock: 1,
                        on_time: 0,
                        late: 1,
                        ..BOUGHT
                    },
                )
                .agent_orders(19),
            tier,
            67.875,
            67.9,
        ),
    ]
}

/// Twenty agentOrders and more, without what `agent_verified` needs.
pub(super) fn degraded_merchants() -> Vec<Merchant> {
    let tier = Tier::AgentVerifiedThin;
    let twenty = || store().mixed().days(1..=20, 0, BOUGHT).agent_orders(20);
    vec![
        // 20 * 50000 - 1 = 999999 cents. The full weights: 33.75 + 15 + 26.25
        merchant(
            "a cent of refunds below the floor of GMV",
            twenty().change(|evidence| evidence.v41.refunds.amount_minor = 1),
            tier,
            75.0,
            75.0,
        ),
        // 19 * 100000 cents
        merchant(
            "19 unique buyers",
            store()
                .mixed()
                .days(1..=19, 0, DayCounts { amount_minor: 100_000, ..BOUGHT })
                .agent_orders(20),
            tier,
            75.0,
            75.0,
        ),
        merchant(
            "a currency without exchange rate",
            twenty().change(|evidence| evidence.v41.currency_decimals = None),
            tier,
            75.0,
            75.0,
        ),
        // One below the edge of agent_verified, with volume and buyers.
        merchant("19 agent orders of 20 buyers", twenty().agent_orders(19), tier, 75.0, 75.0),
        // The day before the window: no volume, no buyers, no evidence. R = D = 100
        merchant(
            "purchases of 91 days ago",
            store().days(1..=20, 90, BOUGHT).agent_orders(20),
            tier,
            100.0,
            92.0,
        ),
        // The day of the score has not ended.
        merchant(
            "purchases of today",
            store().days(1..=20, -1, BOUGHT).agent_orders(20),
            tier,
            100.0,
            92.0,
        ),
    ]
}
