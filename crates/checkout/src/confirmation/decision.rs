//! Verbs: a person decides, on the hosted page or in the agent's client.

use carts::{CartOwner, QuoteHash};
use database::Work;
use orders::ConfirmationLevel;
use primitives::{CartId, ClientAddress, ConfirmationId, MerchantId};
use subtle::ConstantTimeEq;

use super::{Confirmation, ConfirmationRequest, ProofRejection, confirmation, declined};
use crate::{CheckoutContext, CheckoutError, Transition, table};

/// The decision of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Approve,
    Reject,
}

/// The person who decides on a hosted page, as far as their browser shows it. It is evidence and proves no identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    pub address: String,
    /// The `User-Agent` header, shortened.
    pub browser: String,
}

impl Visitor {
    /// Most characters of the browser.
    const BROWSER_LENGTH_MAX: usize = 300;

    /// Returns the visitor with this address and `User-Agent`.
    #[must_use]
    pub fn new(address: ClientAddress, browser: &str) -> Self {
        let is_shown = |letter: &char| !letter.is_control();
        let browser = browser.chars().filter(is_shown).take(Self::BROWSER_LENGTH_MAX).collect();
        Self { address: address.0.to_string(), browser }
    }
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

/// Records the decision made on the hosted page. Only the first decision there counts; it replaces one made in the agent's
/// client. Returns `CsrfRejected` unless form token and hash are those of the confirmation.
pub async fn decide(
    context: &CheckoutContext<'_>,
    id: ConfirmationId,
    decision: Decision,
    form_token: &[u8],
    shown: QuoteHash,
    visitor: Visitor,
) -> Result<ConfirmationRequest, CheckoutError> {
    let mut found = confirmation(context, id, None).await?.confirmation;
    if !bool::from(found.form_token.as_slice().ct_eq(form_token)) || shown != found.quote_hash {
        return Err(CheckoutError::CsrfRejected);
    }
    found.decided_by = Some(visitor);
    record(context, found, decision, ConfirmationLevel::Hosted).await?;
    confirmation(context, id, None).await
}

/// Records the decision made in the agent's client, by MCP elicitation, if the response contains one. Only the first decision
/// counts. Returns `ConfirmationRequired` if the client was not asked to put this confirmation to the person.
pub(crate) async fn record_elicited(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    response: ElicitationResponse,
) -> Result<(), CheckoutError> {
    let Some(decision) = response.decision else { return Ok(()) };
    let found = confirmation(context, response.confirmation, Some(owner.key)).await?.confirmation;
    if !found.is_elicitable {
        let reason = ProofRejection::Unknown;
        return Err(CheckoutError::ConfirmationRequired { reason, requested: None });
    }
    record(context, found, decision, ConfirmationLevel::Elicited).await
}

/// Applies a decision and stores it, unless another one was stored in the meantime.
async fn record(
    context: &CheckoutContext<'_>,
    mut found: Confirmation,
    decision: Decision,
    level: ConfirmationLevel,
) -> Result<(), CheckoutError> {
    let mut work = context.work().await?;
    let merchant = context.merchant();
    // Serialized with completions of the cart, so that none overlooks the decision.
    let cart = carts::lock(&mut work, merchant, found.cart, found.agent).await?;
    if found.apply(decision, level, work.now())
        && table::record_decision(&mut work, merchant, &found).await?
    {
        let is_declined = decision == Decision::Reject;
        // An approval in the agent's client does not withdraw a decline on the page.
        let is_decisive = is_declined || level == ConfirmationLevel::Hosted;
        if let Some(items) = found.items.filter(|_| is_decisive) {
            declined::record(&mut work, merchant, found.agent, items, is_declined).await?;
        }
        if is_declined {
            decline_session(&mut work, merchant, cart.id).await?;
        }
    }
    Ok(work.commit().await?)
}

/// Declines the session of a cart, if it can still be paid.
async fn decline_session(
    work: &mut Work,
    merchant: MerchantId,
    cart: CartId,
) -> Result<(), CheckoutError> {
    let found = table::find(work.sql(), merchant, None, Some(cart)).await?;
    let Some(mut session) = found else { return Ok(()) };
    if session.status(work.now()).after(Transition::Decline).is_none() {
        return Ok(());
    }
    session.decline(work, merchant).await
}
