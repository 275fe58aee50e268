//! All SQL of orders.

use database::Work;
use primitives::{
    CartId, CheckoutId, ConfirmationId, KeyId, MerchantId, Money, OrderId, Timestamp,
};
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::{ConfirmationLevel, Order, OrderError, OrderLine, OrderStatus};

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
              same_address)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $19, $20,
                 $21, $22)",
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
    )
    .execute(work.sql())
    .await?;
    Ok(())
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
            status: OrderStatus::parse(&row.status).ok_or(OrderError::Unreadable)?,
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
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

/// Returns the order with this id, or the order of this session.
pub(crate) async fn find(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: Option<OrderId>,
    checkout: Option<CheckoutId>,
) -> Result<Option<Order>, OrderError> {
    let row = sqlx::query_as!(
        Row,
        r#"SELECT order_id AS "order_id: OrderId", checkout_id AS "checkout_id: CheckoutId",
                  cart_id AS "cart_id: CartId", agent_key_id AS "agent: KeyId", agent_name, is_sandbox, status,
                  payment_provider, payment_reference, currency, total_minor,
                  lines AS "lines: Json<Vec<OrderLine>>", terms, quote_hash, confirmation_level,
                  confirmation_id AS "confirmation_id: ConfirmationId", buyer,
                  shipping_minor, tax_minor, same_address,
                  created_at AS "created_at: Timestamp", updated_at AS "updated_at: Timestamp"
           FROM placed_order
           WHERE merchant_id = $1 AND (order_id = $2 OR checkout_id = $3)"#,
        merchant as MerchantId,
        id as Option<OrderId>,
        checkout as Option<CheckoutId>,
    )
    .fetch_optional(sql)
    .await?;
    row.map(Order::try_from).transpose()
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

/// Removes the data of the buyer with this email address from orders of all stores, and returns their carts. Items,
/// amounts, the country and the hash of the approved terms remain.
pub async fn erase_buyer(
    work: &mut Work,
    email: &str,
) -> Result<Vec<(MerchantId, CartId)>, OrderError> {
    let rows = sqlx::query!(
        r#"UPDATE placed_order
           SET buyer = NULL,
               terms = terms - 'buyer' || jsonb_build_object('destination',
                   CASE WHEN terms -> 'destination' ->> 'country' IS NULL THEN 'null'::jsonb
                        ELSE jsonb_build_object('country', terms -> 'destination' -> 'country') END)
           WHERE lower(buyer ->> 'email') = lower($1)
           RETURNING merchant_id AS "merchant: MerchantId", cart_id AS "cart: CartId""#,
        email,
    )
    .fetch_all(work.sql())
    .await?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.cart)).collect())
}
