//! `agent_verified`: cap 100, weights 0.35 / 0.25 / 0.4.

use super::*;
use crate::evidence::LatencyBucket;

/// R = 100, D = 100, E = 87.5, with exactly the volume and the buyers of the tier.
fn twenty() -> Evidence {
    store().days(1..=20, 0, BOUGHT).agent_orders(20)
}

pub(super) fn merchants() -> Vec<Merchant> {
    let tier = Tier::AgentVerified;
    vec![
        // 20 * 50000 = 1000000 cents of 20 buyers. 0.35 * 100 + 0.25 * 100 + 0.4 * 87.5 = 60 + 35
        merchant("volume and buyers exactly at their floors", twenty(), tier, 95.0, 95.0),
        // R = 75, setup 1 of 3: D = (1000 + 2500 + 2000) / 75 = 73.3333. 26.25 + 18.3333 + 35 = 79.5833
        merchant(
            "a mixed store",
            twenty().mixed().change(|evidence| evidence.v41.setup.shipping = true),
            tier,
            26.25 + 5_500.0 / 300.0 + 35.0,
            79.6,
        ),
        // Every account came back: E = 100
        merchant(
            "everything at its best",
            twenty().days(1..=20, 7, BOUGHT).agent_orders(40),
            tier,
            100.0,
            100.0,
        ),
        // 5 of 20 came back: 2 * 0.25 = 50. E = (7000 + 10 * 50) / 80 = 93.75; 60 + 37.5
        merchant(
            "a quarter of the accounts came back",
            twenty().days(1..=5, 7, BOUGHT).agent_orders(25),
            tier,
            97.5,
            97.5,
        ),
        // 500 USDC each, with six decimals.
        merchant(
            "a store in USDC",
            store()
                .days(1..=20, 0, DayCounts { amount_minor: 500_000_000, ..BOUGHT })
                .agent_orders(20)
                .change(|evidence| evidence.v41.currency_decimals = Some(6)),
            tier,
            95.0,
            95.0,
        ),
        // The first day of the window counts.
        merchant(
            "purchases of 90 days ago",
            store().days(1..=20, 89, BOUGHT).agent_orders(20),
            tier,
            95.0,
            95.0,
        ),
        // 20 accounts on time once, and one of them late a hundred times more: 1 of 101, limited to 5 outcomes.
        // (19 + 5 / 101) / 24 on time. E = (2500 + 25 * 79.372937 + 2000 + 0) / 80 = 81.054043; 60 + 0.4 * 81.054043 = 92.421617
        merchant(
            "one account counts five outcomes",
            twenty().days(1..=1, 7, DayCounts { late: 100, ..DayCounts::default() }),
            tier,
            60.0 + 0.4 * (4_500.0 + 2_500.0 * (19.0 + 5.0 / 101.0) / 24.0) / 80.0,
            92.4,
        ),
        // 2 of 20 disputes lost: 1 - 4 * 0.1 = 60. E = (5000 + 20 * 60 + 0) / 80 = 77.5; 60 + 31
        merchant(
            "two disputes lost",
            twenty().days(1..=2, 1, DayCounts { disputes_lost: 1, ..DayCounts::default() }),
            tier,
            91.0,
            91.0,
        ),
        // 10 of 20: 1 - 4 * 0.5 is below 0. E = 5000 / 80 = 62.5; 60 + 25
        merchant(
            "half of the orders disputed",
            twenty().days(1..=10, 1, DayCounts { disputes_lost: 1, ..DayCounts::default() }),
            tier,
            85.0,
            85.0,
        ),
        // Late, canceled, disputed and refunded throughout, nothing set up, no catalog quality, a new store:
        // R = 0 (in stock 0, refunds 0, catalog 0, age 0), D = 0, E = (0 + 0 + 0 + 0) / 80 = 0
        merchant("everything at its worst", worst(), tier, 0.0, 0.0),
    ]
}

fn worst() -> Evidence {
    let failed = DayCounts {
        kept: 0,
        in_stock: 0,
        out_of_stock: 1,
        on_time: 0,
        late: 1,
        disputes_lost: 1,
        ..BOUGHT
    };
    store().days(1..=20, 0, failed).agent_orders(20).change(|evidence| {
        evidence.state = StateFigures { products: 100, ..StateFigures::default() };
        evidence.v41 = V41Figures {
            refunds: RefundFigures { orders: 20, amount_minor: 0 },
            currency_decimals: Some(2),
            ..V41Figures::default()
        };
    })
}

/// Signals that have no source today.
pub(super) fn levels() -> Vec<Merchant> {
    let tier = Tier::AgentVerified;
    vec![
        // verified: receipts 3 of 4 = 75. E = (7000 + 15 * 75 + 0) / 95 = 85.526316; 60 + 34.210526
        merchant(
            "receipts of which one is invalid",
            twenty().change(|evidence| {
                evidence.v41.receipts = Some(CheckTally { valid: 3, invalid: 1 });
            }),
            tier,
            60.0 + 0.4 * 8_125.0 / 95.0,
            94.2,
        ),
        // A tally of nothing is no data: as "volume and buyers exactly at their floors".
        merchant(
            "no receipts checked",
            twenty().change(|evidence| evidence.v41.receipts = Some(CheckTally::default())),
            tier,
            95.0,
            95.0,
        ),
        // measured: (2000 - 1100) / 1800 = 50. E = (7000 + 5 * 50 + 0) / 85 = 85.294118; 60 + 34.117647
        merchant(
            "slow answers of the merchant's systems",
            twenty().change(|evidence| {
                evidence.state.latency.buckets = vec![LatencyBucket { up_to_ms: 1_100, calls: 60 }];
            }),
            tier,
            60.0 + 0.4 * 7_250.0 / 85.0,
            94.1,
        ),
        // Every signal applies: R = (3000 + 2000 + 1000 + 2000 + 1000 + 1000) / 100 = 100, D = 100 with signatures,
        // E = (2500 + 2500 + 2000 + 15 * 100 + 5 * 100 + 0) / 100 = 90; 60 + 36
        merchant(
            "nothing is redistributed",
            twenty().human(50, 0).change(|evidence| {
                evidence.v41.signatures = Some(CheckTally { valid: 1, invalid: 0 });
                evidence.v41.receipts = Some(CheckTally { valid: 1, invalid: 0 });
                evidence.state.latency.buckets = vec![LatencyBucket { up_to_ms: 200, calls: 50 }];
            }),
            tier,
            96.0,
            96.0,
        ),
    ]
}
