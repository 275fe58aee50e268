//! The noun: a cart on its way to being paid.

use std::time::Duration;

use carts::{Owner, QuoteHash, Terms};
use catalog::Units;
use orders::{ConfirmationLevel, OrderLine};
use payments::PaymentMethod;
use primitives::{CartId, CheckoutId, ConfirmationId, Money, OrderId, Timestamp};
use serde_json::Value;

use crate::{CheckoutError, Status, Step};

/// How long a session waits to be paid, and holds what it holds (decisions §8).
pub const LIFETIME: Duration = Duration::from_mins(30);

/// A checkout session.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Its id.
    pub id: CheckoutId,
    /// The cart it is of; a cart has one session, for ever.
    pub cart: CartId,
    /// Whose it is.
    pub owner: Owner,
    /// Where it stands, without looking at the clock.
    pub kept_status: Status,
    /// How often it was changed, from 1.
    pub version: i64,
    /// How the agent says it will be paid.
    pub payment_method: Option<PaymentMethod>,
    /// What it costs.
    pub total: Money,
    /// What is bought.
    pub lines: Vec<OrderLine>,
    /// What a person agrees to.
    pub terms: Terms,
    /// The hash of that.
    pub quote_hash: QuoteHash,
    /// Whether its units are held.
    pub is_holding: bool,
    /// How sure we are that a person agreed, and by which proof.
    pub confirmation: Option<(ConfirmationLevel, Option<ConfirmationId>)>,
    /// Where a person pays.
    pub checkout_url: Option<String>,
    /// What the form of our own page sends back.
    pub form_token: [u8; 16],
    /// Where the buyer goes afterwards.
    pub return_url: Option<String>,
    /// What the agent wants to find again.
    pub metadata: Option<Value>,
    /// Whether the last payment was refused.
    pub is_payment_failed: bool,
    /// Why it was called off.
    pub reason_code: Option<String>,
    /// The order it became.
    pub order: Option<OrderId>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Until when it can be paid.
    pub expires_at: Timestamp,
}

impl Session {
    /// Where it stands at a moment of the database. A payment that is under way is waited for.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> Status {
        let is_over = now > self.expires_at;
        match self.kept_status.after(Step::Expire) {
            Some(expired) if is_over => expired,
            _ => self.kept_status,
        }
    }

    /// Takes a step at a moment, if there is one.
    pub fn step(&mut self, step: Step, now: Timestamp) -> Result<(), CheckoutError> {
        let from = if step == Step::Expire { self.kept_status } else { self.status(now) };
        let to = from.after(step).ok_or(CheckoutError::WrongStep { from })?;
        self.kept_status = to;
        self.updated_at = now;
        Ok(())
    }

    /// What it holds, or would.
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
