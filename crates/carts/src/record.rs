//! The cart record (docs/contract/carts.md#cart-record), as every door returns it, and the preview for any caller that has
//! a cart's id (docs/contract/carts.md#preview).

use catalog::StockStatus;
use merchants::{PolicyRecord, Store};
use primitives::{CartId, Currency, LineId, Money, ProductId, Timestamp, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    CartStatus, Destination, Discount, Message, OpenPart, PricedCart, Quote, QuotedLine,
    RejectedCode, ShippingOption,
};

/// A cart with its current price.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CartRecord {
    /// Cart identifier. Any caller that has it can preview the cart: do not share it.
    pub cart_id: CartId,
    /// Slug of the store.
    pub merchant_slug: String,
    /// Status of the cart.
    pub status: CartStatus,
    /// Version of the cart: starts at 1 and increases with every change. Send it as `if_version` to avoid overwriting a newer one.
    pub version: i64,
    /// Lines of the cart.
    pub items: Vec<CartLineRecord>,
    /// Sum of the quantities of all lines.
    pub item_count: i64,
    /// Currency of all amounts.
    pub currency: String,
    /// Totals of the cart.
    pub totals: TotalsRecord,
    /// Applied discounts, and codes that do not apply.
    pub discounts: DiscountsRecord,
    /// Shipping destination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<Destination>,
    /// Shipping options to the destination, the cheapest first.
    pub shipping_options: Vec<ShippingOptionRecord>,
    /// Identifier of the selected shipping option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected_shipping_option_id: Option<String>,
    /// Policies of the store.
    pub policies: PolicyRecord,
    /// Whether the cart can be checked out: nothing is missing and no message is blocking.
    pub ready_for_checkout: bool,
    /// Data required before checkout, as paths into this record.
    pub missing: Vec<String>,
    /// Messages about the cart: what to know or to fix.
    pub messages: Vec<MessageRecord>,
    /// What is not decided yet and the person enters or sees on the payment page: `destination`, `shipping`, `tax`, `buyer`. Empty if the total is final.
    pub open: Vec<OpenPart>,
    /// Hash of everything a person approves; it changes whenever that does. It covers the open parts by name and no estimate.
    pub quote_hash: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Time at which the cart expires; changes do not extend it.
    pub expires_at: Timestamp,
}

/// A line of a cart.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CartLineRecord {
    /// Line identifier.
    pub line_id: LineId,
    /// Product identifier.
    pub product_id: ProductId,
    /// Variant identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant_id: Option<VariantId>,
    /// The merchant's SKU.
    pub sku: String,
    /// Name of the product or variant.
    pub name: String,
    /// Quantity.
    pub quantity: i64,
    /// Current unit price.
    pub unit_price: f64,
    /// Price of the line after discounts.
    pub line_total: f64,
    /// Currency of the amounts.
    pub currency: String,
    /// Availability.
    pub stock_status: StockStatus,
    /// Available units, if the merchant states a quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_quantity: Option<i64>,
}

/// Totals of a cart.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TotalsRecord {
    /// All lines, before discounts.
    pub subtotal: f64,
    /// Sum of all discounts.
    pub discount: f64,
    /// Price of shipping; absent if the store has no shipping rate for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping: Option<f64>,
    /// Taxes added to the prices; absent if the store has no tax rate to estimate them by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tax: Option<f64>,
    /// Taxes already included in the prices; not added to the total.
    pub tax_included: f64,
    /// Total; without shipping and taxes while they are absent.
    pub total: f64,
    /// Whether shipping or taxes are estimated for the store's own country, or not known. The person sees the final amounts on the payment page before paying.
    pub is_estimate: bool,
}

/// Discounts of a cart.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiscountsRecord {
    /// Discount codes of the cart.
    pub codes: Vec<String>,
    /// Promotions that apply.
    pub applied: Vec<DiscountRecord>,
    /// Codes that do not apply.
    pub rejected: Vec<RejectedCodeRecord>,
}

/// A promotion that applies.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiscountRecord {
    /// Discount code of the promotion; absent if it applies automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Title set by the merchant.
    pub title: String,
    /// Amount of the discount.
    pub amount: f64,
}

/// A discount code that does not apply.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RejectedCodeRecord {
    /// Discount code.
    pub code: String,
    /// Stable name of the reason.
    pub reason: String,
}

/// A shipping option.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ShippingOptionRecord {
    /// Identifier, for selecting the option.
    pub id: String,
    /// Title set by the merchant.
    pub title: String,
    /// Price of shipping.
    pub price: f64,
    /// Currency of the price.
    pub currency: String,
    /// Fastest delivery, in days.
    pub days_min: i64,
    /// Slowest delivery, in days.
    pub days_max: i64,
}

/// A message about a cart: something to know or to fix.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MessageRecord {
    /// Stable name of the message.
    pub code: String,
    /// Path into the record.
    pub path: String,
    /// Text of the message.
    pub content: String,
    /// Whether the cart cannot be checked out while the message applies.
    pub blocking: bool,
}

/// A cart as any caller that has its id can see it: prices, and no personal data.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PreviewRecord {
    /// Cart identifier.
    pub cart_id: CartId,
    /// Slug of the store.
    pub merchant_slug: String,
    /// Status of the cart.
    pub status: CartStatus,
    /// Lines of the cart.
    pub items: Vec<CartLineRecord>,
    /// Sum of the quantities of all lines.
    pub item_count: i64,
    /// Currency of all amounts.
    pub currency: String,
    /// Totals of the cart.
    pub totals: TotalsRecord,
    /// Country of the destination; the rest of the address is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ship_to_country: Option<String>,
    /// Selected shipping option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping: Option<ShippingOptionRecord>,
    /// Policies of the store.
    pub policies: PolicyRecord,
    /// Whether the cart can be checked out: nothing is missing and no message is blocking.
    pub ready_for_checkout: bool,
    /// Data required before checkout, as paths into the cart's record.
    pub missing: Vec<String>,
    /// Messages about the cart: what to know or to fix.
    pub messages: Vec<MessageRecord>,
    /// What is not decided yet and the person enters or sees on the payment page: `destination`, `shipping`, `tax`, `buyer`. Empty if the total is final.
    pub open: Vec<OpenPart>,
    /// Hash of everything a person approves. It covers the open parts by name and no estimate.
    pub quote_hash: String,
    /// Time at which the cart expires.
    pub expires_at: Timestamp,
}

impl PricedCart {
    /// Returns the record for the agent that owns the cart.
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
            selected_shipping_option_id: quote.selected_option.clone(),
            policies: store.policy_record(),
            ready_for_checkout: self.is_ready(),
            missing: quote.missing.iter().map(ToString::to_string).collect(),
            messages: quote.messages.iter().map(Message::record).collect(),
            open: quote.open.clone(),
            quote_hash: self.quote_hash.to_string(),
            created_at: cart.created_at,
            updated_at: cart.updated_at,
            expires_at: cart.expires_at(),
        }
    }

    /// Returns the preview for any caller that has the cart's id.
    #[must_use]
    pub fn preview(&self, store: &Store) -> PreviewRecord {
        let (cart, quote) = (&self.cart, &self.quote);
        let is_selected =
            |option: &&ShippingOption| Some(&option.id) == quote.selected_option.as_ref();
        let shipping = quote.options.iter().find(is_selected);
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
            open: quote.open.clone(),
            quote_hash: self.quote_hash.to_string(),
            expires_at: cart.expires_at(),
        }
    }

    /// Returns whether the cart can be checked out now.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let status = self.cart.status(self.now);
        matches!(status, CartStatus::Active | CartStatus::CheckoutStarted) && self.quote.is_ready()
    }
}

impl Quote {
    /// Returns the sum of the quantities of all lines.
    #[must_use]
    pub fn item_count(&self) -> i64 {
        self.lines.iter().map(|line| i64::from(line.quantity)).sum()
    }

    /// Returns the lines as doors return them.
    #[must_use]
    pub fn line_records(&self) -> Vec<CartLineRecord> {
        self.lines.iter().map(|line| line.record(self.currency)).collect()
    }

    /// Returns the totals as doors return them.
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

    /// Returns the shipping options as doors return them.
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
        let rejected = |rejected: &RejectedCode| RejectedCodeRecord {
            code: rejected.code.clone(),
            reason: rejected.reason.to_string(),
        };
        DiscountsRecord {
            codes: codes.to_vec(),
            applied: self.discounts.iter().map(applied).collect(),
            rejected: self.rejected_codes.iter().map(rejected).collect(),
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
            code: self.code.to_string(),
            path: self.path.clone(),
            content: self.content.clone(),
            blocking: self.is_blocking(),
        }
    }
}
