//! The cart record of spec §2.3 and decisions §8, as every door serves it, and what anybody who knows a cart's id may
//! see of it.

use catalog::StockStatus;
use merchants::{PolicyRecord, Store};
use primitives::{CartId, Currency, LineId, Money, ProductId, Timestamp, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    CartStatus, Destination, Discount, Message, Priced, Quote, QuotedLine, RefusedCode,
    ShippingOption,
};

/// A cart with what it costs now.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CartRecord {
    /// Cart identifier. Whoever knows it may preview the cart: keep it to yourself.
    pub cart_id: CartId,
    /// The store.
    pub merchant_slug: String,
    /// What became of it.
    pub status: CartStatus,
    /// How often it was changed, from 1; `if_version` names it.
    pub version: i64,
    /// What is in it.
    pub items: Vec<CartLineRecord>,
    /// How many things are in it, all lines together.
    pub item_count: i64,
    /// Currency of all amounts.
    pub currency: String,
    /// What it costs.
    pub totals: TotalsRecord,
    /// What is cheaper, and codes that give nothing.
    pub discounts: DiscountsRecord,
    /// Where it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<Destination>,
    /// The ways there, the cheapest first.
    pub shipping_options: Vec<ShippingOptionRecord>,
    /// The way that was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected_shipping_option_id: Option<String>,
    /// What the store promises.
    pub policies: PolicyRecord,
    /// Whether it can be bought as it is.
    pub ready_for_checkout: bool,
    /// What is needed before, as paths into this record.
    pub missing: Vec<String>,
    /// What to know or to mend.
    pub messages: Vec<MessageRecord>,
    /// The hash of everything a person agrees to; it changes whenever that does.
    pub quote_hash: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Until when it can be used: thirty minutes from its creation.
    pub expires_at: Timestamp,
}

/// A line of a cart.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CartLineRecord {
    /// Line identifier.
    pub line_id: LineId,
    /// The product.
    pub product_id: ProductId,
    /// The form of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant_id: Option<VariantId>,
    /// The merchant's own number.
    pub sku: String,
    /// What it is called.
    pub name: String,
    /// How many.
    pub quantity: i64,
    /// What one costs now.
    pub unit_price: f64,
    /// What they cost, after discounts.
    pub line_total: f64,
    /// Currency of the amounts.
    pub currency: String,
    /// Whether it can be had.
    pub stock_status: StockStatus,
    /// How many can be had, if the merchant says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_quantity: Option<i64>,
}

/// What a cart costs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TotalsRecord {
    /// The goods, before discounts.
    pub subtotal: f64,
    /// How much less they cost.
    pub discount: f64,
    /// Shipping; left out until a way is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping: Option<f64>,
    /// Taxes on top of the prices; left out until it is known where the goods go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tax: Option<f64>,
    /// Taxes that the prices hold already; not added to the total.
    pub tax_included: f64,
    /// All of it, as far as it is known.
    pub total: f64,
    /// Whether shipping or taxes are still to come.
    pub is_estimate: bool,
}

/// What is cheaper.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiscountsRecord {
    /// Codes that were given.
    pub codes: Vec<String>,
    /// What applies.
    pub applied: Vec<DiscountRecord>,
    /// Codes that give nothing.
    pub rejected: Vec<RejectedCodeRecord>,
}

/// A promotion that applies.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiscountRecord {
    /// The code it was asked for with; left out if it applies by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What the merchant calls it.
    pub title: String,
    /// How much less the goods cost.
    pub amount: f64,
}

/// A code that gives nothing.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RejectedCodeRecord {
    /// The code.
    pub code: String,
    /// Why, as a stable name.
    pub reason: String,
}

/// A way to ship.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShippingOptionRecord {
    /// Its id, for choosing it.
    pub id: String,
    /// What the merchant calls it.
    pub title: String,
    /// What it costs.
    pub price: f64,
    /// Currency of the price.
    pub currency: String,
    /// The quickest delivery, in days.
    pub days_min: i64,
    /// The slowest delivery, in days.
    pub days_max: i64,
}

/// Something to know or to mend, in this service's own words.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MessageRecord {
    /// What it is about, as a stable name.
    pub code: String,
    /// Where, as a path into the record.
    pub path: String,
    /// A sentence.
    pub content: String,
    /// Whether the cart cannot be bought while this holds.
    pub blocking: bool,
}

/// What anybody who knows a cart's id may see of it: what it costs, and nobody's name or address.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PreviewRecord {
    /// Cart identifier.
    pub cart_id: CartId,
    /// The store.
    pub merchant_slug: String,
    /// What became of it.
    pub status: CartStatus,
    /// What is in it.
    pub items: Vec<CartLineRecord>,
    /// How many things are in it, all lines together.
    pub item_count: i64,
    /// Currency of all amounts.
    pub currency: String,
    /// What it costs.
    pub totals: TotalsRecord,
    /// The country it goes to; the rest of the address is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ship_to_country: Option<String>,
    /// The way it goes there, once one is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping: Option<ShippingOptionRecord>,
    /// What the store promises.
    pub policies: PolicyRecord,
    /// Whether it can be bought as it is.
    pub ready_for_checkout: bool,
    /// What is needed before, as paths into the cart's record.
    pub missing: Vec<String>,
    /// What to know or to mend.
    pub messages: Vec<MessageRecord>,
    /// The hash of everything a person agrees to.
    pub quote_hash: String,
    /// Until when it can be used.
    pub expires_at: Timestamp,
}

impl Priced {
    /// The record, for the agent whose cart it is.
    #[must_use]
    pub fn record(&self, store: &Store) -> CartRecord {
        let (cart, quote) = (&self.cart, &self.quote);
        CartRecord {
            cart_id: cart.id,
            merchant_slug: store.slug.to_string(),
            status: cart.status(self.now),
            version: cart.version,
            items: quote.line_records(),
            item_count: quote.item_count(),
            currency: quote.currency.to_string(),
            totals: quote.totals(),
            discounts: quote.discounts_record(&cart.codes),
            destination: cart.destination.clone(),
            shipping_options: quote.option_records(),
            selected_shipping_option_id: quote.chosen.clone(),
            policies: store.policy_record(),
            ready_for_checkout: self.is_ready(),
            missing: quote.missing.iter().map(ToString::to_string).collect(),
            messages: quote.messages.iter().map(Message::record).collect(),
            quote_hash: self.quote_hash.to_string(),
            created_at: cart.created_at,
            updated_at: cart.updated_at,
            expires_at: cart.expires_at(),
        }
    }

    /// What anybody who knows its id may see.
    #[must_use]
    pub fn preview(&self, store: &Store) -> PreviewRecord {
        let (cart, quote) = (&self.cart, &self.quote);
        let chosen = |option: &&ShippingOption| Some(&option.id) == quote.chosen.as_ref();
        let shipping = quote.options.iter().find(chosen);
        PreviewRecord {
            cart_id: cart.id,
            merchant_slug: store.slug.to_string(),
            status: cart.status(self.now),
            items: quote.line_records(),
            item_count: quote.item_count(),
            currency: quote.currency.to_string(),
            totals: quote.totals(),
            ship_to_country: cart.destination.as_ref().map(|to| to.country.clone()),
            shipping: shipping.map(|option| option.record(quote.currency)),
            policies: store.policy_record(),
            ready_for_checkout: self.is_ready(),
            missing: quote.missing.iter().map(ToString::to_string).collect(),
            messages: quote.messages.iter().map(Message::record).collect(),
            quote_hash: self.quote_hash.to_string(),
            expires_at: cart.expires_at(),
        }
    }

    /// Whether it can be bought as it is, now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let status = self.cart.status(self.now);
        matches!(status, CartStatus::Active | CartStatus::CheckoutStarted) && self.quote.is_ready()
    }
}

impl Quote {
    /// How many things there are, all lines together.
    #[must_use]
    pub fn item_count(&self) -> i64 {
        self.lines.iter().map(|line| i64::from(line.quantity)).sum()
    }

    /// The lines, as doors show them.
    #[must_use]
    pub fn line_records(&self) -> Vec<CartLineRecord> {
        self.lines.iter().map(|line| line.record(self.currency)).collect()
    }

    /// What it costs, as doors show it.
    #[must_use]
    pub fn totals(&self) -> TotalsRecord {
        let decimal = |minor: i64| Money::new(minor, self.currency).to_decimal();
        TotalsRecord {
            subtotal: decimal(self.subtotal_minor),
            discount: decimal(self.discount_minor),
            shipping: self.shipping_minor.map(decimal),
            tax: self.tax_minor.map(decimal),
            tax_included: decimal(self.tax_included_minor),
            total: decimal(self.total_minor),
            is_estimate: self.is_estimate(),
        }
    }

    /// The ways to ship, as doors show them.
    #[must_use]
    pub fn option_records(&self) -> Vec<ShippingOptionRecord> {
        self.options.iter().map(|option| option.record(self.currency)).collect()
    }

    fn discounts_record(&self, codes: &[String]) -> DiscountsRecord {
        let applied = |discount: &Discount| DiscountRecord {
            code: discount.code.clone(),
            title: discount.title.clone(),
            amount: Money::new(discount.minor, self.currency).to_decimal(),
        };
        let rejected = |refused: &RefusedCode| RejectedCodeRecord {
            code: refused.code.clone(),
            reason: refused.reason.name().to_owned(),
        };
        DiscountsRecord {
            codes: codes.to_vec(),
            applied: self.discounts.iter().map(applied).collect(),
            rejected: self.refused_codes.iter().map(rejected).collect(),
        }
    }
}

impl QuotedLine {
    fn record(&self, currency: Currency) -> CartLineRecord {
        CartLineRecord {
            line_id: self.id,
            product_id: self.product,
            variant_id: self.variant,
            sku: self.sku.clone(),
            name: self.name.clone(),
            quantity: i64::from(self.quantity),
            unit_price: Money::new(self.unit_minor, currency).to_decimal(),
            line_total: Money::new(self.total_minor, currency).to_decimal(),
            currency: currency.to_string(),
            stock_status: self.stock_status,
            available_quantity: self.available.map(i64::from),
        }
    }
}

impl ShippingOption {
    fn record(&self, currency: Currency) -> ShippingOptionRecord {
        ShippingOptionRecord {
            id: self.id.clone(),
            title: self.title.clone(),
            price: Money::new(self.price_minor, currency).to_decimal(),
            currency: currency.to_string(),
            days_min: i64::from(self.days_min),
            days_max: i64::from(self.days_max),
        }
    }
}

impl Message {
    fn record(&self) -> MessageRecord {
        MessageRecord {
            code: self.code.name().to_owned(),
            path: self.path.clone(),
            content: self.content.clone(),
            blocking: self.is_in_the_way(),
        }
    }
}
