//! What PostgreSQL has of an order after a round.

use primitives::OrderId;
use serde_json::Value;
use sqlx::PgConnection;

use crate::orders::model::{Entry, Line, OrderModel, Parcel, Return, Units};
use crate::report::Failure;

/// An order and the newest entries of its history.
pub(super) struct Observed {
    pub(super) entries: Vec<Entry>,
    /// The ids of what the entries created: fulfillments, returns and disputes, each with the kind of its entry.
    pub(super) subjects: Vec<(String, String)>,
    pub(super) order: ObservedOrder,
}

/// The stored order.
#[derive(Debug)]
pub(super) struct ObservedOrder {
    status: String,
    version: i32,
    payment: String,
    refunded_minor: i64,
    lines: Value,
    /// Line and quantity of each parcel, in the order in which they were shipped.
    parcels: Value,
    /// Status, outcome, and line and quantity of each return, in the order in which they were requested.
    returns: Value,
    has_open_dispute: bool,
}

type Row = (i32, String, String, String, String, Value);

impl Observed {
    /// Reads the order and the entries after a version. Nothing else changes the order meanwhile.
    pub(super) async fn read(
        sql: &mut PgConnection,
        order: OrderId,
        after: i32,
    ) -> Result<Self, Failure> {
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT sequence, kind, previous_status, status, actor, details FROM order_history
             WHERE order_id = $1 AND merchant_id = $2 AND sequence > $3 ORDER BY sequence",
        )
        .bind(order.uuid())
        .bind(crate::orders::store::merchant().uuid())
        .bind(after)
        .fetch_all(&mut *sql)
        .await?;
        let mut observed = Self {
            entries: Vec::new(),
            subjects: Vec::new(),
            order: ObservedOrder::read(sql, order).await?,
        };
        for (_, kind, previous, status, actor, details) in rows {
            let detail = match kind.as_str() {
                "refunded" => details["amount_minor"].as_i64().map(|minor| minor.to_string()),
                "return_requested" | "return_changed" => text(&details, "return_status"),
                _ => None,
            };
            let subject = match kind.as_str() {
                "shipped" => text(&details, "fulfillment_id"),
                "return_requested" => text(&details, "return_id"),
                "dispute_opened" => text(&details, "dispute_id"),
                _ => None,
            };
            observed.subjects.extend(subject.map(|id| (kind.clone(), id)));
            observed.entries.push(Entry { kind, previous, status, actor, detail });
        }
        Ok(observed)
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(details: &Value, name: &str) -> Option<String> {
    details[name].as_str().map(str::to_owned)
}

impl ObservedOrder {
    async fn read(sql: &mut PgConnection, order: OrderId) -> Result<Self, Failure> {
        type Stored = (String, i32, String, i64, Value, Value, Value, bool);
        let stored: Stored = sqlx::query_as(
            "SELECT status, version, payment_status, refunded_minor, lines,
                    (SELECT coalesce(jsonb_agg(jsonb_build_object('items', f.items, 'is_delivered', f.delivered_at IS NOT NULL)
                                               ORDER BY h.sequence), '[]')
                     FROM order_fulfillment AS f, order_history AS h
                     WHERE (f.merchant_id, f.order_id) = (o.merchant_id, o.order_id)
                       AND (h.merchant_id, h.order_id) = (o.merchant_id, o.order_id) AND h.kind = 'shipped'
                       AND split_part(h.details ->> 'fulfillment_id', '_', 2) = replace(f.fulfillment_id::text, '-', '')),
                    (SELECT coalesce(jsonb_agg(jsonb_build_object('items', r.items, 'status', r.status, 'outcome', r.outcome)
                                               ORDER BY h.sequence), '[]')
                     FROM order_return AS r, order_history AS h
                     WHERE (r.merchant_id, r.order_id) = (o.merchant_id, o.order_id)
                       AND (h.merchant_id, h.order_id) = (o.merchant_id, o.order_id) AND h.kind = 'return_requested'
                       AND split_part(h.details ->> 'return_id', '_', 2) = replace(r.return_id::text, '-', '')),
                    EXISTS (SELECT FROM order_dispute AS d WHERE (d.merchant_id, d.order_id) = (o.merchant_id, o.order_id)
                            AND d.status IN ('open', 'under_review'))
             FROM placed_order AS o WHERE order_id = $1 AND merchant_id = $2",
        )
        .bind(order.uuid())
        .bind(crate::orders::store::merchant().uuid())
        .fetch_one(sql)
        .await?;
        let (status, version, payment, refunded_minor, lines, parcels, returns, has_open_dispute) =
            stored;
        Ok(Self {
            status,
            version,
            payment,
            refunded_minor,
            lines,
            parcels,
            returns,
            has_open_dispute,
        })
    }

    /// Whether the stored order is the one of the model.
    pub(super) fn is(&self, model: &OrderModel) -> bool {
        let units = |at: usize, name: &str| self.lines[at][name].as_u64().unwrap_or(0);
        let is_same_line = |(at, line): (usize, &Line)| {
            let stored =
                ["quantity", "canceled", "shipped", "returned"].map(|name| units(at, name));
            stored == [line.ordered, line.canceled, line.shipped, line.returned].map(u64::from)
        };
        self.status == model.status
            && self.version == model.version
            && self.payment == model.payment
            && self.refunded_minor == model.refunded_minor
            && model.lines.iter().enumerate().all(is_same_line)
            && self.has_parcels_of(model)
            && self.has_returns_of(model)
            && self.has_open_dispute == model.has_open_dispute
    }

    fn has_parcels_of(&self, model: &OrderModel) -> bool {
        let is_same = |(stored, parcel): (&Value, &Parcel)| {
            stored["is_delivered"] == parcel.is_delivered && self.is_of(stored, &parcel.units)
        };
        let parcels = list(&self.parcels);
        parcels.len() == model.parcels.len() && parcels.iter().zip(&model.parcels).all(is_same)
    }

    fn has_returns_of(&self, model: &OrderModel) -> bool {
        let is_same = |(stored, expected): (&Value, &Return)| {
            stored["status"] == expected.status
                && stored["outcome"] == expected.outcome
                && self.is_of(stored, &expected.units)
        };
        let returns = list(&self.returns);
        returns.len() == model.returns.len() && returns.iter().zip(&model.returns).all(is_same)
    }

    /// Whether a parcel or a return has these units, in any order of the lines.
    fn is_of(&self, stored: &Value, units: &Units) -> bool {
        let unit = |item: &Value| {
            let line = list(&self.lines).iter().position(|line| line["line"] == item["line"]);
            Some((line?, u32::try_from(item["quantity"].as_u64()?).ok()?))
        };
        let mut stored: Vec<_> = list(&stored["items"]).iter().filter_map(unit).collect();
        let mut units = units.clone();
        stored.sort_unstable();
        units.sort_unstable();
        stored == units
    }
}
