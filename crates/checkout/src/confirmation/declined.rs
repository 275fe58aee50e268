//! What a person declined: for a while, the same agent cannot buy or request the same items again, in any cart.

use std::time::Duration;

use carts::Cart;
use database::Work;
use primitives::{KeyId, MerchantId, ProductId, Timestamp, VariantId};
use sha2::{Digest, Sha256};

use super::ProofRejection;
use crate::{CheckoutContext, CheckoutError, Session, table};

/// How long a decline by a person counts (docs/contract/confirmation.md#declined).
pub const DECLINE_LIFETIME: Duration = Duration::from_mins(30);

/// The hash of a set of items: products, variants and quantities, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemsHash([u8; 32]);

impl ItemsHash {
    fn new(items: impl Iterator<Item = (ProductId, Option<VariantId>, u32)>) -> Self {
        let mut items: Vec<_> = items
            .map(|(product, variant, quantity)| {
                let variant = variant.map_or([0; 16], |variant| *variant.uuid().as_bytes());
                (*product.uuid().as_bytes(), variant, quantity)
            })
            .collect();
        items.sort_unstable();
        let mut hash = Sha256::new();
        for (product, variant, quantity) in items {
            hash.update(product);
            hash.update(variant);
            hash.update(quantity.to_be_bytes());
        }
        Self(hash.finalize().into())
    }

    /// Returns the hash of a cart's items.
    pub(crate) fn of_cart(cart: &Cart) -> Self {
        let item =
            |line: &carts::Line| (line.item.product, line.item.variant, line.item.quantity.get());
        Self::new(cart.lines.iter().map(item))
    }

    /// Returns the hash of a session's items.
    pub(crate) fn of_session(session: &Session) -> Self {
        Self::new(session.lines.iter().map(|line| (line.product, line.variant, line.quantity)))
    }

    /// Returns the hash with these bytes, or `None` if there are not 32.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Returns the bytes.
    pub(crate) const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Returns `ConfirmationRequired` if a person declined these items of this agent a short time ago.
pub(crate) async fn ensure_not_declined(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    cart: &Cart,
) -> Result<(), CheckoutError> {
    let (now, key, items) = (work.now(), cart.owner.key, ItemsHash::of_cart(cart));
    let declined_at = table::declined_at(work.sql(), context.merchant(), key, items).await?;
    if end(declined_at, now).is_some() {
        let reason = ProofRejection::Rejected;
        return Err(CheckoutError::ConfirmationRequired { reason, requested: None });
    }
    Ok(())
}

/// Returns until when the agent cannot buy the items of its session, because a person declined them; `None` if it can.
pub async fn declined_until(
    context: &CheckoutContext<'_>,
    session: &Session,
) -> Result<Option<Timestamp>, CheckoutError> {
    let (key, items) = (session.owner.key, ItemsHash::of_session(session));
    // The role of a reading has no access to decisions of people.
    let mut work = context.work().await?;
    let declined_at = table::declined_at(work.sql(), context.merchant(), key, items).await?;
    let until = end(declined_at, work.now());
    work.rollback().await?;
    Ok(until)
}

/// Returns the end of a decline that still counts at `now`.
fn end(declined_at: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    declined_at.map(|at| at.plus(DECLINE_LIFETIME)).filter(|until| now < *until)
}

/// Records that a person declined these items, or withdraws it.
pub(crate) async fn record(
    work: &mut Work,
    merchant: MerchantId,
    key: KeyId,
    items: ItemsHash,
    is_declined: bool,
) -> Result<(), CheckoutError> {
    if is_declined {
        table::insert_declined(work, merchant, key, items).await?;
    } else {
        table::delete_declined(work, merchant, key, items).await?;
    }
    Ok(())
}
