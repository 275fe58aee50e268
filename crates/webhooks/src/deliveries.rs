//! Verbs: reading the deliveries of an endpoint, their attempts, and its health.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use database::{Reading, Snapshot};
use primitives::{EndpointId, EventId, MerchantId, Timestamp};

use crate::purge::RETENTION;
use crate::table::attempt::Listed;
use crate::table::endpoint::Selection;
use crate::{Endpoint, EndpointError, EventKind, EventPosition, InvalidCursor, Webhooks, table};

primitives::text_enum! {
    /// The status of a delivery: of an event at an endpoint.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum DeliveryStatus {
        /// The first or the next attempt is due or will be.
        Pending,
        /// The endpoint responded with 2xx.
        Delivered,
        /// A dead letter: it is attempted again only on request (docs/contract/webhooks.md#dead-letters).
        Dead,
    }
}

primitives::text_enum! {
    /// What an attempt led to.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum AttemptOutcome {
        /// The endpoint responded with 2xx.
        Delivered,
        /// It failed, and another one follows.
        Retry,
        /// It failed, and no other one follows.
        Dead,
    }
}

primitives::text_enum! {
    /// What the last attempts say about an endpoint.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum HealthState {
        /// Nothing was sent since it was created, enabled or moved.
        Untried,
        /// The last attempt succeeded.
        Healthy,
        /// The last attempt failed.
        Failing,
    }
}

/// An attempt to deliver an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// From 1; begins again when the event is sent again on request.
    pub number: i16,
    pub at: Timestamp,
    pub outcome: AttemptOutcome,
    /// The HTTP status; `None` without a response.
    pub status: Option<i16>,
    /// What failed; `None` if a response arrived.
    pub error: Option<String>,
    pub latency_ms: i32,
    /// The first bytes of the response: untrusted.
    pub response: Option<Vec<u8>>,
    /// `None` if no other attempt follows.
    pub next_at: Option<Timestamp>,
}

/// An event at an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub event: EventId,
    pub kind: EventKind,
    /// The time of the event.
    pub event_at: Timestamp,
    pub status: DeliveryStatus,
    /// Attempts that were made, since the last request to send it again.
    pub attempts: i16,
    /// When the next attempt is due, and not before the next probe of an open circuit; `None` unless it is pending at an endpoint
    /// that is enabled.
    pub next_attempt_at: Option<Timestamp>,
    /// The newest first. Lists have at most one.
    pub attempt_log: Vec<Attempt>,
}

/// Selects deliveries of an endpoint.
#[derive(Debug, Clone, Default)]
pub struct DeliveriesFilter {
    pub status: Option<DeliveryStatus>,
    pub event: Option<EventId>,
    /// Only deliveries after this position.
    pub after: Option<DeliveryCursor>,
    /// Deliveries of one page.
    pub limit: u32,
}

/// A page of deliveries, those of the newest events first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryPage {
    pub deliveries: Vec<Delivery>,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<DeliveryCursor>,
}

/// The position of a delivery in a list: lists are sorted by the event, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryCursor(pub(crate) EventPosition);

impl fmt::Display for DeliveryCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for DeliveryCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        text.parse().map(Self)
    }
}

/// What is known about an endpoint from the last attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointHealth {
    pub last_attempt_at: Option<Timestamp>,
    /// Accurate to a minute.
    pub last_success_at: Option<Timestamp>,
    /// The first failure since the last success.
    pub failing_since: Option<Timestamp>,
    pub consecutive_failures: i32,
    /// While the circuit is open: when a single delivery is tried.
    pub probe_at: Option<Timestamp>,
    /// At most [`COUNTED_MAX`](Self::COUNTED_MAX).
    pub pending: i64,
    /// At most [`COUNTED_MAX`](Self::COUNTED_MAX).
    pub dead: i64,
}

impl EndpointHealth {
    /// The number at which the counting of deliveries stops.
    pub const COUNTED_MAX: i64 = 1_000;

    /// Returns what the last attempts say.
    #[must_use]
    pub const fn state(&self) -> HealthState {
        match (self.last_attempt_at, self.consecutive_failures) {
            (None, _) => HealthState::Untried,
            (Some(_), 0) => HealthState::Healthy,
            (Some(_), _) => HealthState::Failing,
        }
    }
}

impl Webhooks {
    /// Returns a page of the deliveries of an endpoint, each with its newest attempt, those of the newest events first. A page that
    /// is not the last one may have fewer deliveries than the limit.
    pub async fn deliveries(
        &self,
        merchant: MerchantId,
        endpoint: EndpointId,
        filter: &DeliveriesFilter,
    ) -> Result<DeliveryPage, EndpointError> {
        let reading = Reading::for_store(&self.database, merchant)?;
        let read = async |sql: &mut Snapshot| {
            let mut page = selected(sql, merchant, endpoint, filter).await?;
            let deliveries = &mut page.deliveries;
            table::attempt::add_newest(sql, merchant, endpoint, deliveries).await?;
            Ok(page)
        };
        reading.run(read).await
    }

    /// Returns the delivery of an event at an endpoint with all attempts, the newest first.
    pub async fn delivery(
        &self,
        merchant: MerchantId,
        endpoint: EndpointId,
        event: EventId,
    ) -> Result<Delivery, EndpointError> {
        let filter =
            DeliveriesFilter { event: Some(event), limit: 1, ..DeliveriesFilter::default() };
        let reading = Reading::for_store(&self.database, merchant)?;
        let read = async |sql: &mut Snapshot| {
            let page = selected(sql, merchant, endpoint, &filter).await?;
            let found = page.deliveries.into_iter().next();
            let mut delivery = found.ok_or(EndpointError::DeliveryNotFound)?;
            let position = EventPosition { at: delivery.event_at, id: event };
            delivery.attempt_log =
                table::attempt::attempts(sql, merchant, endpoint, position).await?;
            Ok(delivery)
        };
        reading.run(read).await
    }

    /// Returns an endpoint with its health, and the numbers of pending deliveries and of dead letters in it.
    pub async fn find_with_health(
        &self,
        merchant: MerchantId,
        id: EndpointId,
    ) -> Result<(Endpoint, EndpointHealth), EndpointError> {
        let reading = Reading::for_store(&self.database, merchant)?;
        let read = async |sql: &mut Snapshot| {
            let found = table::endpoint::select(sql, merchant, Selection::One(id)).await?.pop();
            let endpoint = found.ok_or(EndpointError::NotFound)?;
            let oldest = sql.now().await?.minus(RETENTION);
            let health = table::attempt::health(sql, merchant, id, oldest).await?;
            Ok((endpoint, health.ok_or(EndpointError::NotFound)?))
        };
        reading.run(read).await
    }
}

/// Returns the deliveries that a filter selects, without their attempts. A delivered event has no row in the queue, only its
/// attempt; one that was queued again has both and is what the queue says.
async fn selected(
    sql: &mut Snapshot,
    merchant: MerchantId,
    endpoint: EndpointId,
    filter: &DeliveriesFilter,
) -> Result<DeliveryPage, EndpointError> {
    let oldest = sql.now().await?.minus(RETENTION);
    if !table::attempt::exists(sql, merchant, endpoint).await? {
        return Err(EndpointError::NotFound);
    }
    let after = filter.after.map_or_else(EventPosition::end, |cursor| cursor.0);
    let range = match filter.event {
        None => oldest..after.at,
        Some(event) => match table::attempt::event_at(sql, merchant, event).await? {
            Some(at) if at >= oldest => at..at,
            _ => return Ok(DeliveryPage { deliveries: Vec::new(), next: None }),
        },
    };
    let selected = table::attempt::Selected { range, after, filter };
    let (mut queued, mut delivered) = (Vec::new(), Vec::new());
    if filter.status != Some(DeliveryStatus::Delivered) {
        queued = table::attempt::queued(sql, merchant, endpoint, &selected).await?;
    }
    if filter.status.is_none_or(|status| status == DeliveryStatus::Delivered) {
        delivered = table::attempt::delivered(sql, merchant, endpoint, &selected).await?;
    }
    Ok(merged(queued, delivered, filter.limit))
}

/// Merges two lists, each sorted and limited, into a page. A list that is as long as its limit says nothing about what is behind
/// its end, so that the page ends there.
fn merged(queued: Vec<Listed>, delivered: Vec<Listed>, limit: u32) -> DeliveryPage {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let end = |rows: &[Listed]| rows.last().filter(|_| rows.len() >= limit).map(|it| it.position);
    let known = end(&queued).max(end(&delivered));
    let rows = queued.into_iter().chain(delivered);
    let rows = rows.filter(|row| known.is_none_or(|known| row.position >= known));
    // Of several attempts that delivered an event, the newest is the first.
    let mut page: BTreeMap<Reverse<EventPosition>, Delivery> = BTreeMap::new();
    for row in rows {
        if let Some(delivery) = row.delivery {
            page.entry(Reverse(row.position)).or_insert(delivery);
        }
    }
    let is_cut = page.len() > limit;
    let deliveries: Vec<Delivery> = page.into_values().take(limit).collect();
    let last = deliveries.last().map(|it| EventPosition { at: it.event_at, id: it.event });
    let next = if is_cut { last } else { known };
    DeliveryPage { deliveries, next: next.map(DeliveryCursor) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use primitives::Id;

    use super::*;

    #[test]
    fn a_cursor_round_trips() {
        let at = Timestamp::from_unix_micros(1_800_000_000_000_001);
        let cursor = DeliveryCursor(EventPosition { at, id: EventId::from_random(7) });
        assert_eq!(cursor.to_string().parse::<DeliveryCursor>(), Ok(cursor));
        assert_eq!("1".parse::<DeliveryCursor>(), Err(InvalidCursor));
    }

    #[test]
    fn health_is_that_of_the_last_attempt() {
        let mut health = EndpointHealth {
            last_attempt_at: None,
            last_success_at: None,
            failing_since: None,
            consecutive_failures: 0,
            probe_at: None,
            pending: 0,
            dead: 0,
        };
        assert_eq!(health.state(), HealthState::Untried);
        health.last_attempt_at = Some(Timestamp::from_unix_micros(1));
        assert_eq!(health.state(), HealthState::Healthy);
        health.consecutive_failures = 1;
        assert_eq!(health.state(), HealthState::Failing);
    }

    fn listed(number: u64, status: Option<DeliveryStatus>, attempts: i16) -> Listed {
        let at = Timestamp::from_unix_micros(0).plus(Duration::from_secs(number));
        let event = EventId::from_random(number.into());
        let delivery = status.map(|status| Delivery {
            event,
            kind: EventKind::OrderCreated,
            event_at: at,
            status,
            attempts,
            next_attempt_at: None,
            attempt_log: Vec::new(),
        });
        Listed { position: EventPosition { at, id: event }, delivery }
    }

    fn pending(number: u64) -> Listed {
        listed(number, Some(DeliveryStatus::Pending), 0)
    }

    fn delivered(number: u64) -> Listed {
        listed(number, Some(DeliveryStatus::Delivered), 1)
    }

    /// Returns the seconds of the listed events and of the next position.
    fn seconds(page: &DeliveryPage) -> (Vec<i64>, Option<i64>) {
        let shown = page.deliveries.iter().map(|it| it.event_at.unix_seconds()).collect();
        (shown, page.next.map(|cursor| cursor.0.at.unix_seconds()))
    }

    #[test]
    fn a_page_ends_where_one_of_the_lists_was_cut() {
        let page = merged(vec![pending(9), pending(8)], vec![delivered(7), delivered(1)], 3);
        assert_eq!(seconds(&page), (vec![9, 8, 7], Some(7)), "nothing is cut but the page");
        let page = merged(vec![pending(9), pending(5)], vec![delivered(7), delivered(1)], 2);
        assert_eq!(seconds(&page), (vec![9, 7], Some(7)));
        let page = merged(vec![pending(9)], vec![delivered(2), delivered(1)], 4);
        assert_eq!(seconds(&page), (vec![9, 2, 1], None), "the last page");
    }

    #[test]
    fn a_page_may_be_short_and_not_the_last() {
        let again = vec![listed(9, None, 1), listed(8, None, 1)];
        assert_eq!(seconds(&merged(Vec::new(), again, 2)), (vec![], Some(8)));
        let twice = vec![delivered(9), listed(9, Some(DeliveryStatus::Delivered), 4)];
        let page = merged(Vec::new(), twice, 2);
        assert_eq!(seconds(&page), (vec![9], Some(9)));
        assert_eq!(page.deliveries[0].attempts, 1, "the newest attempt");
    }
}
