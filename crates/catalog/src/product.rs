//! The noun.

use std::collections::BTreeMap;

use primitives::{Money, ProductId, Timestamp, VariantId};
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
    /// When the merchant first listed it.
    pub listed_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What is known of a product.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NewProduct {
    /// The merchant's own identifier: it names the product for ever.
    pub external_id: String,
    /// The merchant's stock-keeping number.
    pub sku: String,
    /// What it is called. Merchant text.
    pub name: String,
    /// What it is. Merchant text.
    pub description: String,
    /// Who makes it; empty if nobody says.
    pub brand: String,
    /// The number on its bar code.
    pub gtin: Option<String>,
    /// The maker's own number.
    pub mpn: Option<String>,
    /// Its page in the merchant's shop.
    pub url: Option<String>,
    /// The path of its place in the store's tree.
    pub category: String,
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
    /// Where it differs from what the store promises.
    pub policies: ProductPolicies,
    /// When the merchant first listed it, if the merchant says.
    pub listed_at: Option<Timestamp>,
}

/// A buyable form of a product.
#[derive(Debug, Clone)]
pub struct Variant {
    /// Its id.
    pub id: VariantId,
    /// What is known of it.
    pub facts: NewVariant,
}

/// What is known of a variant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NewVariant {
    /// The merchant's stock-keeping number: it names the variant within its product.
    pub sku: String,
    /// What it is called.
    pub name: String,
    /// The number on its bar code.
    pub gtin: Option<String>,
    /// What sets it apart: size, colour.
    pub options: BTreeMap<String, String>,
    /// Its own picture.
    pub image: Option<String>,
    /// What it costs.
    pub price: Money,
    /// What it cost before, in minor units of the price's currency.
    pub list_price_minor: Option<i64>,
    /// Whether it can be had.
    pub stock_status: StockStatus,
    /// How many there are, if the merchant says.
    pub stock_quantity: Option<i32>,
}

/// A rating as the merchant claims it: hundredths of a star, 0 to 500.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rating {
    /// The average.
    pub hundredths: i32,
    /// How many rated.
    pub count: i32,
}

/// A picture. An address that starts with a slash is ours.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Image {
    /// Where it is.
    pub url: String,
    /// What it shows.
    pub alt: String,
}

/// Where a product differs from what its store promises.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProductPolicies {
    /// Days to return in; 0 means it cannot be returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_window_days: Option<i32>,
    /// The quickest and the slowest delivery, in days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_days: Option<(i32, i32)>,
    /// The warranty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warranty_months: Option<i32>,
}

/// What a buyer wrote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Review {
    /// The merchant's own identifier of it.
    pub external_id: String,
    /// 1 to 5.
    pub stars: i16,
    /// The headline; merchant text, like all of it.
    pub title: String,
    /// The text.
    pub text: String,
    /// A name to show.
    pub author: String,
    /// When it was written.
    pub written_at: Timestamp,
}

/// New or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
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
