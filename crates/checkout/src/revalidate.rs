//! Looking at everything again, in the work that decides: standing, settings, prices, stock. Nothing of it comes from a cache.

use carts::{Cart, Priced};
use catalog::Product;
use database::Work;
use merchants::{Settings, Store};
use orders::OrderLine;
use primitives::{KeyId, LineId, MerchantId, Money, ProductId};

use crate::{CheckoutError, Counter};

/// What was found.
pub(crate) struct Looked {
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    pub(crate) priced: Priced,
    /// Each line held against the facts.
    pub(crate) compared: Vec<Compared>,
}

/// A line held against the facts.
#[derive(Debug, Clone)]
pub(crate) struct Compared {
    pub(crate) line: LineId,
    pub(crate) product: ProductId,
    pub(crate) agent: KeyId,
    pub(crate) listed_minor: i64,
    pub(crate) live_minor: Option<i64>,
    pub(crate) was_available: bool,
}

/// Looks at a cart. Nobody is kept from changing a price or taking a unit meanwhile: what is taken is asked for again.
pub(crate) async fn look(
    work: &mut Work,
    counter: &Counter<'_>,
    cart: Cart,
) -> Result<Looked, CheckoutError> {
    let merchant = counter.merchant();
    let store = merchants::store_now(work, merchant).await?;
    let settings = merchants::settings_now(work, merchant).await?;
    let (ids, shelf) = (cart.products(), cart.owner.shelf());
    let products = catalog::products_for_sale(work, merchant, &ids, shelf).await?;
    let compared = compare(&cart, &products);
    let priced = Priced::of(&store, &settings, &products, cart, work.now())?;
    Ok(Looked { store, settings, priced, compared })
}

fn compare(cart: &Cart, products: &[Product]) -> Vec<Compared> {
    let compared = cart.lines.iter().map(|line| {
        let product = products.iter().find(|product| product.id == line.item.product);
        let offer = product.and_then(|product| product.offer(line.item.variant));
        let offer = offer.filter(|offer| offer.price.currency() == cart.currency);
        Compared {
            line: line.id,
            product: line.item.product,
            agent: cart.owner.key,
            listed_minor: line.unit_minor,
            live_minor: offer.map(|offer| offer.price.minor()),
            was_available: offer
                .is_some_and(|offer| offer.covers(i64::from(line.item.quantity.get()))),
        }
    });
    compared.collect()
}

impl Looked {
    /// Whether agents may buy here at all.
    pub(crate) fn admit(&self) -> Result<(), CheckoutError> {
        self.store.admit()?;
        if self.store.standing.takes_checkout() {
            Ok(())
        } else {
            Err(CheckoutError::BelowThreshold)
        }
    }

    /// Whether nothing is missing and everything can be had.
    pub(crate) fn ready(&self) -> Result<(), CheckoutError> {
        let quote = &self.priced.quote;
        if quote.is_ready() {
            return Ok(());
        }
        let in_the_way = quote.messages.iter().filter(|message| message.is_in_the_way()).cloned();
        let messages: Vec<_> = in_the_way.collect();
        let short = self.compared.iter().position(|compared| !compared.was_available);
        match short {
            Some(place) if quote.missing.is_empty() => Err(CheckoutError::OutOfStock { place }),
            _ => Err(CheckoutError::NotReady { missing: quote.missing.clone(), messages }),
        }
    }

    /// Whether prices are what the agent saw when it put the items in.
    pub(crate) fn prices_hold(&self) -> Result<(), CheckoutError> {
        let money = |minor: i64| Money::new(minor, self.priced.cart.currency);
        let moved = self.compared.iter().enumerate().filter_map(|(place, compared)| {
            let live = compared.live_minor.filter(|live| *live != compared.listed_minor)?;
            Some((place, money(compared.listed_minor), money(live)))
        });
        let changes: Vec<_> = moved.collect();
        if changes.is_empty() {
            return Ok(());
        }
        Err(CheckoutError::PriceChanged { changes, current: self.priced.quote_hash })
    }

    /// What is bought, line by line.
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

    /// What it costs.
    pub(crate) fn total(&self) -> Money {
        Money::new(self.priced.quote.total_minor, self.priced.quote.currency)
    }
}

/// Writes down what was found, once for each line of a cart: asking again and again makes no store look worse.
pub(crate) async fn record(
    work: &mut Work,
    merchant: MerchantId,
    cart: &Cart,
    compared: &[Compared],
) -> Result<(), CheckoutError> {
    if cart.owner.is_sandbox {
        return Ok(());
    }
    Ok(crate::table::insert_comparisons(work, merchant, cart.id, compared).await?)
}
