//! The payment gateway: the payment providers of the process, and which of them take a payment on the hosted page.

use carts::PricedCart;
use database::{Database, DatabaseError};
use merchants::{Settings, Store, X402Settings};
use payments::{PaymentMethod, Provider, ProviderName, Providers, X402Provider};
use primitives::Currency;

use crate::{PageMethods, PaymentPage};

/// Takes payments through the configured providers.
#[derive(Debug, Clone)]
pub struct PaymentGateway {
    providers: Providers,
    /// Takes payments of agents in tokens.
    x402: Option<X402Provider>,
    /// Whether a test provider may also pay for real orders; for development only.
    allows_test_payments: bool,
}

impl PaymentGateway {
    /// Returns a gateway with these providers.
    #[must_use]
    pub fn new(providers: impl Into<Providers>, allows_test_payments: bool) -> Self {
        Self { providers: providers.into(), x402: None, allows_test_payments }
    }

    /// Takes payments of agents in tokens too.
    #[must_use]
    pub fn with_x402(self, provider: X402Provider) -> Self {
        let providers = self.providers.with(provider.clone());
        Self { providers, x402: Some(provider), ..self }
    }

    /// Returns the provider of payments of agents in tokens, if one is configured.
    #[must_use]
    pub const fn x402(&self) -> Option<&X402Provider> {
        self.x402.as_ref()
    }

    /// Returns the provider of payments in tokens and how a store takes them; `None` if it does not, or if the provider is that of
    /// another network. A sandbox spends no tokens.
    #[must_use]
    pub fn token_payments(
        &self,
        settings: &Settings,
        is_sandbox: bool,
    ) -> Option<(&X402Provider, X402Settings)> {
        let (provider, settings) = (self.x402()?, settings.x402?);
        let is_served = settings.network.token().network == provider.network();
        (is_served && !is_sandbox).then_some((provider, settings))
    }

    /// Returns the methods that an agent can name for a purchase in this currency at a store: those of the page on which a person pays,
    /// and tokens.
    #[must_use]
    pub fn accepted_methods(
        &self,
        methods: &PageMethods,
        settings: &Settings,
        is_sandbox: bool,
        currency: Currency,
    ) -> Vec<PaymentMethod> {
        let Some(page) = PaymentPage::of(settings, methods, is_sandbox) else { return Vec::new() };
        let mut accepted = page.methods(methods, currency);
        let tokens = self.token_payments(settings, is_sandbox);
        let is_accepted = |x402: X402Settings| match currency {
            Currency::EUR => x402.eur_rate_micros.is_some(),
            currency => PaymentMethod::X402.currencies().contains(&currency),
        };
        if tokens.is_some_and(|(_, x402)| is_accepted(x402)) {
            accepted.push(PaymentMethod::X402);
        }
        accepted
    }

    /// Returns the provider with this name, for payments that were started with it.
    #[must_use]
    pub fn provider(&self, name: ProviderName) -> Option<&dyn Provider> {
        self.providers.find(name)
    }

    /// Returns whether a method is for sessions of a sandbox, or for real ones: one that moves real money for real ones only, any other
    /// for sandboxes, and for real sessions only if test payments are allowed.
    pub(crate) const fn allows(&self, is_live: bool, is_sandbox: bool) -> bool {
        is_live != is_sandbox || (self.allows_test_payments && !is_live)
    }

    /// Returns a cart of a store with a blocking message for each reason why [`complete`](crate::complete()) would reject every
    /// cart of that store.
    pub async fn with_store_messages(
        &self,
        database: &Database,
        mut priced: PricedCart,
        store: &Store,
    ) -> Result<PricedCart, DatabaseError> {
        let is_sandbox = priced.cart.owner.is_sandbox;
        let is_page_open = priced.is_paid_at_store()
            || self.takes_payments(database, store.merchant, is_sandbox).await?;
        priced.add_store_messages(store, is_page_open);
        Ok(priced)
    }
}
