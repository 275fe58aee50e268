//! The interface to payment providers.

use std::fmt::Debug;
use std::pin::Pin;

use http::HeaderMap;
use primitives::{CheckoutId, MerchantId, Money, PaymentAccountId, PaymentId, RefundId, Timestamp};

use crate::ProviderName;

/// An attempt to pay, as a provider receives it. Everything in it is stored: a repeated call has equal arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The idempotency key: the provider charges at most once for it.
    pub payment: PaymentId,
    /// Whose credentials the provider uses.
    pub merchant: MerchantId,
    pub checkout: CheckoutId,
    /// The account of the store at the provider; `None` for a provider without accounts.
    pub account: Option<PaymentAccountId>,
    pub amount: Money,
    /// A token of the provider, never a card number.
    pub instrument: String,
    /// The provider's id of the attempt, such as its hosted page. `None` if [`Provider::begin`] has not returned one: then nobody got
    /// the address of its page.
    pub reference: Option<String>,
    /// The provider's id of the money, once it is known.
    pub charge: Option<String>,
    pub begun_at: Timestamp,
    /// Until when the buyer can pay.
    pub expires_at: Timestamp,
}

/// What a provider's page shows, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// What the buyer pays for, in one line.
    pub description: String,
    /// Where the provider sends the buyer. The visit of neither URL says anything about the payment.
    pub success_url: String,
    pub cancel_url: String,
    /// Fills in a field of the page.
    pub buyer_email: Option<String>,
}

/// The page of a provider on which the buyer pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderPage {
    /// The provider's id of the attempt.
    pub reference: String,
    pub url: String,
}

/// What follows the start of an attempt.
///
/// A payment that the agent signs (x402) is requested and verified before there is an attempt: its door asks for the signature, and
/// starts the attempt with what was signed. Therefore no step asks for a signature here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// The buyer pays on a page of the provider.
    Redirect(ProviderPage),
    /// The buyer has done everything, and the outcome becomes known later.
    Processing {
        /// The provider's id of the attempt.
        reference: String,
    },
    Done(ChargeOutcome),
}

/// Money that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// The provider's own id of the money, with which it is refunded.
    pub reference: String,
    /// What was taken. It is compared with the attempt.
    pub amount: Money,
    /// What the provider keeps, in the currency of the merchant's account there; `None` if it is not known.
    pub fee: Option<Money>,
}

/// The final outcome of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChargeOutcome {
    Paid(Charge),
    /// The provider refused to charge the buyer.
    Declined,
    /// The attempt was closed before the buyer paid, and cannot be paid any more.
    Ended,
}

/// What a provider knows of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderStatus {
    /// The buyer can pay.
    Open,
    /// The buyer agreed, and [`Provider::capture`] takes the money.
    Approved,
    /// The buyer has done everything, and the outcome becomes known later.
    Processing,
    Done(ChargeOutcome),
}

/// A refund, as a provider receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundAttempt {
    /// The idempotency key: the provider returns the money at most once for it.
    pub refund: RefundId,
    /// The paid attempt.
    pub attempt: Attempt,
    /// In the currency of the attempt.
    pub amount: Money,
    /// The provider's id of the refund, if it is known: then the status of this refund is asked, and no other is made.
    pub reference: Option<String>,
}

/// What a provider knows of a refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefundStatus {
    Done {
        /// The provider's id of the refund.
        reference: String,
    },
    /// It can still fail.
    Pending { reference: String },
    /// No money was returned, and will not be for this refund.
    Refused,
}

/// A webhook as it was received.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedWebhook<'request> {
    /// The store at whose URL it arrived.
    pub merchant: MerchantId,
    pub headers: &'request HeaderMap,
    pub body: &'request [u8],
    pub received_at: Timestamp,
}

/// A verified webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedWebhook {
    /// The provider's id of the event; equal for repeated deliveries.
    pub event: String,
    pub payments: Vec<PaymentHint>,
}

/// What a verified webhook is about. Nothing else in it is used: the provider is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentHint {
    /// The provider's id of the attempt, or of the money.
    pub reference: String,
}

/// Why a webhook is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookRejection {
    #[error("the webhook is not one of the payment provider")]
    Invalid,
    /// It could not be verified now; the provider is to deliver it again.
    #[error("the webhook cannot be verified at the moment")]
    Unverified,
}

/// Why a call of a provider has no result. What matters is whether the provider may have acted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Nothing happened. The call can be repeated.
    #[error("the payment provider was not reached")]
    NotSent,
    /// The provider may have acted. The same call is repeated with the same key, or the status is asked.
    #[error("the outcome at the payment provider is unknown")]
    Unknown,
    /// Nothing happened, and repeating the call does not help.
    #[error("the payment provider refused the call")]
    Refused,
}

/// The future that a call of a [`Provider`] returns.
pub type ProviderFuture<'call, T, E = CallError> =
    Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'call>>;

/// A payment provider. All calls are idempotent, by the id of the payment or the refund.
pub trait Provider: Debug + Send + Sync {
    /// Returns the name under which its payments are stored.
    fn name(&self) -> ProviderName;

    /// Returns whether it moves real money; `false` for a test provider.
    fn is_live(&self) -> bool;

    /// Returns whether payments start with an account of the store, on which it then depends whether real money moves.
    fn needs_account(&self) -> bool {
        false
    }

    /// Starts an attempt. The attempt is stored and committed.
    fn begin<'call>(
        &'call self,
        attempt: &'call Attempt,
        page: &'call PageRequest,
    ) -> ProviderFuture<'call, NextStep>;

    /// Returns what became of an attempt. One that the provider does not know, or whose page nobody got, is
    /// [`ChargeOutcome::Ended`] or [`ChargeOutcome::Declined`], and refused for good: a late charge for it must not succeed.
    fn status<'call>(&'call self, attempt: &'call Attempt)
    -> ProviderFuture<'call, ProviderStatus>;

    /// Takes the money of an approved attempt. Providers that take it by themselves return the status.
    fn capture<'call>(
        &'call self,
        attempt: &'call Attempt,
    ) -> ProviderFuture<'call, ProviderStatus> {
        self.status(attempt)
    }

    /// Closes an attempt, so that nobody can pay it any more, and returns its status: it may have been paid in the meantime. An attempt
    /// that takes no money without [`capture`](Self::capture) is closed by returning [`ChargeOutcome::Ended`]: `capture` is not called
    /// after that.
    fn expire<'call>(&'call self, attempt: &'call Attempt)
    -> ProviderFuture<'call, ProviderStatus>;

    /// Returns money to the buyer, or the status of the refund if its reference is known. A provider that cannot return money refuses.
    fn refund<'call>(
        &'call self,
        _refund: &'call RefundAttempt,
    ) -> ProviderFuture<'call, RefundStatus> {
        Box::pin(async { Err(CallError::Refused) })
    }

    /// Verifies a webhook, and returns the payments it is about. A provider without webhooks accepts none.
    fn parse_webhook<'call>(
        &'call self,
        _webhook: ReceivedWebhook<'call>,
    ) -> ProviderFuture<'call, VerifiedWebhook, WebhookRejection> {
        Box::pin(async { Err(WebhookRejection::Invalid) })
    }
}
