//! A verb: what things would cost, without making a cart of them.

use catalog::Shelf;
use database::Reading;
use merchants::Store;
use primitives::{CartId, Id, KeyId};

use crate::read::{Priced, price};
use crate::{Cart, CartError, CartStatus, Destination, Item, Owner, Quote, items};

/// What these items would cost, sent there. Nothing is kept.
pub async fn estimate(
    reading: &Reading,
    store: &Store,
    wanted: &[Item],
    destination: Option<Destination>,
) -> Result<Quote, CartError> {
    if wanted.is_empty() {
        return Err(CartError::NoItems);
    }
    let destination = destination.map(Destination::checked).transpose()?;
    let had = items::look_up(reading, store.merchant, Shelf::Store, wanted).await?;
    let mut snapshot = reading.open().await?;
    let now = snapshot.now().await?;
    snapshot.close().await?;
    let id = CartId::from_random(0);
    let mut lines = Vec::new();
    let messages = items::put_in(id, &mut lines, &had)?;
    let cart = Cart {
        id,
        owner: Owner { key: KeyId::from_random(0), name: String::new(), is_sandbox: false },
        kept_status: CartStatus::Active,
        version: 1,
        currency: had.first().map_or(store.currency, |had| had.currency),
        lines,
        destination,
        buyer: None,
        shipping_option: None,
        codes: Vec::new(),
        created_at: now,
        updated_at: now,
    };
    let mut quote = price(reading, store, cart, now).await?.quote;
    quote.messages.splice(0..0, messages);
    Ok(quote)
}

/// What a cart would cost, sent there.
pub async fn estimate_cart(
    reading: &Reading,
    store: &Store,
    priced: Priced,
    destination: Destination,
) -> Result<Quote, CartError> {
    let Priced { mut cart, now, .. } = priced;
    cart.destination = Some(destination.checked()?);
    Ok(price(reading, store, cart, now).await?.quote)
}
