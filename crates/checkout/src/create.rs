//! A verb: creating a checkout session. No stock is held yet.

use carts::CartOwner;
use database::Work;
use jobs::IdempotencyKey;
use payments::PaymentMethod;
use primitives::CartId;
use rand::Rng;
use serde_json::Value;

use crate::complete::insert_session;
use crate::idempotency::{self, Claim};
use crate::revalidate::{Revalidated, revalidate};
use crate::session::SESSION_LIFETIME;
use crate::{CheckoutContext, CheckoutError, Session, SessionSnapshot, Status, table};

/// What an agent sets on a session.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    pub payment_method: Option<PaymentMethod>,
    /// Where the buyer is sent after the payment.
    pub return_url: Option<String>,
    /// JSON object of the agent, returned to it unchanged.
    pub metadata: Option<Value>,
}

/// Creates the checkout session of a cart, or returns the one it has.
pub async fn create(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    cart: CartId,
    new: &NewSession,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    let mut work = match idempotency::claim(context, idempotency_key).await? {
        Claim::Fresh(work) => work,
        Claim::Replay(snapshot) => return Ok(*snapshot),
    };
    let now = work.now();
    let cart = carts::lock(&mut work, merchant, cart, owner.key).await?;
    let existing = table::find(work.sql(), merchant, None, Some(cart.id)).await?;
    let session = if let Some(existing) = existing {
        existing
    } else {
        cart.ensure_open(now, None)?;
        let revalidated = revalidate(&mut work, context, cart).await?;
        revalidated.ensure_agent_checkout()?;
        let session = new_session(&mut work, &revalidated, new);
        insert_session(&mut work, context, &revalidated.priced.cart, &session).await?;
        session
    };
    idempotency::record_response(&mut work, idempotency_key, &session).await?;
    work.commit().await?;
    Ok(SessionSnapshot { session, now })
}

/// Returns a new session for a revalidated cart.
pub(crate) fn new_session(work: &mut Work, revalidated: &Revalidated, new: &NewSession) -> Session {
    let (now, cart) = (work.now(), &revalidated.priced.cart);
    let mut form_token = [0; 16];
    work.random().fill_bytes(&mut form_token);
    let session = Session {
        id: work.new_id(),
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
    session.updated_with(revalidated, new)
}

impl Session {
    /// Returns the session with the revalidated lines and terms, and with what the agent sets.
    pub(crate) fn updated_with(mut self, revalidated: &Revalidated, new: &NewSession) -> Self {
        self.lines = revalidated.lines();
        self.total = revalidated.total();
        self.terms = revalidated.priced.terms.clone();
        self.quote_hash = revalidated.priced.quote_hash;
        self.payment_method = new.payment_method.or(self.payment_method);
        self.return_url = new.return_url.clone().or(self.return_url);
        self.metadata = new.metadata.clone().or(self.metadata);
        // The status of a session that holds no units follows from its data.
        if !self.is_holding {
            let is_ready = revalidated.priced.quote.is_ready();
            self.stored_status =
                if is_ready { Status::ReadyForComplete } else { Status::Incomplete };
        }
        self
    }
}
