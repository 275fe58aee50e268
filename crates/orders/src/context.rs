//! The context of a change to an order.

use database::{Database, DatabaseError, Reading, Work};
use jobs::IdempotencyKey;
use primitives::MerchantId;

use crate::{Actor, OrderError, Viewer};

/// Who changes an order of which store.
pub struct OrderContext<'call> {
    pub database: &'call Database,
    pub merchant: MerchantId,
    /// The slug of the store, for events.
    pub slug: &'call str,
    pub actor: Actor,
    /// Whose orders the caller sees.
    pub viewer: Viewer,
    /// Sent by the caller; a repeated write is executed once.
    pub idempotency_key: Option<&'call IdempotencyKey>,
}

impl<'call> OrderContext<'call> {
    /// Creates the context of a job, which sees all orders. [`slug_of`] returns the slug.
    pub(crate) const fn of_job(
        database: &'call Database,
        merchant: MerchantId,
        slug: &'call str,
    ) -> Self {
        let (actor, viewer) = (Actor::SYSTEM, Viewer::All);
        Self { database, merchant, slug, actor, viewer, idempotency_key: None }
    }

    /// Opens a transaction that may write orders.
    pub(crate) async fn work(&self) -> Result<Work, DatabaseError> {
        Work::for_orders(self.database, self.merchant).await
    }
}

/// Returns the slug of a store, for the events of a job.
pub(crate) async fn slug_of(
    database: &Database,
    merchant: MerchantId,
) -> Result<String, OrderError> {
    let store = merchants::store(&Reading::for_store(database, merchant)?, merchant).await?;
    Ok(store.slug.to_string())
}
