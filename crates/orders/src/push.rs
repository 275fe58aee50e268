//! A verb: taking over orders of the merchant's other channels. They are the merchant's word and no evidence of anything:
//! agents do not see them, and no score reads them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use database::{Database, Reading, Work};
use primitives::{Currency, MerchantId, Money, OrderId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{OrderCursor, OrderError, OrderStatus, table};

/// Most pushed orders of one call.
pub const PUSHED_ORDERS_MAX: usize = 500;
/// Pushed orders of one store. They are counted with each new one, so that the number bounds the cost of a push.
const STORED_MAX: i64 = 100_000;
/// Most lines of a pushed order.
pub const PUSHED_LINES_MAX: usize = 100;
/// Bytes of the SKUs and names of one order. Longer ones are rejected unread, because sanitizing them would be expensive.
const TEXT_BYTES_MAX: usize = 16_384;
/// Most characters of an external id or a SKU of a pushed order.
pub const PUSHED_ID_LENGTH_MAX: usize = 100;
/// Most characters of the name of a pushed line.
pub const PUSHED_NAME_LENGTH_MAX: usize = 300;
/// How far ahead the clock of a merchant may be.
const AHEAD_MAX: Duration = Duration::from_hours(24);
/// 2000-01-01, the earliest time of a cursor.
const EARLIEST_MICROS: i64 = 946_684_800_000_000;

/// An order of another channel. Texts are the merchant's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedOrder {
    /// The merchant's own id of the order.
    pub external_id: String,
    /// Whatever the merchant says: no state machine applies.
    pub status: OrderStatus,
    pub currency: Currency,
    pub total_minor: i64,
    pub lines: Vec<PushedLine>,
    pub placed_at: Timestamp,
}

/// A line of a pushed order. Texts are the merchant's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushedLine {
    pub sku: String,
    pub name: String,
    pub quantity: u32,
    pub unit_minor: i64,
}

/// A stored pushed order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPush {
    pub id: OrderId,
    pub order: PushedOrder,
    /// When it was last changed by a push.
    pub pushed_at: Timestamp,
}

/// A page of pushed orders, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushedPage {
    pub orders: Vec<StoredPush>,
    /// Where the next page begins; `None` on the last one.
    pub next: Option<OrderCursor>,
}

primitives::text_enum! {
    /// What a push did to an order.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum PushOutcome {
        Created,
        Updated,
        /// The order was stored like this already. Nothing was written.
        Unchanged,
    }
}

/// A pushed order that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pushed {
    pub order: OrderId,
    pub outcome: PushOutcome,
}

/// The result of one order of a push.
#[derive(Debug)]
pub struct PushResult {
    /// As it was sent, at most 100 characters.
    pub external_id: String,
    pub result: Result<Pushed, OrderError>,
}

/// Creates or updates pushed orders by their external ids. Each is taken or refused by itself, and the results are in the
/// order of the call. An order that could not be parsed is passed with its external id and its error: its external id counts as
/// named by the call too.
pub async fn push(
    database: &Database,
    merchant: MerchantId,
    orders: Vec<Result<PushedOrder, (String, OrderError)>>,
) -> Result<Vec<PushResult>, OrderError> {
    if orders.len() > PUSHED_ORDERS_MAX {
        return Err(OrderError::invalid("orders", "at most 500 orders"));
    }
    // Before the transaction begins, which has to be short.
    let mut checked = check_all(orders);
    let mut work = Work::for_store(database, merchant).await?;
    for (_, order) in &mut checked {
        let invalid = order.as_ref().ok().and_then(|it| check_time(it.placed_at, work.now()).err());
        if let Some(invalid) = invalid {
            *order = Err(invalid);
        }
    }
    let taken = checked.iter().filter_map(|(_, order)| order.as_ref().ok()).collect();
    let pushed = store(&mut work, merchant, taken).await?;
    work.commit().await?;
    let result = |(external_id, order): Checked| {
        let full =
            || OrderError::invalid("external_id", "at most 100,000 pushed orders of a store");
        let result = order.and_then(|it| pushed.get(&it.external_id).copied().ok_or_else(full));
        PushResult { external_id, result }
    };
    Ok(checked.into_iter().map(result).collect())
}

/// An external id as it was sent, at most 100 characters, and the order with sanitized texts or its error.
type Checked = (String, Result<PushedOrder, OrderError>);

/// Checks everything about orders that needs no clock. Of two with the same external id, the later is refused, also if the
/// earlier is refused for another reason.
fn check_all(orders: Vec<Result<PushedOrder, (String, OrderError)>>) -> Vec<Checked> {
    let mut seen = HashSet::new();
    let checked = orders.into_iter().map(|order| {
        let (sent, order) = match order {
            Ok(order) => (order.external_id.clone(), Ok(order)),
            Err((sent, error)) => (sent, Err(error)),
        };
        let is_first = seen.insert(sent.trim().to_owned());
        let order = order.and_then(check).and_then(|order| {
            let allowed = "each external_id once in a call";
            if is_first { Ok(order) } else { Err(OrderError::invalid("external_id", allowed)) }
        });
        (sent.chars().take(PUSHED_ID_LENGTH_MAX).collect::<String>(), order)
    });
    checked.collect()
}

/// Stores checked orders with different external ids. Those for which the store has no room are left out.
async fn store(
    work: &mut Work,
    merchant: MerchantId,
    mut orders: Vec<&PushedOrder>,
) -> Result<HashMap<String, Pushed>, OrderError> {
    if orders.is_empty() {
        return Ok(HashMap::new());
    }
    // The quota is counted, and concurrent pushes would count each other's rows.
    table::lock_pushes(work, merchant).await?;
    let ids: Vec<String> = orders.iter().map(|order| order.external_id.clone()).collect();
    let known = table::pushed_ids(work.sql(), merchant, &ids).await?;
    if known.len() < orders.len() {
        let mut room = table::room_for_pushes(work, merchant, STORED_MAX).await?;
        orders.retain(|order| {
            let is_known = known.contains_key(&order.external_id);
            room -= i64::from(!is_known);
            is_known || room >= 0
        });
    }
    let with_id = |order: &PushedOrder, work: &mut Work| match known.get(&order.external_id) {
        Some(id) => *id,
        None => work.new_id(),
    };
    let rows: Vec<(OrderId, &PushedOrder)> =
        orders.into_iter().map(|order| (with_id(order, work), order)).collect();
    let written = table::put_pushed(work, merchant, &rows).await?;
    let pushed = |(id, order): (OrderId, &PushedOrder)| {
        let outcome = match (written.contains(&id), known.contains_key(&order.external_id)) {
            (true, true) => PushOutcome::Updated,
            (true, false) => PushOutcome::Created,
            (false, _) => PushOutcome::Unchanged,
        };
        (order.external_id.clone(), Pushed { order: id, outcome })
    };
    Ok(rows.into_iter().map(pushed).collect())
}

/// Returns an order with sanitized texts, or the error of its first invalid field.
fn check(order: PushedOrder) -> Result<PushedOrder, OrderError> {
    let external_id = identifier("external_id", &order.external_id)?;
    if order.total_minor < 0 {
        return Err(OrderError::invalid("total_amount", "0 or more"));
    }
    if order.lines.len() > PUSHED_LINES_MAX {
        return Err(OrderError::invalid("items", "at most 100 items"));
    }
    let text_bytes: usize = order.lines.iter().map(|it| it.sku.len() + it.name.len()).sum();
    if text_bytes > TEXT_BYTES_MAX {
        let allowed = "SKUs and names of at most 16,384 bytes together";
        return Err(OrderError::invalid("items", allowed));
    }
    let lines = order.lines.into_iter().enumerate().map(|(index, line)| check_line(index, &line));
    let lines = lines.collect::<Result<_, _>>()?;
    Ok(PushedOrder { external_id, lines, ..order })
}

fn check_time(placed_at: Timestamp, now: Timestamp) -> Result<(), OrderError> {
    let earliest = Timestamp::from_unix_micros(EARLIEST_MICROS);
    if (earliest..=now.plus(AHEAD_MAX)).contains(&placed_at) {
        return Ok(());
    }
    Err(OrderError::invalid("placed_at", "from the year 2000, and at most a day in the future"))
}

fn check_line(index: usize, line: &PushedLine) -> Result<PushedLine, OrderError> {
    let field = |name: &str| format!("items[{index}].{name}");
    let sku = identifier(field("sku"), &line.sku)?;
    let name = catalog::one_line(&line.name, usize::MAX);
    if !(1..=PUSHED_NAME_LENGTH_MAX).contains(&name.chars().count()) {
        return Err(OrderError::invalid(field("name"), "1 to 300 characters"));
    }
    if line.quantity == 0 {
        return Err(OrderError::invalid(field("quantity"), "1 or more"));
    }
    if !(0..=Money::UNIT_PRICE_MINOR_MAX).contains(&line.unit_minor) {
        let allowed = "0 to 1,000,000,000,000 minor units";
        return Err(OrderError::invalid(field("unit_price"), allowed));
    }
    let name = name.into_owned();
    Ok(PushedLine { sku, name, quantity: line.quantity, unit_minor: line.unit_minor })
}

/// Returns an id of the merchant, which is stored as it was sent or not at all.
fn identifier(field: impl Into<String>, text: &str) -> Result<String, OrderError> {
    let text = text.trim();
    let is_short = (1..=PUSHED_ID_LENGTH_MAX).contains(&text.chars().count());
    if is_short && catalog::one_line(text, usize::MAX) == text {
        return Ok(text.to_owned());
    }
    let allowed = "1 to 100 printable characters, without markup and double spaces";
    Err(OrderError::invalid(field, allowed))
}

/// Returns a page of the pushed orders of a store, the newest first. One that cannot be read is left out; the next page begins
/// after the last one nonetheless.
pub async fn pushed_orders(
    reading: &Reading,
    merchant: MerchantId,
    after: Option<OrderCursor>,
    limit: u32,
) -> Result<PushedPage, OrderError> {
    let found = reading
        .run(async |sql| -> Result<_, OrderError> {
            Ok(table::pushed_orders(sql, merchant, after, i64::from(limit)).await?)
        })
        .await?;
    let is_full = u32::try_from(found.len()).is_ok_and(|count| count >= limit);
    let next = found.last().filter(|_| is_full).map(|(position, _)| *position);
    Ok(PushedPage { orders: found.into_iter().filter_map(|(_, it)| it).collect(), next })
}

/// Returns a pushed order of this store.
pub async fn pushed_order(
    reading: &Reading,
    merchant: MerchantId,
    id: OrderId,
) -> Result<StoredPush, OrderError> {
    let found = reading.run(async |sql| table::pushed_order(sql, merchant, id).await).await?;
    found.ok_or(OrderError::NotFound)
}
