//! The noun: a checkout session.

use std::time::Duration;

use carts::{CartOwner, QuoteHash, Terms};
use catalog::Units;
use orders::{ConfirmationLevel, OrderLine};
use payments::PaymentMethod;
use primitives::{CartId, CheckoutId, ConfirmationId, Money, OrderId, Timestamp};
use serde_json::Value;

use crate::{CheckoutError, Status, Transition};

/// Time until an unpaid session expires and its units are released; completing a session restarts it (decisions §8).
pub const SESSION_LIFETIME: Duration = Duration::from_mins(30);

/// The human confirmation a session was completed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfirmationProof {
    pub level: ConfirmationLevel,
    /// `None` if the agent attests the confirmation.
    pub confirmation: Option<ConfirmationId>,
}

impl ConfirmationProof {
    /// The attestation of the agent, without a confirmation.
    pub const ATTESTED: Self = Self { level: ConfirmationLevel::Attested, confirmation: None };
}

/// A checkout session. A cart has at most one.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub id: CheckoutId,
    pub cart: CartId,
    pub owner: CartOwner,
    /// The status in the database, which does not account for expiry; see [`Session::status`].
    pub stored_status: Status,
    /// Starts at 1 and increases with every change.
    pub version: i64,
    /// `None` if the agent names no method.
    pub payment_method: Option<PaymentMethod>,
    pub total: Money,
    pub lines: Vec<OrderLine>,
    /// The terms a person approves.
    pub terms: Terms,
    /// The hash of the terms.
    pub quote_hash: QuoteHash,
    /// Whether the units of all lines are held.
    pub is_holding: bool,
    /// `None` until the session is completed.
    pub confirmation: Option<ConfirmationProof>,
    /// Where a person pays; `None` until the session is completed.
    pub checkout_url: Option<String>,
    /// CSRF token of the forms on the hosted page.
    pub form_token: [u8; 16],
    /// Where the buyer is sent after the payment.
    pub return_url: Option<String>,
    /// JSON object of the agent, returned to it unchanged.
    pub metadata: Option<Value>,
    /// Whether the last payment was declined.
    pub is_payment_failed: bool,
    /// The reason given with the cancellation.
    pub reason_code: Option<String>,
    /// The order, once the session is paid.
    pub order: Option<OrderId>,
    pub started_at: Timestamp,
    pub updated_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Session {
    /// Returns the status at `now`, the time of the database. A session with a pending payment does not expire.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> Status {
        let is_past_expiry = now > self.expires_at;
        match self.stored_status.after(Transition::Expire) {
            Some(expired) if is_past_expiry => expired,
            _ => self.stored_status,
        }
    }

    /// Applies a transition at `now`, or returns `InvalidTransition`.
    pub fn apply(&mut self, transition: Transition, now: Timestamp) -> Result<(), CheckoutError> {
        let is_expiry = transition == Transition::Expire;
        let from = if is_expiry { self.stored_status } else { self.status(now) };
        let to = from.after(transition).ok_or(CheckoutError::InvalidTransition { from })?;
        self.stored_status = to;
        self.updated_at = now;
        Ok(())
    }

    /// Returns the units of all lines, whether they are held or not.
    #[must_use]
    pub fn units(&self) -> Vec<Units> {
        let of = |line: &OrderLine| Units {
            product: line.product,
            variant: line.variant,
            quantity: line.quantity,
        };
        self.lines.iter().map(of).collect()
    }
}
