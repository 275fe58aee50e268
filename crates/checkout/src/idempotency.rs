//! Writes under an idempotency key: executed once. A replay returns the session in its current state.

use database::Work;
use jobs::IdempotencyKey;
use serde_json::{Value, json};

use crate::{CheckoutContext, CheckoutError, Session, SessionSnapshot, table};

/// The claim of an idempotency key.
pub(crate) enum Claim {
    /// The write has to be executed, in this work.
    Fresh(Box<Work>),
    /// The write was executed before.
    Replay(Box<SessionSnapshot>),
}

/// Opens the work of a write and claims the key, or returns the session written earlier under the same key.
pub(crate) async fn claim(
    context: &CheckoutContext<'_>,
    key: Option<&IdempotencyKey>,
) -> Result<Claim, CheckoutError> {
    let mut work = Box::new(context.work().await?);
    let Some(key) = key else { return Ok(Claim::Fresh(work)) };
    let jobs::Claim::Replay(response) = jobs::claim_key(&mut work, key).await? else {
        return Ok(Claim::Fresh(work));
    };
    let id = response.get("checkout_id").and_then(Value::as_str).and_then(|text| text.parse().ok());
    let id = Some(id.ok_or(CheckoutError::Unreadable)?);
    let found = table::find(work.sql(), context.merchant(), id, None).await?;
    let session = found.ok_or(CheckoutError::NotFound)?;
    let snapshot = SessionSnapshot { session, now: work.now() };
    work.rollback().await?;
    Ok(Claim::Replay(Box::new(snapshot)))
}

/// Stores the session's id as the response of the key, in the work that executed the write.
pub(crate) async fn record_response(
    work: &mut Work,
    key: Option<&IdempotencyKey>,
    session: &Session,
) -> Result<(), CheckoutError> {
    if let Some(key) = key {
        jobs::record_response(work, key, &json!({ "checkout_id": session.id })).await?;
    }
    Ok(())
}

/// Returns the key under which the cart of a checkout is created: a write of its own.
pub(crate) fn key_of_cart(key: &IdempotencyKey) -> IdempotencyKey {
    IdempotencyKey { caller: format!("{}/cart", key.caller), ..key.clone() }
}
