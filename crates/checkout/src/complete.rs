//! A verb: completing a checkout. A person then pays on the merchant's page; until then the units are held.

use carts::{Cart, CartStatus, Owner, QuoteHash};
use database::{Work, crash_point};
use jobs::IdempotencyKey;
use merchants::ConfirmationPolicy;
use orders::ConfirmationLevel;
use payments::PaymentMethod;
use primitives::{CartId, ConfirmationId};
use serde_json::Value;

use crate::confirmation::{self, ProofFault};
use crate::create::{NewSession, begin};
use crate::event::{self, AgentEvent};
use crate::look::{self, Looked, look};
use crate::once::{self, Begun};
use crate::session::LIFETIME;
use crate::{At, CheckoutError, Counter, Session, Status, Step, table};

/// How often it is tried when others are in the way.
const TRIES: u32 = 4;

/// What is to be completed.
#[derive(Debug, Clone)]
pub struct Complete {
    /// The cart.
    pub cart: CartId,
    /// What the person agreed to, if the agent says.
    pub quote_hash: Option<QuoteHash>,
    /// The proof that a person agreed, if there is one.
    pub confirmation: Option<ConfirmationId>,
    /// How it will be paid, if the agent says.
    pub payment_method: Option<PaymentMethod>,
    /// Where the buyer goes afterwards.
    pub return_url: Option<String>,
    /// What the agent wants to find again.
    pub metadata: Option<Value>,
}

impl Complete {
    /// A cart, and nothing said beyond it.
    #[must_use]
    pub const fn cart(cart: CartId) -> Self {
        Self {
            cart,
            quote_hash: None,
            confirmation: None,
            payment_method: None,
            return_url: None,
            metadata: None,
        }
    }
}

/// Completes the checkout of a cart: everything is looked at again, the units are held, and the session says where a person
/// pays. Asking again gives the same session.
pub async fn complete(
    counter: &Counter<'_>,
    owner: &Owner,
    asked: &Complete,
    once: Option<&IdempotencyKey>,
) -> Result<At, CheckoutError> {
    let mut tries = 1;
    loop {
        match decide(counter, owner, asked, once).await {
            Err(error) if error.is_contended() && tries < TRIES => tries += 1,
            outcome => return outcome,
        }
    }
}

async fn decide(
    counter: &Counter<'_>,
    owner: &Owner,
    asked: &Complete,
    once: Option<&IdempotencyKey>,
) -> Result<At, CheckoutError> {
    let merchant = counter.merchant();
    crash_point("complete.before");
    let mut work = match once::begin(counter, once).await? {
        Begun::Fresh(work) => work,
        Begun::Done(at) => return Ok(*at),
    };
    let now = work.now();
    crash_point("complete.claimed");
    let cart = carts::lock(&mut work, merchant, asked.cart, owner.key).await?;
    let earlier = table::find(work.sql(), merchant, None, Some(cart.id)).await?;
    crash_point("complete.cart_held");
    match earlier.as_ref().map(|session| session.status(now)) {
        None => cart.open(now, None)?,
        Some(Status::Incomplete | Status::ReadyForComplete) => {}
        Some(from @ (Status::Canceled | Status::Expired)) => {
            return Err(CheckoutError::WrongStep { from });
        }
        Some(Status::RequiresEscalation | Status::CompleteInProgress | Status::Completed) => {
            let session = earlier.ok_or(CheckoutError::Unreadable)?;
            once::answer(&mut work, once, &session).await?;
            work.commit().await?;
            return Ok(At { session, now });
        }
    }
    let earlier = match earlier {
        Some(session) => Some(let_go(&mut work, counter, session).await?),
        None => None,
    };
    let looked = look(&mut work, counter, cart).await?;
    crash_point("complete.looked");
    let proof = match judge(&mut work, counter, &looked, asked).await {
        Ok(proof) => proof,
        Err(refusal) => {
            work.abandon().await?;
            return Err(refused(counter, &looked, refusal).await);
        }
    };
    let session = escalate(&mut work, counter, &looked, earlier, asked, proof).await?;
    once::answer(&mut work, once, &session).await?;
    crash_point("complete.answered");
    // Last, because everybody who wants the same article waits for its row until this work ends.
    let held = catalog::hold(&mut work, merchant, session.owner.shelf(), &session.units()).await?;
    if let Err(place) = held {
        // The next try is not to wait for what this one still holds.
        work.abandon().await?;
        return Err(CheckoutError::Taken { place });
    }
    crash_point("complete.units_held");
    work.commit().await?;
    crash_point("complete.committed");
    Ok(At { session, now })
}

/// A session whose payment was refused still holds its units; they are looked at anew like everything else.
pub(crate) async fn let_go(
    work: &mut Work,
    counter: &Counter<'_>,
    mut session: Session,
) -> Result<Session, CheckoutError> {
    if session.is_holding {
        let (merchant, units) = (counter.merchant(), session.units());
        catalog::give_back(work, merchant, session.owner.shelf(), &units).await?;
        session.is_holding = false;
    }
    Ok(session)
}

/// Whether it may go on, and how sure we are that a person agreed.
async fn judge(
    work: &mut Work,
    counter: &Counter<'_>,
    looked: &Looked,
    asked: &Complete,
) -> Result<(ConfirmationLevel, Option<ConfirmationId>), CheckoutError> {
    looked.admit()?;
    looked.ready()?;
    let current = looked.priced.quote_hash;
    match asked.quote_hash {
        Some(agreed) if agreed != current => return Err(CheckoutError::QuoteMoved { current }),
        Some(_) => {}
        // A proof is of the prices it shows.
        None if asked.confirmation.is_some() => {}
        None => looked.prices_hold()?,
    }
    let proof = match asked.confirmation {
        Some(id) => (confirmation::check(work, counter, looked, id).await?, Some(id)),
        None => confirmation::best(work, counter, looked).await?,
    };
    let needed = match looked.settings.confirmation {
        ConfirmationPolicy::Attested => ConfirmationLevel::Attested,
        ConfirmationPolicy::Hosted => ConfirmationLevel::Hosted,
        ConfirmationPolicy::Mandate => ConfirmationLevel::Mandate,
    };
    if proof.0 >= needed {
        return Ok(proof);
    }
    let fault = match needed {
        ConfirmationLevel::Mandate => ProofFault::MandateNotYet,
        _ => ProofFault::TooWeak,
    };
    Err(CheckoutError::ConfirmationRequired { fault, requested: None })
}

/// A refusal leaves two things behind: what was found, and the question to a person if that is what is missing.
async fn refused(counter: &Counter<'_>, looked: &Looked, refusal: CheckoutError) -> CheckoutError {
    let cart = &looked.priced.cart;
    let recorded: Result<_, CheckoutError> = async {
        let mut work = counter.work().await?;
        look::record(&mut work, counter.merchant(), cart, &looked.compared).await?;
        let requested = match &refusal {
            CheckoutError::ConfirmationRequired { fault, .. } if fault.can_be_asked() => {
                Some(confirmation::put(&mut work, counter, &looked.priced).await?)
            }
            _ => None,
        };
        work.commit().await?;
        Ok(requested)
    }
    .await;
    match (recorded, refusal) {
        (Ok(Some(requested)), CheckoutError::ConfirmationRequired { fault, .. }) => {
            let requested = Some(Box::new(requested));
            CheckoutError::ConfirmationRequired { fault, requested }
        }
        (Ok(_), refusal) => refusal,
        (Err(error), refusal) => {
            tracing::warn!(cause = %error, "what a refused checkout found was not written down");
            refusal
        }
    }
}

/// Writes the session, as it is once its units are held.
async fn escalate(
    work: &mut Work,
    counter: &Counter<'_>,
    looked: &Looked,
    earlier: Option<Session>,
    asked: &Complete,
    proof: (ConfirmationLevel, Option<ConfirmationId>),
) -> Result<Session, CheckoutError> {
    let (merchant, now) = (counter.merchant(), work.now());
    let before = earlier.as_ref().map(|session| session.version);
    let new = NewSession {
        payment_method: asked.payment_method,
        return_url: asked.return_url.clone(),
        metadata: asked.metadata.clone(),
    };
    let mut session = match earlier {
        Some(session) => session.with(looked, &new),
        None => begin(work, looked, &new),
    };
    session.step(Step::Escalate, now)?;
    session.is_holding = true;
    session.is_payment_failed = false;
    session.confirmation = Some(proof);
    session.expires_at = now.plus(LIFETIME);
    session.checkout_url = Some(counter.checkout_url(&looked.settings, &session));
    match before {
        Some(version) => table::update(work, merchant, &mut session, version).await?,
        None => start(work, counter, &looked.priced.cart, &session).await?,
    }
    crash_point("complete.session_written");
    if let Some(id) = proof.1 {
        confirmation::mark_used(work, merchant, id, session.id).await?;
    }
    look::record(work, merchant, &looked.priced.cart, &looked.compared).await?;
    crash_point("complete.recorded");
    Ok(session)
}

/// Writes a session that begins, and what follows from it.
pub(crate) async fn start(
    work: &mut Work,
    counter: &Counter<'_>,
    cart: &Cart,
    session: &Session,
) -> Result<(), CheckoutError> {
    let merchant = counter.merchant();
    table::insert(work, merchant, session).await?;
    let (from, to) = (CartStatus::Active, CartStatus::CheckoutStarted);
    if !carts::set_status(work, merchant, cart.id, from, to).await? {
        return Err(CheckoutError::Unreadable);
    }
    crash_point("complete.cart_started");
    event::note(work, merchant, session, AgentEvent::Start).await
}
