//! Requested items and their availability.

use catalog::{Offer, Product, StockPool};
use database::Reading;
use merchants::Store;
use primitives::{CartId, Currency, Id, LineId, ProductId, VariantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::quote::Message;
use crate::{CartError, Item, Line, Quantity};

/// A cart item.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ItemRequest {
    /// Product id of this store.
    pub product_id: ProductId,
    /// Required if the product has several variants.
    pub variant_id: Option<VariantId>,
    /// Default 1.
    #[schemars(range(min = 1, max = Quantity::MAX))]
    pub quantity: Option<i64>,
}

impl ItemRequest {
    /// Returns the requested items, or `InvalidQuantity` if a quantity is out of range.
    pub fn parse(requests: &[Self]) -> Result<Vec<Item>, CartError> {
        let item = |request: &Self| {
            let quantity = request.quantity.map_or(Ok(Quantity::ONE), Quantity::new)?;
            Ok(Item { product: request.product_id, variant: request.variant_id, quantity })
        };
        requests.iter().map(item).collect()
    }
}

/// An item with the quantity that is available, at most the requested one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AvailableItem {
    pub(crate) item: Item,
    pub(crate) unit_minor: i64,
    pub(crate) currency: Currency,
    /// The requested quantity, if fewer units are available.
    pub(crate) requested: Option<u32>,
}

/// Checks every item against the catalog. Returns an error for an unknown product or variant, a missing variant, another
/// currency than the store's or an item without stock; reduces the quantity of an item with too little stock.
pub(crate) async fn check_availability(
    reading: &Reading,
    store: &Store,
    pool: StockPool,
    items: &[Item],
) -> Result<Vec<AvailableItem>, CartError> {
    if items.len() > crate::LINES_MAX {
        return Err(CartError::TooManyLines);
    }
    let ids: Vec<_> = items.iter().map(|item| item.product).collect();
    let products = catalog::products_in_pool(reading, store.merchant, &ids, pool).await?;
    let mut available = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let product = products.iter().find(|product| product.id == item.product);
        let product = product.ok_or(CartError::ProductNotFound { index })?;
        available.push(available_item(index, item, product)?);
    }
    match available.iter().position(|item| item.currency != store.currency) {
        Some(index) => Err(CartError::UnsupportedCurrency { index, supported: store.currency }),
        None => Ok(available),
    }
}

fn available_item(
    index: usize,
    item: &Item,
    product: &Product,
) -> Result<AvailableItem, CartError> {
    // A product with a single variant leaves no choice.
    let variant = match (item.variant, product.variants.as_slice()) {
        (None, [only]) => Some(only.id),
        (None, [_, ..]) => return Err(CartError::VariantRequired { index }),
        (named, _) => named,
    };
    let offer = product.offer(variant).ok_or(CartError::ProductNotFound { index })?;
    let requested = item.quantity.get();
    let available = available_units(&offer);
    let quantity = Quantity::new(i64::from(requested.min(available)));
    let quantity = quantity.map_err(|_| CartError::OutOfStock { index })?;
    Ok(AvailableItem {
        item: Item { variant, quantity, ..*item },
        unit_minor: offer.price.minor(),
        currency: offer.price.currency(),
        requested: (requested > available).then_some(requested),
    })
}

/// Returns how many units are available now; `u32::MAX` if the merchant states no quantity.
fn available_units(offer: &Offer) -> u32 {
    if !offer.stock_status.is_available() {
        return 0;
    }
    offer.stock_quantity.map_or(u32::MAX, |quantity| u32::try_from(quantity).unwrap_or(0))
}

/// Adds items to lines: increases the quantity of an existing line, otherwise appends a line.
pub(crate) fn add_to_lines(
    cart: CartId,
    lines: &mut Vec<Line>,
    available: &[AvailableItem],
) -> Result<Vec<Message>, CartError> {
    let mut messages = Vec::new();
    for added in available {
        let is_same = |line: &Line| {
            (line.item.product, line.item.variant) == (added.item.product, added.item.variant)
        };
        let existing = lines.iter().position(is_same);
        let index = if let Some(index) = existing {
            let line = &mut lines[index];
            let quantity = line.item.quantity.get() + added.item.quantity.get();
            line.item.quantity = Quantity::new(i64::from(quantity))?;
            line.unit_minor = added.unit_minor;
            index
        } else {
            let (id, item) = (line_id(cart, &added.item), added.item);
            lines.push(Line { id, item, unit_minor: added.unit_minor });
            lines.len() - 1
        };
        if let Some(requested) = added.requested {
            messages.push(Message::adjusted(index, requested, added.item.quantity.get()));
        }
    }
    if lines.len() > crate::LINES_MAX {
        return Err(CartError::TooManyLines);
    }
    Ok(messages)
}

/// Derives the id of a line from cart, product and variant: an item that is added again has the same line.
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
