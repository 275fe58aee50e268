//! `cold_start`: cap 65, weights 0 / 1 / 0.

use std::time::Duration;

use super::*;

fn synced_hours_ago(hours: u64) -> impl FnOnce(&mut Evidence) {
    move |evidence| {
        evidence.state.synced_at = Some(EPOCH.as_of().minus(Duration::from_hours(hours)));
    }
}

pub(super) fn merchants() -> Vec<Merchant> {
    let tier = Tier::ColdStart;
    vec![
        // D = (30 * 100 + 25 * 100 + 20 * 100) / 75 = 100; R has no weight.
        merchant("a complete store reaches the cap", store(), tier, 100.0, 65.0),
        // All three signals are 0.
        merchant(
            "nothing set up, never synchronized",
            store().change(|evidence| {
                evidence.state.synced_at = None;
                evidence.state.policies = PolicyFigures::default();
                evidence.v41.setup = SetupFigures::default();
                evidence.v41.is_identity_verified = false;
            }),
            tier,
            0.0,
            0.0,
        ),
        // setup 1 of 3 = 33.3, compliance 2 of 4 = 50, freshness (168 - 96) / 144 = 50:
        // D = (30 * 33.3 + 25 * 50 + 20 * 50) / 75 = 3250 / 75 = 43.3
        merchant(
            "half set up, synchronized four days ago",
            store().change(synced_hours_ago(96)).change(|evidence| {
                evidence.state.policies =
                    PolicyFigures { returns: true, shipping: true, privacy: false };
                evidence.v41.setup = SetupFigures { webhook: true, ..SetupFigures::default() };
                evidence.v41.is_identity_verified = false;
            }),
            tier,
            3_250.0 / 75.0,
            43.3,
        ),
        // setup 2 of 3 = 66.7, compliance 3 of 4 = 75, freshness (168 - 120) / 144 = 33.3:
        // D = (2000 + 1875 + 666.7) / 75 = 60.6, below the cap
        merchant(
            "below the cap nothing is cut",
            store().change(synced_hours_ago(120)).change(|evidence| {
                evidence.v41.setup.webhook = false;
                evidence.v41.is_identity_verified = false;
            }),
            tier,
            (2_000.0 + 1_875.0 + 2_000.0 / 3.0) / 75.0,
            60.6,
        ),
        // One below the edge of human_established. D = 100.
        merchant("4 human orders", store().human(4, 0), tier, 100.0, 65.0),
        // The specification has no tier for 1 to 4 agentOrders with fewer than 5 humanOrders.
        merchant("1 agent order", store().agent_orders(1), tier, 100.0, 65.0),
        merchant(
            "4 human and 4 agent orders",
            store().human(4, 0).agent_orders(4),
            tier,
            100.0,
            65.0,
        ),
        // One below the edge of agent_verified_thin: R = 75 and E = 87.5 have no weight. D = 60.
        merchant(
            "4 agent orders with evidence",
            store().mixed().days(1..=5, 0, BOUGHT).agent_orders(4),
            tier,
            60.0,
            60.0,
        ),
        // verified: 2 of 4 signatures = 50. D = (30 * 0 + 25 * 50 + 25 * 100 + 20 * 100) / 100 = 57.5
        merchant(
            "signatures of which half are invalid",
            store().change(|evidence| {
                evidence.v41.setup = SetupFigures::default();
                evidence.v41.signatures = Some(CheckTally { valid: 2, invalid: 2 });
            }),
            tier,
            57.5,
            57.5,
        ),
    ]
}
