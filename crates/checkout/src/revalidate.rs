//! Revalidation of a cart in the work that decides: standing, settings, prices and stock are read again, never from a cache.

use carts::{Cart, PricedCart};
use catalog::Product;
use database::Work;
use merchants::{Settings, Store};
use payments::PaymentMethod;

use crate::{CheckoutContext, CheckoutError, PageMethods, PaymentPage};

/// A cart with the current store, settings, prices and stock.
pub(crate) struct Revalidated {
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    pub(crate) priced: PricedCart,
    /// What a person can pay with on the hosted page.
    pub(crate) methods: PageMethods,
    /// What an agent can name.
    accepted: Vec<PaymentMethod>,
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
    let mut revalidated = revalidate_completed(work, context, cart).await?;
    let is_page_open = !revalidated.methods.is_empty();
    revalidated.priced.add_store_messages(&revalidated.store, is_page_open);
    Ok(revalidated)
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
    let (gateway, is_sandbox) = (context.gateway, cart.owner.is_sandbox);
    let methods = gateway.methods_now(work, merchant, is_sandbox).await?;
    let accepted = gateway.accepted_methods(&methods, &settings, is_sandbox, store.currency);
    let comparisons = compare(&cart, &products);
    let priced = PricedCart::new(&store, &settings, &products, cart, work.now())?;
    Ok(Revalidated { store, settings, priced, methods, accepted, comparisons })
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

    /// Returns `NoPaymentPage` if a person could pay neither on a page of the store nor on the hosted page.
    pub(crate) fn ensure_payment_page(&self) -> Result<(), CheckoutError> {
        let is_sandbox = self.priced.cart.owner.is_sandbox;
        let page = PaymentPage::of(&self.settings, &self.methods, is_sandbox);
        page.map(drop).ok_or(CheckoutError::NoPaymentPage)
    }

    /// Returns `MethodNotAccepted` if an agent names a payment method that does not work at the store.
    pub(crate) fn ensure_method(&self, method: Option<PaymentMethod>) -> Result<(), CheckoutError> {
        match method {
            Some(method) if !self.accepted.contains(&method) => {
                Err(CheckoutError::MethodNotAccepted { accepted: self.accepted.clone() })
            }
            _ => Ok(()),
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
