//! An item with a quantity, as read-only tools accept it.

use primitives::{ProductId, VariantId};
use schemars::JsonSchema;
use serde::Deserialize;

/// A product or variant, and a quantity.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    /// Product id.
    pub(super) product_id: ProductId,
    /// Variant id.
    pub(super) variant_id: Option<VariantId>,
    /// Default 1.
    #[schemars(range(min = 1, max = 1_000_000))]
    quantity: Option<i64>,
}

impl Item {
    /// Returns the quantity, 1 by default.
    pub(super) fn quantity(&self) -> i64 {
        self.quantity.unwrap_or(1)
    }
}
