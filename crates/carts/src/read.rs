//! A verb: reading a cart with its current price.

use catalog::Product;
use database::{Database, Reading};
use merchants::{Settings, Store};
use primitives::{CartId, KeyId, MerchantId, Timestamp};

use crate::quote::{PricingInputs, is_paid_at_store, message};
use crate::{Cart, CartError, Quote, QuoteHash, Terms, table};

/// A cart and its price at one time.
#[derive(Debug, Clone)]
pub struct PricedCart {
    pub cart: Cart,
    pub quote: Quote,
    /// What a person approves.
    pub terms: Terms,
    /// The hash of the terms.
    pub quote_hash: QuoteHash,
    /// Whether a person pays on a page of the store.
    is_paid_at_store: bool,
    /// When the cart was priced, by the database's clock.
    pub now: Timestamp,
}

impl PricedCart {
    /// Prices a cart at `now`. `products` may be in any order and incomplete.
    pub fn new(
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
        let inputs = PricingInputs { products: &products, settings, country: &store.country, now };
        let quote = Quote::new(&cart, &inputs)?;
        let terms = Terms::new(store, &settings.policies, &cart, &quote);
        let quote_hash = terms.hash()?;
        let is_paid_at_store = is_paid_at_store(&cart, settings);
        Ok(Self { cart, quote, terms, quote_hash, is_paid_at_store, now })
    }

    /// Adds a blocking message for each reason why the store accepts no checkout of any cart: its trust score is too low for
    /// agents, or nobody could pay. `is_hosted_page_open` is whether the hosted page accepts payments for the cart.
    pub fn add_store_messages(&mut self, store: &Store, is_hosted_page_open: bool) {
        let has_page = self.is_paid_at_store || is_hosted_page_open;
        let messages = message::of_store(store.standing.allows_agent_checkout(), has_page);
        self.quote.messages.extend(messages);
    }

    /// Returns `ShippingOptionNotFound` if the cart names a shipping option that is not offered for it.
    pub(crate) fn ensure_option_offered(&self) -> Result<(), CartError> {
        if self.cart.shipping_option == self.quote.selected_option {
            return Ok(());
        }
        let allowed = self.quote.options.iter().map(|option| option.id.clone()).collect();
        Err(CartError::ShippingOptionNotFound { allowed })
    }
}

/// Returns a cart of this store. With an agent, `NotFound` if another agent owns it.
pub async fn cart(
    reading: &Reading,
    store: &Store,
    id: CartId,
    agent: Option<KeyId>,
) -> Result<PricedCart, CartError> {
    let (now, found) = reading
        .run(async |sql| {
            let now = sql.now().await?;
            Ok::<_, CartError>((now, table::find(sql, store.merchant, id).await?))
        })
        .await?;
    let cart = found.filter(|cart| agent.is_none_or(|agent| agent == cart.owner.key));
    price(reading, store, cart.ok_or(CartError::NotFound)?, now).await
}

/// Returns a cart that can still be bought, for any caller that has its id.
pub async fn preview(
    reading: &Reading,
    store: &Store,
    id: CartId,
) -> Result<PricedCart, CartError> {
    let priced = cart(reading, store, id, None).await?;
    priced.cart.ensure_usable(priced.now)?;
    Ok(priced)
}

/// Returns the merchant of a cart, for requests that name a cart without its store. `NotFound` if another agent owns it.
pub async fn merchant_of(
    database: &Database,
    id: CartId,
    agent: KeyId,
) -> Result<MerchantId, CartError> {
    let reading = Reading::for_platform(database);
    let found: Option<MerchantId> = reading
        .run(async |sql| Ok::<_, CartError>(table::merchant_of(sql, id, agent).await?))
        .await?;
    found.ok_or(CartError::NotFound)
}

/// Prices a cart at `now` with the current products and settings.
pub async fn price(
    reading: &Reading,
    store: &Store,
    cart: Cart,
    now: Timestamp,
) -> Result<PricedCart, CartError> {
    let (ids, pool) = (cart.products(), cart.owner.stock_pool());
    let products = catalog::products_in_pool(reading, store.merchant, &ids, pool).await?;
    let current = merchants::settings(reading, store.merchant).await?;
    PricedCart::new(store, &current.settings, &products, cart, now)
}
