//! Where a person pays for a purchase, and with which methods.

use merchants::Settings;
use payments::PaymentMethod;
use primitives::Currency;

use crate::PaymentGateway;

primitives::text_enum! {
    /// The page on which a person pays (docs/contract/checkout.md#checkout-url).
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum PaymentPage {
        /// A page of the merchant, which offers methods of its own.
        Merchant,
        /// The hosted page, with a payment provider.
        Hosted,
        /// The hosted page, with a test provider that charges no money.
        HostedTest,
    }
}

impl PaymentPage {
    /// Returns the page of a store, or `None` if nobody can pay there. Purchases of sandbox keys are paid on the hosted page.
    #[must_use]
    pub fn of(settings: &Settings, gateway: &PaymentGateway, is_sandbox: bool) -> Option<Self> {
        if settings.checkout_url.is_some() && !is_sandbox {
            return Some(Self::Merchant);
        }
        let page = if gateway.is_live() { Self::Hosted } else { Self::HostedTest };
        gateway.accepts(is_sandbox).then_some(page)
    }

    /// Returns whether a person pays on the hosted page.
    #[must_use]
    pub const fn is_hosted(self) -> bool {
        matches!(self, Self::Hosted | Self::HostedTest)
    }

    /// Returns the methods that an agent can name for a purchase in this currency. Those of a merchant's page are not known.
    #[must_use]
    pub fn methods(self, currency: Currency) -> Vec<PaymentMethod> {
        let methods: &[PaymentMethod] = match self {
            Self::Merchant => &[],
            Self::Hosted | Self::HostedTest => &[PaymentMethod::Stripe],
        };
        methods.iter().copied().filter(|it| it.currencies().contains(&currency)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use payments::TestProvider;

    use super::*;

    #[test]
    fn a_store_names_only_methods_that_work_there() {
        let gateway = |allows_test| PaymentGateway::new(Arc::new(TestProvider), allows_test);
        let none = Settings::default();
        let template = "https://shop.example/cart?add={items}".parse().ok();
        let own = Settings { checkout_url: template, ..Settings::default() };
        let page = |settings: &Settings, allows_test, is_sandbox| {
            PaymentPage::of(settings, &gateway(allows_test), is_sandbox)
        };
        assert_eq!(page(&own, false, false), Some(PaymentPage::Merchant));
        assert_eq!(page(&own, true, false), Some(PaymentPage::Merchant));
        assert_eq!(page(&own, false, true), Some(PaymentPage::HostedTest), "a sandbox");
        assert_eq!(page(&none, false, false), None, "a test provider sells nothing real");
        assert_eq!(page(&none, true, false), Some(PaymentPage::HostedTest));
        assert_eq!(PaymentPage::Merchant.methods(Currency::EUR), []);
        assert_eq!(PaymentPage::HostedTest.methods(Currency::EUR), [PaymentMethod::Stripe]);
        assert_eq!(PaymentPage::HostedTest.methods(Currency::Usdc), [], "no card pays USDC");
    }
}
