//! Human confirmation: the noun, and whether a checkout has the confirmation that its store requires. The status is private to
//! this module: [`Confirmation::apply`] changes it, by a decision in [`CONFIRMATION_TRANSITIONS`].

mod decision;
mod declined;
mod proof;
mod request;
mod row;

use std::time::Duration;

use carts::{PricedCart, QuoteHash, Terms};
use database::Work;
use merchants::ConfirmationPolicy;
use orders::ConfirmationLevel;
use primitives::{CartId, CheckoutId, ConfirmationId, KeyId, MerchantId, Money, Timestamp};
use rand::Rng;

pub(crate) use decision::record_elicited;
pub use decision::{Decision, Elicitation, ElicitationResponse, Visitor, decide};
pub use declined::{DECLINE_LIFETIME, declined_until};
pub(crate) use declined::{ItemsHash, ensure_not_declined, record as record_declined};
pub use proof::{ConfirmationProof, ProofClaim, ProofRejection};
pub(crate) use request::find_or_create;
pub use request::{ConfirmationRequest, confirmation, request};
pub(crate) use row::ConfirmationRow;

use crate::complete::Complete;
use crate::revalidate::Revalidated;
use crate::{CheckoutContext, CheckoutError, PriceChange, Session, table};

/// Time from the request of a confirmation until it expires; never longer than its cart or session.
pub const CONFIRMATION_LIFETIME: Duration = Duration::from_mins(15);

primitives::text_enum! {
    /// Status of a confirmation.
    #[strum(serialize_all = "snake_case")]
    pub enum ConfirmationStatus {
        /// The person has not decided.
        Pending,
        Confirmed,
        Rejected,
        /// Not decided, or not used, before it expired. Follows from the clock and is never stored.
        Expired,
    }
}

/// All transitions of a stored status: status before, decision, status after. A decision on the hosted page replaces one
/// that was made in the agent's client.
pub const CONFIRMATION_TRANSITIONS: &[(ConfirmationStatus, Decision, ConfirmationStatus)] = &[
    (ConfirmationStatus::Pending, Decision::Approve, ConfirmationStatus::Confirmed),
    (ConfirmationStatus::Pending, Decision::Reject, ConfirmationStatus::Rejected),
    (ConfirmationStatus::Confirmed, Decision::Approve, ConfirmationStatus::Confirmed),
    (ConfirmationStatus::Confirmed, Decision::Reject, ConfirmationStatus::Rejected),
];

/// A confirmation of a purchase by a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirmation {
    pub id: ConfirmationId,
    pub cart: CartId,
    /// The key that requested it; no other key can use it.
    pub agent: KeyId,
    /// The terms the person sees.
    pub terms: Terms,
    /// The hash of the terms.
    pub quote_hash: QuoteHash,
    /// The items of the terms; `None` for a confirmation from before they were recorded.
    pub(crate) items: Option<ItemsHash>,
    /// See [`Confirmation::stored_status`].
    stored_status: ConfirmationStatus,
    /// `None` until the person approves.
    pub level: Option<ConfirmationLevel>,
    /// Whether the agent's client may ask the person itself.
    pub is_elicitable: bool,
    /// The address of the agent that requested it.
    pub agent_address: Option<String>,
    /// Who decided on the hosted page; `None` for a decision in the agent's client.
    pub decided_by: Option<Visitor>,
    /// CSRF token of the form on the hosted page.
    pub form_token: [u8; 16],
    /// The session it was used for; it can be used once.
    pub used_by: Option<CheckoutId>,
    pub created_at: Timestamp,
    /// Until when it can be decided and used.
    pub expires_at: Timestamp,
    pub decided_at: Option<Timestamp>,
}

impl Confirmation {
    /// Returns a new confirmation of the current terms of a cart. It is pending.
    fn new(
        work: &mut Work,
        context: &CheckoutContext<'_>,
        priced: &PricedCart,
        is_elicitable: bool,
        until: Timestamp,
    ) -> Self {
        let mut form_token = [0; 16];
        work.random().fill_bytes(&mut form_token);
        let (now, cart) = (work.now(), &priced.cart);
        Self {
            id: work.new_id(),
            cart: cart.id,
            agent: cart.owner.key,
            terms: priced.terms.clone(),
            quote_hash: priced.quote_hash,
            items: Some(ItemsHash::of_cart(cart)),
            stored_status: ConfirmationStatus::Pending,
            level: None,
            is_elicitable,
            agent_address: context.caller.address.map(|address| address.0.to_string()),
            decided_by: None,
            form_token,
            used_by: None,
            created_at: now,
            expires_at: now.plus(CONFIRMATION_LIFETIME).min(until),
            decided_at: None,
        }
    }

    /// Returns the status in the database, which does not account for expiry; see [`Confirmation::status`].
    #[must_use]
    pub const fn stored_status(&self) -> ConfirmationStatus {
        self.stored_status
    }

    /// Returns the status at `now`, the time of the database.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> ConfirmationStatus {
        let can_expire =
            self.stored_status != ConfirmationStatus::Rejected && self.used_by.is_none();
        if can_expire && now > self.expires_at {
            ConfirmationStatus::Expired
        } else {
            self.stored_status
        }
    }

    /// Returns whether the person decided from the address of the agent; `None` if one of them is not known.
    #[must_use]
    pub fn same_address(&self) -> Option<bool> {
        let person = self.decided_by.as_ref()?.address.as_str();
        self.agent_address.as_deref().map(|agent| agent == person)
    }

    /// Applies a decision at `now`; an approval has this level. Returns `false` if the confirmation was used or has expired,
    /// or if it is decided: only the first decision counts, except that the hosted page replaces an approval in the agent's
    /// client.
    pub(crate) fn apply(
        &mut self,
        decision: Decision,
        level: ConfirmationLevel,
        now: Timestamp,
    ) -> bool {
        let from = self.status(now);
        let is_replaceable = self.level.is_none_or(|decided| decided < level);
        if self.used_by.is_some() || !is_replaceable {
            return false;
        }
        let mut transitions = CONFIRMATION_TRANSITIONS.iter();
        let Some((.., to)) = transitions.find(|(before, by, _)| (*before, *by) == (from, decision))
        else {
            return false;
        };
        self.stored_status = *to;
        self.level = (decision == Decision::Approve).then_some(level);
        self.decided_at = Some(now);
        true
    }
}

/// Records that a person pays for a session on the hosted page, which confirms the terms they saw.
pub(crate) async fn record_payment(
    work: &mut Work,
    merchant: MerchantId,
    session: &Session,
    visitor: Visitor,
) -> Result<ConfirmationProof, CheckoutError> {
    let (now, level) = (work.now(), ConfirmationLevel::Hosted);
    let confirmation = Confirmation {
        id: work.new_id(),
        cart: session.cart,
        agent: session.owner.key,
        terms: session.terms.clone(),
        quote_hash: session.quote_hash,
        items: Some(ItemsHash::of_session(session)),
        stored_status: ConfirmationStatus::Confirmed,
        level: Some(level),
        is_elicitable: false,
        agent_address: session.agent_address.clone(),
        decided_by: Some(visitor),
        form_token: session.form_token,
        used_by: Some(session.id),
        created_at: now,
        expires_at: session.expires_at,
        decided_at: Some(now),
    };
    table::insert_confirmation(work, merchant, &confirmation).await?;
    Ok(ConfirmationProof { level, confirmation: Some(confirmation.id) })
}

/// Returns the confirmation that a checkout is completed with, or an error if it is missing, invalid or weaker than the
/// store requires, or if the person approved other terms.
pub(crate) async fn require(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
    request: &Complete,
    is_started: bool,
) -> Result<ConfirmationProof, CheckoutError> {
    let of_store = match revalidated.settings.confirmation {
        ConfirmationPolicy::Attested => ConfirmationLevel::Attested,
        ConfirmationPolicy::Hosted => ConfirmationLevel::Hosted,
        ConfirmationPolicy::Mandate => ConfirmationLevel::Mandate,
    };
    let required = request.claim.level_wanted().map_or(of_store, |wanted| wanted.max(of_store));
    let reject = |reason| CheckoutError::ConfirmationRequired { reason, requested: None };
    ensure_not_declined(work, context, &revalidated.priced.cart).await?;
    // The confirmation that the client's response or the agent's claim names.
    let responded = request.elicitation.response.map(|response| response.confirmation);
    let named = responded.or(request.claim.confirmation());
    let mut proof = ConfirmationProof::ATTESTED;
    if named.is_none() {
        proof = strongest(work, context, revalidated).await?;
        // A client that can ask the person does so, even where the store accepts the agent's attestation.
        let can_ask = request.elicitation.is_supported && !is_started;
        if can_ask && of_store == ConfirmationLevel::Attested && proof.level == of_store {
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
        None => ensure_prices_unchanged(revalidated)?,
    }
    if let Some(id) = named {
        let found = table::confirmation(work.sql(), context.merchant(), id).await?;
        let level = verify(found.as_ref(), &revalidated.priced, work.now()).map_err(reject)?;
        proof = ConfirmationProof { level, confirmation: Some(id) };
    }
    match required {
        required if proof.level >= required => Ok(proof),
        ConfirmationLevel::Mandate => Err(reject(ProofRejection::MandateNotSupported)),
        _ => Err(reject(ProofRejection::Insufficient)),
    }
}

/// Returns the strongest valid confirmation of the cart's current terms, or the agent's attestation if there is none.
async fn strongest(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
) -> Result<ConfirmationProof, CheckoutError> {
    let (now, cart) = (work.now(), revalidated.priced.cart.id);
    let found = table::confirmations_of(work.sql(), context.merchant(), cart).await?;
    let proofs = found.iter().filter_map(|it| {
        let level = verify(Some(it), &revalidated.priced, now).ok()?;
        Some(ConfirmationProof { level, confirmation: Some(it.id) })
    });
    Ok(proofs.max_by_key(|proof| proof.level).unwrap_or(ConfirmationProof::ATTESTED))
}

/// Returns the level of a confirmation if it is valid for the cart's agent and current terms.
fn verify(
    found: Option<&Confirmation>,
    priced: &PricedCart,
    now: Timestamp,
) -> Result<ConfirmationLevel, ProofRejection> {
    let cart = &priced.cart;
    let found = found.filter(|it| it.agent == cart.owner.key && it.cart == cart.id);
    let found = found.ok_or(ProofRejection::Unknown)?;
    if found.used_by.is_some() {
        return Err(ProofRejection::Used);
    }
    match found.status(now) {
        ConfirmationStatus::Pending => Err(ProofRejection::Pending),
        ConfirmationStatus::Rejected => Err(ProofRejection::Rejected),
        ConfirmationStatus::Expired => Err(ProofRejection::Expired),
        ConfirmationStatus::Confirmed if found.quote_hash != priced.quote_hash => {
            Err(ProofRejection::Stale)
        }
        ConfirmationStatus::Confirmed => found.level.ok_or(ProofRejection::Pending),
    }
}

/// Returns an error if a price differs from the one when the item was added.
fn ensure_prices_unchanged(revalidated: &Revalidated) -> Result<(), CheckoutError> {
    let priced = &revalidated.priced;
    let money = |minor: i64| Money::new(minor, priced.cart.currency);
    let price_changes = revalidated.comparisons.iter().enumerate().filter_map(|(index, line)| {
        let live = line.live_minor.filter(|live| *live != line.listed_minor)?;
        Some(PriceChange { index, listed: money(line.listed_minor), live: money(live) })
    });
    let changes: Vec<_> = price_changes.collect();
    if changes.is_empty() {
        return Ok(());
    }
    Err(CheckoutError::PriceChanged { changes, current: priced.quote_hash })
}
