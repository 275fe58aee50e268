//! The ways to pay that agents may name (spec §1.6).

/// A way to pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentMethod {
    /// The card processor.
    Stripe,
    /// A micropayment in USDC.
    X402,
    /// The wallet.
    Paypal,
}

impl PaymentMethod {
    /// All of them with their names, as on the wire and in PostgreSQL.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Stripe, "stripe"), (Self::X402, "x402"), (Self::Paypal, "paypal")];

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(method, _)| *method == self).map_or("stripe", |(_, name)| name)
    }

    /// Reads a name.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(method, _)| *method)
    }
}
