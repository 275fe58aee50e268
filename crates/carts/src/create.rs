//! A verb: making a cart.

use database::{Database, Reading, Work};
use merchants::Store;
use primitives::{CartId, KeyId};

use crate::read::{Priced, quote};
use crate::{Cart, CartError, CartStatus, Destination, Item, items, table};

/// What a cart is made of.
#[derive(Debug, Clone, Default)]
pub struct NewCart {
    /// What is in it; at least one.
    pub items: Vec<Item>,
    /// Where it goes, if that is known.
    pub destination: Option<Destination>,
    /// Codes, if there are some.
    pub codes: Vec<String>,
}

/// Makes a cart. Stock is looked at and not held.
pub async fn create(
    database: &Database,
    store: &Store,
    agent: KeyId,
    new: NewCart,
) -> Result<Priced, CartError> {
    if new.items.is_empty() {
        return Err(CartError::NoItems);
    }
    if new.codes.len() > crate::CODES_MAX {
        return Err(CartError::TooManyCodes);
    }
    let reading = Reading::for_store(database, store.merchant)?;
    let had = items::look_up(&reading, store.merchant, &new.items).await?;
    let currency = had.first().map_or(store.currency, |had| had.currency);
    let mut work = Work::for_store(database, store.merchant).await?;
    let now = work.now();
    let id: CartId = work.new_id();
    let mut lines = Vec::new();
    let messages = items::put_in(id, &mut lines, &had)?;
    let cart = Cart {
        id,
        agent,
        kept_status: CartStatus::Active,
        version: 1,
        currency,
        lines,
        destination: new.destination,
        shipping_option: None,
        codes: new.codes,
        created_at: now,
        updated_at: now,
    };
    table::insert(&mut work, store.merchant, &cart).await?;
    work.commit().await?;
    let mut quote = quote(&reading, store.merchant, &cart, now).await?;
    quote.messages.splice(0..0, messages);
    Ok(Priced { cart, quote, now })
}
