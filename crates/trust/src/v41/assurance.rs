//! `externalAssurance`: a bonus for external certifications that pass the gates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::figures::{Certification, V41Figures};

/// Largest bonus.
pub(super) const BONUS_MAX: u8 = 10;
/// Points of one certification.
pub(super) const CERTIFICATION_POINTS: u8 = 5;

/// The gates, as published.
pub(super) const GATES: [&str; 4] = [
    "the score is not blocked (insufficient_data)",
    "the identity of the merchant is verified",
    "the proof of the certification was verified with the key of its issuer; one certification for each issuer",
    "the certification has neither expired nor been revoked",
];

/// External assurance of a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalAssurance {
    /// Certifications that Souk knows of.
    pub certifications: u32,
    /// Those that pass the gates.
    pub passed: u32,
    /// Points added to the base score, 0 to 10.
    pub bonus: u8,
}

impl ExternalAssurance {
    /// Returns the assurance of a store that has a base score.
    pub(super) fn of(figures: &V41Figures) -> Self {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let counts = |it: &&Certification| {
            figures.is_identity_verified && it.is_proof_valid && !it.is_expired
        };
        let passed = count(figures.certifications.iter().filter(counts).count());
        let points = u8::try_from(passed).unwrap_or(u8::MAX).saturating_mul(CERTIFICATION_POINTS);
        Self {
            certifications: count(figures.certifications.len()),
            passed,
            bonus: points.min(BONUS_MAX),
        }
    }
}
