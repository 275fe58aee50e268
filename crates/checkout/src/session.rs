//! The noun: a checkout session. Its status is private to this module: a session starts as `incomplete`, and
//! [`Session::apply`] changes the status by a transition of the state machine.

mod row;

use std::time::Duration;

use carts::{CartOwner, QuoteHash, Terms};
use catalog::Units;
use orders::{ConfirmationLevel, OrderLine};
use payments::PaymentMethod;
use primitives::{CartId, CheckoutId, ConfirmationId, Money, OrderId, Timestamp};
use serde_json::Value;

pub(crate) use row::SessionRow;

use crate::create::NewSession;
use crate::revalidate::Revalidated;
use crate::{CheckoutError, Status, Transition};

/// Time until an unpaid session expires and its units are released; completing a session restarts it
/// (docs/contract/checkout.md#session-lifetime).
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
    /// See [`Session::stored_status`].
    stored_status: Status,
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
    /// Returns a new session of a revalidated cart. It is incomplete until a transition is applied.
    pub(crate) fn new(
        id: CheckoutId,
        form_token: [u8; 16],
        revalidated: &Revalidated,
        new: &NewSession,
        now: Timestamp,
    ) -> Self {
        let cart = &revalidated.priced.cart;
        let mut session = Self {
            id,
            cart: cart.id,
            owner: cart.owner.clone(),
            stored_status: Status::Incomplete,
            version: 1,
            payment_method: None,
            total: revalidated.total(),
            lines: Vec::new(),
            terms: revalidated.priced.terms.clone(),
            quote_hash: revalidated.priced.quote_hash,
            is_holding: false,
            confirmation: None,
            checkout_url: None,
            form_token,
            return_url: None,
            metadata: None,
            is_payment_failed: false,
            reason_code: None,
            order: None,
            started_at: now,
            updated_at: now,
            expires_at: now.plus(SESSION_LIFETIME),
        };
        session.set(revalidated, new);
        session
    }

    /// Sets the revalidated lines and terms, and what the agent sets. The status stays as it is.
    pub(crate) fn set(&mut self, revalidated: &Revalidated, new: &NewSession) {
        self.lines = revalidated.lines();
        self.total = revalidated.total();
        self.terms = revalidated.priced.terms.clone();
        self.quote_hash = revalidated.priced.quote_hash;
        self.payment_method = new.payment_method.or(self.payment_method);
        if let Some(url) = &new.return_url {
            self.return_url = Some(url.as_str().to_owned());
        }
        if let Some(metadata) = &new.metadata {
            self.metadata = Some(metadata.as_value().clone());
        }
    }

    /// Returns the status in the database, which does not account for expiry; see [`Session::status`].
    #[must_use]
    pub const fn stored_status(&self) -> Status {
        self.stored_status
    }

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

    /// Applies the transition that follows from the data of a session that holds no units, if its status changes.
    pub(crate) fn apply_readiness(
        &mut self,
        is_ready: bool,
        now: Timestamp,
    ) -> Result<(), CheckoutError> {
        match (is_ready, self.status(now)) {
            (true, Status::ReadyForComplete) | (false, Status::Incomplete) => Ok(()),
            (true, _) => self.apply(Transition::MarkReady, now),
            (false, _) => self.apply(Transition::MarkIncomplete, now),
        }
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
