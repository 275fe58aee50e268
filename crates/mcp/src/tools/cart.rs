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
    Ok(record(context, priced))
}

/// Returns the record of a cart of the caller.
pub(super) fn record(context: &RequestContext, cart: PricedCart) -> CartRecord {
    context.app.payment_gateway.with_store_messages(cart, &context.store).record(&context.store)
}
