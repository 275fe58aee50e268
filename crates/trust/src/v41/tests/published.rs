//! What is published, against the specification and the computation.

use super::*;

#[test]
fn the_published_tiers_do_not_change() {
    let document = DormantMethodology::v41(false);
    let published: Vec<_> = document
        .tiers
        .iter()
        .map(|rule| {
            let weights = rule.weights.map(|it| {
                [it.merchant_reliability_base, it.agentic_readiness, it.agentic_evidence]
            });
            (rule.tier.as_str(), rule.cap, weights)
        })
        .collect();
    let specified = [
        ("insufficient_data", None, None),
        ("cold_start", Some(65), Some([0.0, 1.0, 0.0])),
        ("human_established", Some(85), Some([0.7, 0.3, 0.0])),
        ("agent_verified_thin", Some(92), Some([0.45, 0.25, 0.3])),
        ("agent_verified", Some(100), Some([0.35, 0.25, 0.4])),
    ];
    assert_eq!(published, specified);
}

#[test]
fn the_published_levels_do_not_change() {
    let levels: Vec<&str> = DataQuality::ALL.iter().map(|level| level.as_str()).collect();
    let specified =
        ["verified", "measured", "proxy", "self_declared", "not_applicable", "synthetic_blocked"];
    assert_eq!(levels, specified);
}

#[test]
fn the_weights_of_the_signals_of_a_dimension_sum_to_one() {
    for dimension in Dimension::ALL {
        let signals = Signal::ALL.iter().filter(|signal| signal.dimension() == *dimension);
        let hundredths = signals.map(|signal| u32::from(signal.definition().weight_hundredths));
        assert_eq!(hundredths.sum::<u32>(), 100, "{dimension}");
    }
}

#[test]
fn only_the_thin_tier_interpolates_and_only_within_itself() {
    for tier in Tier::ALL {
        for orders in 0..=40 {
            let weights = tier.weights_at(orders);
            match (tier, orders) {
                (Tier::AgentVerifiedThin, ..19) => assert_ne!(weights, tier.weights()),
                _ => assert_eq!(weights, tier.weights(), "{tier} at {orders}"),
            }
        }
    }
    let tier = Tier::AgentVerifiedThin;
    let evidence = |orders: i64| tier.weights_at(orders).unwrap().agentic_evidence;
    for orders in 5..19 {
        let step = evidence(orders + 1) - evidence(orders);
        assert!((step - 0.02).abs() < 1e-12, "{orders}: {step}");
    }
    let computed = tier.weights_at(5).unwrap();
    let published = DormantMethodology::v41(false).tiers[3].interpolation.clone().unwrap();
    for dimension in Dimension::ALL {
        let difference = computed.of(*dimension) - published.weights_from.of(*dimension);
        assert!(difference.abs() < 1e-12, "{dimension}");
    }
}

#[test]
fn names_on_the_wire_are_those_of_the_specification() {
    let document = serde_json::to_value(DormantMethodology::v41(false)).unwrap();
    assert_eq!(document["version"], "4.1.0");
    assert_eq!(document["status"], "dormant");
    assert_eq!(document["scale_max"], 100);
    assert_eq!(document["tiers"][3]["weights"]["agenticEvidence"], 0.3);
    assert_eq!(document["signals"][0]["signal"], "fulfillmentPerformance");
    assert_eq!(document["signals"][0]["dimension"], "merchantReliabilityBase");
    assert_eq!(document["signals"].as_array().unwrap().len(), 16);
    assert_eq!(document["data_quality_levels"][5]["level"], "synthetic_blocked");
    assert_eq!(document["external_assurance"]["bonus_max"], 10);
    assert_eq!(DormantMethodology::v41(true).status, "active");
}

#[test]
fn a_signal_without_source_says_so() {
    let rules = DormantMethodology::v41(false).signals;
    let missing: Vec<&str> =
        rules.iter().filter(|rule| !rule.available).map(|rule| rule.signal.as_str()).collect();
    let expected = ["protocolSecurity", "receiptIntegrity", "agentLatencyAndToolReliability"];
    assert_eq!(missing, expected);
}
