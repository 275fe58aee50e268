//! Products and variants.

use std::collections::BTreeMap;

use primitives::{Money, ProductId, Timestamp, VariantId};
use serde::{Deserialize, Serialize};

use crate::{Category, Sale, StockStatus};

/// A product of one store.
#[derive(Debug, Clone)]
pub struct Product {
    pub id: ProductId,
    pub facts: ProductFacts,
    pub category: Category,
    pub variants: Vec<Variant>,
    pub listed_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The data of a product as the merchant sent it, sanitized.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ProductFacts {
    /// The merchant's identifier of the product; never changes.
    pub external_id: String,
    pub sku: String,
    /// Merchant text.
    pub name: String,
    /// Merchant text.
    pub description: String,
    /// Empty if unknown.
    pub brand: String,
    pub gtin: Option<String>,
    /// Manufacturer part number.
    pub mpn: Option<String>,
    /// Product page in the merchant's shop.
    pub url: Option<String>,
    /// Path of its category.
    pub category: String,
    pub condition: Condition,
    pub price: Money,
    /// Price before a reduction, in minor units of the price's currency.
    pub list_price_minor: Option<i64>,
    /// The price and the list price are those that apply now; before the check of a draft is written, those outside of the
    /// sale.
    pub sale: Option<Sale>,
    pub stock_status: StockStatus,
    /// `None` if the merchant states no quantity.
    pub stock_quantity: Option<i32>,
    pub rating: Option<Rating>,
    /// Further attributes, such as material or capacity.
    pub attributes: BTreeMap<String, String>,
    /// The main image first.
    pub images: Vec<Image>,
    /// Policies that differ from the store's.
    pub policies: ProductPolicies,
    /// `None`: the time of the first import.
    pub listed_at: Option<Timestamp>,
}

/// A variant of a product.
#[derive(Debug, Clone)]
pub struct Variant {
    pub id: VariantId,
    pub facts: VariantFacts,
}

/// The data of a variant as the merchant sent it, sanitized.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VariantFacts {
    /// Unique within the product.
    pub sku: String,
    pub name: String,
    pub gtin: Option<String>,
    /// Option values that identify the variant, such as size and color.
    pub options: BTreeMap<String, String>,
    /// URL of its own image.
    pub image: Option<String>,
    pub price: Money,
    /// Price before a reduction, in minor units of the price's currency.
    pub list_price_minor: Option<i64>,
    /// The price and the list price are those that apply now; before the check of a draft is written, those outside of the
    /// sale.
    pub sale: Option<Sale>,
    pub stock_status: StockStatus,
    /// `None` if the merchant states no quantity.
    pub stock_quantity: Option<i32>,
}

/// A rating as stated by the merchant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rating {
    /// Average in hundredths of a star, 0 to 500.
    pub hundredths: i32,
    pub count: i32,
}

/// An image. A URL that starts with a slash is served by Souk.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Image {
    pub url: String,
    pub alt: String,
}

/// Policies of a product that differ from the store's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProductPolicies {
    /// 0 if the product cannot be returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_window_days: Option<i32>,
    /// Shortest and longest delivery time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_days: Option<(i32, i32)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warranty_months: Option<i32>,
}

/// A review as passed on by the merchant; merchant text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Review {
    pub external_id: String,
    /// 1 to 5.
    pub stars: i16,
    pub title: String,
    pub text: String,
    /// Display name.
    pub author: String,
    pub written_at: Timestamp,
}

primitives::text_enum! {
    /// Condition of a product.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum Condition {
        /// Unused.
        New,
        /// Used and restored to working order.
        Refurbished,
        /// Used.
        Used,
    }
}
