//! A verb: beginning a checkout, without holding anything yet.

use carts::Owner;
use database::Work;
use jobs::IdempotencyKey;
use payments::PaymentMethod;
use primitives::CartId;
use rand::Rng;
use serde_json::Value;

use crate::complete::start;
use crate::look::{Looked, look};
use crate::once::{self, Begun};
use crate::session::LIFETIME;
use crate::{At, CheckoutError, Counter, Session, Status, table};

/// What an agent says of a session.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// How it will be paid.
    pub payment_method: Option<PaymentMethod>,
    /// Where the buyer goes afterwards.
    pub return_url: Option<String>,
    /// What the agent wants to find again.
    pub metadata: Option<Value>,
}

/// Begins the checkout of a cart. A cart that has one gives that one.
pub async fn create(
    counter: &Counter<'_>,
    owner: &Owner,
    cart: CartId,
    new: &NewSession,
    once: Option<&IdempotencyKey>,
) -> Result<At, CheckoutError> {
    let merchant = counter.merchant();
    let mut work = match once::begin(counter, once).await? {
        Begun::Fresh(work) => work,
        Begun::Done(at) => return Ok(*at),
    };
    let now = work.now();
    let cart = carts::lock(&mut work, merchant, cart, owner.key).await?;
    let earlier = table::find(work.sql(), merchant, None, Some(cart.id)).await?;
    let session = if let Some(earlier) = earlier {
        earlier
    } else {
        cart.open(now, None)?;
        let looked = look(&mut work, counter, cart).await?;
        looked.admit()?;
        let session = begin(&mut work, &looked, new);
        start(&mut work, counter, &looked.priced.cart, &session).await?;
        session
    };
    once::answer(&mut work, once, &session).await?;
    work.commit().await?;
    Ok(At { session, now })
}

/// A session that begins with what was found.
pub(crate) fn begin(work: &mut Work, looked: &Looked, new: &NewSession) -> Session {
    let (now, cart) = (work.now(), &looked.priced.cart);
    let mut form_token = [0; 16];
    work.random().fill_bytes(&mut form_token);
    let session = Session {
        id: work.new_id(),
        cart: cart.id,
        owner: cart.owner.clone(),
        kept_status: Status::Incomplete,
        version: 1,
        payment_method: None,
        total: looked.total(),
        lines: Vec::new(),
        terms: looked.priced.terms.clone(),
        quote_hash: looked.priced.quote_hash,
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
        expires_at: now.plus(LIFETIME),
    };
    session.with(looked, new)
}

impl Session {
    /// The session with what was found just now, and what the agent says beyond it.
    pub(crate) fn with(mut self, looked: &Looked, new: &NewSession) -> Self {
        self.lines = looked.lines();
        self.total = looked.total();
        self.terms = looked.priced.terms.clone();
        self.quote_hash = looked.priced.quote_hash;
        self.payment_method = new.payment_method.or(self.payment_method);
        self.return_url = new.return_url.clone().or(self.return_url);
        self.metadata = new.metadata.clone().or(self.metadata);
        // What nothing holds follows from what is there.
        if !self.is_holding {
            let is_ready = looked.priced.quote.is_ready();
            self.kept_status = if is_ready { Status::ReadyForComplete } else { Status::Incomplete };
        }
        self
    }
}
