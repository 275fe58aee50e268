//! Writes under an idempotency key: executed once. A replay returns the session in its current state.

use std::ops::{Deref, DerefMut};

use database::{DatabaseError, Work};
use jobs::IdempotencyKey;
use serde_json::{Value, json};

use crate::{CheckoutContext, CheckoutError, Session, SessionSnapshot, table};

/// The claim of an idempotency key.
pub(crate) enum Claim<'key> {
    /// The write has to be executed, in this work.
    Fresh(KeyedWork<'key>),
    /// The write was executed before.
    Replay(Box<SessionSnapshot>),
}

/// The work of a write and the key it claimed, if the caller sent one.
pub(crate) struct KeyedWork<'key> {
    work: Box<Work>,
    key: Option<&'key IdempotencyKey>,
}

/// Opens the work of a write and claims the key, or returns the session written earlier under the same key.
pub(crate) async fn claim<'key>(
    context: &CheckoutContext<'_>,
    key: Option<&'key IdempotencyKey>,
) -> Result<Claim<'key>, CheckoutError> {
    let mut work = KeyedWork { work: Box::new(context.work().await?), key };
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

impl KeyedWork<'_> {
    /// Stores the session's id as the response of the key; a replay returns the session.
    pub(crate) async fn record_response(&mut self, session: &Session) -> Result<(), CheckoutError> {
        if let Some(key) = self.key {
            let response = json!({ "checkout_id": session.id });
            jobs::record_response(&mut self.work, key, &response).await?;
        }
        Ok(())
    }

    /// Records the session as the response of the key, commits and returns the session.
    pub(crate) async fn finish(
        mut self,
        session: Session,
    ) -> Result<SessionSnapshot, CheckoutError> {
        let now = self.now();
        self.record_response(&session).await?;
        self.commit().await?;
        Ok(SessionSnapshot { session, now })
    }

    pub(crate) async fn commit(self) -> Result<(), DatabaseError> {
        self.work.commit().await
    }

    /// Rolls back the write and the claim of the key.
    pub(crate) async fn rollback(self) -> Result<(), DatabaseError> {
        self.work.rollback().await
    }
}

impl Deref for KeyedWork<'_> {
    type Target = Work;

    fn deref(&self) -> &Work {
        &self.work
    }
}

impl DerefMut for KeyedWork<'_> {
    fn deref_mut(&mut self) -> &mut Work {
        &mut self.work
    }
}

/// Returns the key under which the cart of a checkout is created: a write of its own.
pub(crate) fn key_of_cart(key: &IdempotencyKey) -> IdempotencyKey {
    IdempotencyKey { caller: format!("{}/cart", key.caller), ..key.clone() }
}
