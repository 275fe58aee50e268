//! Signals of `agenticReadiness`.

use super::data_quality::DataQuality;
use super::dimension::Dimension;
use super::figures::CheckTally;
use super::signal::{Definition, share};
use super::window::Window;
use crate::Component;

const fn definition(
    weight_hundredths: u8,
    data_quality: DataQuality,
    rule: &'static str,
    value: fn(&Window<'_>) -> Option<f64>,
) -> Definition {
    let dimension = Dimension::AgenticReadiness;
    Definition { dimension, weight_hundredths, data_quality, has_source: true, rule, value }
}

pub(super) const SETUP_QUALITY: Definition = definition(
    30,
    DataQuality::SelfDeclared,
    "share of setup.shipping, setup.checkout_page and setup.webhook that are set",
    setup_quality,
);

fn setup_quality(window: &Window<'_>) -> Option<f64> {
    let setup = window.evidence.v41.setup;
    share_set(&[setup.shipping, setup.checkout_page, setup.webhook])
}

pub(super) const PROTOCOL_SECURITY: Definition = Definition {
    has_source: false,
    ..definition(
        25,
        DataQuality::Verified,
        "signatures.valid / (signatures.valid + signatures.invalid): Ed25519 signatures of the merchant; not applicable without any",
        protocol_security,
    )
};

fn protocol_security(window: &Window<'_>) -> Option<f64> {
    share_valid(window.evidence.v41.signatures)
}

pub(super) const COMPLIANCE_HEALTH: Definition = definition(
    25,
    DataQuality::SelfDeclared,
    "share of four: return, shipping and privacy policy set as for policy_coverage of methodology 2.0, and identity verified",
    compliance_health,
);

/// The level is that of its weakest part: the policies are declared, the identity is not.
fn compliance_health(window: &Window<'_>) -> Option<f64> {
    let policies = &window.evidence.state.policies;
    let is_verified = window.evidence.v41.is_identity_verified;
    share_set(&[policies.returns, policies.shipping, policies.privacy, is_verified])
}

pub(super) const INTEGRATION_FRESHNESS: Definition = definition(
    20,
    DataQuality::Measured,
    "catalog_freshness of methodology 2.0",
    integration_freshness,
);

fn integration_freshness(window: &Window<'_>) -> Option<f64> {
    Component::CatalogFreshness.figure(window.evidence).map(|figure| figure.value)
}

fn share_set(facts: &[bool]) -> Option<f64> {
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    share(count(facts.iter().filter(|is_set| **is_set).count()), count(facts.len()))
}

/// Returns the share of valid checks; `None` if nothing was checked.
pub(super) fn share_valid(tally: Option<CheckTally>) -> Option<f64> {
    let tally = tally?;
    share(tally.valid, tally.valid.saturating_add(tally.invalid))
}
