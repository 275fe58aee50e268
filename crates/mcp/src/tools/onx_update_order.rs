//! `onx_update_order`: changes what a buyer may change before the shipment.

use orders::{OrderError, OrderUpdate};
use primitives::{Failure, OrderId, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::order::{NOTE_LENGTH_MAX, OrderOutput, find_order, order_context, page_url};
use crate::error::UnserializableOutput;
use crate::onx::{self, ShippingAddress};
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct OnxUpdateOrder;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id of the order.
    #[schemars(extend("x-former-names" = ["order_id", "orderId"]))]
    id: OrderId,
    /// What to change.
    updates: Updates,
}

/// What to change about an order.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Updates {
    /// Replaces the whole address, unless a person approved it.
    #[schemars(extend("x-former-names" = ["shipping_address"]))]
    shipping_address: Option<ShippingAddress>,
    /// Note to the merchant.
    #[schemars(length(min = 1, max = NOTE_LENGTH_MAX))]
    #[schemars(extend("x-former-names" = ["note"]))]
    order_note: Option<String>,
}

impl Tool for OnxUpdateOrder {
    const NAME: &'static str = "onx_update_order";
    const TITLE: &'static str = "Update an order";
    const PURPOSE: &'static str = "Change the note of an order that is not shipped yet. If a person approved the order, the address is changed by the person on the order page, not by this tool. Repeating the call has no effect. Ask the person first.";
    const SET: ToolSet = ToolSet::Orders;
    const ACCESS: Access = Access::Scope(Scope::AgentOrders);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const IDEMPOTENT: bool = true;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = OrderOutput;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<OrderOutput, Failure> {
        let Arguments { id, updates } = arguments;
        if updates.shipping_address.is_none() && updates.order_note.is_none() {
            let field = String::from("updates");
            let allowed = "shippingAddress, orderNote or both";
            return Err(OrderError::InvalidField { field, allowed }.into());
        }
        let mut update = OrderUpdate { destination: None, note: updates.order_note };
        if let Some(address) = updates.shipping_address {
            let details = find_order(context, id).await?;
            let country = details.order.destination().and_then(|it| it["country"].as_str());
            let destination = address.destination(country)?;
            let stored = serde_json::to_value(destination).map_err(UnserializableOutput)?;
            update.destination = Some(stored);
        }
        let changed = orders::update(&order_context(context).await?, id, None, update).await;
        let names = [("destination", "updates.shippingAddress"), ("note", "updates.orderNote")];
        let renamed = |error| onx::with_names(error, &names);
        let changed =
            changed.map_err(|error| renamed(error).with_order_page(|| page_url(context, id)))?;
        Ok(OrderOutput::of(context, &changed.details))
    }
}
