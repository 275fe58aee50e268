//! Availability of a product and its variants.

use std::collections::BTreeMap;

use primitives::{ProductId, Timestamp, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Product, StockStatus};

/// Availability of a product.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Availability {
    /// Product identifier.
    pub product_id: ProductId,
    /// Stock status; with variants, the best of theirs.
    pub stock_status: StockStatus,
    /// Units available; absent if the merchant does not state a quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_quantity: Option<i64>,
    /// Availability of each variant.
    pub variants: Vec<VariantAvailability>,
    /// When the product last changed.
    pub updated_at: Timestamp,
}

/// Availability of a variant.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VariantAvailability {
    /// Variant identifier.
    pub variant_id: VariantId,
    /// The merchant's SKU.
    pub sku: String,
    /// Option values that identify the variant, such as size and color.
    pub options: BTreeMap<String, String>,
    /// Stock status.
    pub stock_status: StockStatus,
    /// Units available; absent if the merchant does not state a quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_quantity: Option<i64>,
}

impl Product {
    /// Returns the availability of the product and of each variant.
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
