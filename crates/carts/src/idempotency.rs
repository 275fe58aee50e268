//! Writes that are asked for with a key: done once, however often they are asked for. What is answered again is the
//! cart as it is by then.

use database::Work;
use jobs::{Claim, IdempotencyKey};
use primitives::CartId;
use serde_json::{Value, json};

use crate::CartError;

pub(crate) async fn claim(
    work: &mut Work,
    key: Option<&IdempotencyKey>,
) -> Result<Claim, CartError> {
    match key {
        Some(key) => Ok(jobs::claim(work, key).await?),
        None => Ok(Claim::Fresh),
    }
}

pub(crate) async fn answer(
    work: &mut Work,
    key: Option<&IdempotencyKey>,
    cart: CartId,
) -> Result<(), CartError> {
    if let Some(key) = key {
        jobs::answer(work, key, &json!({ "cart_id": cart })).await?;
    }
    Ok(())
}

pub(crate) fn cart_of(answer: &Value) -> Result<CartId, CartError> {
    let id = answer.get("cart_id").and_then(Value::as_str).and_then(|text| text.parse().ok());
    id.ok_or(CartError::Unreadable)
}
