//! Lines of orders.

use orders::{OrderError, OrderItem};
use primitives::LineId;
use schemars::JsonSchema;
use serde::Serialize;

use super::CustomField;

/// A line of an order, or units of one in a fulfillment.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LineItem {
    /// Line identifier.
    id: LineId,
    /// The merchant's SKU.
    sku: String,
    /// Units: of an order the ordered ones, of a fulfillment the shipped ones.
    quantity: i64,
    /// Unit price.
    unit_price: f64,
    /// Price of all ordered units after discounts; absent in a fulfillment.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_price: Option<f64>,
    /// Name of the product or variant.
    name: String,
    /// `product_id`, `variant_id`, and the units `canceled`, `shipped` and `returned`; absent in a fulfillment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    custom_fields: Vec<CustomField>,
}

impl LineItem {
    pub(super) fn of(item: &OrderItem) -> Self {
        let quantity = item.quantity;
        let mut custom_fields = vec![CustomField::new("product_id", item.product_id)];
        custom_fields.extend(item.variant_id.map(|id| CustomField::new("variant_id", id)));
        let canceled = quantity.ordered - quantity.current;
        let units = [
            ("canceled", canceled),
            ("shipped", quantity.fulfilled),
            ("returned", quantity.returned),
        ];
        let present = units.into_iter().filter(|(_, units)| *units > 0);
        custom_fields.extend(present.map(|(name, units)| CustomField::new(name, units)));
        Self {
            id: item.line_id,
            sku: item.sku.clone(),
            quantity: quantity.ordered,
            unit_price: item.unit_price,
            total_price: Some(item.line_total),
            name: item.name.clone(),
            custom_fields,
        }
    }

    /// Returns units of a line, or `None` if the order has no such line.
    pub(super) fn units(order: &orders::Order, units: orders::LineUnits) -> Option<Self> {
        let line = order.line(units.line)?;
        Some(Self {
            id: line.line,
            sku: line.sku.clone(),
            quantity: i64::from(units.quantity),
            unit_price: order.money(line.unit_minor).to_decimal(),
            total_price: None,
            name: line.name.clone(),
            custom_fields: Vec::new(),
        })
    }
}

/// Returns the line that arguments name by its SKU and, unless only one line has it, by its id. `id_field` and `sku_field` are
/// the names of the arguments.
pub(crate) fn line_of(
    order: &orders::Order,
    id: Option<LineId>,
    sku: &str,
    id_field: String,
    sku_field: String,
) -> Result<LineId, OrderError> {
    if let Some(id) = id {
        let line = order.line(id).ok_or(OrderError::UnknownLine { field: id_field })?;
        return if line.sku == sku {
            Ok(id)
        } else {
            Err(OrderError::InvalidField { field: sku_field, allowed: "the SKU of this line" })
        };
    }
    let mut lines = order.lines.iter().filter(|line| line.sku == sku);
    match (lines.next(), lines.next()) {
        (Some(line), None) => Ok(line.line),
        (Some(_), Some(_)) => {
            let allowed = "the id of one of the lines with this SKU";
            Err(OrderError::InvalidField { field: id_field, allowed })
        }
        (None, _) => Err(OrderError::UnknownLine { field: sku_field }),
    }
}
