//! What the tools for orders share.

pub(super) use orders::NOTE_LENGTH_MAX;
use orders::{Actor, OrderContext, OrderDetails, OrderReturn};
use primitives::{Failure, OrderId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::onx;
use crate::request_context::RequestContext;

/// A changed order in the form of onX.
#[derive(Serialize, JsonSchema)]
pub(super) struct OrderOutput {
    /// Always true; errors have another form.
    success: bool,
    /// The order.
    order: onx::Order,
}

impl OrderOutput {
    pub(super) fn of(context: &RequestContext, details: &OrderDetails) -> Self {
        Self { success: true, order: onx_order(context, details) }
    }
}

/// Builds the context of a change by the calling agent.
pub(super) async fn order_context(context: &RequestContext) -> Result<OrderContext<'_>, Failure> {
    Ok(OrderContext {
        database: &context.app.database,
        merchant: context.store.merchant,
        slug: context.store.slug.as_str(),
        actor: Actor::agent(context.caller()?.key),
        viewer: context.viewer().await?,
        idempotency_key: context.idempotency(),
    })
}

/// Returns an order that the caller sees, with everything that belongs to it.
pub(super) async fn find_order(
    context: &RequestContext,
    id: OrderId,
) -> Result<OrderDetails, Failure> {
    let (reading, viewer) = (context.reading()?, context.viewer().await?);
    Ok(orders::details(&reading, context.store.merchant, id, &viewer).await?)
}

/// Returns the address of the buyer's page of an order.
pub(super) fn page_url(context: &RequestContext, order: OrderId) -> String {
    let (store, links) = (&context.store, &context.app.credentials.order_links);
    links.url(store.slug.as_str(), store.merchant, order)
}

/// Returns an order in the form of onX.
pub(super) fn onx_order(context: &RequestContext, details: &OrderDetails) -> onx::Order {
    let page_url = page_url(context, details.order.id);
    onx::Order::of(details, context.store.slug.as_str(), page_url)
}

/// Returns a return in the form of onX.
pub(super) fn onx_return(
    context: &RequestContext,
    details: &OrderDetails,
    it: &OrderReturn,
) -> onx::Return {
    let page_url = page_url(context, details.order.id);
    onx::Return::of(details, it, context.store.slug.as_str(), page_url)
}
