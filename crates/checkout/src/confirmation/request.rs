//! Verbs: requesting a confirmation and reading it.

use carts::{CartOwner, PricedCart};
use database::Work;
use primitives::{CartId, ConfirmationId, Details, KeyId, Timestamp};

use super::{Confirmation, ConfirmationStatus, ensure_not_declined};
use crate::{CheckoutContext, CheckoutError, table};

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
    priced.cart.ensure_usable(priced.now)?;
    let mut work = context.work().await?;
    ensure_not_declined(&mut work, context, &priced.cart).await?;
    let requested = find_or_create(&mut work, context, &priced, false).await?;
    work.commit().await?;
    Ok(requested)
}

/// Returns the confirmation of the cart's current terms that can still be decided or used, or creates one. If the agent's
/// client is to ask the person, it is one that the client may answer.
pub(crate) async fn find_or_create(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    priced: &PricedCart,
    is_elicitable: bool,
) -> Result<ConfirmationRequest, CheckoutError> {
    let (merchant, now) = (context.merchant(), work.now());
    let cart = &priced.cart;
    let of_cart = table::confirmations_of(work.sql(), merchant, cart.id).await?;
    let existing = of_cart.into_iter().find(|existing| {
        let status = existing.status(now);
        let is_usable = status == ConfirmationStatus::Pending
            || (status == ConfirmationStatus::Confirmed && existing.used_by.is_none());
        is_usable
            && existing.is_elicitable == is_elicitable
            && existing.quote_hash == priced.quote_hash
            && existing.agent == cart.owner.key
    });
    let confirmation = if let Some(existing) = existing {
        existing
    } else {
        // A cart whose checkout has started lives as long as its session.
        let session = table::find(work.sql(), merchant, None, Some(cart.id)).await?;
        let until = session.map_or_else(|| cart.expires_at(), |session| session.expires_at);
        let new = Confirmation::new(work, context, priced, is_elicitable, until);
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
