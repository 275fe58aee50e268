//! Names of payment providers.

primitives::text_enum! {
    /// Who takes the money of a payment, and says so. The names are stored with payments and orders; this is the only list of them.
    #[strum(serialize_all = "lowercase")]
    pub enum ProviderName {
        /// Moves no money: [`TestProvider`](crate::TestProvider).
        Test,
        /// The merchant takes payments on a page of its own, and reports them. Nobody can be asked.
        Merchant,
        Stripe,
        Paypal,
        X402,
    }
}

impl ProviderName {
    /// Returns whether a person pays with the provider on the hosted page, or is sent to the provider from there.
    #[must_use]
    pub const fn is_on_hosted_page(self) -> bool {
        matches!(self, Self::Test | Self::Stripe | Self::Paypal)
    }

    /// Returns whether it is a payment processor, at which stores have accounts.
    #[must_use]
    pub const fn is_processor(self) -> bool {
        matches!(self, Self::Stripe | Self::Paypal)
    }

    /// Returns whether the merchant returns the money of a refund, and tells us: the provider is not asked for it.
    #[must_use]
    pub const fn is_refunded_by_merchant(self) -> bool {
        matches!(self, Self::Test | Self::Merchant | Self::X402)
    }
}
