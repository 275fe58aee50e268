//! What is asked for, held against what can be had.

use catalog::{Offer, Product, Shelf};
use database::Reading;
use primitives::{CartId, Currency, Id, LineId, MerchantId};
use sha2::{Digest, Sha256};

use crate::quote::Message;
use crate::{CartError, Item, Line, Quantity};

/// An item that can be had, as many of it as there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Had {
    pub(crate) item: Item,
    pub(crate) unit_minor: i64,
    pub(crate) currency: Currency,
    /// How many were asked for, if there are fewer.
    pub(crate) asked: Option<u32>,
}

/// Looks every item up. What is not there, has to be named closer or cannot be had at all is refused; of what there is too
/// little, there is as much as there is.
pub(crate) async fn look_up(
    reading: &Reading,
    merchant: MerchantId,
    shelf: Shelf,
    items: &[Item],
) -> Result<Vec<Had>, CartError> {
    let ids: Vec<_> = items.iter().map(|item| item.product).collect();
    let products = catalog::products_on(reading, merchant, &ids, shelf).await?;
    let mut had = Vec::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        let product = products.iter().find(|product| product.id == item.product);
        let product = product.ok_or(CartError::ProductNotFound { place })?;
        had.push(have(place, item, product)?);
    }
    let first = had.first().map(|had| had.currency);
    match had.iter().position(|had| Some(had.currency) != first) {
        Some(place) => Err(CartError::MixedCurrencies { place }),
        None => Ok(had),
    }
}

fn have(place: usize, item: &Item, product: &Product) -> Result<Had, CartError> {
    if item.variant.is_none() && !product.variants.is_empty() {
        return Err(CartError::VariantUnnamed { place });
    }
    let offer = product.offer(item.variant).ok_or(CartError::ProductNotFound { place })?;
    let asked = item.quantity.get();
    let there = most(&offer);
    let quantity = Quantity::new(i64::from(asked.min(there)));
    let quantity = quantity.map_err(|_| CartError::OutOfStock { place })?;
    Ok(Had {
        item: Item { quantity, ..*item },
        unit_minor: offer.price.minor(),
        currency: offer.price.currency(),
        asked: (asked > there).then_some(asked),
    })
}

/// How many can be had at once.
fn most(offer: &Offer) -> u32 {
    if !offer.stock_status.is_at_hand() {
        return 0;
    }
    offer.stock_quantity.map_or(u32::MAX, |there| u32::try_from(there).unwrap_or(0))
}

/// Puts items into lines: more of what is there already, a new line for what is not.
pub(crate) fn put_in(
    cart: CartId,
    lines: &mut Vec<Line>,
    had: &[Had],
) -> Result<Vec<Message>, CartError> {
    let mut messages = Vec::new();
    for had in had {
        let same = |line: &Line| {
            (line.item.product, line.item.variant) == (had.item.product, had.item.variant)
        };
        let place = lines.iter().position(same);
        let place = if let Some(place) = place {
            let line = &mut lines[place];
            let more = line.item.quantity.get() + had.item.quantity.get();
            line.item.quantity = Quantity::new(i64::from(more))?;
            line.unit_minor = had.unit_minor;
            place
        } else {
            let (id, item) = (line_id(cart, &had.item), had.item);
            lines.push(Line { id, item, unit_minor: had.unit_minor });
            lines.len() - 1
        };
        if let Some(asked) = had.asked {
            messages.push(Message::adjusted(place, asked, had.item.quantity.get()));
        }
    }
    if lines.len() > crate::LINES_MAX {
        return Err(CartError::TooManyLines);
    }
    Ok(messages)
}

/// A line is named by what it is of: the same thing put in again is the same line.
fn line_id(cart: CartId, item: &Item) -> LineId {
    let mut digest = Sha256::new();
    digest.update(cart.uuid());
    digest.update(item.product.uuid());
    if let Some(variant) = item.variant {
        digest.update(variant.uuid());
    }
    let bytes = digest.finalize();
    LineId::from_random(bytes.iter().take(16).fold(0, |bits, byte| bits << 8 | u128::from(*byte)))
}
