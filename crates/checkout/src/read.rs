//! A verb: reading a session.

use database::{Database, Reading, Work};
use primitives::{CheckoutId, KeyId, MerchantId, Timestamp};

use crate::{CheckoutError, Session, Status, table};

/// A session and the moment it was looked at.
#[derive(Debug, Clone)]
pub struct At {
    /// The session.
    pub session: Session,
    /// When.
    pub now: Timestamp,
}

impl At {
    /// Where it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.session.status(self.now)
    }
}

/// A session of this store. With an agent, only its own: another's does not exist to it.
pub async fn session(
    reading: &Reading,
    merchant: MerchantId,
    id: CheckoutId,
    agent: Option<KeyId>,
) -> Result<At, CheckoutError> {
    let mut snapshot = reading.open().await?;
    let now = snapshot.now().await?;
    let found = table::find(&mut snapshot, merchant, Some(id), None).await?;
    snapshot.close().await?;
    let session = found.filter(|session| agent.is_none_or(|agent| agent == session.owner.key));
    Ok(At { session: session.ok_or(CheckoutError::NotFound)?, now })
}

/// Whose store a session belongs to: an agent names a session without its store.
pub async fn owner_of(database: &Database, id: CheckoutId) -> Result<MerchantId, CheckoutError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let found = table::owner_of(&mut snapshot, id).await?;
    snapshot.close().await?;
    found.ok_or(CheckoutError::NotFound)
}

/// A session and its cart, held until the work ends. Whoever changes a session holds the row of its cart first.
pub(crate) async fn hold(
    work: &mut Work,
    merchant: MerchantId,
    id: CheckoutId,
    agent: Option<KeyId>,
) -> Result<(Session, carts::Cart), CheckoutError> {
    let found = table::find(work.sql(), merchant, Some(id), None).await?;
    let found = found.filter(|session| agent.is_none_or(|agent| agent == session.owner.key));
    let (cart, key) = found.map(|it| (it.cart, it.owner.key)).ok_or(CheckoutError::NotFound)?;
    let cart = carts::lock(work, merchant, cart, key).await?;
    let session = table::find(work.sql(), merchant, Some(id), None).await?;
    Ok((session.ok_or(CheckoutError::NotFound)?, cart))
}
