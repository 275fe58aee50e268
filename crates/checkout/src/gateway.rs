//! The payment gateway of the hosted page.

use std::sync::Arc;

use carts::PricedCart;
use merchants::Store;
use payments::Provider;

/// Takes payments on the hosted page through one provider.
#[derive(Debug, Clone)]
pub struct PaymentGateway {
    pub(crate) provider: Arc<dyn Provider>,
    /// Whether a test provider may also pay for real orders; for development only.
    allows_test_payments: bool,
}

impl PaymentGateway {
    /// Returns a gateway with one provider.
    #[must_use]
    pub fn new(provider: Arc<dyn Provider>, allows_test_payments: bool) -> Self {
        Self { provider, allows_test_payments }
    }

    /// Returns whether the gateway accepts payments for sessions of a sandbox, or for real ones. A live provider accepts
    /// real sessions, a test provider accepts sandbox sessions, and real ones only if test payments are allowed.
    #[must_use]
    pub fn accepts(&self, is_sandbox: bool) -> bool {
        self.is_live() != is_sandbox || (self.allows_test_payments && !self.is_live())
    }

    /// Returns a cart of a store with a blocking message for each reason why [`complete`](crate::complete()) would reject every
    /// cart of that store.
    #[must_use]
    pub fn with_store_messages(&self, mut priced: PricedCart, store: &Store) -> PricedCart {
        let is_hosted_page_open = self.accepts(priced.cart.owner.is_sandbox);
        priced.add_store_messages(store, is_hosted_page_open);
        priced
    }

    /// Returns whether the provider moves real money.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.provider.is_live()
    }
}
