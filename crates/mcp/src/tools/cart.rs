//! What the tools for carts take and do alike.

use carts::{CartError, CartRecord, Edit, Item, Quantity};
use primitives::{CartId, Failure, ProductId, VariantId};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Call;

/// Something to put into a cart.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CartItem {
    /// The product, as this store's other tools return it.
    product_id: ProductId,
    /// One form of it; needed if the product has variants.
    variant_id: Option<VariantId>,
    /// How many; 1 if left out.
    #[schemars(range(min = 1, max = 999))]
    quantity: Option<i64>,
}

/// What is wanted, as the domain knows it.
pub(super) fn items(wanted: &[CartItem]) -> Result<Vec<Item>, CartError> {
    let item = |wanted: &CartItem| {
        let quantity = Quantity::new(wanted.quantity.unwrap_or(1))?;
        Ok(Item { product: wanted.product_id, variant: wanted.variant_id, quantity })
    };
    wanted.iter().map(item).collect()
}

/// Changes a cart of the caller.
pub(super) async fn change(
    call: &Call<'_>,
    cart: CartId,
    version: Option<i64>,
    edits: &[Edit],
) -> Result<CartRecord, Failure> {
    let which = (call.caller()?.key, cart);
    let (database, store) = (call.database, call.store);
    let priced = carts::change(database, store, which, version, edits, call.once()).await?;
    Ok(priced.record(store))
}
