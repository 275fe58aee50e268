//! The operations shared by the cart tools.

use carts::{CartRecord, CartRef, Edit, PricedCart};
use primitives::{CartId, Failure};

use crate::request_context::RequestContext;

/// Applies edits to a cart of the caller; fails if `version` is given and is not the current one.
pub(super) async fn change(
    context: &RequestContext,
    cart: CartId,
    version: Option<i64>,
    edits: &[Edit],
) -> Result<CartRecord, Failure> {
    let cart = CartRef { agent: context.caller()?.key, id: cart };
    let (database, store) = (&context.app.database, &context.store);
    let priced =
        carts::change(database, store, cart, version, edits, context.idempotency()).await?;
    record(context, priced).await
}

/// Returns the record of a cart of the caller.
pub(super) async fn record(
    context: &RequestContext,
    cart: PricedCart,
) -> Result<CartRecord, Failure> {
    let (app, store) = (&context.app, &context.store);
    let cart = app.payment_gateway.with_store_messages(&app.database, cart, store).await?;
    Ok(cart.record(store))
}
