//! The seam to whoever takes the money.

use std::fmt::Debug;
use std::pin::Pin;

use primitives::{Money, PaymentId};

/// What a provider is asked to take.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Our id of the payment: the provider charges once for it, however often it is asked.
    pub payment: PaymentId,
    /// How much.
    pub amount: Money,
    /// From what: a token of the provider's, never a card's number.
    pub instrument: String,
}

/// What became of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The money is there.
    Paid {
        /// What the provider calls it.
        reference: String,
    },
    /// It was refused.
    Declined,
}

/// The provider could not say. The payment may have gone through: it is asked for later.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the payment provider did not answer")]
pub struct Unanswered;

/// An answer on its way.
pub type Answer<'asked> =
    Pin<Box<dyn Future<Output = Result<Outcome, Unanswered>> + Send + 'asked>>;

/// Whoever takes the money.
pub trait Provider: Debug + Send + Sync {
    /// The name it is kept under.
    fn name(&self) -> &'static str;

    /// Whether what it takes is real money.
    fn is_real(&self) -> bool;

    /// Takes the money, once for each payment's id.
    fn charge<'asked>(&'asked self, asked: &'asked Asked) -> Answer<'asked>;

    /// What became of a payment nobody heard the end of. One it never heard of is declined from then on.
    fn find<'asked>(&'asked self, asked: &'asked Asked) -> Answer<'asked>;
}
