//! Revalidation of a cart in the work that decides: standing, settings, prices and stock are read again, never from a cache.

use carts::{Cart, PricedCart};
use catalog::Product;
use database::Work;
use merchants::{Settings, Store};

use crate::{CheckoutContext, CheckoutError};

/// A cart with the current store, settings, prices and stock.
pub(crate) struct Revalidated {
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    pub(crate) priced: PricedCart,
    /// In the order of the cart's lines.
    pub(crate) comparisons: Vec<LineComparison>,
}

/// A line of a cart compared with the current offer.
#[derive(Debug, Clone)]
pub(crate) struct LineComparison {
    /// The unit price when the item was added.
    pub(crate) listed_minor: i64,
    /// The current unit price; `None` if the item is no longer sold.
    pub(crate) live_minor: Option<i64>,
    /// Whether the line's quantity is available.
    pub(crate) was_available: bool,
}

/// Revalidates a cart that is to be completed. Prices and stock are not locked: holding the units checks the stock again.
pub(crate) async fn revalidate(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    cart: Cart,
) -> Result<Revalidated, CheckoutError> {
    let revalidated = revalidate_completed(work, context, cart).await?;
    let priced = context.gateway.with_store_messages(revalidated.priced, &revalidated.store);
    Ok(Revalidated { priced, ..revalidated })
}

/// Revalidates a cart that was completed. What a store needs for a checkout to start does not count.
pub(crate) async fn revalidate_completed(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    cart: Cart,
) -> Result<Revalidated, CheckoutError> {
    let merchant = context.merchant();
    let (store, settings) = merchants::store_and_settings_now(work, merchant).await?;
    let (ids, pool) = (cart.products(), cart.owner.stock_pool());
    let products = catalog::products_for_sale(work, merchant, &ids, pool).await?;
    let comparisons = compare(&cart, &products);
    let priced = PricedCart::new(&store, &settings, &products, cart, work.now())?;
    Ok(Revalidated { store, settings, priced, comparisons })
}

fn compare(cart: &Cart, products: &[Product]) -> Vec<LineComparison> {
    let comparisons = cart.lines.iter().map(|line| {
        let product = products.iter().find(|product| product.id == line.item.product);
        let offer = product.and_then(|product| product.offer(line.item.variant));
        let offer = offer.filter(|offer| offer.price.currency() == cart.currency);
        LineComparison {
            listed_minor: line.unit_minor,
            live_minor: offer.map(|offer| offer.price.minor()),
            was_available: offer
                .is_some_and(|offer| offer.covers(i64::from(line.item.quantity.get()))),
        }
    });
    comparisons.collect()
}

impl Revalidated {
    /// Returns an error unless agents may start a checkout at the store.
    pub(crate) fn ensure_agent_checkout(&self) -> Result<(), CheckoutError> {
        self.store.admit()?;
        if self.store.standing.allows_agent_checkout() {
            Ok(())
        } else {
            Err(CheckoutError::BelowThreshold)
        }
    }

    /// Returns an error unless no required data is missing and every item is available.
    pub(crate) fn ensure_ready(&self) -> Result<(), CheckoutError> {
        let quote = &self.priced.quote;
        if quote.is_ready() {
            return Ok(());
        }
        let blocking = quote.messages.iter().filter(|message| message.is_blocking()).cloned();
        let messages: Vec<_> = blocking.collect();
        match self.comparisons.iter().position(|line| !line.was_available) {
            Some(index) if quote.missing.is_empty() => Err(CheckoutError::OutOfStock { index }),
            _ => Err(CheckoutError::NotReady { missing: quote.missing.clone(), messages }),
        }
    }
}
