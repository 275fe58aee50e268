//! What checkout does with a cart, in its own work: the row is held, so that two checkouts of one cart come one after the other.

use database::Work;
use primitives::{CartId, KeyId, MerchantId};

use crate::change::apply;
use crate::{Cart, CartError, CartStatus, Edit, table};

/// A cart of this agent, its row held until the work ends.
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

/// Moves a cart on, if it still is what it was. Nothing else about it changes.
pub async fn set_status(
    work: &mut Work,
    merchant: MerchantId,
    id: CartId,
    from: CartStatus,
    to: CartStatus,
) -> Result<bool, CartError> {
    Ok(table::set_status(work, merchant, id, from, to).await?)
}

/// Changes where and how the goods of a started checkout go, who buys, and its codes. What is in it stays.
pub async fn change_started(
    work: &mut Work,
    merchant: MerchantId,
    cart: &mut Cart,
    edits: &[Edit],
) -> Result<(), CartError> {
    for edit in edits {
        match edit {
            Edit::Replace(_) | Edit::Add(_) | Edit::Remove(_) | Edit::Cancel => {
                return Err(CartError::Closed { status: cart.kept_status });
            }
            edit => drop(apply(cart, edit, &[])?),
        }
    }
    let before = cart.version;
    cart.version += 1;
    cart.updated_at = work.now();
    if table::update_started(work, merchant, cart, before).await? {
        Ok(())
    } else {
        Err(CartError::VersionMoved { current: before })
    }
}

/// Forgets carts of sandboxes from before a moment: they are over.
pub async fn forget_sandbox(
    work: &mut Work,
    merchant: MerchantId,
    before: primitives::Timestamp,
) -> Result<u64, CartError> {
    Ok(table::forget_sandbox(work, merchant, before).await?)
}
