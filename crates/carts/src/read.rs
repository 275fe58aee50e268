//! A verb: reading a cart, with what it costs now.

use catalog::Product;
use database::{Database, Reading};
use merchants::{Settings, Store};
use primitives::{CartId, KeyId, MerchantId, Timestamp};

use crate::quote::World;
use crate::{Cart, CartError, Quote, QuoteHash, Terms, table};

/// A cart and what it costs at a moment.
#[derive(Debug, Clone)]
pub struct Priced {
    /// The cart.
    pub cart: Cart,
    /// What it costs.
    pub quote: Quote,
    /// What a person would agree to.
    pub terms: Terms,
    /// The hash of that.
    pub quote_hash: QuoteHash,
    /// When.
    pub now: Timestamp,
}

impl Priced {
    /// What a cart costs at a moment, with the products as they are, in whatever order.
    pub fn of(
        store: &Store,
        settings: &Settings,
        products: &[Product],
        cart: Cart,
        now: Timestamp,
    ) -> Result<Self, CartError> {
        let of_line = |line: &crate::Line| {
            products.iter().find(|product| product.id == line.item.product).cloned()
        };
        let products: Vec<Option<Product>> = cart.lines.iter().map(of_line).collect();
        let quote = Quote::of(&cart, &World { products: &products, settings, now })?;
        let terms = Terms::of(store, &settings.policies, &cart, &quote);
        let quote_hash = terms.hash()?;
        Ok(Self { cart, quote, terms, quote_hash, now })
    }
}

/// A cart of this store. With an agent, only its own: another's does not exist to it.
pub async fn cart(
    reading: &Reading,
    store: &Store,
    id: CartId,
    agent: Option<KeyId>,
) -> Result<Priced, CartError> {
    let mut snapshot = reading.open().await?;
    let now = snapshot.now().await?;
    let found = table::find(&mut snapshot, store.merchant, id).await?;
    snapshot.close().await?;
    let cart = found.filter(|cart| agent.is_none_or(|agent| agent == cart.owner.key));
    price(reading, store, cart.ok_or(CartError::NotFound)?, now).await
}

/// What anybody who knows its id may see of a cart that can still be bought.
pub async fn preview(reading: &Reading, store: &Store, id: CartId) -> Result<Priced, CartError> {
    let priced = cart(reading, store, id, None).await?;
    priced.cart.usable(priced.now)?;
    Ok(priced)
}

/// The store a cart of this agent is of: it names a cart by its id alone. Another's does not exist to it.
pub async fn owner(database: &Database, id: CartId, agent: KeyId) -> Result<MerchantId, CartError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let owner = table::owner(&mut snapshot, id, agent).await?;
    snapshot.close().await?;
    owner.ok_or(CartError::NotFound)
}

/// What a cart costs at a moment.
pub async fn price(
    reading: &Reading,
    store: &Store,
    cart: Cart,
    now: Timestamp,
) -> Result<Priced, CartError> {
    let (ids, shelf) = (cart.products(), cart.owner.shelf());
    let products = catalog::products_on(reading, store.merchant, &ids, shelf).await?;
    let current = merchants::settings(reading, store.merchant).await?;
    Priced::of(store, &current.settings, &products, cart, now)
}
