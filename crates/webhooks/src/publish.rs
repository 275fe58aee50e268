//! The verb: telling something, in the transaction that made it true.

use database::Work;
use jobs::NewEvent;
use primitives::{EventId, MerchantId};
use serde_json::json;

use crate::{Announcement, WebhookError, table};

/// Keeps an event for the merchant with the exact bytes of its body, and tells the outbox. It exists only if the work
/// commits.
pub async fn announce(
    work: &mut Work,
    merchant: MerchantId,
    announcement: &Announcement,
) -> Result<EventId, WebhookError> {
    let (id, now): (EventId, _) = (work.new_id(), work.now());
    let body = announcement.body(id, now).map_err(WebhookError::Unwritable)?;
    let (kind, subject) = (announcement.kind(), announcement.subject());
    table::insert(work, merchant, &table::KeptEvent { id, kind, subject, body: &body }).await?;
    let payload = json!({ "event_id": id });
    jobs::publish(work, &[NewEvent { merchant, topic: kind, subject, payload }]).await?;
    Ok(id)
}
