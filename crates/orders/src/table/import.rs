//! Imported orders and what belongs to them, many rows in a statement.

use database::Work;
use primitives::{MerchantId, OrderId};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{Dispute, Fulfillment, HistoryEntry, Order, OrderDetails, Refund, Statement};

/// Inserts orders, without those whose id, session or cart another order has. Returns the ids of those that were inserted.
pub(crate) async fn import_orders(
    work: &mut Work,
    merchant: MerchantId,
    orders: &[OrderDetails],
) -> sqlx::Result<Vec<OrderId>> {
    let rows: Value = orders.iter().map(|it| order_row(&it.order)).collect();
    let ids: Vec<Uuid> = orders.iter().map(|it| it.order.id.uuid()).collect();
    let hashes: Vec<Vec<u8>> = orders.iter().map(|it| it.order.quote_hash.to_vec()).collect();
    sqlx::query_scalar!(
        r#"INSERT INTO placed_order
               (merchant_id, order_id, checkout_id, cart_id, agent_key_id, agent_name, is_sandbox, status,
                payment_provider, payment_reference, currency, total_minor, lines, terms, quote_hash,
                confirmation_level, confirmation_id, buyer, created_at, updated_at, shipping_minor, tax_minor,
                same_address, promised_by, payment_status, version, refunded_minor, delivered_at, returnable_until,
                destination, note)
           SELECT $1::uuid, past.order_id, checkout_id, cart_id, agent_key_id, agent_name, is_sandbox, status,
                  payment_provider, payment_reference, currency, total_minor, lines, terms, approved.quote_hash,
                  confirmation_level, confirmation_id, buyer, created_at, updated_at, shipping_minor, tax_minor,
                  same_address, promised_by, payment_status, version, refunded_minor, delivered_at, returnable_until,
                  destination, note
           FROM jsonb_to_recordset($2) AS past
                    (order_id uuid, checkout_id uuid, cart_id uuid, agent_key_id uuid, agent_name text, is_sandbox boolean,
                     status text, payment_provider text, payment_reference text, currency text, total_minor bigint,
                     lines jsonb, terms jsonb, confirmation_level text, confirmation_id uuid, buyer jsonb,
                     created_at timestamptz, updated_at timestamptz, shipping_minor bigint, tax_minor bigint,
                     same_address boolean, promised_by timestamptz, payment_status text, version integer,
                     refunded_minor bigint, delivered_at timestamptz, returnable_until timestamptz, destination jsonb,
                     note text)
           JOIN unnest($3::uuid[], $4::bytea[]) AS approved (order_id, quote_hash)
               ON approved.order_id = past.order_id
           ON CONFLICT DO NOTHING
           RETURNING order_id AS "id: OrderId""#,
        merchant as MerchantId,
        rows,
        &ids,
        &hashes,
    )
    .fetch_all(work.sql())
    .await
}

fn order_row(order: &Order) -> Value {
    json!({
        "order_id": order.id.uuid().to_string(),
        "checkout_id": order.checkout.uuid().to_string(),
        "cart_id": order.cart.uuid().to_string(),
        "agent_key_id": order.agent.uuid().to_string(),
        "agent_name": order.agent_name,
        "is_sandbox": order.is_sandbox,
        "status": order.status.as_str(),
        "payment_provider": order.payment_provider,
        "payment_reference": order.payment_reference,
        "currency": order.total.currency().code(),
        "total_minor": order.total.minor(),
        "lines": order.lines,
        "terms": order.terms,
        "confirmation_level": order.confirmation.as_str(),
        "confirmation_id": order.confirmation_id.map(|id| id.uuid().to_string()),
        "buyer": order.buyer,
        "created_at": order.created_at,
        "updated_at": order.updated_at,
        "shipping_minor": order.shipping_minor,
        "tax_minor": order.tax_minor,
        "same_address": order.same_address,
        "promised_by": order.promised_by,
        "payment_status": order.payment.as_str(),
        "version": order.version,
        "refunded_minor": order.refunded_minor,
        "delivered_at": order.delivered_at,
        "returnable_until": order.returnable_until,
        "destination": order.destination,
        "note": order.note,
    })
}

/// Returns the rows of what belongs to orders, as one JSON array.
fn rows_of<'order, T: 'order>(
    orders: &[&'order OrderDetails],
    parts: impl Fn(&'order OrderDetails) -> &'order [T],
    row: impl Fn(&str, &'order T) -> Value,
) -> Value {
    let rows = orders.iter().flat_map(|&it| {
        let order = it.order.id.uuid().to_string();
        parts(it).iter().map(|part| row(&order, part)).collect::<Vec<Value>>()
    });
    rows.collect()
}

pub(crate) async fn import_history(
    work: &mut Work,
    merchant: MerchantId,
    orders: &[&OrderDetails],
) -> sqlx::Result<()> {
    let rows = rows_of(orders, |it| it.history.as_slice(), history_row);
    sqlx::query!(
        "INSERT INTO order_history
             (merchant_id, order_id, sequence, kind, previous_status, status, actor, actor_id, reason, details,
              occurred_at)
         SELECT $1::uuid, order_id, sequence, kind, previous_status, status, actor, actor_id, reason, details, occurred_at
         FROM jsonb_to_recordset($2) AS past
                  (order_id uuid, sequence integer, kind text, previous_status text, status text, actor text,
                   actor_id text, reason text, details jsonb, occurred_at timestamptz)",
        merchant as MerchantId,
        rows,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

fn history_row(order: &str, entry: &HistoryEntry) -> Value {
    json!({
        "order_id": order,
        "sequence": entry.sequence,
        "kind": entry.kind.as_str(),
        "previous_status": entry.previous_status.as_str(),
        "status": entry.status.as_str(),
        "actor": entry.actor.kind.as_str(),
        "actor_id": entry.actor.id,
        "reason": entry.reason,
        "details": entry.details,
        "occurred_at": entry.occurred_at,
    })
}

pub(crate) async fn import_fulfillments(
    work: &mut Work,
    merchant: MerchantId,
    orders: &[&OrderDetails],
) -> sqlx::Result<()> {
    let rows = rows_of(orders, |it| it.fulfillments.as_slice(), fulfillment_row);
    sqlx::query!(
        "INSERT INTO order_fulfillment
             (merchant_id, order_id, fulfillment_id, carrier, tracking_number, tracking_url, items, expected_by,
              shipped_at, delivered_at)
         SELECT $1::uuid, order_id, fulfillment_id, carrier, tracking_number, tracking_url, items, expected_by, shipped_at,
                delivered_at
         FROM jsonb_to_recordset($2) AS past
                  (order_id uuid, fulfillment_id uuid, carrier text, tracking_number text, tracking_url text, items jsonb,
                   expected_by timestamptz, shipped_at timestamptz, delivered_at timestamptz)",
        merchant as MerchantId,
        rows,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

fn fulfillment_row(order: &str, fulfillment: &Fulfillment) -> Value {
    json!({
        "order_id": order,
        "fulfillment_id": fulfillment.id.uuid().to_string(),
        "carrier": fulfillment.carrier,
        "tracking_number": fulfillment.tracking_number,
        "tracking_url": fulfillment.tracking_url,
        "items": fulfillment.items,
        "expected_by": fulfillment.expected_by,
        "shipped_at": fulfillment.shipped_at,
        "delivered_at": fulfillment.delivered_at,
    })
}

pub(crate) async fn import_refunds(
    work: &mut Work,
    merchant: MerchantId,
    orders: &[&OrderDetails],
) -> sqlx::Result<()> {
    let rows = rows_of(orders, |it| it.refunds.as_slice(), refund_row);
    sqlx::query!(
        "INSERT INTO order_refund
             (merchant_id, order_id, refund_id, return_id, amount_minor, reason, note, reference, created_at)
         SELECT $1::uuid, order_id, refund_id, return_id, amount_minor, reason, note, reference, created_at
         FROM jsonb_to_recordset($2) AS past
                  (order_id uuid, refund_id uuid, return_id uuid, amount_minor bigint, reason text, note text,
                   reference text, created_at timestamptz)",
        merchant as MerchantId,
        rows,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

fn refund_row(order: &str, refund: &Refund) -> Value {
    json!({
        "order_id": order,
        "refund_id": refund.id.uuid().to_string(),
        "return_id": refund.return_id.map(|id| id.uuid().to_string()),
        "amount_minor": refund.amount_minor,
        "reason": refund.reason.as_str(),
        "note": refund.note,
        "reference": refund.reference,
        "created_at": refund.created_at,
    })
}

pub(crate) async fn import_disputes(
    work: &mut Work,
    merchant: MerchantId,
    orders: &[&OrderDetails],
) -> sqlx::Result<()> {
    let rows = rows_of(orders, |it| it.disputes.as_slice(), dispute_row);
    sqlx::query!(
        "INSERT INTO order_dispute
             (merchant_id, order_id, dispute_id, status, reason, opened_by, respond_by, decide_by, reminded_at, answered_at,
              proposed_minor, resolution, refund_minor, opened_at, updated_at, resolved_at)
         SELECT $1::uuid, order_id, dispute_id, status, reason, opened_by, respond_by, decide_by, reminded_at, answered_at,
                proposed_minor, resolution, refund_minor, opened_at, updated_at, resolved_at
         FROM jsonb_to_recordset($2) AS past
                  (order_id uuid, dispute_id uuid, status text, reason text, opened_by text, respond_by timestamptz,
                   decide_by timestamptz, reminded_at timestamptz, answered_at timestamptz, proposed_minor bigint,
                   resolution text, refund_minor bigint, opened_at timestamptz, updated_at timestamptz,
                   resolved_at timestamptz)",
        merchant as MerchantId,
        rows,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

fn dispute_row(order: &str, dispute: &Dispute) -> Value {
    json!({
        "order_id": order,
        "dispute_id": dispute.id.uuid().to_string(),
        "status": dispute.status.as_str(),
        "reason": dispute.reason.as_str(),
        "opened_by": dispute.opened_by.as_str(),
        "respond_by": dispute.respond_by,
        "decide_by": dispute.decide_by,
        "reminded_at": dispute.reminded_at,
        "answered_at": dispute.answered_at,
        "proposed_minor": dispute.proposed_minor,
        "resolution": dispute.resolution.map(crate::Resolution::as_str),
        "refund_minor": dispute.refund_minor,
        "opened_at": dispute.opened_at,
        "updated_at": dispute.updated_at,
        "resolved_at": dispute.resolved_at,
    })
}

/// Inserts the statements of disputes, which exist.
pub(crate) async fn import_statements(
    work: &mut Work,
    merchant: MerchantId,
    orders: &[&OrderDetails],
) -> sqlx::Result<()> {
    let disputes = orders.iter().flat_map(|it| it.disputes.iter().map(|one| (it.order.id, one)));
    let rows: Vec<Value> = disputes.flat_map(|(order, it)| statement_rows(order, it)).collect();
    sqlx::query!(
        "INSERT INTO dispute_statement (merchant_id, order_id, dispute_id, position, actor, statement, evidence, created_at)
         SELECT $1::uuid, order_id, dispute_id, past.position, actor, statement, evidence, created_at
         FROM jsonb_to_recordset($2) AS past
                  (order_id uuid, dispute_id uuid, position integer, actor text, statement text, evidence jsonb,
                   created_at timestamptz)",
        merchant as MerchantId,
        Value::from(rows),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

fn statement_rows(order: OrderId, dispute: &Dispute) -> Vec<Value> {
    let row = |(position, statement): (usize, &Statement)| {
        json!({
            "order_id": order.uuid().to_string(),
            "dispute_id": dispute.id.uuid().to_string(),
            "position": position,
            "actor": statement.actor.as_str(),
            "statement": statement.text,
            "evidence": statement.evidence,
            "created_at": statement.created_at,
        })
    };
    (1..).zip(&dispute.statements).map(row).collect()
}
