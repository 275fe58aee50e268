//! The noun.

use std::collections::BTreeMap;

use primitives::{CategoryId, Money, ProductId, Timestamp, VariantId};
use serde::{Deserialize, Serialize};

use crate::{Category, StockStatus};

/// A product of one store.
#[derive(Debug, Clone)]
pub struct Product {
    /// Its id.
    pub id: ProductId,
    /// What is known of it.
    pub facts: NewProduct,
    /// Where it stands in the store's tree.
    pub category: Category,
    /// Its buyable forms.
    pub variants: Vec<Variant>,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A product about to be brought in.
#[derive(Debug, Clone, PartialEq)]
pub struct NewProduct {
    /// The merchant's own number for it.
    pub sku: String,
    /// What it is called. Merchant text.
    pub name: String,
    /// What it is. Merchant text.
    pub description: String,
    /// Who makes it.
    pub brand: String,
    /// The number on its bar code.
    pub gtin: Option<String>,
    /// Where it stands in the store's tree.
    pub category: CategoryId,
    /// New or not.
    pub condition: Condition,
    /// What it costs.
    pub price: Money,
    /// What it cost before, in minor units of the price's currency.
    pub list_price_minor: Option<i64>,
    /// Whether it can be had.
    pub stock_status: StockStatus,
    /// How many there are, if the merchant says.
    pub stock_quantity: Option<i32>,
    /// How it is rated.
    pub rating: Option<Rating>,
    /// Further facts: material, colour, capacity.
    pub attributes: BTreeMap<String, String>,
    /// Pictures.
    pub images: Vec<Image>,
    /// When the merchant first listed it.
    pub listed_at: Timestamp,
}

/// A buyable form of a product.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Its id.
    pub id: VariantId,
    /// What is known of it.
    pub facts: NewVariant,
}

/// A variant about to be brought in.
#[derive(Debug, Clone, PartialEq)]
pub struct NewVariant {
    /// The merchant's own number for it.
    pub sku: String,
    /// What it is called.
    pub name: String,
    /// The number on its bar code.
    pub gtin: Option<String>,
    /// What sets it apart: size, colour.
    pub options: BTreeMap<String, String>,
    /// What it costs.
    pub price: Money,
    /// Whether it can be had.
    pub stock_status: StockStatus,
    /// How many there are, if the merchant says.
    pub stock_quantity: Option<i32>,
}

/// A rating as the merchant claims it: hundredths of a star, 0 to 500.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rating {
    /// The average.
    pub hundredths: i32,
    /// How many rated.
    pub count: i32,
}

/// A picture. An address that starts with a slash is ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Where it is.
    pub url: String,
    /// What it shows.
    pub alt: String,
}

/// New or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Condition {
    /// Unused.
    New,
    /// Used, and made good again.
    Refurbished,
    /// Used.
    Used,
}

impl Condition {
    const ALL: [(Self, &'static str); 3] =
        [(Self::New, "new"), (Self::Refurbished, "refurbished"), (Self::Used, "used")];

    /// The name, as on the wire and in PostgreSQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(condition, _)| *condition == self).map_or("", |(_, name)| name)
    }

    /// The condition of a name.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(condition, _)| *condition)
    }
}
