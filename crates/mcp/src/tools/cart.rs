//! Arguments and operations shared by the cart tools.

use carts::{CartError, CartRecord, CartRef, Edit, Item, Quantity};
use primitives::{CartId, Failure, ProductId, VariantId};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request_context::RequestContext;

/// A cart item.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CartItem {
    /// Product id of this store.
    product_id: ProductId,
    /// Required if the product has variants.
    variant_id: Option<VariantId>,
    /// Default 1.
    #[schemars(range(min = 1, max = 999))]
    quantity: Option<i64>,
}

/// Converts cart items to the domain type.
pub(super) fn items(items: &[CartItem]) -> Result<Vec<Item>, CartError> {
    let convert = |item: &CartItem| {
        let quantity = Quantity::new(item.quantity.unwrap_or(1))?;
        Ok(Item { product: item.product_id, variant: item.variant_id, quantity })
    };
    items.iter().map(convert).collect()
}

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
    Ok(priced.record(store))
}
