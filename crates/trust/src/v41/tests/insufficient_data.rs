//! `insufficient_data`: no score.

use super::*;

fn synthetic(evidence: Evidence) -> Evidence {
    evidence.change(|evidence| evidence.v41.is_synthetic = true)
}

fn without_products(evidence: Evidence) -> Evidence {
    evidence.change(|evidence| {
        let state = &mut evidence.state;
        (state.products, state.complete, state.consistent) = (0, 0, 0);
    })
}

pub(super) fn merchants() -> Vec<Merchant> {
    let best = || store().days(1..=20, 0, BOUGHT).agent_orders(20).human(50, 0);
    let valid = Certification { is_proof_valid: true, is_expired: false };
    vec![
        unscored("a store of which nothing is known", Evidence::default()),
        unscored("nothing applies without products", without_products(store())),
        unscored("not even with orders", without_products(best())),
        unscored("a synthetic store", synthetic(store())),
        unscored("a synthetic store with every kind of order", synthetic(best())),
        unscored("a synthetic store without products", synthetic(without_products(store()))),
        unscored(
            "certifications do not make a score",
            synthetic(best().change(|evidence| evidence.v41.certifications = vec![valid; 2])),
        ),
    ]
}

#[test]
fn a_blocked_score_has_no_number_at_all() {
    for Merchant { name, evidence, .. } in merchants() {
        let score = score_v41(&evidence);
        assert_eq!((score.cap, score.base, score.score), (None, None, None), "{name}");
        assert_eq!(score.external_assurance, ExternalAssurance::default(), "{name}");
        for dimension in &score.dimensions {
            assert_eq!(dimension.value, None, "{name}");
            assert!(dimension.signals.iter().all(|signal| signal.value.is_none()), "{name}");
        }
    }
}

#[test]
fn missing_data_and_synthetic_data_are_told_apart() {
    let levels = |evidence: Evidence| -> Vec<DataQuality> {
        let score = score_v41(&evidence);
        let signals = score.dimensions.iter().flat_map(|dimension| &dimension.signals);
        signals.map(|signal| signal.data_quality).collect()
    };
    assert_eq!(levels(without_products(store())), [DataQuality::NotApplicable; 16]);
    assert_eq!(levels(synthetic(store())), [DataQuality::SyntheticBlocked; 16]);
}
