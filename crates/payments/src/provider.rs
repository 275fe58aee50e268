//! The interface to payment providers.

use std::fmt::Debug;
use std::pin::Pin;

use primitives::{Money, PaymentId};

/// A request to charge a payment instrument.
#[derive(Debug, Clone)]
pub struct ChargeRequest {
    /// The idempotency key: the provider charges at most once for it.
    pub payment: PaymentId,
    pub amount: Money,
    /// A token of the provider, never a card number.
    pub instrument: String,
}

/// The final outcome of a charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChargeOutcome {
    Paid {
        /// The provider's own id of the payment.
        reference: String,
    },
    Declined,
}

/// The provider returned no outcome. The payment may have succeeded and stays pending until it is reconciled.
#[derive(Debug, Clone, thiserror::Error)]
#[error("payment provider unavailable: the outcome of the charge is unknown")]
pub struct ProviderUnavailable;

/// The future returned by the methods of a [`Provider`].
pub type ChargeFuture<'request> =
    Pin<Box<dyn Future<Output = Result<ChargeOutcome, ProviderUnavailable>> + Send + 'request>>;

/// A payment provider.
pub trait Provider: Debug + Send + Sync {
    /// Returns the name under which its payments are stored.
    fn name(&self) -> &'static str;

    /// Returns whether it moves real money; `false` for a test provider.
    fn is_live(&self) -> bool;

    /// Charges the instrument. Idempotent: at most one charge for each payment id.
    fn charge<'request>(&'request self, request: &'request ChargeRequest)
    -> ChargeFuture<'request>;

    /// Returns the outcome of an earlier charge. A payment id unknown to the provider is declined for good, so that a
    /// late charge for it cannot succeed.
    fn find<'request>(&'request self, request: &'request ChargeRequest) -> ChargeFuture<'request>;
}
