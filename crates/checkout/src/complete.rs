//! A verb: completing a checkout. A person then pays at the checkout URL; until then the units are held.

use carts::{CartError, CartOwner, CartRef, CartUpdate, Item, NewCart, ShippingChoice};
use database::{Work, crash_point};
use jobs::IdempotencyKey;
use merchants::ConfirmationPolicy;
use orders::ConfirmationLevel;
use primitives::{CartId, CheckoutId, ConfirmationId, MerchantId, Problem};

use crate::confirmation::{self, Elicitation, ProofClaim, ProofRejection};
use crate::create::{NewSession, insert_session, new_session};
use crate::idempotency::{self, Claim};
use crate::revalidate::{Revalidated, record_comparisons, revalidate};
use crate::session::SESSION_LIFETIME;
use crate::{
    CheckoutContext, CheckoutError, ConfirmationProof, Session, SessionSnapshot, Status,
    Transition, read, table,
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
    /// A new cart of the store with these items. Unless the data names a shipping option, the cheapest is selected.
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

    /// Returns the confirmation that the client's response or the agent's claim names.
    fn confirmation(&self) -> Option<ConfirmationId> {
        let responded = self.elicitation.response.map(|response| response.confirmation);
        responded.or(self.claim.confirmation())
    }
}

/// Completes a checkout: revalidates the cart, holds its units and returns the session with the checkout URL. A cart that
/// was completed before returns the same session.
///
/// The cart is created or changed in a transaction of its own: a rejected checkout leaves a cart that the agent can correct
/// and that a person can confirm.
pub async fn complete(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    request: &Complete,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<SessionSnapshot, CheckoutError> {
    let cart = prepare_cart(context, owner, request, idempotency_key).await?;
    if let Some(response) = request.elicitation.response
        && let Some(decision) = response.decision
    {
        confirmation::elicit(context, owner, response.confirmation, decision).await?;
    }
    let mut attempts = 1;
    loop {
        match try_complete(context, owner, cart, request, idempotency_key).await {
            Err(error) if error.is_transient() && attempts < ATTEMPTS_MAX => attempts += 1,
            result => return result,
        }
    }
}

/// Returns the cart to complete: an existing one with the requested data, or a new one.
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
            let shipping =
                data.shipping_option.map_or(ShippingChoice::Cheapest, ShippingChoice::Option);
            let new = NewCart {
                items: items.clone(),
                destination: data.destination,
                buyer: data.buyer,
                codes: data.codes.unwrap_or_default(),
                shipping: Some(shipping),
            };
            // A repeated request creates no second cart.
            let key = idempotency_key.map(idempotency::key_of_cart);
            let created = carts::create(database, store, owner, new, key.as_ref()).await?;
            return Ok(created.cart.id);
        }
    };
    let edits = request.data.edits();
    if !edits.is_empty() {
        let cart = CartRef { agent: owner.key, id };
        match carts::change(database, store, cart, None, &edits, None).await {
            // Once the checkout has started, its data changes with `update` alone.
            Ok(_) | Err(CartError::Closed { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(id)
}

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
    let cart = carts::lock(&mut work, merchant, cart, owner.key).await?;
    let mut existing = table::find(work.sql(), merchant, None, Some(cart.id)).await?;
    crash_point("complete.cart_held");
    match existing.as_ref().map(|session| session.status(now)) {
        None => cart.ensure_open(now, None)?,
        Some(Status::Incomplete | Status::ReadyForComplete) => {}
        Some(from @ (Status::Canceled | Status::Expired)) => {
            return Err(CheckoutError::InvalidTransition { from });
        }
        Some(Status::RequiresEscalation | Status::CompleteInProgress | Status::Completed) => {
            let session = existing.ok_or(CheckoutError::Unreadable)?;
            idempotency::record_response(&mut work, idempotency_key, &session).await?;
            work.commit().await?;
            return Ok(SessionSnapshot { session, now });
        }
    }
    // A session whose payment was declined still holds its units; their stock is revalidated like everything else.
    if let Some(session) = &mut existing {
        release(&mut work, merchant, session).await?;
    }
    let revalidated = revalidate(&mut work, context, cart).await?;
    crash_point("complete.revalidated");
    let is_started = existing.is_some();
    let proof = match check(&mut work, context, &revalidated, request, is_started).await {
        Ok(proof) => proof,
        Err(error) => {
            work.rollback().await?;
            return Err(record_rejection(context, &revalidated, error).await);
        }
    };
    let session = escalate(&mut work, context, &revalidated, existing, request, proof).await?;
    idempotency::record_response(&mut work, idempotency_key, &session).await?;
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

/// Releases the units of a locked session, if it holds any.
pub(crate) async fn release(
    work: &mut Work,
    merchant: MerchantId,
    session: &mut Session,
) -> Result<(), CheckoutError> {
    if session.is_holding {
        let units = session.units();
        catalog::release(work, merchant, session.owner.stock_pool(), &units).await?;
        session.is_holding = false;
    }
    Ok(())
}

/// Returns the human confirmation of the checkout, or an error if the checkout is not allowed.
async fn check(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
    request: &Complete,
    is_started: bool,
) -> Result<ConfirmationProof, CheckoutError> {
    revalidated.ensure_agent_checkout()?;
    revalidated.ensure_ready()?;
    let required = match revalidated.settings.confirmation {
        ConfirmationPolicy::Attested => ConfirmationLevel::Attested,
        ConfirmationPolicy::Hosted => ConfirmationLevel::Hosted,
        ConfirmationPolicy::Mandate => ConfirmationLevel::Mandate,
    };
    let reject = |reason| CheckoutError::ConfirmationRequired { reason, requested: None };
    let named = request.confirmation();
    let mut proof = ConfirmationProof::ATTESTED;
    if named.is_none() {
        proof = confirmation::strongest(work, context, revalidated).await?;
        // A client that can ask the person does so, even where the store accepts the agent's attestation.
        let can_ask = request.elicitation.is_supported && !is_started;
        if can_ask && required == ConfirmationLevel::Attested && proof.level == required {
            return Err(reject(ProofRejection::NotAsked));
        }
    }
    let current = revalidated.priced.quote_hash;
    match request.claim.quote_hash() {
        Some(approved) if approved != current => {
            return Err(CheckoutError::QuoteChanged { current });
        }
        Some(_) => {}
        // A confirmation is bound to the prices the person saw.
        None if named.is_some() => {}
        None => revalidated.ensure_prices_unchanged()?,
    }
    if let Some(id) = named {
        proof = confirmation::verify(work, context, revalidated, id).await?;
    }
    match required {
        required if proof.level >= required => Ok(proof),
        ConfirmationLevel::Mandate => Err(reject(ProofRejection::MandateNotSupported)),
        _ => Err(reject(ProofRejection::Insufficient)),
    }
}

/// Records the comparisons of a rejected checkout, and requests a confirmation if that is what is missing. Returns the error
/// to report.
async fn record_rejection(
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
    error: CheckoutError,
) -> CheckoutError {
    let (merchant, cart) = (context.merchant(), &revalidated.priced.cart);
    let recorded: Result<_, CheckoutError> = async {
        let mut work = context.work().await?;
        record_comparisons(&mut work, merchant, cart, &revalidated.comparisons).await?;
        let requested = match &error {
            CheckoutError::ConfirmationRequired { reason, .. } if reason.allows_new_request() => {
                Some(confirmation::find_or_create(&mut work, context, &revalidated.priced).await?)
            }
            _ => None,
        };
        work.commit().await?;
        Ok(requested)
    }
    .await;
    match (recorded, error) {
        (Ok(Some(requested)), CheckoutError::ConfirmationRequired { reason, .. }) => {
            let requested = Some(Box::new(requested));
            CheckoutError::ConfirmationRequired { reason, requested }
        }
        (Ok(_), error) => error,
        (Err(cause), error) => {
            tracing::warn!(
                %merchant, cart = %cart.id, %cause,
                "the comparisons of a rejected checkout were not recorded; the checkout stays rejected"
            );
            error
        }
    }
}

/// Writes the session as it is once its units are held.
async fn escalate(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
    existing: Option<Session>,
    request: &Complete,
    proof: ConfirmationProof,
) -> Result<Session, CheckoutError> {
    let (merchant, now) = (context.merchant(), work.now());
    let before = existing.as_ref().map(|session| session.version);
    let mut session = match existing {
        Some(mut session) => {
            session.set(revalidated, &request.session);
            session
        }
        None => new_session(work, revalidated, &request.session),
    };
    session.apply(Transition::Escalate, now)?;
    session.is_holding = true;
    session.is_payment_failed = false;
    session.confirmation = Some(proof);
    session.expires_at = now.plus(SESSION_LIFETIME);
    session.checkout_url = Some(context.checkout_url(&revalidated.settings, &session));
    match before {
        Some(version) => table::update(work, merchant, &mut session, version).await?,
        None => insert_session(work, context, &revalidated.priced.cart, &session).await?,
    }
    crash_point("complete.session_written");
    if let Some(id) = proof.confirmation {
        confirmation::mark_used(work, merchant, id, session.id).await?;
    }
    record_comparisons(work, merchant, &revalidated.priced.cart, &revalidated.comparisons).await?;
    crash_point("complete.recorded");
    Ok(session)
}
