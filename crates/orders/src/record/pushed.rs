//! Orders of a merchant's other channels, as the merchant reads them (docs/contract/merchant-api.md#push-orders).

use primitives::{Money, OrderId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{OrderStatus, PushedLine, StoredPush};

/// An order that the merchant pushed from another channel.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PushedOrderRecord {
    /// Order identifier.
    pub order_id: OrderId,
    /// The merchant's own identifier of the order.
    pub external_id: String,
    /// Status, as the merchant states it.
    pub status: OrderStatus,
    /// Total.
    pub total_amount: f64,
    /// Currency of all amounts.
    pub currency: String,
    /// Lines of the order.
    pub items: Vec<PushedItemRecord>,
    /// When the order was placed.
    pub placed_at: Timestamp,
    /// When a push last changed it.
    pub pushed_at: Timestamp,
}

/// A line of a pushed order.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PushedItemRecord {
    /// The merchant's SKU.
    pub sku: String,
    /// Name of the product.
    pub name: String,
    /// Units.
    pub quantity: i64,
    /// Unit price.
    pub unit_price: f64,
}

impl StoredPush {
    /// Returns the record for the merchant.
    #[must_use]
    pub fn record(&self) -> PushedOrderRecord {
        let order = &self.order;
        let money = |minor: i64| Money::new(minor, order.currency).to_decimal();
        let item = |line: &PushedLine| PushedItemRecord {
            sku: line.sku.clone(),
            name: line.name.clone(),
            quantity: i64::from(line.quantity),
            unit_price: money(line.unit_minor),
        };
        PushedOrderRecord {
            order_id: self.id,
            external_id: order.external_id.clone(),
            status: order.status,
            total_amount: money(order.total_minor),
            currency: order.currency.to_string(),
            items: order.lines.iter().map(item).collect(),
            placed_at: order.placed_at,
            pushed_at: self.pushed_at,
        }
    }
}
