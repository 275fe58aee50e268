//! SQL of refunds.

use database::Work;
use primitives::{MerchantId, Money, OrderId, PaymentId, RefundId, Timestamp};
use sqlx::PgConnection;

use crate::{Payment, PaymentError, PaymentRefund, PaymentRefundStatus};

/// Reserves an amount of a paid payment. The condition refuses more than was charged.
pub(crate) async fn reserve(
    work: &mut Work,
    payment: &Payment,
    amount_minor: i64,
) -> Result<(), PaymentError> {
    let done = sqlx::query!(
        "UPDATE payment SET refunding_minor = refunding_minor + $3
         WHERE merchant_id = $1 AND payment_id = $2
           AND refunded_minor + reversed_minor + refunding_minor + $3 <= charged_minor",
        payment.merchant as MerchantId,
        payment.id as PaymentId,
        amount_minor,
    )
    .execute(work.sql())
    .await?;
    if done.rows_affected() == 1 { Ok(()) } else { Err(PaymentError::ExceedsCharge) }
}

/// Releases a reserved amount.
pub(crate) async fn release(
    work: &mut Work,
    payment: &Payment,
    amount_minor: i64,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE payment SET refunding_minor = refunding_minor - $3 WHERE merchant_id = $1 AND payment_id = $2",
        payment.merchant as MerchantId,
        payment.id as PaymentId,
        amount_minor,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn insert(
    work: &mut Work,
    payment: &Payment,
    refund: &PaymentRefund,
    next_check_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO payment_refund
             (merchant_id, refund_id, payment_id, order_id, amount_minor, reason, note, status, requested_at, next_check_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        payment.merchant as MerchantId,
        refund.id as RefundId,
        payment.id as PaymentId,
        refund.order as OrderId,
        refund.amount.minor(),
        refund.reason,
        refund.note,
        refund.status.as_str(),
        refund.requested_at as Timestamp,
        next_check_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Ends a refund. Returns `false` if it has ended.
pub(crate) async fn end(
    work: &mut Work,
    payment: &Payment,
    refund: &PaymentRefund,
    status: PaymentRefundStatus,
    reference: Option<&str>,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE payment_refund SET status = $3, reference = coalesce($4, reference), ended_at = $5, next_check_at = NULL
         WHERE merchant_id = $1 AND refund_id = $2 AND ended_at IS NULL",
        payment.merchant as MerchantId,
        refund.id as RefundId,
        status.as_str(),
        reference,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Keeps a refund open, with its status, its reference and the time of the next question.
pub(crate) async fn keep_open(
    work: &mut Work,
    payment: &Payment,
    refund: &PaymentRefund,
    (status, reference): (PaymentRefundStatus, Option<&str>),
    next_check_at: Option<Timestamp>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE payment_refund
         SET status = $3, reference = coalesce($4, reference), next_check_at = $5, check_count = check_count + 1
         WHERE merchant_id = $1 AND refund_id = $2 AND ended_at IS NULL AND check_count = $6",
        payment.merchant as MerchantId,
        refund.id as RefundId,
        status.as_str(),
        reference,
        next_check_at as Option<Timestamp>,
        i32::try_from(refund.check_count).unwrap_or(i32::MAX),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn find(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: RefundId,
) -> Result<Option<(PaymentRefund, Payment)>, PaymentError> {
    let found = sqlx::query!(
        r#"SELECT payment_id AS "payment_id: PaymentId", order_id AS "order_id: OrderId", amount_minor, reason, note,
                  status, reference, requested_at AS "requested_at: Timestamp", check_count
           FROM payment_refund WHERE merchant_id = $1 AND refund_id = $2"#,
        merchant as MerchantId,
        id as RefundId,
    )
    .fetch_optional(&mut *sql)
    .await?;
    let Some(row) = found else { return Ok(None) };
    let payment = super::find(sql, merchant, row.payment_id).await?;
    let payment = payment.ok_or(PaymentError::Unreadable)?;
    let refund = PaymentRefund {
        id,
        payment: row.payment_id,
        order: row.order_id,
        amount: Money::new(row.amount_minor, payment.amount.currency()),
        reason: row.reason,
        note: row.note,
        status: PaymentRefundStatus::parse(&row.status).ok_or(PaymentError::Unreadable)?,
        reference: row.reference,
        requested_at: row.requested_at,
        check_count: row.check_count.try_into().unwrap_or(0),
    };
    Ok(Some((refund, payment)))
}

pub(crate) async fn find_due(
    sql: &mut PgConnection,
    now: Timestamp,
    after: Option<(Timestamp, RefundId)>,
    limit: i64,
) -> sqlx::Result<Vec<(MerchantId, RefundId, Timestamp)>> {
    let (at, id) = after.unzip();
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", refund_id AS "refund: RefundId",
                  next_check_at AS "due_at!: Timestamp"
           FROM payment_refund
           WHERE next_check_at <= $1 AND ($2::timestamptz IS NULL OR (next_check_at, refund_id) > ($2, $3))
           ORDER BY next_check_at, refund_id LIMIT $4"#,
        now as Timestamp,
        at as Option<Timestamp>,
        id as Option<RefundId>,
        limit,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.refund, row.due_at)).collect())
}
