//! The noun: a checkout session, and how it is first written and completed. Its status is private to this module: a session
//! starts as `incomplete`, and [`Session::apply`] changes the status by a transition of the state machine.

mod row;

use std::time::Duration;

use carts::{ApprovalScope, CartOwner, CartStatus, Quote, QuoteHash, QuotedLine, Terms};
use catalog::Units;
use database::{Work, crash_point};
use orders::{ConfirmationLevel, OrderLine};
use payments::PaymentMethod;
use primitives::{CartId, CheckoutId, MerchantId, Money, OrderId, Timestamp};
use rand::Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use row::SessionRow;

use crate::event::{self, AgentEvent};
use crate::revalidate::Revalidated;
use crate::{
    CheckoutContext, CheckoutError, ConfirmationProof, Metadata, ProofRejection, ReturnUrl, Status,
    Transition, table,
};

/// Time from the creation of a session until it expires and its units are released; changes do not extend it
/// (docs/contract/checkout.md#session-lifetime).
pub const SESSION_LIFETIME: Duration = Duration::from_mins(30);
/// The longest lifetime of a session: completing it again after a declined payment extends it up to this.
pub const SESSION_LIFETIME_MAX: Duration = Duration::from_hours(1);

/// What an agent sets on a session.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    pub payment_method: Option<PaymentMethod>,
    pub return_url: Option<ReturnUrl>,
    pub metadata: Option<Metadata>,
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
    /// The total as far as it is known: with estimates while the terms leave parts open.
    pub total: Money,
    /// Shipping and tax of the total.
    pub amounts: Amounts,
    pub lines: Vec<OrderLine>,
    /// The terms a person approves.
    pub terms: Terms,
    /// The hash of the terms.
    pub quote_hash: QuoteHash,
    /// Whether the units of all lines are held.
    pub is_holding: bool,
    /// `None` until the session is completed.
    pub confirmation: Option<ConfirmationProof>,
    /// What the confirmation covers. The terms may have become final since.
    pub confirmed_scope: Option<ApprovalScope>,
    /// Where a person pays; `None` until the session is completed.
    pub checkout_url: Option<String>,
    /// CSRF token of the forms on the hosted page.
    pub form_token: [u8; 16],
    /// The address of the agent that completed the session.
    pub agent_address: Option<String>,
    /// Where the agent wants the buyer to be sent after the payment.
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
    pub(crate) fn new(work: &mut Work, revalidated: &Revalidated, new: &NewSession) -> Self {
        let mut form_token = [0; 16];
        work.random().fill_bytes(&mut form_token);
        let (now, cart) = (work.now(), &revalidated.priced.cart);
        let mut session = Self {
            id: work.new_id(),
            cart: cart.id,
            owner: cart.owner.clone(),
            stored_status: Status::Incomplete,
            version: 1,
            payment_method: None,
            total: total_of(revalidated),
            amounts: Amounts::of(&revalidated.priced.quote),
            lines: Vec::new(),
            terms: revalidated.priced.terms.clone(),
            quote_hash: revalidated.priced.quote_hash,
            is_holding: false,
            confirmation: None,
            confirmed_scope: None,
            checkout_url: None,
            form_token,
            agent_address: None,
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
        self.lines = lines_of(revalidated);
        self.total = total_of(revalidated);
        self.amounts = Amounts::of(&revalidated.priced.quote);
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

    /// Returns whether a person can pay, pays or has paid. Returns
    /// `InvalidTransition` if it was canceled or has expired.
    pub(crate) fn is_escalated(&self, now: Timestamp) -> Result<bool, CheckoutError> {
        match self.status(now) {
            Status::Incomplete | Status::ReadyForComplete => Ok(false),
            Status::RequiresEscalation | Status::CompleteInProgress | Status::Completed => Ok(true),
            from @ (Status::Canceled | Status::Expired) => {
                Err(CheckoutError::InvalidTransition { from })
            }
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

    /// Declines the session, which is locked: its units are released, and it can no longer be paid.
    pub(crate) async fn decline(
        &mut self,
        work: &mut Work,
        merchant: MerchantId,
    ) -> Result<(), CheckoutError> {
        let (now, before) = (work.now(), self.version);
        self.apply(Transition::Decline, now)?;
        self.release_units(work, merchant).await?;
        self.checkout_url = None;
        (self.confirmation, self.confirmed_scope) = (None, None);
        table::update(work, merchant, self, before).await
    }

    /// Returns whether the person has to enter an address before they can pay on the hosted page.
    #[must_use]
    pub fn needs_address(&self) -> bool {
        !self.terms.open.is_empty() || !self.terms.has_address()
    }

    /// Releases the units of the session, which is locked, if it holds any.
    pub(crate) async fn release_units(
        &mut self,
        work: &mut Work,
        merchant: MerchantId,
    ) -> Result<(), CheckoutError> {
        if self.is_holding {
            catalog::release(work, merchant, self.owner.stock_pool(), &self.units()).await?;
            self.is_holding = false;
        }
        Ok(())
    }
}

/// Shipping and tax of a session, in minor units. Estimates while its terms leave them open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// `None` if it is not known.
    pub shipping_minor: Option<i64>,
    /// Added to the prices; `None` if it is not known.
    pub tax_minor: Option<i64>,
    /// Included in the prices.
    pub tax_included_minor: i64,
}

impl Amounts {
    fn of(quote: &Quote) -> Self {
        Self {
            shipping_minor: quote.shipping_minor,
            tax_minor: quote.tax_minor,
            tax_included_minor: quote.tax_included_minor,
        }
    }

    /// Returns the amounts of terms, for a session from before they were recorded.
    pub(crate) fn of_terms(terms: &Terms) -> Self {
        Self {
            shipping_minor: terms.shipping.as_ref().map(|option| option.price_minor),
            tax_minor: terms.tax_minor,
            tax_included_minor: terms.tax_included_minor,
        }
    }
}

/// Returns the lines of the session and its order.
fn lines_of(revalidated: &Revalidated) -> Vec<OrderLine> {
    let line = |line: &QuotedLine| OrderLine {
        line: line.id,
        product: line.product,
        variant: line.variant,
        sku: line.sku.clone(),
        name: line.name.clone(),
        quantity: line.quantity,
        unit_minor: line.unit_minor,
        total_minor: line.total_minor,
        canceled: 0,
        shipped: 0,
        returned: 0,
    };
    revalidated.priced.quote.lines.iter().map(line).collect()
}

fn total_of(revalidated: &Revalidated) -> Money {
    let quote = &revalidated.priced.quote;
    Money::new(quote.total_minor, quote.currency)
}

/// Inserts a new session, marks its cart and records the event.
pub(crate) async fn insert(
    work: &mut Work,
    merchant: MerchantId,
    session: &Session,
) -> Result<(), CheckoutError> {
    table::insert(work, merchant, session).await?;
    let (from, to) = (CartStatus::Active, CartStatus::CheckoutStarted);
    if !carts::set_status(work, merchant, session.cart, from, to).await? {
        return Err(CheckoutError::Unreadable);
    }
    crash_point("complete.cart_started");
    event::record(work, merchant, session, AgentEvent::CheckoutStart).await
}

/// Writes the session of a completed checkout: its status becomes `requires_escalation`, a person can pay at its checkout
/// URL, and it holds its units, which the caller holds in the same work. The confirmation is marked as used.
pub(crate) async fn escalate(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
    existing: Option<Session>,
    new: &NewSession,
    proof: ConfirmationProof,
) -> Result<Session, CheckoutError> {
    let (merchant, now) = (context.merchant(), work.now());
    let before = existing.as_ref().map(|session| session.version);
    let mut session = match existing {
        Some(mut session) => {
            session.set(revalidated, new);
            session
        }
        None => Session::new(work, revalidated, new),
    };
    session.apply(Transition::Escalate, now)?;
    if session.is_payment_failed {
        let latest = session.started_at.plus(SESSION_LIFETIME_MAX);
        session.expires_at = session.expires_at.max(now.plus(SESSION_LIFETIME).min(latest));
    }
    session.is_holding = true;
    session.is_payment_failed = false;
    session.confirmation = Some(proof);
    session.confirmed_scope = Some(session.terms.scope());
    session.agent_address = context.caller.address.map(|address| address.0.to_string());
    session.checkout_url = Some(context.checkout_url(&revalidated.settings, &session));
    match before {
        Some(version) => table::update(work, merchant, &mut session, version).await?,
        None => insert(work, merchant, &session).await?,
    }
    crash_point("complete.session_written");
    if let Some(id) = proof.confirmation
        && !table::mark_confirmation_used(work, merchant, id, session.id).await?
    {
        let reason = ProofRejection::Used;
        return Err(CheckoutError::ConfirmationRequired { reason, requested: None });
    }
    Ok(session)
}

/// A session at one time.
#[derive(Debug, Clone)]
pub struct SessionSnapshot {
    pub session: Session,
    /// When the session was read, by the database's clock.
    pub now: Timestamp,
}

impl SessionSnapshot {
    /// Returns the status at the time of the snapshot.
    #[must_use]
    pub fn status(&self) -> Status {
        self.session.status(self.now)
    }

    /// Returns the level of human confirmation; `attested` until the session is completed.
    #[must_use]
    pub fn level(&self) -> ConfirmationLevel {
        self.session.confirmation.unwrap_or(ConfirmationProof::ATTESTED).level
    }
}
