//! All SQL of payments: here the attempts; the modules have what belongs to them.

pub(crate) mod account;
pub(crate) mod finding;
pub(crate) mod ledger;
pub(crate) mod refund;
pub(crate) mod webhook;
pub(crate) mod x402;

use database::Work;
use primitives::{CheckoutId, MerchantId, Money, PaymentAccountId, PaymentId, Timestamp};
use sqlx::PgConnection;

use crate::{
    Payment, PaymentError, PaymentStatus, PaymentTotals, PaymentTransition, ProviderName,
    ProviderPage,
};

pub(crate) async fn insert(
    work: &mut Work,
    payment: &Payment,
    next_check_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO payment
             (merchant_id, payment_id, checkout_id, provider, instrument, currency, amount_minor, status, begun_at,
              quote_hash, is_live, expires_at, next_check_at, account_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        payment.merchant as MerchantId,
        payment.id as PaymentId,
        payment.checkout as CheckoutId,
        payment.provider.as_str(),
        payment.instrument,
        payment.amount.currency().code(),
        payment.amount.minor(),
        payment.status.as_str(),
        payment.begun_at as Timestamp,
        payment.quote_hash.as_ref().map(<[u8; 32]>::as_slice),
        payment.is_live,
        payment.expires_at as Timestamp,
        next_check_at as Timestamp,
        payment.account as Option<PaymentAccountId>,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Records the page of an attempt that is begun. Returns `false` if it is not.
pub(crate) async fn record_page(
    work: &mut Work,
    payment: &Payment,
    page: &ProviderPage,
) -> sqlx::Result<bool> {
    let transition = PaymentTransition::Open;
    let done = sqlx::query!(
        "UPDATE payment SET status = $4, attempt_reference = $5, page_url = $6
         WHERE merchant_id = $1 AND payment_id = $2 AND status = ANY($3)",
        payment.merchant as MerchantId,
        payment.id as PaymentId,
        &transition.sources(),
        transition.target().as_str(),
        page.reference,
        page.url,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Records that an attempt is processing. Returns `false` if it is already, or has ended.
pub(crate) async fn record_processing(
    work: &mut Work,
    payment: &Payment,
    reference: Option<&str>,
) -> sqlx::Result<bool> {
    let transition = PaymentTransition::Process;
    let done = sqlx::query!(
        "UPDATE payment SET status = $4, attempt_reference = coalesce(attempt_reference, $5)
         WHERE merchant_id = $1 AND payment_id = $2 AND status = ANY($3)",
        payment.merchant as MerchantId,
        payment.id as PaymentId,
        &transition.sources(),
        transition.target().as_str(),
        reference,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Ends a pending attempt. One that the provider knows by a reference is compared with it later. Returns `false` if the transition is not
/// allowed any more.
pub(crate) async fn end(
    work: &mut Work,
    payment: &Payment,
    transition: PaymentTransition,
    reference: Option<&str>,
    compare_at: Timestamp,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE payment
         SET status = $4, reference = $5, ended_at = $6, check_count = 0,
             next_check_at = CASE WHEN attempt_reference IS NOT NULL THEN $7::timestamptz END
         WHERE merchant_id = $1 AND payment_id = $2 AND status = ANY($3)",
        payment.merchant as MerchantId,
        payment.id as PaymentId,
        &transition.sources(),
        transition.target().as_str(),
        reference,
        now as Timestamp,
        compare_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Records the money of an attempt that had ended without any. Without a transition its status stays. Returns `false` if money is recorded
/// already, or the attempt has not ended.
pub(crate) async fn record_late(
    work: &mut Work,
    payment: &Payment,
    transition: Option<PaymentTransition>,
    reference: &str,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "UPDATE payment SET status = coalesce($4, status), reference = $5
         WHERE merchant_id = $1 AND payment_id = $2 AND status = ANY($3) AND reference IS NULL",
        payment.merchant as MerchantId,
        payment.id as PaymentId,
        &PaymentTransition::PayLate.sources(),
        transition.map(|it| it.target().as_str()),
        reference,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Sets when the provider is asked next, if nobody else has since the payment was read.
pub(crate) async fn schedule_check(
    work: &mut Work,
    payment: &Payment,
    next_at: Option<Timestamp>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE payment SET next_check_at = $3, check_count = check_count + 1
         WHERE merchant_id = $1 AND payment_id = $2 AND status = $4 AND check_count = $5",
        payment.merchant as MerchantId,
        payment.id as PaymentId,
        next_at as Option<Timestamp>,
        payment.status.as_str(),
        i32::try_from(payment.check_count).unwrap_or(i32::MAX),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// A row of `payment`.
pub(crate) struct PaymentRow {
    pub(crate) merchant_id: MerchantId,
    pub(crate) payment_id: PaymentId,
    pub(crate) checkout_id: CheckoutId,
    pub(crate) provider: String,
    account_id: Option<PaymentAccountId>,
    pub(crate) instrument: String,
    pub(crate) currency: String,
    pub(crate) amount_minor: i64,
    pub(crate) quote_hash: Option<Vec<u8>>,
    pub(crate) is_live: bool,
    pub(crate) status: String,
    pub(crate) attempt_reference: Option<String>,
    pub(crate) page_url: Option<String>,
    pub(crate) reference: Option<String>,
    pub(crate) begun_at: Timestamp,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) check_count: i32,
    pub(crate) charged_minor: i64,
    pub(crate) refunded_minor: i64,
    pub(crate) reversed_minor: i64,
    pub(crate) refunding_minor: i64,
}

impl TryFrom<PaymentRow> for Payment {
    type Error = PaymentError;
    fn try_from(row: PaymentRow) -> Result<Self, PaymentError> {
        let unreadable = || PaymentError::Unreadable;
        let currency = row.currency.parse().map_err(|_| unreadable())?;
        let Some(provider) = ProviderName::parse(&row.provider) else {
            let (payment, name) = (row.payment_id, row.provider);
            return Err(PaymentError::UnknownProvider { payment, name });
        };
        let quote_hash = row.quote_hash.map(TryInto::try_into).transpose();
        Ok(Self {
            id: row.payment_id,
            merchant: row.merchant_id,
            checkout: row.checkout_id,
            provider,
            account: row.account_id,
            instrument: row.instrument,
            amount: Money::new(row.amount_minor, currency),
            quote_hash: quote_hash.map_err(|_| unreadable())?,
            is_live: row.is_live,
            status: PaymentStatus::parse(&row.status).ok_or_else(unreadable)?,
            attempt_reference: row.attempt_reference,
            page_url: row.page_url,
            reference: row.reference,
            begun_at: row.begun_at,
            // Attempts of earlier releases have no page that could be open.
            expires_at: row.expires_at.unwrap_or(row.begun_at),
            check_count: row.check_count.try_into().unwrap_or(0),
            totals: PaymentTotals {
                charged_minor: row.charged_minor,
                refunded_minor: row.refunded_minor,
                reversed_minor: row.reversed_minor,
                refunding_minor: row.refunding_minor,
            },
        })
    }
}

/// Selects the columns of `PaymentRow`.
macro_rules! payments {
    ($where:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            PaymentRow,
            r#"SELECT merchant_id AS "merchant_id: MerchantId", payment_id AS "payment_id: PaymentId",
                      checkout_id AS "checkout_id: CheckoutId", provider,
                      account_id AS "account_id: PaymentAccountId", instrument, currency, amount_minor, quote_hash,
                      is_live, status, attempt_reference, page_url, reference, begun_at AS "begun_at: Timestamp",
                      expires_at AS "expires_at: Timestamp", check_count, charged_minor, refunded_minor, reversed_minor,
                      refunding_minor
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

pub(crate) async fn find_pending_of(
    sql: &mut PgConnection,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<Option<Payment>, PaymentError> {
    let query = payments!(
        "checkout_id = $2 AND status IN ('begun', 'open', 'processing')",
        merchant as MerchantId,
        checkout as CheckoutId,
    );
    query.fetch_optional(sql).await?.map(Payment::try_from).transpose()
}

/// Returns the payment with this reference, of the attempt or of the money.
pub(crate) async fn find_by_reference(
    sql: &mut PgConnection,
    merchant: MerchantId,
    provider: ProviderName,
    reference: &str,
) -> sqlx::Result<Option<PaymentId>> {
    sqlx::query_scalar!(
        r#"SELECT payment_id AS "payment_id!: PaymentId" FROM payment
           WHERE merchant_id = $1 AND provider = $2 AND attempt_reference = $3
           UNION ALL
           SELECT payment_id FROM payment
           WHERE merchant_id = $1 AND provider = $2 AND reference = $3 AND provider NOT IN ('merchant', 'test')
           LIMIT 1"#,
        merchant as MerchantId,
        provider.as_str(),
        reference,
    )
    .fetch_optional(sql)
    .await
}

pub(crate) async fn find_due(
    sql: &mut PgConnection,
    now: Timestamp,
    after: Option<(Timestamp, PaymentId)>,
    limit: i64,
) -> sqlx::Result<Vec<(MerchantId, PaymentId, Timestamp)>> {
    let (at, id) = after.unzip();
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", payment_id AS "payment: PaymentId",
                  coalesce(next_check_at, begun_at) AS "due_at!: Timestamp"
           FROM payment
           WHERE (next_check_at IS NOT NULL OR status = 'begun') AND coalesce(next_check_at, begun_at) <= $1
             AND ($2::timestamptz IS NULL OR (coalesce(next_check_at, begun_at), payment_id) > ($2, $3))
           ORDER BY coalesce(next_check_at, begun_at), payment_id LIMIT $4"#,
        now as Timestamp,
        at as Option<Timestamp>,
        id as Option<PaymentId>,
        limit,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.payment, row.due_at)).collect())
}

pub(crate) async fn find_stuck(
    sql: &mut PgConnection,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<(MerchantId, PaymentId, Timestamp)>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", payment_id AS "payment: PaymentId",
                  begun_at AS "begun_at: Timestamp"
           FROM payment
           WHERE status IN ('begun', 'open', 'processing') AND begun_at < $1
             AND (status <> 'open' OR coalesce(expires_at, begun_at) < $1)
           ORDER BY begun_at, payment_id LIMIT $2"#,
        before as Timestamp,
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
