//! All SQL of webhooks.

use database::Work;
use primitives::{EventId, MerchantId, Timestamp};
use uuid::Uuid;

/// A webhook event as it is stored.
pub(crate) struct StoredEvent<'event> {
    pub(crate) id: EventId,
    pub(crate) kind: &'static str,
    pub(crate) subject: Uuid,
    pub(crate) body: &'event str,
}

pub(crate) async fn insert(
    work: &mut Work,
    merchant: MerchantId,
    event: &StoredEvent<'_>,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO webhook_event (merchant_id, event_id, kind, subject, body, created_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        merchant as MerchantId,
        event.id as EventId,
        event.kind,
        event.subject,
        event.body.as_bytes(),
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
