//! All SQL of orders: here the order itself; the modules have what belongs to it.

mod backlog;
mod details;
mod disputes;
mod import;
mod list;
mod list_of_keys;
mod of_agent;
mod pushed;
mod returns;
mod sandbox;

use database::Work;
use primitives::{
    CartId, CheckoutId, ConfirmationId, KeyId, MerchantId, Money, OrderId, Timestamp,
};
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::{ConfirmationLevel, Order, OrderError, OrderLine, OrderStatus, PaymentStatus};

pub(crate) use backlog::backlog;
pub(crate) use details::{
    count_history, details, details_of, fulfillments_of, insert_fulfillment, insert_history,
    insert_refund, mark_delivered,
};
pub(crate) use disputes::*;
pub(crate) use import::*;
pub(crate) use list::*;
pub(crate) use list_of_keys::orders_of_keys;
pub(crate) use of_agent::*;
pub(crate) use pushed::*;
pub(crate) use returns::*;
pub(crate) use sandbox::find_simulated;

/// Parses a stored name; a name that is not known is an error.
fn parsed<T>(name: &str, parse: fn(&str) -> Option<T>) -> Result<T, OrderError> {
    parse(name).ok_or(OrderError::Unreadable)
}

pub(crate) async fn insert(
    work: &mut Work,
    merchant: MerchantId,
    order: &Order,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO placed_order
             (merchant_id, order_id, checkout_id, cart_id, agent_key_id, agent_name, is_sandbox, status,
              payment_provider, payment_reference, currency, total_minor, lines, terms, quote_hash,
              confirmation_level, confirmation_id, buyer, created_at, updated_at, shipping_minor, tax_minor,
              same_address, promised_by, payment_status, is_paid_late)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $19, $20,
                 $21, $22, $23, $24, $25)",
        merchant as MerchantId,
        order.id as OrderId,
        order.checkout as CheckoutId,
        order.cart as CartId,
        order.agent as KeyId,
        order.agent_name,
        order.is_sandbox,
        order.status.as_str(),
        order.payment_provider,
        order.payment_reference,
        order.total.currency().code(),
        order.total.minor(),
        Json(&order.lines) as _,
        order.terms,
        order.quote_hash.as_slice(),
        order.confirmation.as_str(),
        order.confirmation_id as Option<ConfirmationId>,
        order.buyer,
        order.created_at as Timestamp,
        order.shipping_minor,
        order.tax_minor,
        order.same_address,
        order.promise() as Option<Timestamp>,
        order.payment.as_str(),
        // A payment that was known in time places an order that is pending.
        order.status == OrderStatus::ManualReview,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Stores what changes about an order. Fails unless the stored version is the one before the change.
pub(crate) async fn update(
    work: &mut Work,
    merchant: MerchantId,
    order: &Order,
    before: i32,
) -> Result<(), OrderError> {
    let done = sqlx::query!(
        "UPDATE placed_order
         SET status = $4, version = $5, lines = $6, payment_status = $7, refunded_minor = $8, delivered_at = $9,
             returnable_until = $10, destination = $11, note = $12, updated_at = $13
         WHERE merchant_id = $1 AND order_id = $2 AND version = $3",
        merchant as MerchantId,
        order.id as OrderId,
        before,
        order.status.as_str(),
        order.version,
        Json(&order.lines) as _,
        order.payment.as_str(),
        order.refunded_minor,
        order.delivered_at as Option<Timestamp>,
        order.returnable_until as Option<Timestamp>,
        order.destination,
        order.note,
        order.updated_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    // The row is locked, so that another version means a write past `Change`.
    if done.rows_affected() == 1 { Ok(()) } else { Err(OrderError::Unreadable) }
}

struct Row {
    order_id: OrderId,
    checkout_id: CheckoutId,
    cart_id: CartId,
    agent: KeyId,
    agent_name: String,
    is_sandbox: bool,
    status: String,
    payment_provider: String,
    payment_reference: String,
    currency: String,
    total_minor: i64,
    lines: Json<Vec<OrderLine>>,
    terms: Value,
    quote_hash: Vec<u8>,
    confirmation_level: String,
    confirmation_id: Option<ConfirmationId>,
    buyer: Option<Value>,
    shipping_minor: Option<i64>,
    tax_minor: Option<i64>,
    same_address: Option<bool>,
    version: i32,
    payment_status: String,
    refunded_minor: i64,
    promised_by: Option<Timestamp>,
    delivered_at: Option<Timestamp>,
    returnable_until: Option<Timestamp>,
    destination: Option<Value>,
    note: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl TryFrom<Row> for Order {
    type Error = OrderError;
    fn try_from(row: Row) -> Result<Self, OrderError> {
        let level = ConfirmationLevel::parse(&row.confirmation_level);
        let currency = row.currency.parse().map_err(|_| OrderError::Unreadable)?;
        Ok(Self {
            id: row.order_id,
            checkout: row.checkout_id,
            cart: row.cart_id,
            agent: row.agent,
            agent_name: row.agent_name,
            is_sandbox: row.is_sandbox,
            status: parsed(&row.status, OrderStatus::parse)?,
            payment_provider: row.payment_provider,
            payment_reference: row.payment_reference,
            total: Money::new(row.total_minor, currency),
            lines: row.lines.0,
            terms: row.terms,
            quote_hash: row.quote_hash.try_into().map_err(|_| OrderError::Unreadable)?,
            confirmation: level.ok_or(OrderError::Unreadable)?,
            confirmation_id: row.confirmation_id,
            buyer: row.buyer,
            shipping_minor: row.shipping_minor,
            tax_minor: row.tax_minor,
            same_address: row.same_address,
            version: row.version,
            payment: parsed(&row.payment_status, PaymentStatus::parse)?,
            refunded_minor: row.refunded_minor,
            promised_by: row.promised_by,
            delivered_at: row.delivered_at,
            returnable_until: row.returnable_until,
            destination: row.destination,
            note: row.note,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

/// Selects the columns of `Row`.
macro_rules! orders {
    ($rest:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            crate::table::Row,
            r#"SELECT order_id AS "order_id: OrderId", checkout_id AS "checkout_id: CheckoutId",
                  cart_id AS "cart_id: CartId", agent_key_id AS "agent: KeyId", agent_name, is_sandbox, status,
                  payment_provider, payment_reference, currency, total_minor,
                  lines AS "lines: Json<Vec<OrderLine>>", terms, quote_hash, confirmation_level,
                  confirmation_id AS "confirmation_id: ConfirmationId", buyer,
                  shipping_minor, tax_minor, same_address, version, payment_status, refunded_minor,
                  promised_by AS "promised_by: Timestamp", delivered_at AS "delivered_at: Timestamp",
                  returnable_until AS "returnable_until: Timestamp", destination, note,
                  created_at AS "created_at: Timestamp", updated_at AS "updated_at: Timestamp"
           FROM placed_order "# + $rest,
            $($argument),*
        )
    };
}
use orders;

/// Returns the order with this id, or the order of this session.
pub(crate) async fn find(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: Option<OrderId>,
    checkout: Option<CheckoutId>,
) -> Result<Option<Order>, OrderError> {
    let row = orders!(
        "WHERE merchant_id = $1 AND (order_id = $2 OR checkout_id = $3)",
        merchant as MerchantId,
        id as Option<OrderId>,
        checkout as Option<CheckoutId>,
    );
    row.fetch_optional(sql).await?.map(Order::try_from).transpose()
}

/// Returns the order with this id, locked until the work ends.
pub(crate) async fn lock(
    work: &mut Work,
    merchant: MerchantId,
    id: OrderId,
) -> Result<Option<Order>, OrderError> {
    let row = orders!(
        "WHERE merchant_id = $1 AND order_id = $2 FOR UPDATE",
        merchant as MerchantId,
        id as OrderId,
    );
    row.fetch_optional(work.sql()).await?.map(Order::try_from).transpose()
}

/// Deletes the sandbox order of a session and returns the number of deleted orders.
pub async fn purge_sandbox(
    work: &mut Work,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<u64, OrderError> {
    let done = sqlx::query!(
        "DELETE FROM placed_order WHERE merchant_id = $1 AND is_sandbox AND checkout_id = $2",
        merchant as MerchantId,
        checkout as CheckoutId,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected())
}

/// Removes the data of the buyer with this email address from orders of all stores and from what belongs to them, and
/// returns their carts. Items, amounts, the country and the hash of the approved terms remain.
pub async fn erase_buyer(
    work: &mut Work,
    email: &str,
) -> Result<Vec<(MerchantId, CartId)>, OrderError> {
    let rows = sqlx::query!(
        r#"UPDATE placed_order
           SET buyer = NULL, note = NULL,
               destination = CASE WHEN destination IS NULL THEN NULL
                   ELSE jsonb_build_object('country', destination -> 'country') END,
               terms = terms - 'buyer' || jsonb_build_object('destination',
                   CASE WHEN terms -> 'destination' ->> 'country' IS NULL THEN 'null'::jsonb
                        ELSE jsonb_build_object('country', terms -> 'destination' -> 'country') END)
           WHERE lower(buyer ->> 'email') = lower($1)
           RETURNING merchant_id AS "merchant: MerchantId", cart_id AS "cart: CartId", order_id AS "order: OrderId""#,
        email,
    )
    .fetch_all(work.sql())
    .await?;
    let merchants: Vec<MerchantId> = rows.iter().map(|row| row.merchant).collect();
    let orders: Vec<OrderId> = rows.iter().map(|row| row.order).collect();
    erase_texts(work, &merchants, &orders).await?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.cart)).collect())
}

/// Removes what the buyer's side wrote about orders, each with its merchant. Carrier and tracking number of a return are the
/// text of whoever reported that it was sent, which the history names.
async fn erase_texts(
    work: &mut Work,
    merchants: &[MerchantId],
    orders: &[OrderId],
) -> sqlx::Result<()> {
    sqlx::query!(
        "WITH erased AS (SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS it (merchant_id, order_id)),
              of_returns AS (UPDATE order_return AS text
                             SET customer_note = NULL,
                                 (carrier, tracking_number) =
                                     (SELECT text.carrier, text.tracking_number
                                      WHERE NOT EXISTS (SELECT FROM order_history AS sent
                                                        WHERE (sent.merchant_id, sent.order_id)
                                                              = (text.merchant_id, text.order_id)
                                                          AND sent.kind = 'return_changed'
                                                          AND sent.actor IN ('agent', 'buyer')
                                                          AND sent.details ->> 'return_status' = 'in_transit'
                                                          AND sent.details ->> 'return_id'
                                                              = 'ret_' || replace(text.return_id::text, '-', '')))
                             FROM erased
                             WHERE (text.merchant_id, text.order_id) = (erased.merchant_id, erased.order_id)),
              of_feedback AS (UPDATE order_feedback AS text SET note = NULL FROM erased
                              WHERE (text.merchant_id, text.order_id) = (erased.merchant_id, erased.order_id))
         UPDATE dispute_statement AS text SET statement = '[erased]', evidence = '[]' FROM erased
         WHERE (text.merchant_id, text.order_id) = (erased.merchant_id, erased.order_id)
           AND text.actor IN ('agent', 'buyer')",
        merchants as &[MerchantId],
        orders as &[OrderId],
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
