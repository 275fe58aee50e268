//! Payment methods that agents may name (docs/contract/payments.md#payment-methods).

use primitives::Currency;

primitives::text_enum! {
    /// Payment method.
    // The variants have no doc comments, so that the schema is a plain list of names.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum PaymentMethod {
        Stripe,
        X402,
        Paypal,
    }
}

primitives::text_enum! {
    /// What a payment method charges.
    #[strum(serialize_all = "snake_case")]
    pub enum PaymentType {
        Card,
        Wallet,
        Stablecoin,
    }
}

primitives::text_enum! {
    /// How a payment is made.
    #[strum(serialize_all = "snake_case")]
    pub enum PaymentHandler {
        /// By a person, on the hosted page.
        HostedPage,
        /// By the agent, with a micropayment.
        AgentWallet,
    }
}

impl PaymentMethod {
    /// Returns what the method charges.
    #[must_use]
    pub const fn payment_type(self) -> PaymentType {
        match self {
            Self::Stripe => PaymentType::Card,
            Self::Paypal => PaymentType::Wallet,
            Self::X402 => PaymentType::Stablecoin,
        }
    }

    /// Returns how a payment with the method is made.
    #[must_use]
    pub const fn handler(self) -> PaymentHandler {
        match self {
            Self::Stripe | Self::Paypal => PaymentHandler::HostedPage,
            Self::X402 => PaymentHandler::AgentWallet,
        }
    }

    /// Returns the currencies that the method accepts.
    #[must_use]
    pub const fn currencies(self) -> &'static [Currency] {
        match self {
            Self::Stripe | Self::Paypal => &[Currency::USD, Currency::EUR],
            Self::X402 => &[Currency::Usdc],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_supported_currency_has_a_method() {
        let accepts =
            |currency| PaymentMethod::ALL.iter().any(|it| it.currencies().contains(currency));
        assert!(Currency::SUPPORTED.iter().all(accepts));
        let currencies = PaymentMethod::ALL.iter().flat_map(|method| method.currencies());
        assert!(currencies.copied().all(Currency::is_supported));
    }
}
