//! Writes under an idempotency key: executed once. A replay returns the cart in its current state.

use database::Work;
use jobs::{Claim, IdempotencyKey};
use primitives::CartId;
use serde_json::{Value, json};

use crate::CartError;

/// Claims the key for this work; without a key every write is fresh.
pub(crate) async fn claim(
    work: &mut Work,
    key: Option<&IdempotencyKey>,
) -> Result<Claim, CartError> {
    match key {
        Some(key) => Ok(jobs::claim_key(work, key).await?),
        None => Ok(Claim::Fresh),
    }
}

/// Stores the cart's id as the response of the key, in the work that executed the write.
pub(crate) async fn record_response(
    work: &mut Work,
    key: Option<&IdempotencyKey>,
    cart: CartId,
) -> Result<(), CartError> {
    if let Some(key) = key {
        jobs::record_response(work, key, &json!({ "cart_id": cart })).await?;
    }
    Ok(())
}

/// Returns the cart's id from a stored response.
pub(crate) fn replayed_cart(response: &Value) -> Result<CartId, CartError> {
    let id = response.get("cart_id").and_then(Value::as_str).and_then(|text| text.parse().ok());
    id.ok_or(CartError::Unreadable)
}
