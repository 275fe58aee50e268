//! Levels of data quality (docs/contract/trust.md#data-quality-levels).

use schemars::JsonSchema;

primitives::text_enum! {
    /// Quality of the data behind a signal, best first.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum DataQuality {
        /// Evidence verified cryptographically.
        Verified,
        /// Measured directly by Souk.
        Measured,
        /// An indirect, related signal.
        Proxy,
        /// Declared by the merchant, unverified.
        SelfDeclared,
        /// No data; the weight is redistributed.
        NotApplicable,
        /// A synthetic signal; the whole score becomes `insufficient_data`.
        SyntheticBlocked,
    }
}

impl DataQuality {
    /// Returns the meaning of the level, as published.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Verified => "cryptographically verified evidence",
            Self::Measured => "direct measurement",
            Self::Proxy => "indirect related signal",
            Self::SelfDeclared => "merchant-declared, unverified",
            Self::NotApplicable => {
                "no data; its weight is redistributed rather than scoring a synthetic value"
            }
            Self::SyntheticBlocked => {
                "if any signal is synthetic, the score collapses to insufficient_data"
            }
        }
    }
}
