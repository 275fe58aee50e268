//! A verb: completing a checkout. A person then pays at the checkout URL; until then the units are held.

use carts::{Cart, CartError, CartOwner, CartRef, CartUpdate, Edit, Item, NewCart};
use database::{Work, crash_point};
use jobs::IdempotencyKey;
use primitives::{CartId, CheckoutId, Problem};

use crate::confirmation::{self, Elicitation, ProofClaim};
use crate::idempotency::{self, Claim, KeyedWork};
use crate::revalidate::{Revalidated, revalidate};
use crate::session::{self, NewSession};
use crate::update::keep_data;
use crate::{
    COMPLETE_ERRORS, CheckoutContext, CheckoutError, ProofRejection, Session, SessionSnapshot,
    Status, holds, read, table,
};

/// Attempts if the error is transient.
const ATTEMPTS_MAX: u32 = 4;

/// What is to be completed.
#[derive(Debug, Clone)]
pub struct Complete {
    pub source: Source,
    /// Data of the cart to set first. It has no effect once a person can pay.
    pub data: CartUpdate,
    pub session: NewSession,
    pub claim: ProofClaim,
    pub elicitation: Elicitation,
}

/// What is bought.
#[derive(Debug, Clone)]
pub enum Source {
    Cart(CartId),
    /// The cart of this session.
    Session(CheckoutId),
    /// A new cart of the store with these items.
    Items(Vec<Item>),
}

impl Complete {
    /// Returns a request without any options.
    #[must_use]
    pub fn new(source: Source) -> Self {
        Self {
            source,
            data: CartUpdate::default(),
            session: NewSession::default(),
            claim: ProofClaim::default(),
            elicitation: Elicitation::default(),
        }
    }

    /// Returns a request for a cart without any options.
    #[must_use]
    pub fn cart(cart: CartId) -> Self {
        Self::new(Source::Cart(cart))
    }

    /// Returns the edits of a cart that exists. A new cart is created with the data.
    fn edits(&self) -> Vec<Edit> {
        match self.source {
            Source::Items(_) => Vec::new(),
            Source::Cart(_) | Source::Session(_) => self.data.edits(),
        }
    }
}

/// Completes a checkout: revalidates the cart, holds its units and returns the session with the checkout URL. A cart that
/// was completed before returns the same session.
///
/// A rejected checkout leaves a cart with the data of the request, which the agent can correct and a person can confirm: a
/// cart without a session is created or changed in a transaction of its own. The data of a session is set in the transaction
/// that completes it, which knows whether a person can pay, and again after a rejection.
pub async fn complete(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    request: &Complete,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<SessionSnapshot, CheckoutError> {
    let cart = Box::pin(prepare_cart(context, owner, request, idempotency_key)).await?;
    if let Some(response) = request.elicitation.response {
        confirmation::record_elicited(context, owner, response).await?;
    }
    let mut attempts = 1;
    let result = loop {
        match try_complete(context, owner, cart, request, idempotency_key).await {
            Err(error) if error.is_transient() && attempts < ATTEMPTS_MAX => attempts += 1,
            result => break result,
        }
    };
    let is_rejected = result.as_ref().is_err_and(|error| COMPLETE_ERRORS.contains(&error.code()));
    let edits = request.edits();
    if is_rejected && !edits.is_empty() {
        keep_data(context, owner, cart, &edits).await?;
    }
    // The caller does not know the cart yet, and corrects it before the next attempt.
    result.map_err(|error| match request.source {
        Source::Items(_) => CheckoutError::OfNewCart { cart, error: Box::new(error) },
        Source::Cart(_) | Source::Session(_) => error,
    })
}

/// Returns the cart to complete: an existing one, with the requested data unless it has a session, or a new one.
async fn prepare_cart(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    request: &Complete,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<CartId, CheckoutError> {
    let (database, store) = (context.database, context.store);
    let id = match &request.source {
        Source::Cart(id) => *id,
        Source::Session(id) => {
            let reading = context.reading()?;
            read::session(&reading, store.merchant, *id, Some(owner.key)).await?.session.cart
        }
        Source::Items(items) => {
            let data = request.data.clone();
            let new = NewCart {
                items: items.clone(),
                destination: data.destination,
                buyer: data.buyer,
                codes: data.codes.unwrap_or_default(),
                shipping_option: data.shipping_option,
            };
            // A repeated request creates no second cart.
            let key = idempotency_key.map(idempotency::key_of_cart);
            let created = carts::create(database, store, owner, new, key.as_ref()).await?;
            return Ok(created.cart.id);
        }
    };
    let edits = request.edits();
    if !edits.is_empty() {
        let cart = CartRef { agent: owner.key, id };
        match carts::change(database, store, cart, None, &edits, None).await {
            Ok(_) | Err(CartError::Closed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(id)
}

/// Completes the checkout of a cart in one work. Each step is one call.
async fn try_complete(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    cart: CartId,
    request: &Complete,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    crash_point("complete.before");
    let mut work = match idempotency::claim(context, idempotency_key).await? {
        Claim::Fresh(work) => work,
        Claim::Replay(snapshot) => return Ok(*snapshot),
    };
    let now = work.now();
    crash_point("complete.claimed");
    let mut cart = carts::lock(&mut work, merchant, cart, owner.key).await?;
    let found = table::find(work.sql(), merchant, None, Some(cart.id)).await?;
    crash_point("complete.cart_held");
    let existing = match found {
        None => {
            cart.ensure_open(now, None)?;
            None
        }
        Some(session) if session.is_escalated(now)? => {
            // Once a person pays or has paid, their decision is the payment.
            if session.status(now) == Status::RequiresEscalation {
                confirmation::ensure_not_declined(&mut work, context, &cart).await?;
            }
            return work.finish(session).await;
        }
        Some(mut session) => {
            prepare_session(&mut work, context, &mut session, &mut cart, request).await?;
            Some(session)
        }
    };
    let revalidated = revalidate(&mut work, context, cart).await?;
    crash_point("complete.revalidated");
    ensure_completable(context, &revalidated)?;
    let method = request.session.payment_method;
    context.ensure_method(&revalidated.settings, owner.is_sandbox, method)?;
    let is_started = existing.is_some();
    let required =
        confirmation::require(&mut work, context, &revalidated, request, is_started).await;
    let proof = match required {
        Ok(proof) => proof,
        Err(error) => return reject(work, context, &revalidated, error).await,
    };
    let new = &request.session;
    let session = session::escalate(&mut work, context, &revalidated, existing, new, proof).await?;
    holds::ensure_within_limits(&mut work, context, &revalidated, &session).await?;
    crash_point("complete.recorded");
    work.record_response(&session).await?;
    crash_point("complete.response_recorded");
    // Last, because other checkouts of the same product wait for its row until this work ends.
    let (pool, units) = (session.owner.stock_pool(), session.units());
    if let Err(index) = catalog::hold(&mut work, merchant, pool, &units).await? {
        // The next attempt must not wait for locks of this one.
        work.rollback().await?;
        return Err(CheckoutError::ReservedElsewhere { index });
    }
    crash_point("complete.units_held");
    work.commit().await?;
    crash_point("complete.committed");
    Ok(SessionSnapshot { session, now })
}

/// Prepares a session that is to be completed: sets the data of the request, or, if a person can still pay after a declined
/// payment, releases the units.
async fn prepare_session(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    session: &mut Session,
    cart: &mut Cart,
    request: &Complete,
) -> Result<(), CheckoutError> {
    let merchant = context.merchant();
    if session.is_holding {
        // Their stock is revalidated like everything else. The lock comes before those of the products, as in every
        // completion.
        holds::lock(work, context, session.owner.key).await?;
        return session.release_units(work, merchant).await;
    }
    let edits = request.edits();
    if !edits.is_empty() {
        carts::change_during_checkout(work, merchant, cart, &edits).await?;
    }
    Ok(())
}

/// Returns an error unless agents may buy at the store, a person can pay there, no required data is missing and every item
/// is available.
fn ensure_completable(
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
) -> Result<(), CheckoutError> {
    revalidated.ensure_agent_checkout()?;
    let is_sandbox = revalidated.priced.cart.owner.is_sandbox;
    context.ensure_payment_page(&revalidated.settings, is_sandbox)?;
    revalidated.ensure_ready()
}

/// Rolls back a checkout whose confirmation was rejected. Then, in a work of its own, requests a confirmation if that is what
/// is missing. Returns the error.
async fn reject(
    work: KeyedWork<'_>,
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
    error: CheckoutError,
) -> Result<SessionSnapshot, CheckoutError> {
    work.rollback().await?;
    let CheckoutError::ConfirmationRequired { reason, .. } = error else { return Err(error) };
    if !reason.allows_new_request() {
        return Err(error);
    }
    let mut work = context.work().await?;
    let is_elicitable = reason == ProofRejection::NotAsked;
    let priced = &revalidated.priced;
    let requested = confirmation::find_or_create(&mut work, context, priced, is_elicitable).await?;
    work.commit().await?;
    Err(CheckoutError::ConfirmationRequired { reason, requested: Some(Box::new(requested)) })
}
