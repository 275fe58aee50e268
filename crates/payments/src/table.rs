//! All SQL of payments.

use database::Work;
use primitives::{CheckoutId, MerchantId, Money, PaymentId, Timestamp};
use sqlx::PgConnection;

use crate::{ChargeOutcome, Payment, PaymentError, PaymentStatus};

pub(crate) async fn insert(
    work: &mut Work,
    merchant: MerchantId,
    payment: &Payment,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO payment
             (merchant_id, payment_id, checkout_id, provider, instrument, currency, amount_minor, status, begun_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        merchant as MerchantId,
        payment.id as PaymentId,
        payment.checkout as CheckoutId,
        payment.provider,
        payment.instrument,
        payment.amount.currency().code(),
        payment.amount.minor(),
        payment.status.as_str(),
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Records the outcome of a pending payment. Returns `false` if it is not pending.
pub(crate) async fn record_outcome(
    work: &mut Work,
    merchant: MerchantId,
    payment: PaymentId,
    outcome: &ChargeOutcome,
) -> sqlx::Result<bool> {
    let now = work.now();
    let (status, reference) = match outcome {
        ChargeOutcome::Paid { reference } => (PaymentStatus::Paid, Some(reference.as_str())),
        ChargeOutcome::Declined => (PaymentStatus::Declined, None),
    };
    let done = sqlx::query!(
        "UPDATE payment SET status = $3, reference = $4, ended_at = $5
         WHERE merchant_id = $1 AND payment_id = $2 AND status = 'begun'",
        merchant as MerchantId,
        payment as PaymentId,
        status.as_str(),
        reference,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

struct Row {
    payment_id: PaymentId,
    checkout_id: CheckoutId,
    provider: String,
    instrument: String,
    currency: String,
    amount_minor: i64,
    status: String,
    reference: Option<String>,
}

impl TryFrom<Row> for Payment {
    type Error = PaymentError;
    fn try_from(row: Row) -> Result<Self, PaymentError> {
        let currency = row.currency.parse().map_err(|_| PaymentError::Unreadable)?;
        Ok(Self {
            id: row.payment_id,
            checkout: row.checkout_id,
            provider: row.provider,
            instrument: row.instrument,
            amount: Money::new(row.amount_minor, currency),
            status: PaymentStatus::parse(&row.status).ok_or(PaymentError::Unreadable)?,
            reference: row.reference,
        })
    }
}

/// Selects the columns of `Row`.
macro_rules! payments {
    ($where:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"SELECT payment_id AS "payment_id: PaymentId", checkout_id AS "checkout_id: CheckoutId", provider,
                      instrument, currency, amount_minor, status, reference
               FROM payment WHERE merchant_id = $1 AND "# + $where,
            $($argument),*
        )
    };
}

pub(crate) async fn find(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: PaymentId,
) -> Result<Option<Payment>, PaymentError> {
    let query = payments!("payment_id = $2", merchant as MerchantId, id as PaymentId);
    query.fetch_optional(sql).await?.map(Payment::try_from).transpose()
}

pub(crate) async fn find_paid(
    sql: &mut PgConnection,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<Option<Payment>, PaymentError> {
    let query = payments!(
        "checkout_id = $2 AND status = 'paid'",
        merchant as MerchantId,
        checkout as CheckoutId,
    );
    query.fetch_optional(sql).await?.map(Payment::try_from).transpose()
}

pub(crate) async fn find_pending(
    sql: &mut PgConnection,
    before: Timestamp,
    after: Option<(Timestamp, PaymentId)>,
    limit: i64,
) -> sqlx::Result<Vec<(MerchantId, PaymentId, Timestamp)>> {
    let (at, id) = after.unzip();
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", payment_id AS "payment: PaymentId",
                  begun_at AS "begun_at: Timestamp"
           FROM payment
           WHERE status = 'begun' AND begun_at < $1
             AND ($2::timestamptz IS NULL OR (begun_at, payment_id) > ($2, $3))
           ORDER BY begun_at, payment_id LIMIT $4"#,
        before as Timestamp,
        at as Option<Timestamp>,
        id as Option<PaymentId>,
        limit,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.payment, row.begun_at)).collect())
}

pub(crate) async fn delete(
    work: &mut Work,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM payment WHERE merchant_id = $1 AND checkout_id = $2",
        merchant as MerchantId,
        checkout as CheckoutId,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
