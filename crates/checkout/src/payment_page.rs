//! Where a person pays for a purchase, and with which methods.

use merchants::Settings;
use payments::PaymentMethod;
use primitives::Currency;

use crate::PageMethods;

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
    pub fn of(settings: &Settings, methods: &PageMethods, is_sandbox: bool) -> Option<Self> {
        if settings.checkout_url.is_some() && !is_sandbox {
            return Some(Self::Merchant);
        }
        let page = if methods.is_test() { Self::HostedTest } else { Self::Hosted };
        (!methods.is_empty()).then_some(page)
    }

    /// Returns whether a person pays on the hosted page.
    #[must_use]
    pub const fn is_hosted(self) -> bool {
        matches!(self, Self::Hosted | Self::HostedTest)
    }

    /// Returns the methods that an agent can name for a purchase in this currency. Those of a merchant's page are not known.
    #[must_use]
    pub fn methods(self, methods: &PageMethods, currency: Currency) -> Vec<PaymentMethod> {
        let methods = match self {
            Self::Merchant => Vec::new(),
            Self::Hosted | Self::HostedTest => methods.payment_methods(),
        };
        methods.into_iter().filter(|it| it.currencies().contains(&currency)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use payments::TestProvider;

    use super::*;
    use crate::PaymentGateway;

    #[test]
    fn a_store_names_only_methods_that_work_there() {
        let methods = |allows_test, is_sandbox| {
            let gateway = PaymentGateway::new(Arc::new(TestProvider), allows_test);
            gateway.methods_with(&[], is_sandbox)
        };
        let none = Settings::default();
        let template = "https://shop.example/cart?add={items}".parse().ok();
        let own = Settings { checkout_url: template, ..Settings::default() };
        let page = |settings: &Settings, allows_test, is_sandbox| {
            PaymentPage::of(settings, &methods(allows_test, is_sandbox), is_sandbox)
        };
        assert_eq!(page(&own, false, false), Some(PaymentPage::Merchant));
        assert_eq!(page(&own, true, false), Some(PaymentPage::Merchant));
        assert_eq!(page(&own, false, true), Some(PaymentPage::HostedTest), "a sandbox");
        assert_eq!(page(&none, false, false), None, "a test provider sells nothing real");
        assert_eq!(page(&none, true, false), Some(PaymentPage::HostedTest));
        let test = methods(true, false);
        let listed = |page: PaymentPage, currency| page.methods(&test, currency);
        assert_eq!(listed(PaymentPage::Merchant, Currency::EUR), []);
        assert_eq!(listed(PaymentPage::HostedTest, Currency::EUR), [PaymentMethod::Stripe]);
        assert_eq!(listed(PaymentPage::HostedTest, Currency::Usdc), [], "no card pays USDC");
    }
}
