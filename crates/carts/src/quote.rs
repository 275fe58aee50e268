//! What a cart costs now: pure, from the cart, what the products say at this moment, and what the store set.

mod message;

use catalog::{Offer, Product, StockStatus};
use merchants::Settings;
use primitives::{Currency, LineId, ProductId, Timestamp, VariantId};
use sha2::{Digest, Sha256};

pub use message::{Message, MessageCode};

use crate::discount::{Discount, Discountable, RefusedCode, discounts};
use crate::{Cart, CartError, Destination, tax};

/// A line with what it costs now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotedLine {
    /// Its id.
    pub id: LineId,
    /// Which product.
    pub product: ProductId,
    /// Which of its forms.
    pub variant: Option<VariantId>,
    /// The merchant's number. Merchant text.
    pub sku: String,
    /// What it is called. Merchant text.
    pub name: String,
    /// How many.
    pub quantity: u32,
    /// What one costs.
    pub unit_minor: i64,
    /// What they cost before discounts.
    pub subtotal_minor: i64,
    /// How much less.
    pub discount_minor: i64,
    /// What they cost.
    pub total_minor: i64,
    /// What is due on top.
    pub tax_minor: i64,
    /// Whether it can be had.
    pub stock_status: StockStatus,
    /// How many there are, if the merchant says.
    pub available: Option<i32>,
}

/// A way to ship.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShippingOption {
    /// Its id, which follows from its name.
    pub id: String,
    /// What the merchant calls it. Merchant text.
    pub title: String,
    /// What it costs.
    pub price_minor: i64,
    /// The quickest delivery, in days.
    pub days_min: i32,
    /// The slowest delivery, in days.
    pub days_max: i32,
}

/// What a cart costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// The currency of all amounts.
    pub currency: Currency,
    /// The lines.
    pub lines: Vec<QuotedLine>,
    /// What the goods cost before discounts.
    pub subtotal_minor: i64,
    /// How much less.
    pub discount_minor: i64,
    /// What shipping costs; none while no way is chosen.
    pub shipping_minor: Option<i64>,
    /// What is due on top; none while nobody knows where it goes.
    pub tax_minor: Option<i64>,
    /// What is in the prices already.
    pub tax_included_minor: i64,
    /// What it costs, as far as it is known.
    pub total_minor: i64,
    /// Promotions that apply.
    pub discounts: Vec<Discount>,
    /// Codes that give nothing.
    pub refused_codes: Vec<RefusedCode>,
    /// The ways to ship there, the cheapest first.
    pub options: Vec<ShippingOption>,
    /// The way that was chosen.
    pub chosen: Option<String>,
    /// What is needed before it can be bought, as paths into the record.
    pub missing: Vec<&'static str>,
    /// What a model should know or mend.
    pub messages: Vec<Message>,
}

/// What the world says at a moment.
pub(crate) struct World<'now> {
    pub(crate) products: &'now [Option<Product>],
    pub(crate) settings: &'now Settings,
    pub(crate) now: Timestamp,
}

impl Quote {
    /// Whether nothing about it can still move by choosing something.
    #[must_use]
    pub fn is_estimate(&self) -> bool {
        self.shipping_minor.is_none() || self.tax_minor.is_none()
    }

    /// Whether the store sends it where it is to go, as far as it says.
    #[must_use]
    pub fn is_served(&self) -> bool {
        !self.messages.iter().any(|message| message.code == MessageCode::DestinationNotServed)
    }

    /// Whether it can be bought as it is.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.missing.is_empty() && !self.messages.iter().any(Message::is_in_the_way)
    }

    /// What a cart costs in this world; products in the order of its lines.
    pub(crate) fn of(cart: &Cart, world: &World<'_>) -> Result<Self, CartError> {
        let mut messages = Vec::new();
        let mut lines = Vec::with_capacity(cart.lines.len());
        let mut categories = Vec::with_capacity(cart.lines.len());
        for (place, (line, product)) in cart.lines.iter().zip(world.products).enumerate() {
            let known = product.as_ref().and_then(|product| {
                let offer = product.offer(line.item.variant)?;
                (offer.price.currency() == cart.currency).then_some((product, offer))
            });
            messages.extend(message::of_line(place, line, known.map(|(_, offer)| offer)));
            categories.push(product.as_ref().map_or("", |product| product.category.path.as_str()));
            lines.push(quoted(line, product.as_ref(), known.map(|(_, offer)| offer))?);
        }
        let discountable: Vec<Discountable<'_>> = lines
            .iter()
            .zip(&categories)
            .map(|(line, category)| Discountable { category, minor: line.subtotal_minor })
            .collect();
        let (discounts, refused_codes) =
            discounts(&discountable, &world.settings.promotions, &cart.codes, world.now);
        for discount in &discounts {
            for (line, less) in lines.iter_mut().zip(&discount.by_line) {
                line.discount_minor += less;
                line.total_minor -= less;
            }
        }
        messages.extend(refused_codes.iter().map(message::of_code));
        let subtotal_minor = sum(lines.iter().map(|line| line.subtotal_minor))?;
        let discount_minor = sum(lines.iter().map(|line| line.discount_minor))?;
        let goods_minor = subtotal_minor - discount_minor;
        let mut tax_included_minor = 0;
        let mut tax_minor = None;
        if let Some(to) = &cart.destination {
            for (line, category) in lines.iter_mut().zip(&categories) {
                let due = tax::due(&world.settings.taxes, to, category, line.total_minor);
                line.tax_minor = due.added;
                tax_included_minor += due.included;
            }
            tax_minor = Some(sum(lines.iter().map(|line| line.tax_minor))?);
        }
        let frees = discounts.iter().any(|discount| discount.frees_shipping);
        let options = options(cart.destination.as_ref(), world.settings, goods_minor, frees);
        let chosen = cart.shipping_option.clone();
        let chosen = chosen.filter(|id| options.iter().any(|option| option.id == *id));
        let price = |id: &String| options.iter().find(|option| option.id == *id);
        let shipping_minor = chosen.as_ref().and_then(price).map(|option| option.price_minor);
        let missing = missing(cart, &options, chosen.as_deref());
        messages.extend(message::of_delivery(cart, world.settings, &options, chosen.as_deref()));
        let total_minor = sum([goods_minor, shipping_minor.unwrap_or(0), tax_minor.unwrap_or(0)])?;
        Ok(Self {
            currency: cart.currency,
            lines,
            subtotal_minor,
            discount_minor,
            shipping_minor,
            tax_minor,
            tax_included_minor,
            total_minor,
            discounts,
            refused_codes,
            options,
            chosen,
            missing,
            messages,
        })
    }
}

fn sum(amounts: impl IntoIterator<Item = i64>) -> Result<i64, CartError> {
    amounts.into_iter().try_fold(0_i64, i64::checked_add).ok_or(CartError::TooLarge)
}

fn quoted(
    line: &crate::Line,
    product: Option<&Product>,
    offer: Option<Offer>,
) -> Result<QuotedLine, CartError> {
    let quantity = line.item.quantity.get();
    // What cannot be had any more keeps the price it had; a message says that it is in the way.
    let unit_minor = offer.map_or(line.unit_minor, |offer| offer.price.minor());
    let subtotal_minor = unit_minor.checked_mul(i64::from(quantity)).ok_or(CartError::TooLarge)?;
    let variant = product
        .zip(line.item.variant)
        .and_then(|(product, id)| product.variants.iter().find(|variant| variant.id == id));
    let (sku, name) = match (product, variant) {
        (Some(product), Some(variant)) => {
            (variant.facts.sku.clone(), full_name(&product.facts.name, &variant.facts.name))
        }
        (Some(product), None) => (product.facts.sku.clone(), product.facts.name.clone()),
        (None, _) => (String::new(), String::new()),
    };
    Ok(QuotedLine {
        id: line.id,
        product: line.item.product,
        variant: line.item.variant,
        sku,
        name,
        quantity,
        unit_minor,
        subtotal_minor,
        discount_minor: 0,
        total_minor: subtotal_minor,
        tax_minor: 0,
        stock_status: offer.map_or(StockStatus::OutOfStock, |offer| offer.stock_status),
        available: offer.and_then(|offer| offer.stock_quantity),
    })
}

/// What a form of a product is called. Some merchants name the product in it, some do not.
fn full_name(product: &str, form: &str) -> String {
    if form.starts_with(product) { form.to_owned() } else { format!("{product}, {form}") }
}

/// The ways to ship, the cheapest first; that one costs nothing where the store says so.
fn options(
    to: Option<&Destination>,
    settings: &Settings,
    goods_minor: i64,
    frees: bool,
) -> Vec<ShippingOption> {
    let Some(to) = to else { return Vec::new() };
    let threshold = settings.policies.free_shipping_threshold_minor;
    let free = frees || threshold.is_some_and(|from| goods_minor >= from);
    let ways = settings.ways_to(&to.country, goods_minor).into_iter().enumerate();
    let option = |(place, rate): (usize, &merchants::ShippingRate)| ShippingOption {
        id: option_id(&rate.name),
        title: rate.name.clone(),
        price_minor: if free && place == 0 { 0 } else { rate.price_minor },
        days_min: rate.days_min,
        days_max: rate.days_max,
    };
    ways.map(option).collect()
}

/// The same name has the same id, in every cart.
fn option_id(name: &str) -> String {
    use std::fmt::Write as _;
    let digest = Sha256::digest(name.as_bytes());
    digest[..6].iter().fold(String::from("ship_"), |mut id, byte| {
        // Writing to a string cannot fail.
        let _ = write!(id, "{byte:02x}");
        id
    })
}

fn missing(cart: &Cart, options: &[ShippingOption], chosen: Option<&str>) -> Vec<&'static str> {
    let mut missing = Vec::new();
    if cart.lines.is_empty() {
        missing.push("$.items");
    }
    if cart.destination.is_none() {
        missing.push("$.destination");
    } else if !options.is_empty() && chosen.is_none() {
        missing.push("$.selected_shipping_option_id");
    }
    missing
}

#[cfg(test)]
mod tests;
