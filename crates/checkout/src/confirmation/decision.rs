//! Verbs: a person decides, on the hosted page or in the agent's client.

use carts::{CartOwner, QuoteHash};
use orders::ConfirmationLevel;
use primitives::ConfirmationId;
use subtle::ConstantTimeEq;

use super::{Confirmation, ConfirmationRequest, confirmation};
use crate::{CheckoutContext, CheckoutError, table};

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
    record(context, found, decision, ConfirmationLevel::Hosted).await?;
    confirmation(context, id, None).await
}

/// Records the decision made in the agent's client, by MCP elicitation, if the response contains one. Only the first decision
/// counts.
pub(crate) async fn record_elicited(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    response: ElicitationResponse,
) -> Result<(), CheckoutError> {
    let Some(decision) = response.decision else { return Ok(()) };
    let found = confirmation(context, response.confirmation, Some(owner.key)).await?.confirmation;
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
    if found.apply(decision, level, work.now()) {
        table::record_decision(&mut work, context.merchant(), &found).await?;
    }
    Ok(work.commit().await?)
}
