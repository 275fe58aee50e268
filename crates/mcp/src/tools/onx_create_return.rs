//! `onx_create_return`: requests a return.

use carts::Quantity;
use orders::{ITEMS_MAX, OrderError, RequestedItem, ReturnOutcome, ReturnReason, ReturnRequest};
use primitives::{Failure, LineId, NotExactlyOne, OrderId, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::order::{NOTE_LENGTH_MAX, find_order, onx_return, order_context};
use crate::onx;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct OnxCreateReturn;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id of the order.
    #[schemars(extend("x-former-names" = ["orderId"]))]
    order_id: Option<OrderId>,
    /// Units to return.
    #[schemars(length(min = 1, max = ITEMS_MAX))]
    items: Option<Vec<Item>>,
    /// Why.
    reason: Option<ReturnReason>,
    /// Wish; default refund.
    outcome: Option<ReturnOutcome>,
    /// Note to the merchant.
    #[schemars(length(min = 1, max = NOTE_LENGTH_MAX))]
    #[schemars(extend("x-former-names" = ["customerNote"]))]
    note: Option<String>,
    /// The same in onX form, instead of the other fields.
    #[schemars(extend("x-unlisted" = true))]
    #[serde(rename = "return")]
    onx: Option<OnxReturn>,
}

/// Units of a line.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    /// Line of the order.
    line_id: LineId,
    /// Units.
    #[schemars(range(min = 1, max = Quantity::MAX))]
    quantity: i64,
}

/// A return in the form of onX.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct OnxReturn {
    /// Order.
    order_id: OrderId,
    /// Wish.
    outcome: ReturnOutcome,
    /// Units.
    #[schemars(length(min = 1, max = ITEMS_MAX))]
    return_line_items: Vec<OnxItem>,
    /// Note.
    #[schemars(length(min = 1, max = NOTE_LENGTH_MAX))]
    customer_note: Option<String>,
}

/// Units of a line in the form of onX.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct OnxItem {
    /// Line.
    order_line_item_id: LineId,
    /// SKU of the line.
    #[schemars(length(min = 1, max = 255))]
    sku: String,
    /// Units.
    #[schemars(range(min = 1, max = Quantity::MAX))]
    quantity_returned: i64,
    /// Why.
    return_reason: ReturnReason,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Always true; errors have another form.
    success: bool,
    /// The return.
    #[serde(rename = "return")]
    requested: onx::Return,
}

impl Tool for OnxCreateReturn {
    const NAME: &'static str = "onx_create_return";
    const TITLE: &'static str = "Request a return";
    const PURPOSE: &'static str = "Request a return of delivered items of an order; the merchant approves or declines it. check_return_eligibility tells what can be returned, onx_get_returns how it was decided. Ask the person first.";
    const SET: ToolSet = ToolSet::Orders;
    const ACCESS: Access = Access::Scope(Scope::AgentOrders);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let (order, request, names) = match arguments {
            Arguments {
                onx: Some(onx),
                order_id: None,
                items: None,
                reason: None,
                outcome: None,
                note: None,
            } => (onx.order_id, onx.request(context).await?, ONX_NAMES),
            Arguments { onx: None, order_id: Some(order), items, reason, outcome, note } => {
                (order, flat_request(items, reason, outcome, note)?, &[][..])
            }
            _ => return Err(NotExactlyOne(&["order_id", "return"]).into()),
        };
        let changed = orders::request_return(&order_context(context).await?, order, request).await;
        let changed = changed.map_err(|error| onx::with_names(error, names))?;
        let is_requested =
            |it: &&orders::OrderReturn| changed.subject.as_ref() == Some(&it.id.to_string());
        let requested = changed.details.returns.iter().find(is_requested);
        let requested = requested.ok_or(OrderError::ReturnNotFound)?;
        Ok(Output { success: true, requested: onx_return(context, &changed.details, requested) })
    }
}

/// Names of fields in the form of onX.
const ONX_NAMES: &[(&str, &str)] = &[
    ("items", "return.returnLineItems"),
    (".line_id", ".orderLineItemId"),
    (".quantity", ".quantityReturned"),
    ("order_id", "return.orderId"),
    ("note", "return.customerNote"),
];

impl OnxReturn {
    /// Returns the request, if each line has the SKU that is named with it.
    async fn request(self, context: &RequestContext) -> Result<ReturnRequest, Failure> {
        let details = find_order(context, self.order_id).await?;
        let mut items = Vec::with_capacity(self.return_line_items.len());
        for (index, item) in self.return_line_items.iter().enumerate() {
            let field = |name: &str| format!("return.returnLineItems[{index}].{name}");
            let (id_field, sku_field) = (field("orderLineItemId"), field("sku"));
            let id = Some(item.order_line_item_id);
            items.push(RequestedItem {
                line: onx::line_of(&details.order, id, &item.sku, id_field, sku_field)?,
                quantity: u32::try_from(item.quantity_returned).unwrap_or(u32::MAX),
                reason: item.return_reason,
            });
        }
        Ok(ReturnRequest { items, outcome: self.outcome, note: self.customer_note })
    }
}

fn flat_request(
    items: Option<Vec<Item>>,
    reason: Option<ReturnReason>,
    outcome: Option<ReturnOutcome>,
    note: Option<String>,
) -> Result<ReturnRequest, OrderError> {
    let required =
        |field: &str, allowed| OrderError::InvalidField { field: field.to_owned(), allowed };
    let items = items.ok_or_else(|| required("items", "1 to 50 items; this field is required"))?;
    let reason = reason.ok_or_else(|| required("reason", "a reason; this field is required"))?;
    let item = |item: Item| RequestedItem {
        line: item.line_id,
        quantity: u32::try_from(item.quantity).unwrap_or(u32::MAX),
        reason,
    };
    let items = items.into_iter().map(item).collect();
    Ok(ReturnRequest { items, outcome: outcome.unwrap_or(ReturnOutcome::Refund), note })
}
