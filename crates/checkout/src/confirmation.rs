//! Human confirmation: the request a person sees, the decision, and whether it is valid for a checkout.

mod proof;

use std::time::Duration;

use carts::{CartOwner, PricedCart, QuoteHash, Terms};
use database::Work;
use orders::ConfirmationLevel;
use primitives::{CartId, CheckoutId, ConfirmationId, Details, KeyId, MerchantId, Timestamp};
use rand::Rng;
use subtle::ConstantTimeEq;

pub use proof::{ProofClaim, ProofRejection};

use crate::revalidate::Revalidated;
use crate::{CheckoutContext, CheckoutError, ConfirmationProof, SessionSnapshot, table};

/// Time from the request of a confirmation until it expires; never longer than its cart.
pub const CONFIRMATION_LIFETIME: Duration = Duration::from_mins(15);

primitives::text_enum! {
    /// Status of a confirmation.
    #[strum(serialize_all = "snake_case")]
    pub enum ConfirmationStatus {
        /// The person has not decided.
        Pending,
        /// The person approved.
        Confirmed,
        /// The person rejected.
        Rejected,
        /// Not decided, or not used, before it expired.
        Expired,
    }
}

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
    /// The status in the database, which does not account for expiry; see [`Confirmation::status`].
    pub stored_status: ConfirmationStatus,
    /// `None` until the person approves.
    pub level: Option<ConfirmationLevel>,
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
}

/// A confirmation at one time, with the URL where the person decides.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfirmationRequest {
    pub confirmation: Confirmation,
    pub confirm_url: String,
    /// When the confirmation was read, by the database's clock.
    pub now: Timestamp,
}

impl ConfirmationRequest {
    pub(crate) fn add_details(&self, details: &mut Details) {
        details.insert("confirmation_id", self.confirmation.id.to_string());
        details.insert("confirm_url", self.confirm_url.clone());
        details.insert("question", self.question());
        details.insert("quote_hash", self.confirmation.quote_hash.to_string());
        details.insert("expires_at", self.confirmation.expires_at.to_string());
    }
}

/// Requests a confirmation of a cart, or returns the request that is still open for its current terms.
pub async fn request(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    cart: CartId,
) -> Result<ConfirmationRequest, CheckoutError> {
    let reading = context.reading()?;
    let priced = carts::cart(&reading, context.store, cart, Some(owner.key)).await?;
    priced.cart.ensure_open(priced.now, None)?;
    let mut work = context.work().await?;
    let requested = find_or_create(&mut work, context, &priced).await?;
    work.commit().await?;
    Ok(requested)
}

/// Returns the confirmation of the cart's current terms that can still be decided or used, or creates one.
pub(crate) async fn find_or_create(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    priced: &PricedCart,
) -> Result<ConfirmationRequest, CheckoutError> {
    let (merchant, now) = (context.merchant(), work.now());
    let cart = &priced.cart;
    let of_cart = table::confirmations_of(work.sql(), merchant, cart.id).await?;
    let existing = of_cart.into_iter().find(|existing| {
        let status = existing.status(now);
        let is_usable = status == ConfirmationStatus::Pending
            || (status == ConfirmationStatus::Confirmed && existing.used_by.is_none());
        is_usable && existing.quote_hash == priced.quote_hash && existing.agent == cart.owner.key
    });
    let confirmation = if let Some(existing) = existing {
        existing
    } else {
        let mut form_token = [0; 16];
        work.random().fill_bytes(&mut form_token);
        let new = Confirmation {
            id: work.new_id(),
            cart: cart.id,
            agent: cart.owner.key,
            terms: priced.terms.clone(),
            quote_hash: priced.quote_hash,
            stored_status: ConfirmationStatus::Pending,
            level: None,
            form_token,
            used_by: None,
            created_at: now,
            expires_at: now.plus(CONFIRMATION_LIFETIME).min(cart.expires_at()),
            decided_at: None,
        };
        table::insert_confirmation(work, merchant, &new).await?;
        new
    };
    let confirm_url = context.confirm_url(confirmation.id);
    Ok(ConfirmationRequest { confirmation, confirm_url, now })
}

/// Returns a confirmation of this store. With an agent, `ConfirmationNotFound` if another agent requested it.
pub async fn confirmation(
    context: &CheckoutContext<'_>,
    id: ConfirmationId,
    agent: Option<KeyId>,
) -> Result<ConfirmationRequest, CheckoutError> {
    let merchant = context.merchant();
    let (now, found) = context
        .reading()?
        .run(async |sql| {
            let now = sql.now().await?;
            Ok::<_, CheckoutError>((now, table::confirmation(sql, merchant, id).await?))
        })
        .await?;
    let found = found.filter(|it| agent.is_none_or(|agent| agent == it.agent));
    let confirmation = found.ok_or(CheckoutError::ConfirmationNotFound)?;
    Ok(ConfirmationRequest { confirmation, confirm_url: context.confirm_url(id), now })
}

/// The decision of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Approve,
    Reject,
}

/// What the agent's client can do and did to ask the person itself, by MCP elicitation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Elicitation {
    /// Whether the client can ask the person.
    pub is_supported: bool,
    /// The response of the client to an earlier request.
    pub response: Option<ElicitationResponse>,
}

/// The response of a client to the request to ask the person.
#[derive(Debug, Clone, Copy)]
pub struct ElicitationResponse {
    pub confirmation: ConfirmationId,
    /// `None` if the person was sent to the confirmation page, which records the decision itself.
    pub decision: Option<Decision>,
}

/// Records the decision made on the hosted page. Only the first decision counts. Returns `CsrfRejected` unless form token and
/// hash are those of the confirmation.
pub async fn decide(
    context: &CheckoutContext<'_>,
    id: ConfirmationId,
    decision: Decision,
    form_token: &[u8],
    shown: QuoteHash,
) -> Result<ConfirmationRequest, CheckoutError> {
    let found = confirmation(context, id, None).await?.confirmation;
    if !bool::from(found.form_token.as_slice().ct_eq(form_token)) || shown != found.quote_hash {
        return Err(CheckoutError::CsrfRejected);
    }
    let mut work = context.work().await?;
    let level = ConfirmationLevel::Hosted;
    table::record_decision(&mut work, context.merchant(), id, decision, level).await?;
    work.commit().await?;
    confirmation(context, id, None).await
}

/// Records the decision made in the agent's client, by MCP elicitation. Only the first decision counts.
pub(crate) async fn elicit(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    id: ConfirmationId,
    decision: Decision,
) -> Result<(), CheckoutError> {
    confirmation(context, id, Some(owner.key)).await?;
    let mut work = context.work().await?;
    let level = ConfirmationLevel::Elicited;
    table::record_decision(&mut work, context.merchant(), id, decision, level).await?;
    Ok(work.commit().await?)
}

/// Returns the proof of a confirmation, or `ConfirmationRequired` if it is not valid for this cart, agent and terms.
pub(crate) async fn verify(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
    id: ConfirmationId,
) -> Result<ConfirmationProof, CheckoutError> {
    let now = work.now();
    let found = table::confirmation(work.sql(), context.merchant(), id).await?;
    let verified = proof::verify(found.as_ref(), &revalidated.priced, now);
    let level = verified
        .map_err(|reason| CheckoutError::ConfirmationRequired { reason, requested: None })?;
    Ok(ConfirmationProof { level, confirmation: Some(id) })
}

/// Returns the strongest valid confirmation of the cart's current terms, or the agent's attestation if there is none.
pub(crate) async fn strongest(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
) -> Result<ConfirmationProof, CheckoutError> {
    let (now, cart) = (work.now(), revalidated.priced.cart.id);
    let found = table::confirmations_of(work.sql(), context.merchant(), cart).await?;
    let proofs = found.iter().filter_map(|it| {
        let level = proof::verify(Some(it), &revalidated.priced, now).ok()?;
        Some(ConfirmationProof { level, confirmation: Some(it.id) })
    });
    Ok(proofs.max_by_key(|proof| proof.level).unwrap_or(ConfirmationProof::ATTESTED))
}

/// Marks a confirmation as used by a session, or returns `ConfirmationRequired` if it was used before.
pub(crate) async fn mark_used(
    work: &mut Work,
    merchant: MerchantId,
    id: ConfirmationId,
    session: CheckoutId,
) -> Result<(), CheckoutError> {
    if table::mark_confirmation_used(work, merchant, id, session).await? {
        return Ok(());
    }
    let reason = ProofRejection::Used;
    Err(CheckoutError::ConfirmationRequired { reason, requested: None })
}

impl SessionSnapshot {
    /// Returns the level of human confirmation; `attested` until the session is completed.
    #[must_use]
    pub fn level(&self) -> ConfirmationLevel {
        self.session.confirmation.unwrap_or(ConfirmationProof::ATTESTED).level
    }
}
