//! `onx_cancel_order`: cancels units that the merchant does not process yet.

use carts::Quantity;
use orders::{CancelReason, Cancellation, ITEMS_MAX, LineUnits};
use primitives::{Failure, LineId, OrderId, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::order::{NOTE_LENGTH_MAX, OrderOutput, find_order, order_context};
use crate::onx;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct OnxCancelOrder;

/// Most characters of a reason. Reason and notes are two lines of one note.
const REASON_LENGTH_MAX: usize = 200;
const NOTES_LENGTH_MAX: usize = NOTE_LENGTH_MAX - REASON_LENGTH_MAX - 1;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// Id of the order.
    #[schemars(extend("x-former-names" = ["order_id", "id"]))]
    order_id: OrderId,
    /// Why, in the person's words.
    #[schemars(length(min = 1, max = REASON_LENGTH_MAX))]
    reason: Option<String>,
    /// Further note to the merchant.
    #[schemars(length(min = 1, max = NOTES_LENGTH_MAX))]
    #[schemars(extend("x-former-names" = ["note"], "x-unlisted" = true))]
    notes: Option<String>,
    /// Units to cancel; without them the whole order.
    #[schemars(length(min = 1, max = ITEMS_MAX))]
    #[schemars(extend("x-former-names" = ["line_items"]))]
    line_items: Option<Vec<Item>>,
}

/// Units of a line.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    /// SKU of the line.
    #[schemars(length(min = 1, max = 255))]
    sku: String,
    /// Units.
    #[schemars(range(min = 1, max = Quantity::MAX))]
    quantity: i64,
    /// Line, if several have the SKU.
    id: Option<LineId>,
}

impl Tool for OnxCancelOrder {
    const NAME: &'static str = "onx_cancel_order";
    const TITLE: &'static str = "Cancel an order";
    const PURPOSE: &'static str = "Cancel an order, or units of it, before the merchant processes it (status pending, confirmed or manual_review). Later, use onx_create_return. The merchant refunds the payment. Ask the person first.";
    const SET: ToolSet = ToolSet::Orders;
    const ACCESS: Access = Access::Scope(Scope::AgentOrders);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const DESTRUCTIVE: bool = true;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = OrderOutput;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<OrderOutput, Failure> {
        let id = arguments.order_id;
        let items = match arguments.line_items {
            Some(items) => units(context, id, &items).await?,
            None => Vec::new(),
        };
        // The other reasons are those of merchants, and evidence about them.
        let reason = CancelReason::BuyerRequest;
        let note = match (arguments.reason, arguments.notes) {
            (Some(reason), Some(notes)) => Some(format!("{reason}\n{notes}")),
            (reason, notes) => reason.or(notes),
        };
        let cancellation = Cancellation { items, reason, note };
        let changed = orders::cancel(&order_context(context).await?, id, None, cancellation).await;
        let names = [("items", "lineItems"), (".line_id", ".id"), ("note", "notes")];
        let changed = changed.map_err(|error| onx::with_names(error, &names))?;
        Ok(OrderOutput::of(context, &changed.details))
    }
}

async fn units(
    context: &RequestContext,
    order: OrderId,
    items: &[Item],
) -> Result<Vec<LineUnits>, Failure> {
    let details = find_order(context, order).await?;
    let unit = |(index, item): (usize, &Item)| {
        let field = |name: &str| format!("lineItems[{index}].{name}");
        let line = onx::line_of(&details.order, item.id, &item.sku, field("id"), field("sku"))?;
        Ok(LineUnits { line, quantity: u32::try_from(item.quantity).unwrap_or(u32::MAX) })
    };
    items.iter().enumerate().map(unit).collect()
}
