//! What `checkout` does with a cart, in its own work: the cart's row is locked, so that checkouts of one cart are serialized.

use database::Work;
use primitives::{CartId, KeyId, MerchantId};

use crate::change::apply;
use crate::{Cart, CartError, CartStatus, Edit, table};

/// Locks a cart of this agent until the work ends and returns it.
pub async fn lock(
    work: &mut Work,
    merchant: MerchantId,
    id: CartId,
    agent: KeyId,
) -> Result<Cart, CartError> {
    table::lock(work, merchant, id).await?;
    let found = table::find(work.sql(), merchant, id).await?;
    found.filter(|cart| cart.owner.key == agent).ok_or(CartError::NotFound)
}

/// Changes the status of a cart. Returns `false` if the status is no longer `from`.
pub async fn set_status(
    work: &mut Work,
    merchant: MerchantId,
    id: CartId,
    from: CartStatus,
    to: CartStatus,
) -> Result<bool, CartError> {
    Ok(table::set_status(work, merchant, id, from, to).await?)
}

/// Changes destination, shipping option, buyer or discount codes of a cart whose checkout has started. Its lines cannot
/// change.
pub async fn change_during_checkout(
    work: &mut Work,
    merchant: MerchantId,
    cart: &mut Cart,
    edits: &[Edit],
) -> Result<(), CartError> {
    for edit in edits {
        match edit {
            Edit::Replace(_) | Edit::Add(_) | Edit::Remove(_) | Edit::Cancel => {
                return Err(CartError::Closed { status: cart.stored_status });
            }
            edit => drop(apply(cart, edit, &[])?),
        }
    }
    let before = cart.version;
    cart.version += 1;
    cart.updated_at = work.now();
    if table::update_during_checkout(work, merchant, cart, before).await? {
        Ok(())
    } else {
        Err(CartError::VersionConflict { current: before })
    }
}

/// Deletes sandbox carts created before a timestamp and returns their number.
pub async fn purge_sandbox(
    work: &mut Work,
    merchant: MerchantId,
    before: primitives::Timestamp,
) -> Result<u64, CartError> {
    Ok(table::purge_sandbox(work, merchant, before).await?)
}
