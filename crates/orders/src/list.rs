//! What selects orders of a list.

use std::fmt;
use std::str::FromStr;

use primitives::{Id, MerchantId, OrderId, Timestamp};
use uuid::Uuid;

use crate::{OrderDetails, OrderError, OrderStatus};

/// Selects orders. An empty list selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrdersFilter {
    pub ids: Vec<OrderId>,
    pub statuses: Vec<OrderStatus>,
    pub created_min: Option<Timestamp>,
    pub created_max: Option<Timestamp>,
    pub updated_min: Option<Timestamp>,
    /// Only with `updated_min`.
    pub updated_max: Option<Timestamp>,
    /// Only orders after this position.
    pub after: Option<OrderCursor>,
    /// Orders to leave out before the first one.
    pub skip: u32,
    /// Orders of one page.
    pub limit: u32,
}

impl OrdersFilter {
    /// Most orders that can be left out. Cursors reach further.
    pub const SKIP_MAX: u32 = 10_000;

    pub(crate) fn status_names(&self) -> Vec<String> {
        self.statuses.iter().map(ToString::to_string).collect()
    }

    /// Returns an error if the latest change is limited and the earliest is not: such a list could read all orders.
    pub(crate) fn check(&self) -> Result<(), OrderError> {
        if self.updated_max.is_some() && self.updated_min.is_none() {
            let allowed = "required if the latest change is limited";
            return Err(OrderError::invalid("updated_min", allowed));
        }
        Ok(())
    }
}

/// A page of orders, the newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderPage {
    /// The store and the order.
    pub orders: Vec<(MerchantId, OrderDetails)>,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<OrderCursor>,
}

/// The position of an order in a list: lists are sorted by creation, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderCursor {
    pub created_at: Timestamp,
    pub id: OrderId,
}

impl fmt::Display for OrderCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.created_at.unix_micros(), self.id.uuid().simple())
    }
}

/// A text that is not a cursor of a list of orders.
#[derive(Debug, thiserror::Error)]
#[error("not a cursor of a list of orders")]
pub struct InvalidOrderCursor;

impl FromStr for OrderCursor {
    type Err = InvalidOrderCursor;

    fn from_str(text: &str) -> Result<Self, InvalidOrderCursor> {
        let (micros, id) = text.split_once('-').ok_or(InvalidOrderCursor)?;
        let micros: i64 = micros.parse().map_err(|_| InvalidOrderCursor)?;
        // Year 2000 to 2200: other values do not fit into every timestamp type.
        if !(946_684_800_000_000..7_258_118_400_000_000).contains(&micros) {
            return Err(InvalidOrderCursor);
        }
        let id = Uuid::try_parse(id).map_err(|_| InvalidOrderCursor)?;
        Ok(Self { created_at: Timestamp::from_unix_micros(micros), id: OrderId::from_uuid(id) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_round_trips_and_nothing_else_is_one() {
        let created_at = Timestamp::from_unix_micros(1_800_000_000_000_001);
        let cursor = OrderCursor { created_at, id: OrderId::from_random(7) };
        assert_eq!(cursor.to_string().parse::<OrderCursor>().unwrap(), cursor);
        let id = "00000000000000000000000000000007";
        for wrong in
            ["", "1", "x-y", &format!("{}-{id}", i64::MAX), &format!("1800000000000001-{id}0")]
        {
            assert!(wrong.parse::<OrderCursor>().is_err(), "{wrong}");
        }
    }
}
