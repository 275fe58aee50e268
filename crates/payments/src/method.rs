//! Payment methods that agents may name (docs/contract/payments.md#payment-methods).

primitives::text_enum! {
    /// A payment method.
    #[strum(serialize_all = "lowercase")]
    pub enum PaymentMethod {
        Stripe,
        /// A micropayment in USDC.
        X402,
        Paypal,
    }
}
