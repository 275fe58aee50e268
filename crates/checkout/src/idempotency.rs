//! Writes that are asked for with a key: done once, however often they are asked for. What is answered again is the session as
//! it is by then.

use database::Work;
use jobs::{Claim, IdempotencyKey};
use serde_json::{Value, json};

use crate::{At, CheckoutError, Counter, Session, table};

/// How a write begins.
pub(crate) enum Begun {
    /// It has to be done, in this work.
    Fresh(Box<Work>),
    /// It was done before.
    Done(Box<At>),
}

/// Opens a work for a write, or finds what was done before under the same key.
pub(crate) async fn begin(
    counter: &Counter<'_>,
    key: Option<&IdempotencyKey>,
) -> Result<Begun, CheckoutError> {
    let mut work = Box::new(counter.work().await?);
    let Some(key) = key else { return Ok(Begun::Fresh(work)) };
    let Claim::Replay(answer) = jobs::claim(&mut work, key).await? else {
        return Ok(Begun::Fresh(work));
    };
    let id = answer.get("checkout_id").and_then(Value::as_str).and_then(|text| text.parse().ok());
    let id = Some(id.ok_or(CheckoutError::Unreadable)?);
    let found = table::find(work.sql(), counter.merchant(), id, None).await?;
    let at = At { session: found.ok_or(CheckoutError::NotFound)?, now: work.now() };
    work.abandon().await?;
    Ok(Begun::Done(Box::new(at)))
}

/// Keeps what was done beside the key, in the work that did it.
pub(crate) async fn answer(
    work: &mut Work,
    key: Option<&IdempotencyKey>,
    session: &Session,
) -> Result<(), CheckoutError> {
    if let Some(key) = key {
        jobs::answer(work, key, &json!({ "checkout_id": session.id })).await?;
    }
    Ok(())
}
