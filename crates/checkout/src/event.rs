//! Events the trust score is computed from: checkout started, checkout completed. Recorded in the transaction of their cause.

use database::Work;
use jobs::NewEvent;
use primitives::MerchantId;
use serde_json::json;

use crate::{CheckoutError, Session, table};

primitives::text_enum! {
    /// Type of an agent event.
    #[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
    pub(crate) enum AgentEvent {
        CheckoutStart,
        CheckoutComplete,
    }
}

/// Records an event, and publishes `checkout.changed`. Events of sandboxes are not recorded.
pub(crate) async fn record(
    work: &mut Work,
    merchant: MerchantId,
    session: &Session,
    event: AgentEvent,
) -> Result<(), CheckoutError> {
    if session.owner.is_sandbox {
        return Ok(());
    }
    table::insert_event(work, merchant, session, event.as_str()).await?;
    publish(work, merchant, session, "checkout.changed").await
}

/// Adds an event about a checkout to the outbox, after the write. Domains above this one read what changed then. Nobody reads
/// checkouts of sandboxes.
pub(crate) async fn publish(
    work: &mut Work,
    merchant: MerchantId,
    session: &Session,
    topic: &'static str,
) -> Result<(), CheckoutError> {
    if session.owner.is_sandbox {
        return Ok(());
    }
    let (subject, payload) = (session.id.uuid(), json!({}));
    Ok(jobs::publish(work, &[NewEvent { merchant, topic, subject, payload }]).await?)
}
