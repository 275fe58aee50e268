//! What the trust score counts: a checkout began, a checkout became an order. In the transaction of its cause.

use database::Work;
use primitives::MerchantId;

use crate::{CheckoutError, Session, table};

/// What happened.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AgentEvent {
    Start,
    Complete,
}

impl AgentEvent {
    const fn name(self) -> &'static str {
        match self {
            Self::Start => "CHECKOUT_START",
            Self::Complete => "CHECKOUT_COMPLETE",
        }
    }
}

/// Writes an event down. A sandbox's is none.
pub(crate) async fn note(
    work: &mut Work,
    merchant: MerchantId,
    session: &Session,
    event: AgentEvent,
) -> Result<(), CheckoutError> {
    if session.owner.is_sandbox {
        return Ok(());
    }
    Ok(table::insert_event(work, merchant, session, event.name()).await?)
}
