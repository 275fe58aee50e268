//! Verbs: sending an event again, recovering the events of a range of time, and testing an endpoint.

use std::time::Duration;

use database::Work;
use jobs::{IdempotencyKey, Job, JobContext, JobError, Outcome};
use primitives::{EndpointId, EventId, MerchantId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::claim::{claimed_earlier, record_claim};
use crate::listen::OVERLAP;
use crate::purge::RETENTION;
use crate::table::endpoint::Selection;
use crate::table::event::StoredEvent;
use crate::table::redeliver::Range;
use crate::webhook_test::WebhookTest;
use crate::{Endpoint, EndpointError, EventKind, EventPosition, WebhookError, Webhooks, table};

/// Events that one transaction of a recovery looks at.
const PAGE_EVENTS: u32 = 1_000;
/// Transactions of one recovery.
const PAGES_MAX: u32 = 100;

/// Recoveries of an endpoint whose ranges begin and end within the same five seconds have one job for late events.
const LATE_BUCKET: Duration = Duration::from_secs(5);

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
    /// selects. A pending delivery is attempted now; a delivered event and a dead letter get all attempts again. It is sent before
    /// what is pending, even if the circuit is open. Repeated with the same idempotency key, it changes nothing.
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
        table::endpoint::probe_now(&mut work, merchant, endpoint).await?;
        let oldest = work.now().minus(RETENTION);
        if !table::redeliver::one(&mut work, merchant, endpoint, event, oldest).await? {
            return Err(EndpointError::EventNotFound);
        }
        table::redeliver::put_first(&mut work, merchant, endpoint, event).await?;
        record_claim(&mut work, key, event).await?;
        Ok(work.commit().await?)
    }

    /// Queues the events of a range, `until` excluded, that an endpoint has not received: those of the kinds that it selects which
    /// were never delivered to it, and its dead letters of any kind. Without `until`, the range ends now. Events older than 30 days
    /// are gone. If the endpoint fails, its first pending delivery is attempted at once; the others follow at their times.
    /// Repeating it queues nothing twice. An event whose transaction commits after the call is queued by a job, soon afterwards, as may
    /// be others of the five seconds before and after the range, if these have just passed.
    pub async fn recover(
        &self,
        merchant: MerchantId,
        endpoint: EndpointId,
        since: Timestamp,
        until: Option<Timestamp>,
    ) -> Result<Recovery, EndpointError> {
        let (mut queued, mut end) = (0, until);
        let is_open = until.is_none();
        let mut after = EventPosition::before(since);
        for number in 0..PAGES_MAX {
            let mut work = Work::for_store(&self.database, merchant).await?;
            let now = work.now();
            let until = *end.get_or_insert(now);
            if until <= since {
                let field = if is_open { "since" } else { "until" };
                return Err(EndpointError::InvalidRange { field });
            }
            let found = enabled(&mut work, merchant, endpoint).await?;
            // Once in a call: each probe of it would be followed by another one.
            let is_first = number == 0;
            let is_failing =
                is_first && table::endpoint::probe_now(&mut work, merchant, endpoint).await?;
            after = after.max(EventPosition::before(now.minus(RETENTION)));
            let range = Range { after, until, kinds: &found.kinds, limit: i64::from(PAGE_EVENTS) };
            let page = table::redeliver::range(&mut work, merchant, endpoint, &range).await?;
            // All that the endpoint has not received may be pending already, and due in hours.
            if is_failing && page.queued == 0 {
                table::redeliver::advance_first(&mut work, merchant, endpoint).await?;
                table::endpoint::wake(&mut work, merchant).await?;
            }
            if is_first {
                // Whatever was invisible when the first page was read, on whichever page it would have been.
                let recent = since.max(now.minus(OVERLAP));
                recover_later(&mut work, merchant, endpoint, recent, until.min(now)).await?;
            }
            work.commit().await?;
            queued += u32::try_from(page.queued).unwrap_or(u32::MAX);
            after = match page.next(range.limit) {
                Some(next) => next,
                None => return Ok(Recovery { queued, next_since: None }),
            };
            if queued + PAGE_EVENTS > Recovery::QUEUED_MAX {
                break;
            }
        }
        Ok(Recovery { queued, next_since: Some(after.at) })
    }

    /// Sends a test event to an endpoint, regardless of its event filter, before what is pending there, and returns its id. Repeated with
    /// the same idempotency key, it returns the id of the first one and sends nothing.
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
        table::endpoint::probe_now(&mut work, merchant, endpoint).await?;
        let store = merchants::store_now(&mut work, merchant).await?;
        let test = WebhookTest { endpoint, slug: store.slug.to_string() };
        let (id, now): (EventId, _) = (work.new_id(), work.now());
        let body = test.body(id, now).map_err(WebhookError::Serialize)?;
        let (kind, subject) = (EventKind::WebhookTest, endpoint.uuid());
        let event = StoredEvent { id, kind, subject, body: &body };
        table::event::insert(&mut work, merchant, &event, Some(endpoint)).await?;
        table::redeliver::put_first(&mut work, merchant, endpoint, id).await?;
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

/// Enqueues the job that queues what has become visible meanwhile of the last events of a recovery, if it has any. The range of the job
/// is a little longer, so that calls that follow each other have one job.
async fn recover_later(
    work: &mut Work,
    merchant: MerchantId,
    endpoint: EndpointId,
    since: Timestamp,
    until: Timestamp,
) -> Result<(), EndpointError> {
    if since < until {
        let since = start_of_bucket(since);
        let until = start_of_bucket(until.plus(LATE_BUCKET));
        let key = format!("{endpoint}/{}/{}", since.unix_micros(), until.unix_micros());
        let job = RecoverLateEvents { merchant, endpoint, since, until };
        jobs::enqueue_unique(work, &job, &key, until.plus(OVERLAP)).await?;
    }
    Ok(())
}

/// Returns the time rounded down to a multiple of [`LATE_BUCKET`].
fn start_of_bucket(at: Timestamp) -> Timestamp {
    let bucket = i64::try_from(LATE_BUCKET.as_micros()).unwrap_or(1);
    Timestamp::from_unix_micros(at.unix_micros() - at.unix_micros().rem_euclid(bucket))
}

/// Queues events that a recovery could not see: an event has the time at which its transaction began, and was not sent if its
/// endpoint was disabled then. Enqueued by [`Webhooks::recover`], and due when everything of the range is visible.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecoverLateEvents {
    merchant: MerchantId,
    endpoint: EndpointId,
    since: Timestamp,
    until: Timestamp,
}

impl Job for RecoverLateEvents {
    const NAME: &'static str = "webhooks.recover_late_events";
    type Dependencies = ();

    fn merchant(&self) -> Option<MerchantId> {
        Some(self.merchant)
    }

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        let Self { merchant, endpoint, since, until } = self;
        let mut after = EventPosition::before(since);
        loop {
            let mut work = context.work_for_store(merchant).await?;
            let found = match enabled(&mut work, merchant, endpoint).await {
                Ok(found) => found,
                // A recovery after it is enabled again finds the events.
                Err(EndpointError::NotFound | EndpointError::Disabled { .. }) => {
                    return Ok(Outcome::DONE);
                }
                Err(error) => return Err(error.into()),
            };
            let range = Range { after, until, kinds: &found.kinds, limit: i64::from(PAGE_EVENTS) };
            let page = table::redeliver::range(&mut work, merchant, endpoint, &range).await?;
            context.advance(work).await?;
            after = match page.next(range.limit) {
                Some(next) => next,
                None => return Ok(Outcome::DONE),
            };
        }
    }
}
