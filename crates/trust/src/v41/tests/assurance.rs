//! `externalAssurance`: 5 points for each certification that passes the gates, at most 10, added after the cap.

use super::*;

const VALID: Certification = Certification { is_proof_valid: true, is_expired: false };

fn certified(evidence: Evidence, certifications: &[Certification]) -> Evidence {
    evidence.change(|evidence| evidence.v41.certifications = certifications.to_vec())
}

pub(super) fn merchants() -> Vec<Merchant> {
    let expired = Certification { is_expired: true, ..VALID };
    let unproven = Certification { is_proof_valid: false, ..VALID };
    let thin = || store().days(1..=5, 0, BOUGHT).agent_orders(5);
    let best = || store().days(1..=20, 0, BOUGHT).days(1..=20, 7, BOUGHT).agent_orders(40);
    let unverified =
        |evidence: Evidence| evidence.change(|evidence| evidence.v41.is_identity_verified = false);
    vec![
        // min(65, 100) + 5
        merchant("one", certified(store(), &[VALID]), Tier::ColdStart, 100.0, 70.0),
        // min(65, 100) + 10
        merchant("two", certified(store(), &[VALID; 2]), Tier::ColdStart, 100.0, 75.0),
        // 15 points are 10.
        merchant("three", certified(store(), &[VALID; 3]), Tier::ColdStart, 100.0, 75.0),
        // Of three, one passes.
        merchant(
            "expired and unproven ones do not count",
            certified(store(), &[expired, VALID, unproven]),
            Tier::ColdStart,
            100.0,
            70.0,
        ),
        // compliance 75: D = (3000 + 1875 + 2000) / 75 = 91.6667; no bonus
        merchant(
            "none counts without a verified identity",
            certified(unverified(store()), &[VALID; 2]),
            Tier::ColdStart,
            6_875.0 / 75.0,
            65.0,
        ),
        // The bonus is added below the cap too: setup 0, D = 60; 60 + 5
        merchant(
            "a base below the cap",
            certified(
                store().change(|evidence| evidence.v41.setup = SetupFigures::default()),
                &[VALID],
            ),
            Tier::ColdStart,
            60.0,
            65.0,
        ),
        // min(85, 100) + 10
        merchant(
            "two of a store with human orders",
            certified(store().human(50, 0), &[VALID; 2]),
            Tier::HumanEstablished,
            100.0,
            95.0,
        ),
        // min(92, 99.75) + 5
        merchant(
            "one of a thin store",
            certified(thin(), &[VALID]),
            Tier::AgentVerifiedThin,
            99.75,
            97.0,
        ),
        // min(92, 99.75) + 10 = 102, at most 100
        merchant(
            "two of a thin store",
            certified(thin(), &[VALID; 2]),
            Tier::AgentVerifiedThin,
            99.75,
            100.0,
        ),
        // min(100, 100) + 10 = 110, at most 100
        merchant(
            "two of the best store",
            certified(best(), &[VALID; 2]),
            Tier::AgentVerified,
            100.0,
            100.0,
        ),
    ]
}

#[test]
fn the_assurance_tells_which_certifications_passed() {
    let expired = Certification { is_expired: true, ..VALID };
    let assurance = |evidence: Evidence| score_v41(&evidence).external_assurance;
    let two_of_three = assurance(certified(store(), &[VALID, expired, VALID]));
    assert_eq!(two_of_three, ExternalAssurance { certifications: 3, passed: 2, bonus: 10 });
    assert_eq!(assurance(store()), ExternalAssurance::default());
}
