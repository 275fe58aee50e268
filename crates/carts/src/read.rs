//! A verb: reading a cart, with what it costs now.

use catalog::Product;
use database::Reading;
use primitives::{CartId, KeyId, MerchantId, Timestamp};

use crate::quote::World;
use crate::{Cart, CartError, Quote, table};

/// A cart and what it costs at a moment.
#[derive(Debug, Clone)]
pub struct Priced {
    /// The cart.
    pub cart: Cart,
    /// What it costs.
    pub quote: Quote,
    /// When.
    pub now: Timestamp,
}

/// A cart of this store. With an agent, only its own: another's does not exist to it.
pub async fn cart(
    reading: &Reading,
    merchant: MerchantId,
    id: CartId,
    agent: Option<KeyId>,
) -> Result<Priced, CartError> {
    let mut snapshot = reading.open().await?;
    let now = snapshot.now().await?;
    let found = table::find(&mut snapshot, merchant, id).await?;
    snapshot.close().await?;
    let cart = found.filter(|cart| agent.is_none_or(|agent| agent == cart.agent));
    let cart = cart.ok_or(CartError::NotFound)?;
    let quote = quote(reading, merchant, &cart, now).await?;
    Ok(Priced { cart, quote, now })
}

/// What a cart costs at a moment.
pub async fn quote(
    reading: &Reading,
    merchant: MerchantId,
    cart: &Cart,
    now: Timestamp,
) -> Result<Quote, CartError> {
    let keys: Vec<_> = cart.lines.iter().map(|line| (merchant, line.item.product)).collect();
    let found = catalog::products_of(reading, &keys).await?;
    let of_line = |line: &crate::Line| -> Option<Product> {
        found.iter().find(|(_, product)| product.id == line.item.product).map(|(_, it)| it.clone())
    };
    let products: Vec<Option<Product>> = cart.lines.iter().map(of_line).collect();
    let current = merchants::settings(reading, merchant).await?;
    Quote::of(cart, &World { products: &products, settings: &current.settings, now })
}
