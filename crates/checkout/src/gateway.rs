//! The payment gateway of the hosted page.

use std::sync::Arc;

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

    /// Returns whether the provider moves real money.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.provider.is_live()
    }
}
