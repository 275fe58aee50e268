//! A verb: creating a cart.

use database::{Database, Reading, Work};
use jobs::{Claim, IdempotencyKey};
use merchants::Store;
use primitives::CartId;

use crate::read::{PricedCart, price};
use crate::{
    Buyer, Cart, CartError, CartOwner, CartStatus, Destination, Item, discount, idempotency, items,
    table,
};

/// The content of a new cart.
#[derive(Debug, Clone, Default)]
pub struct NewCart {
    /// At least one.
    pub items: Vec<Item>,
    pub destination: Option<Destination>,
    pub buyer: Option<Buyer>,
    /// Discount codes.
    pub codes: Vec<String>,
    /// The id of the shipping option; `None` selects the cheapest.
    pub shipping_option: Option<String>,
}

/// Creates a cart. Stock is checked and not held. With an idempotency key, a replay returns the cart created first.
pub async fn create(
    database: &Database,
    store: &Store,
    owner: &CartOwner,
    new: NewCart,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<PricedCart, CartError> {
    if new.items.is_empty() {
        return Err(CartError::NoItems);
    }
    let (codes, destination, buyer) = validated(&new)?;
    let reading = Reading::for_store(database, store.merchant)?;
    let available =
        items::check_availability(&reading, store, owner.stock_pool(), &new.items).await;
    if idempotency_key.is_none()
        && let Err(error) = available
    {
        return Err(error);
    }
    let mut work = Work::for_store(database, store.merchant).await?;
    // The key is claimed first: a replay succeeds even if the write would fail now.
    if let Claim::Replay(response) = idempotency::claim(&mut work, idempotency_key).await? {
        work.rollback().await?;
        let id = idempotency::replayed_cart(&response)?;
        return crate::cart(&reading, store, id, Some(owner.key)).await;
    }
    let available = available?;
    let currency = available.first().map_or(store.currency, |item| item.currency);
    let now = work.now();
    let id: CartId = work.new_id();
    let mut lines = Vec::new();
    let messages = items::add_to_lines(id, &mut lines, &available)?;
    let cart = Cart {
        id,
        owner: owner.clone(),
        stored_status: CartStatus::Active,
        version: 1,
        currency,
        lines,
        destination,
        buyer,
        shipping_option: new.shipping_option,
        codes,
        created_at: now,
        updated_at: now,
    };
    ensure_offered(&mut work, store, &cart).await?;
    table::insert(&mut work, store.merchant, &cart).await?;
    idempotency::record_response(&mut work, idempotency_key, id).await?;
    work.commit().await?;
    let mut priced = price(&reading, store, cart, now).await?;
    priced.quote.messages.splice(0..0, messages);
    Ok(priced)
}

/// Returns `ShippingOptionNotFound` if the cart names a shipping option that is not offered for it.
async fn ensure_offered(work: &mut Work, store: &Store, cart: &Cart) -> Result<(), CartError> {
    if cart.shipping_option.is_none() {
        return Ok(());
    }
    let (merchant, now) = (store.merchant, work.now());
    let (ids, pool) = (cart.products(), cart.owner.stock_pool());
    let products = catalog::products_for_sale(work, merchant, &ids, pool).await?;
    let settings = merchants::settings_now(work, merchant).await?;
    PricedCart::new(store, &settings, &products, cart.clone(), now)?.ensure_option_offered()
}

type Validated = (Vec<String>, Option<Destination>, Option<Buyer>);

/// Returns the caller's text in its normalized form.
fn validated(new: &NewCart) -> Result<Validated, CartError> {
    let codes = discount::validate_codes(&new.codes)?;
    let destination = new.destination.clone().map(Destination::validated).transpose()?;
    let buyer = new.buyer.clone().map(Buyer::validated).transpose()?;
    Ok((codes, destination, buyer))
}
