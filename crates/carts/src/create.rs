//! A verb: making a cart.

use database::{Database, Reading, Work};
use jobs::{Claim, IdempotencyKey};
use merchants::Store;
use primitives::CartId;

use crate::read::{Priced, price};
use crate::{
    Buyer, Cart, CartError, CartStatus, Destination, Item, Owner, discount, items, once, table,
};

/// What a cart is made of.
#[derive(Debug, Clone, Default)]
pub struct NewCart {
    /// What is in it; at least one.
    pub items: Vec<Item>,
    /// Where it goes, if that is known.
    pub destination: Option<Destination>,
    /// Who buys, if that is known.
    pub buyer: Option<Buyer>,
    /// Codes, if there are some.
    pub codes: Vec<String>,
}

/// Makes a cart. Stock is looked at and not held. With a key, it is made once, however often it is asked for.
pub async fn create(
    database: &Database,
    store: &Store,
    owner: &Owner,
    new: NewCart,
    once: Option<&IdempotencyKey>,
) -> Result<Priced, CartError> {
    if new.items.is_empty() {
        return Err(CartError::NoItems);
    }
    let (codes, destination, buyer) = checked(&new)?;
    let reading = Reading::for_store(database, store.merchant)?;
    let had = items::look_up(&reading, store.merchant, owner.shelf(), &new.items).await;
    if once.is_none()
        && let Err(error) = had
    {
        return Err(error);
    }
    let mut work = Work::for_store(database, store.merchant).await?;
    // What was done before may not be possible any more: the key is asked first.
    if let Claim::Replay(answer) = once::claim(&mut work, once).await? {
        work.abandon().await?;
        return crate::cart(&reading, store, once::cart_of(&answer)?, Some(owner.key)).await;
    }
    let had = had?;
    let currency = had.first().map_or(store.currency, |had| had.currency);
    let now = work.now();
    let id: CartId = work.new_id();
    let mut lines = Vec::new();
    let messages = items::put_in(id, &mut lines, &had)?;
    let cart = Cart {
        id,
        owner: owner.clone(),
        kept_status: CartStatus::Active,
        version: 1,
        currency,
        lines,
        destination,
        buyer,
        shipping_option: None,
        codes,
        created_at: now,
        updated_at: now,
    };
    table::insert(&mut work, store.merchant, &cart).await?;
    once::answer(&mut work, once, id).await?;
    work.commit().await?;
    let mut priced = price(&reading, store, cart, now).await?;
    priced.quote.messages.splice(0..0, messages);
    Ok(priced)
}

type Typed = (Vec<String>, Option<Destination>, Option<Buyer>);

/// What was typed, as it is kept.
fn checked(new: &NewCart) -> Result<Typed, CartError> {
    let codes = discount::checked_codes(&new.codes)?;
    let destination = new.destination.clone().map(Destination::checked).transpose()?;
    let buyer = new.buyer.clone().map(Buyer::checked).transpose()?;
    Ok((codes, destination, buyer))
}
