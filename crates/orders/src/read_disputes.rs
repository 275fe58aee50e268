//! Verbs: reading disputes.

use std::fmt;
use std::slice;
use std::str::FromStr;

use database::{Database, Reading};
use primitives::{DisputeId, Id, MerchantId, OrderId, Timestamp};
use sqlx::PgConnection;

use crate::read::visible_details;
use crate::table::ListedDispute;
use crate::{
    Dispute, DisputeStatus, InvalidOrderCursor, OrderCursor, OrderDetails, OrderError, Viewer,
    table,
};

/// Selects disputes. An empty list selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DisputesFilter {
    pub statuses: Vec<DisputeStatus>,
    pub order: Option<OrderId>,
    /// Only disputes after this position.
    pub after: Option<DisputeCursor>,
    /// Disputes of one page.
    pub limit: u32,
}

/// A page of disputes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisputePage {
    /// The store, the order and the dispute.
    pub disputes: Vec<(MerchantId, OrderId, Dispute)>,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<DisputeCursor>,
}

/// The position of a dispute in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisputeCursor {
    /// What the list is sorted by: the opening, or the end of the time for the decision.
    pub at: Timestamp,
    pub id: DisputeId,
}

impl fmt::Display for DisputeCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = OrderId::from_uuid(self.id.uuid());
        OrderCursor { created_at: self.at, id }.fmt(formatter)
    }
}

impl FromStr for DisputeCursor {
    type Err = InvalidOrderCursor;

    fn from_str(text: &str) -> Result<Self, InvalidOrderCursor> {
        let OrderCursor { created_at, id } = text.parse()?;
        Ok(Self { at: created_at, id: DisputeId::from_uuid(id.uuid()) })
    }
}

/// Returns a dispute of this store with its statements and its order, or `DisputeNotFound` if the caller does not see the order.
pub async fn dispute(
    reading: &Reading,
    merchant: MerchantId,
    id: DisputeId,
    viewer: &Viewer,
) -> Result<(OrderDetails, Dispute), OrderError> {
    reading
        .run(async |sql| -> Result<_, OrderError> {
            let order = table::order_of_dispute(sql, merchant, id).await?;
            let order = order.ok_or(OrderError::DisputeNotFound)?;
            match with_dispute(sql, merchant, order, id, viewer).await {
                Err(OrderError::NotFound) => Err(OrderError::DisputeNotFound),
                found => found,
            }
        })
        .await
}

/// Returns a dispute of this order with its statements and the order: `NotFound` if the caller does not see the order,
/// `DisputeNotFound` if it has no such dispute.
pub async fn dispute_of_order(
    reading: &Reading,
    merchant: MerchantId,
    order: OrderId,
    id: DisputeId,
    viewer: &Viewer,
) -> Result<(OrderDetails, Dispute), OrderError> {
    reading.run(async |sql| with_dispute(sql, merchant, order, id, viewer).await).await
}

async fn with_dispute(
    sql: &mut PgConnection,
    merchant: MerchantId,
    order: OrderId,
    id: DisputeId,
    viewer: &Viewer,
) -> Result<(OrderDetails, Dispute), OrderError> {
    let mut details = visible_details(sql, merchant, order, viewer).await?;
    let found = details.disputes.iter_mut().find(|it| it.id == id);
    let found = found.ok_or(OrderError::DisputeNotFound)?;
    table::read_statements(sql, merchant, order, slice::from_mut(found)).await?;
    let dispute = found.clone();
    Ok((details, dispute))
}

/// Returns the merchant of a dispute, for requests that name a dispute without its store.
pub async fn merchant_of_dispute(
    database: &Database,
    id: DisputeId,
) -> Result<MerchantId, OrderError> {
    let platform = Reading::for_platform(database);
    let found: Option<MerchantId> = platform
        .run(async |sql| Ok::<_, OrderError>(table::merchant_of_dispute(sql, id).await?))
        .await?;
    found.ok_or(OrderError::DisputeNotFound)
}

/// Returns a page of the disputes of a store that a filter selects, without their statements and without disputes of sandboxes,
/// the newest first.
pub async fn disputes_of_store(
    reading: &Reading,
    merchant: MerchantId,
    filter: &DisputesFilter,
) -> Result<DisputePage, OrderError> {
    let disputes = reading
        .run(async |sql| {
            Ok::<_, OrderError>(table::disputes_of_store(sql, merchant, filter).await?)
        })
        .await?;
    Ok(page(disputes, filter.limit, |it| Some(it.opened_at)))
}

/// Returns a page of the disputes of all stores that an administrator has to decide, without their statements and without
/// disputes of sandboxes, the most urgent first.
pub async fn disputes_to_decide(
    database: &Database,
    after: Option<DisputeCursor>,
    limit: u32,
) -> Result<DisputePage, OrderError> {
    let platform = Reading::for_platform(database);
    let disputes = platform
        .run(async |sql| Ok::<_, OrderError>(table::disputes_to_decide(sql, after, limit).await?))
        .await?;
    Ok(page(disputes, limit, |it| it.decide_by))
}

/// Returns a page. A dispute that cannot be read is logged and left out; the next page begins after the last one nonetheless.
fn page(
    listed: Vec<ListedDispute>,
    limit: u32,
    sorted_by: fn(&ListedDispute) -> Option<Timestamp>,
) -> DisputePage {
    let is_full = u32::try_from(listed.len()).is_ok_and(|count| count >= limit);
    let last = listed.last().filter(|_| is_full);
    let next = last.and_then(|it| Some(DisputeCursor { at: sorted_by(it)?, id: it.id }));
    let read = |it: ListedDispute| {
        let (merchant, order, id) = (it.merchant, it.order, it.id);
        let log = |error: &OrderError| {
            tracing::error!(%merchant, %order, %id, %error, "a dispute cannot be read and is left out of the list");
        };
        Some((merchant, order, it.dispute.inspect_err(log).ok()?))
    };
    DisputePage { disputes: listed.into_iter().filter_map(read).collect(), next }
}
