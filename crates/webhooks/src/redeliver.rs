//! Verbs: sending an event again, recovering the events of a range of time, and testing an endpoint.

use database::Work;
use jobs::IdempotencyKey;
use primitives::{EndpointId, EventId, MerchantId, Timestamp};

use crate::claim::{claimed_earlier, record_claim};
use crate::deliveries::RETENTION;
use crate::table::endpoint::Selection;
use crate::table::event::StoredEvent;
use crate::table::redeliver::Range;
use crate::webhook_test::WebhookTest;
use crate::{Endpoint, EndpointError, EventKind, EventPosition, WebhookError, Webhooks, table};

/// Events that one transaction of a recovery looks at.
const PAGE_EVENTS: u32 = 1_000;
/// Transactions of one recovery.
const PAGES_MAX: u32 = 100;

/// What a recovery queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    /// At most [`QUEUED_MAX`](Self::QUEUED_MAX).
    pub queued: u32,
    /// Where to continue with another call, if the range was too long for one; `None` if all of it was looked at.
    pub next_since: Option<Timestamp>,
}

impl Recovery {
    /// The most events that one call queues.
    pub const QUEUED_MAX: u32 = 10_000;
}

impl Webhooks {
    /// Sends an event of the last 30 days to an endpoint again, whatever its delivery status and the kinds that the endpoint
    /// selects. A pending delivery is attempted now; a delivered event and a dead letter get all attempts again.
    /// Repeated with the same idempotency key, it changes nothing.
    pub async fn redeliver(
        &self,
        merchant: MerchantId,
        endpoint: EndpointId,
        event: EventId,
        key: Option<&IdempotencyKey>,
    ) -> Result<(), EndpointError> {
        let mut work = Work::for_store(&self.database, merchant).await?;
        if claimed_earlier::<EventId>(&mut work, key).await?.is_some() {
            return Ok(work.rollback().await?);
        }
        enabled(&mut work, merchant, endpoint).await?;
        let oldest = work.now().minus(RETENTION);
        if !table::redeliver::one(&mut work, merchant, endpoint, event, oldest).await? {
            return Err(EndpointError::EventNotFound);
        }
        table::endpoint::probe_now(&mut work, merchant, endpoint).await?;
        record_claim(&mut work, key, event).await?;
        Ok(work.commit().await?)
    }

    /// Queues the events of a range, `until` excluded, that an endpoint has not received: those of the kinds that it selects which
    /// were never sent to it, and dead letters. Without `until`, the range ends now. Events older than 30 days are gone.
    /// Repeating it queues nothing twice.
    pub async fn recover(
        &self,
        merchant: MerchantId,
        endpoint: EndpointId,
        since: Timestamp,
        until: Option<Timestamp>,
    ) -> Result<Recovery, EndpointError> {
        let (mut queued, mut end) = (0, until);
        let mut after = EventPosition::before(since);
        for _ in 0..PAGES_MAX {
            let mut work = Work::for_store(&self.database, merchant).await?;
            let until = *end.get_or_insert(work.now());
            if until <= since {
                return Err(EndpointError::InvalidRange);
            }
            let found = enabled(&mut work, merchant, endpoint).await?;
            after = after.max(EventPosition::before(work.now().minus(RETENTION)));
            let range = Range { after, until, kinds: &found.kinds, limit: i64::from(PAGE_EVENTS) };
            let page = table::redeliver::range(&mut work, merchant, endpoint, &range).await?;
            work.commit().await?;
            queued += u32::try_from(page.queued).unwrap_or(u32::MAX);
            after = match page.last {
                Some(last) if page.seen >= i64::from(PAGE_EVENTS) => last,
                _ => return Ok(Recovery { queued, next_since: None }),
            };
            if queued + PAGE_EVENTS > Recovery::QUEUED_MAX {
                break;
            }
        }
        Ok(Recovery { queued, next_since: Some(after.at) })
    }

    /// Sends a test event to an endpoint, whatever it selects, and returns its id. Repeated with the same idempotency
    /// key, it returns the id of the first one and sends nothing.
    pub async fn send_test(
        &self,
        merchant: MerchantId,
        endpoint: EndpointId,
        key: Option<&IdempotencyKey>,
    ) -> Result<EventId, EndpointError> {
        let mut work = Work::for_store(&self.database, merchant).await?;
        if let Some(sent) = claimed_earlier(&mut work, key).await? {
            work.rollback().await?;
            return Ok(sent);
        }
        enabled(&mut work, merchant, endpoint).await?;
        let store = merchants::store_now(&mut work, merchant).await?;
        let test = WebhookTest { endpoint, slug: store.slug.to_string() };
        let (id, now): (EventId, _) = (work.new_id(), work.now());
        let body = test.body(id, now).map_err(WebhookError::Serialize)?;
        let (kind, subject) = (EventKind::WebhookTest, endpoint.uuid());
        let event = StoredEvent { id, kind, subject, body: &body };
        table::event::insert(&mut work, merchant, &event, Some(endpoint)).await?;
        table::endpoint::probe_now(&mut work, merchant, endpoint).await?;
        record_claim(&mut work, key, id).await?;
        work.commit().await?;
        Ok(id)
    }
}

/// Returns the endpoint, or an error if it is disabled.
async fn enabled(
    work: &mut Work,
    merchant: MerchantId,
    id: EndpointId,
) -> Result<Endpoint, EndpointError> {
    let mut found = table::endpoint::select(work.sql(), merchant, Selection::One(id)).await?;
    let endpoint = found.pop().ok_or(EndpointError::NotFound)?;
    if endpoint.is_enabled() {
        Ok(endpoint)
    } else {
        Err(EndpointError::Disabled { reason: endpoint.disabled_reason })
    }
}
