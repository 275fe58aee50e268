//! A verb: listing the returns of a store.

use std::fmt;
use std::str::FromStr;

use database::Reading;
use primitives::{Id, MerchantId, OrderId, ReturnId, Timestamp};
use uuid::Uuid;

use crate::{OrderError, OrderReturn, ReturnStatus, table};

/// Selects returns. An empty list selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReturnsFilter {
    pub statuses: Vec<ReturnStatus>,
    /// Only returns of this order.
    pub order: Option<OrderId>,
    /// Only returns after this position.
    pub after: Option<ReturnCursor>,
    /// Returns of one page.
    pub limit: u32,
}

/// A page of returns, the newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct ReturnPage {
    /// The order and its return.
    pub returns: Vec<(OrderId, OrderReturn)>,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<ReturnCursor>,
}

/// The position of a return in a list: lists are sorted by the request, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReturnCursor {
    pub requested_at: Timestamp,
    pub id: ReturnId,
}

impl fmt::Display for ReturnCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.requested_at.unix_micros(), self.id.uuid().simple())
    }
}

/// A text that is not a cursor of a list of returns.
#[derive(Debug, thiserror::Error)]
#[error("not a cursor of a list of returns")]
pub struct InvalidReturnCursor;

impl FromStr for ReturnCursor {
    type Err = InvalidReturnCursor;

    fn from_str(text: &str) -> Result<Self, InvalidReturnCursor> {
        // Both lists have cursors of the same form.
        let cursor: crate::OrderCursor = text.parse().map_err(|_| InvalidReturnCursor)?;
        let id: Uuid = cursor.id.uuid();
        Ok(Self { requested_at: cursor.created_at, id: ReturnId::from_uuid(id) })
    }
}

/// Returns a page of the returns of a store that a filter selects, without those of sandboxes, the newest first.
pub async fn merchant_returns(
    reading: &Reading,
    merchant: MerchantId,
    filter: &ReturnsFilter,
) -> Result<ReturnPage, OrderError> {
    let found =
        reading.run(async |sql| table::returns_of_store(sql, merchant, filter).await).await?;
    let is_full = u32::try_from(found.len()).is_ok_and(|count| count >= filter.limit);
    let next = found.last().filter(|_| is_full).map(|(position, _)| *position);
    let returns = found.into_iter().filter_map(|(_, it)| it).collect();
    Ok(ReturnPage { returns, next })
}

/// Returns the order of a return of this store, for requests that name a return without its order.
pub async fn order_of_return(
    reading: &Reading,
    merchant: MerchantId,
    id: ReturnId,
) -> Result<OrderId, OrderError> {
    let found: Option<OrderId> = reading
        .run(async |sql| Ok::<_, OrderError>(table::order_of_return(sql, merchant, id).await?))
        .await?;
    found.ok_or(OrderError::ReturnNotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_round_trips_and_nothing_else_is_one() {
        let requested_at = Timestamp::from_unix_micros(1_800_000_000_000_001);
        let cursor = ReturnCursor { requested_at, id: ReturnId::from_random(7) };
        assert_eq!(cursor.to_string().parse::<ReturnCursor>().unwrap(), cursor);
        assert!("1-x".parse::<ReturnCursor>().is_err());
    }
}
