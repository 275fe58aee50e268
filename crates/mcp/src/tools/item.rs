//! A line of what somebody wants to buy, as tools take it.

use primitives::{ProductId, VariantId};
use schemars::JsonSchema;
use serde::Deserialize;

/// A product, perhaps one form of it, and how many.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    /// The product.
    pub(super) product_id: ProductId,
    /// One form of it.
    pub(super) variant_id: Option<VariantId>,
    /// How many; 1 if left out.
    #[schemars(range(min = 1, max = 1_000_000))]
    quantity: Option<i64>,
}

impl Item {
    pub(super) fn quantity(&self) -> i64 {
        self.quantity.unwrap_or(1)
    }
}
