//! Events the trust score is computed from: checkout started, checkout completed. Recorded in the transaction of their cause.

use database::Work;
use primitives::MerchantId;

use crate::{CheckoutError, Session, table};

primitives::text_enum! {
    /// Type of an agent event.
    #[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
    pub(crate) enum AgentEvent {
        CheckoutStart,
        CheckoutComplete,
    }
}

/// Records an event. Events of sandboxes are not recorded.
pub(crate) async fn record(
    work: &mut Work,
    merchant: MerchantId,
    session: &Session,
    event: AgentEvent,
) -> Result<(), CheckoutError> {
    if session.owner.is_sandbox {
        return Ok(());
    }
    Ok(table::insert_event(work, merchant, session, event.as_str()).await?)
}
