//! Whether a product can be had.

use std::collections::BTreeMap;

use primitives::{ProductId, Timestamp, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Product, StockStatus};

/// Whether a product can be had.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Availability {
    /// The product.
    pub product_id: ProductId,
    /// Whether it can be had, in whatever form.
    pub stock_status: StockStatus,
    /// How many can be had, if the merchant says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_quantity: Option<i64>,
    /// Each of its forms.
    pub variants: Vec<VariantAvailability>,
    /// When the product last changed.
    pub updated_at: Timestamp,
}

/// Whether a variant can be had.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VariantAvailability {
    /// The variant.
    pub variant_id: VariantId,
    /// The merchant's own number.
    pub sku: String,
    /// What sets it apart.
    pub options: BTreeMap<String, String>,
    /// Whether it can be had.
    pub stock_status: StockStatus,
    /// How many can be had, if the merchant says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_quantity: Option<i64>,
}

impl Product {
    /// Whether it can be had, and in which forms.
    #[must_use]
    pub fn availability(&self) -> Availability {
        let variants = self.variants.iter().map(|variant| VariantAvailability {
            variant_id: variant.id,
            sku: variant.facts.sku.clone(),
            options: variant.facts.options.clone(),
            stock_status: variant.facts.stock_status,
            available_quantity: variant.facts.stock_quantity.map(i64::from),
        });
        Availability {
            product_id: self.id,
            stock_status: self.facts.stock_status,
            available_quantity: self.facts.stock_quantity.map(i64::from),
            variants: variants.collect(),
            updated_at: self.updated_at,
        }
    }
}
