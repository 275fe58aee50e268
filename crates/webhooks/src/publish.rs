//! A verb: publishing a webhook event in the transaction of its cause.

use database::Work;
use jobs::NewEvent;
use primitives::{EventId, MerchantId};
use serde_json::json;

use crate::table::event::StoredEvent;
use crate::{WebhookError, WebhookEvent, table};

/// Stores an event with the exact bytes of its body and a delivery for each enabled endpoint that selects its kind, and adds it
/// to the outbox. It exists only if the work commits.
pub async fn publish(
    work: &mut Work,
    merchant: MerchantId,
    event: &WebhookEvent,
) -> Result<EventId, WebhookError> {
    let (id, now): (EventId, _) = (work.new_id(), work.now());
    let body = event.body(id, now).map_err(WebhookError::Serialize)?;
    let (kind, subject) = (event.kind(), event.subject());
    let stored = StoredEvent { id, kind, subject, body: &body };
    table::event::insert(work, merchant, &stored, None).await?;
    let payload = json!({ "event_id": id });
    jobs::publish(work, &[NewEvent { merchant, topic: kind.as_str(), subject, payload }]).await?;
    Ok(id)
}
