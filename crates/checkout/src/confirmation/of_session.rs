//! The confirmation of a session that is completed, for a payment without a page.

use database::Work;
use orders::ConfirmationLevel;
use rand::Rng;

use super::{
    CONFIRMATION_LIFETIME, Confirmation, ConfirmationProof, ConfirmationRequest,
    ConfirmationStatus, ItemsHash, ProofRejection,
};
use crate::{CheckoutContext, CheckoutError, Session, table};

/// Returns a confirmation of exactly the terms of a session with at least this level: the one it was completed with, or one that was made
/// since. Otherwise a request for it. The session is locked.
pub(crate) async fn require_of_session(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    session: &Session,
    required: ConfirmationLevel,
) -> Result<Result<ConfirmationProof, Box<ConfirmationRequest>>, CheckoutError> {
    let (merchant, now) = (context.merchant(), work.now());
    let proof = session.confirmation.unwrap_or(ConfirmationProof::ATTESTED);
    if required == ConfirmationLevel::Attested {
        return Ok(Ok(proof));
    }
    let of_cart = table::confirmations_of(work.sql(), merchant, session.cart).await?;
    let of_terms =
        |it: &&Confirmation| it.agent == session.owner.key && it.quote_hash == session.quote_hash;
    let sufficient = of_cart.iter().filter(of_terms).find(|it| {
        let is_usable = it.used_by.is_none_or(|used_by| used_by == session.id);
        let is_confirmed = it.status(now) == ConfirmationStatus::Confirmed;
        is_usable && is_confirmed && it.level.is_some_and(|level| level >= required)
    });
    if let Some(found) = sufficient {
        let level = found.level.unwrap_or(required);
        return Ok(Ok(ConfirmationProof { level, confirmation: Some(found.id) }));
    }
    if required == ConfirmationLevel::Mandate {
        let reason = ProofRejection::MandateNotSupported;
        return Err(CheckoutError::ConfirmationRequired { reason, requested: None });
    }
    let open = of_cart
        .iter()
        .filter(of_terms)
        .find(|it| it.status(now) == ConfirmationStatus::Pending && !it.is_elicitable);
    let confirmation = match open {
        Some(open) => open.clone(),
        None => {
            let new = of_session(work, context, session);
            table::insert_confirmation(work, merchant, &new).await?;
            new
        }
    };
    let confirm_url = context.confirm_url(confirmation.id);
    Ok(Err(Box::new(ConfirmationRequest { confirmation, confirm_url, now })))
}

/// Returns a new confirmation of the terms of a session. It is pending.
fn of_session(work: &mut Work, context: &CheckoutContext<'_>, session: &Session) -> Confirmation {
    let mut form_token = [0; 16];
    work.random().fill_bytes(&mut form_token);
    let now = work.now();
    Confirmation {
        id: work.new_id(),
        cart: session.cart,
        agent: session.owner.key,
        terms: session.terms.clone(),
        quote_hash: session.quote_hash,
        items: Some(ItemsHash::of_session(session)),
        stored_status: ConfirmationStatus::Pending,
        level: None,
        is_elicitable: false,
        agent_address: context.caller.address.map(|address| address.0.to_string()),
        decided_by: None,
        form_token,
        used_by: None,
        created_at: now,
        expires_at: now.plus(CONFIRMATION_LIFETIME).min(session.expires_at),
        decided_at: None,
    }
}
