//! Revalidation of a cart in the work that decides: standing, settings, prices and stock are read again, never from a cache.

use carts::{Cart, PricedCart};
use catalog::Product;
use database::Work;
use merchants::{Settings, Store};
use orders::OrderLine;
use primitives::{KeyId, LineId, MerchantId, Money, ProductId};

use crate::{CheckoutContext, CheckoutError, PriceChange};

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
    pub(crate) line: LineId,
    pub(crate) product: ProductId,
    pub(crate) agent: KeyId,
    /// The unit price when the item was added.
    pub(crate) listed_minor: i64,
    /// The current unit price; `None` if the item is no longer sold.
    pub(crate) live_minor: Option<i64>,
    /// Whether the line's quantity is available.
    pub(crate) was_available: bool,
}

/// Revalidates a cart. Prices and stock are not locked: holding the units checks the stock again.
pub(crate) async fn revalidate(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    cart: Cart,
) -> Result<Revalidated, CheckoutError> {
    let merchant = context.merchant();
    let store = merchants::store_now(work, merchant).await?;
    let settings = merchants::settings_now(work, merchant).await?;
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
            line: line.id,
            product: line.item.product,
            agent: cart.owner.key,
            listed_minor: line.unit_minor,
            live_minor: offer.map(|offer| offer.price.minor()),
            was_available: offer
                .is_some_and(|offer| offer.covers(i64::from(line.item.quantity.get()))),
        }
    });
    comparisons.collect()
}

impl Revalidated {
    /// Returns an error unless agents may buy at the store.
    pub(crate) fn ensure_agent_checkout(&self) -> Result<(), CheckoutError> {
        self.store.admit()?;
        if self.store.standing.allows_agent_checkout() {
            Ok(())
        } else {
            Err(CheckoutError::BelowThreshold)
        }
    }

    /// Returns an error if required data is missing or an item is not available.
    pub(crate) fn ensure_ready(&self) -> Result<(), CheckoutError> {
        let quote = &self.priced.quote;
        if quote.is_ready() {
            return Ok(());
        }
        let blocking = quote.messages.iter().filter(|message| message.is_blocking()).cloned();
        let messages: Vec<_> = blocking.collect();
        let unavailable = self.comparisons.iter().position(|line| !line.was_available);
        match unavailable {
            Some(index) if quote.missing.is_empty() => Err(CheckoutError::OutOfStock { index }),
            _ => Err(CheckoutError::NotReady { missing: quote.missing.clone(), messages }),
        }
    }

    /// Returns an error if a price differs from the one when the item was added.
    pub(crate) fn ensure_prices_unchanged(&self) -> Result<(), CheckoutError> {
        let money = |minor: i64| Money::new(minor, self.priced.cart.currency);
        let price_changes = self.comparisons.iter().enumerate().filter_map(|(index, line)| {
            let live = line.live_minor.filter(|live| *live != line.listed_minor)?;
            Some(PriceChange { index, listed: money(line.listed_minor), live: money(live) })
        });
        let changes: Vec<_> = price_changes.collect();
        if changes.is_empty() {
            return Ok(());
        }
        Err(CheckoutError::PriceChanged { changes, current: self.priced.quote_hash })
    }

    /// Returns the lines of the session and its order.
    pub(crate) fn lines(&self) -> Vec<OrderLine> {
        let line = |line: &carts::QuotedLine| OrderLine {
            line: line.id,
            product: line.product,
            variant: line.variant,
            sku: line.sku.clone(),
            name: line.name.clone(),
            quantity: line.quantity,
            unit_minor: line.unit_minor,
            total_minor: line.total_minor,
        };
        self.priced.quote.lines.iter().map(line).collect()
    }

    /// Returns the total.
    pub(crate) fn total(&self) -> Money {
        Money::new(self.priced.quote.total_minor, self.priced.quote.currency)
    }
}

/// Records the comparisons, once for each line of a cart: repeated attempts do not lower the trust score further.
pub(crate) async fn record_comparisons(
    work: &mut Work,
    merchant: MerchantId,
    cart: &Cart,
    comparisons: &[LineComparison],
) -> Result<(), CheckoutError> {
    if cart.owner.is_sandbox {
        return Ok(());
    }
    Ok(crate::table::insert_comparisons(work, merchant, cart.id, comparisons).await?)
}
