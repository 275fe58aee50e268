//! The price of a cart: a pure function of the cart, the current products and the store's settings.

pub(crate) mod message;
mod open_part;

use catalog::{Offer, Product, StockStatus};
use merchants::Settings;
use primitives::{Currency, LineId, ProductId, Timestamp, VariantId};
use sha2::{Digest, Sha256};

pub use message::{Message, MessageCode};
pub use open_part::OpenPart;
pub(crate) use open_part::is_paid_at_store;

use crate::discount::{Discount, Goods, RejectedCode, discounts};
use crate::{Cart, CartError, Destination, tax};

/// A line with its current price. Amounts are minor units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotedLine {
    pub id: LineId,
    pub product: ProductId,
    pub variant: Option<VariantId>,
    /// Merchant text.
    pub sku: String,
    /// Merchant text.
    pub name: String,
    pub quantity: u32,
    pub unit_minor: i64,
    /// Before discounts.
    pub subtotal_minor: i64,
    pub discount_minor: i64,
    /// After discounts, without added tax.
    pub total_minor: i64,
    /// Added to the total; taxes included in the price are not counted.
    pub tax_minor: i64,
    pub stock_status: StockStatus,
    /// Available units; `None` if the merchant states no quantity.
    pub available: Option<i32>,
}

/// A shipping option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShippingOption {
    /// Derived from the title.
    pub id: String,
    /// Merchant text.
    pub title: String,
    pub price_minor: i64,
    /// Fastest delivery, in days.
    pub days_min: i32,
    /// Slowest delivery, in days.
    pub days_max: i32,
}

/// The price of a cart. Amounts are minor units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    /// The currency of all amounts.
    pub currency: Currency,
    pub lines: Vec<QuotedLine>,
    /// All lines, before discounts.
    pub subtotal_minor: i64,
    pub discount_minor: i64,
    /// What is not decided yet. Empty if the quote is final.
    pub open: Vec<OpenPart>,
    /// An estimate while [`OpenPart::Shipping`] is open; `None` if the store has no rate to estimate it by.
    pub shipping_minor: Option<i64>,
    /// Added to the total. An estimate while [`OpenPart::Tax`] is open; `None` if the store has no rate to estimate it by.
    pub tax_minor: Option<i64>,
    /// Included in the prices, not added to the total. An estimate while [`OpenPart::Tax`] is open.
    pub tax_included_minor: i64,
    /// With the estimates; without shipping or tax while it is `None`.
    pub total_minor: i64,
    pub discounts: Vec<Discount>,
    pub rejected_codes: Vec<RejectedCode>,
    /// Options to the destination, the cheapest first; empty without a destination.
    pub options: Vec<ShippingOption>,
    /// The id of the selected shipping option, if it is still offered; the cheapest if none was selected.
    pub selected_option: Option<String>,
    /// Data required for checkout, as paths into the record.
    pub missing: Vec<&'static str>,
    pub messages: Vec<Message>,
}

/// Everything besides the cart that determines its price.
pub(crate) struct PricingInputs<'now> {
    /// In the order of the cart's lines; `None` if the product is no longer sold.
    pub(crate) products: &'now [Option<Product>],
    pub(crate) settings: &'now Settings,
    /// The country of the store, by which shipping and tax are estimated.
    pub(crate) country: &'now str,
    pub(crate) now: Timestamp,
}

impl Quote {
    /// Returns whether shipping or tax is estimated or not known.
    #[must_use]
    pub fn is_estimate(&self) -> bool {
        let is_amount = |part: &OpenPart| matches!(part, OpenPart::Shipping | OpenPart::Tax);
        self.open.iter().any(is_amount)
    }

    /// Returns `false` if the store offers no shipping to the destination.
    #[must_use]
    pub fn is_deliverable(&self) -> bool {
        !self.messages.iter().any(|message| message.code == MessageCode::DestinationNotServed)
    }

    /// Returns whether no data is missing and no message is blocking.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.missing.is_empty() && !self.messages.iter().any(Message::is_blocking)
    }

    /// Prices a cart.
    pub(crate) fn new(cart: &Cart, inputs: &PricingInputs<'_>) -> Result<Self, CartError> {
        let mut messages = Vec::new();
        let mut lines = Vec::with_capacity(cart.lines.len());
        let mut categories = Vec::with_capacity(cart.lines.len());
        for (index, (line, product)) in cart.lines.iter().zip(inputs.products).enumerate() {
            let known = product.as_ref().and_then(|product| {
                let offer = product.offer(line.item.variant)?;
                (offer.price.currency() == cart.currency).then_some((product, offer))
            });
            messages.extend(message::of_line(index, line, known.map(|(_, offer)| offer)));
            categories.push(product.as_ref().map_or("", |product| product.category.path.as_str()));
            lines.push(quoted(line, product.as_ref(), known.map(|(_, offer)| offer))?);
        }
        let goods: Vec<Goods<'_>> = lines
            .iter()
            .zip(&categories)
            .map(|(line, category)| Goods { category, minor: line.subtotal_minor })
            .collect();
        let (discounts, rejected_codes) =
            discounts(&goods, &inputs.settings.promotions, &cart.codes, inputs.now);
        for discount in &discounts {
            for (line, minor) in lines.iter_mut().zip(&discount.by_line) {
                line.discount_minor += minor;
                line.total_minor -= minor;
            }
        }
        messages.extend(rejected_codes.iter().map(message::of_code));
        let subtotal_minor = sum(lines.iter().map(|line| line.subtotal_minor))?;
        let discount_minor = sum(lines.iter().map(|line| line.discount_minor))?;
        let goods_minor = subtotal_minor - discount_minor;
        // Without a destination, the store's own country serves as an estimate.
        let in_own_country =
            Destination { country: inputs.country.to_owned(), ..Destination::default() };
        let to = cart.destination.as_ref().unwrap_or(&in_own_country);
        let mut tax_included_minor = 0;
        for (line, category) in lines.iter_mut().zip(&categories) {
            let tax = tax::tax_on(&inputs.settings.taxes, to, category, line.total_minor);
            line.tax_minor = tax.added_minor;
            tax_included_minor = sum([tax_included_minor, tax.included_minor])?;
        }
        let added_minor = sum(lines.iter().map(|line| line.tax_minor))?;
        let has_rate = inputs.settings.taxes.iter().any(|rate| rate.is_in(&to.country));
        let tax_minor = (cart.destination.is_some() || has_rate).then_some(added_minor);
        let open = open_part::of(cart, inputs.settings);
        let Shipping { options, selected_option, price_minor: shipping_minor } =
            Shipping::new(cart, inputs.settings, &to.country, goods_minor, &discounts);
        let missing = missing(cart, inputs.settings);
        let selected = selected_option.as_deref();
        messages.extend(message::of_delivery(cart, inputs.settings, &options, selected));
        let total_minor = sum([goods_minor, shipping_minor.unwrap_or(0), added_minor])?;
        Ok(Self {
            currency: cart.currency,
            lines,
            subtotal_minor,
            discount_minor,
            open,
            shipping_minor,
            tax_minor,
            tax_included_minor,
            total_minor,
            discounts,
            rejected_codes,
            options,
            selected_option,
            missing,
            messages,
        })
    }
}

/// The shipping of a cart.
struct Shipping {
    options: Vec<ShippingOption>,
    selected_option: Option<String>,
    price_minor: Option<i64>,
}

impl Shipping {
    /// Returns the options to the cart's destination and the selected one. Without a destination there is only a price, as
    /// an estimate for `country`.
    fn new(
        cart: &Cart,
        settings: &Settings,
        country: &str,
        goods_minor: i64,
        discounts: &[Discount],
    ) -> Self {
        let offered = shipping_options(settings, country, goods_minor, discounts);
        if cart.destination.is_none() {
            let price_minor = offered.first().map(|option| option.price_minor);
            return Self { options: Vec::new(), selected_option: None, price_minor };
        }
        let selected = match &cart.shipping_option {
            Some(id) => offered.iter().find(|option| option.id == *id),
            None => offered.first(),
        };
        // A store without rates that does not state a price either ships for nothing.
        let is_stated = open_part::of(cart, settings).contains(&OpenPart::Shipping);
        let ships_for_nothing = settings.shipping.is_empty() && !is_stated;
        let price_minor =
            selected.map(|option| option.price_minor).or(ships_for_nothing.then_some(0));
        let selected_option = selected.map(|option| option.id.clone());
        Self { options: offered, selected_option, price_minor }
    }
}

pub(crate) fn sum(amounts: impl IntoIterator<Item = i64>) -> Result<i64, CartError> {
    amounts.into_iter().try_fold(0_i64, i64::checked_add).ok_or(CartError::AmountOverflow)
}

fn quoted(
    line: &crate::Line,
    product: Option<&Product>,
    offer: Option<Offer>,
) -> Result<QuotedLine, CartError> {
    let quantity = line.item.quantity.get();
    // An unavailable item keeps its last price; a blocking message reports it.
    let unit_minor = offer.map_or(line.unit_minor, |offer| offer.price.minor());
    let subtotal_minor =
        unit_minor.checked_mul(i64::from(quantity)).ok_or(CartError::AmountOverflow)?;
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

/// Returns the name of a variant with the product's name, which some merchants already include.
fn full_name(product: &str, variant: &str) -> String {
    if variant.starts_with(product) { variant.to_owned() } else { format!("{product}, {variant}") }
}

/// Returns the shipping options to a country for goods of this price after discounts, the cheapest first. That one is free
/// if a promotion says so or the goods cost more than the free-shipping threshold.
pub(crate) fn shipping_options(
    settings: &Settings,
    country: &str,
    goods_minor: i64,
    discounts: &[Discount],
) -> Vec<ShippingOption> {
    let threshold = settings.policies.free_shipping_threshold_minor;
    let is_free = threshold.is_some_and(|threshold| goods_minor > threshold)
        || discounts.iter().any(|discount| discount.grants_free_shipping);
    let rates = settings.shipping_rates_to(country, goods_minor).into_iter().enumerate();
    let option = |(index, rate): (usize, &merchants::ShippingRate)| ShippingOption {
        id: option_id(&rate.name),
        title: rate.name.clone(),
        price_minor: if is_free && index == 0 { 0 } else { rate.price_minor },
        days_min: rate.days_min,
        days_max: rate.days_max,
    };
    rates.map(option).collect()
}

/// Derives the id of a shipping option from its name: the same in every cart.
fn option_id(name: &str) -> String {
    format!("ship_{}", hex::encode(&Sha256::digest(name.as_bytes())[..6]))
}

/// Returns what the store requires for checkout and the cart lacks.
fn missing(cart: &Cart, settings: &Settings) -> Vec<&'static str> {
    let mut missing = Vec::new();
    if cart.lines.is_empty() {
        missing.push("items");
    }
    if cart.destination.is_none() && settings.destination_required {
        missing.push("destination");
    }
    missing
}

#[cfg(test)]
mod tests;
