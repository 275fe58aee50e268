//! What `checkout` does with a cart, in its own work: the cart's row is locked, so that checkouts of one cart are serialized.

use database::{DatabaseError, Snapshot, Work};
use primitives::{CartId, KeyId, MerchantId, Timestamp};

use crate::change::apply;
use crate::{Buyer, Cart, CartError, CartStatus, Destination, Edit, table};

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

/// Sets destination, buyer and shipping option of a cart whose checkout has started, as the person entered them on the
/// payment page. Without an option, the cheapest is selected.
pub async fn set_delivery(
    work: &mut Work,
    merchant: MerchantId,
    cart: &mut Cart,
    delivery: Delivery,
) -> Result<(), CartError> {
    cart.shipping_option = None;
    let buyer = delivery.buyer.map(Edit::Buyer);
    let option = delivery.shipping_option.map(Edit::Shipping);
    let edits: Vec<Edit> = [Some(Edit::Destination(delivery.destination)), buyer, option]
        .into_iter()
        .flatten()
        .collect();
    change_during_checkout(work, merchant, cart, &edits).await
}

/// Where a purchase is delivered, as the person states it.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub destination: Destination,
    /// `None` leaves the buyer unchanged.
    pub buyer: Option<Buyer>,
    pub shipping_option: Option<String>,
}

/// Before when carts must have been created to be purged.
#[derive(Debug, Clone, Copy)]
pub struct CartAges {
    pub sandbox: Timestamp,
    /// Carts that did not become an order.
    pub unsold: Timestamp,
    /// All carts.
    pub sold: Timestamp,
}

/// Returns carts of all stores that are to be purged, with the time of their creation, the oldest first. With a cart, only
/// those after it.
pub async fn find_old(
    sql: &mut Snapshot,
    ages: CartAges,
    after: Option<(Timestamp, CartId)>,
    limit: i64,
) -> Result<Vec<(MerchantId, CartId, Timestamp)>, DatabaseError> {
    Ok(table::find_old(sql, ages, after, limit).await?)
}

/// Deletes a cart.
pub async fn purge(work: &mut Work, merchant: MerchantId, id: CartId) -> Result<(), CartError> {
    Ok(table::delete(work, merchant, id).await?)
}

/// Removes the data of the buyer with this email address from carts of all stores whose checkout is over, and returns those
/// carts.
pub async fn erase_buyer(
    work: &mut Work,
    email: &str,
) -> Result<Vec<(MerchantId, CartId)>, CartError> {
    Ok(table::erase_buyer(work, email).await?)
}
