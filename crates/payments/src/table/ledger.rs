//! SQL of the ledger.

use database::Work;
use primitives::{MerchantId, Money, PaymentId, Timestamp};
use sqlx::PgConnection;

use crate::{
    Balance, NewTransfer, Payment, PaymentError, PaymentTotals, StatedBy, Transfer, TransferKind,
};

/// Inserts a transfer. Returns `false` if one of this kind and source exists.
pub(crate) async fn insert(
    work: &mut Work,
    payment: &Payment,
    transfer: &NewTransfer<'_>,
) -> sqlx::Result<bool> {
    let now = work.now();
    let (debited, credited) = transfer.kind.accounts(payment.provider);
    let done = sqlx::query!(
        "INSERT INTO ledger_transfer
             (merchant_id, kind, source, payment_id, debited, credited, currency, amount_minor, stated_by, recorded_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (merchant_id, kind, source) DO NOTHING",
        payment.merchant as MerchantId,
        transfer.kind.as_str(),
        transfer.source,
        payment.id as PaymentId,
        debited.name(),
        credited.name(),
        transfer.amount.currency().code(),
        transfer.amount.minor(),
        transfer.stated_by.as_str(),
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Adds to the sums of a payment. The constraint `payment_returned` refuses more than was charged.
pub(crate) async fn add(
    work: &mut Work,
    payment: &Payment,
    added: PaymentTotals,
) -> Result<PaymentTotals, PaymentError> {
    let totals = sqlx::query_as!(
        PaymentTotals,
        "UPDATE payment
         SET charged_minor = charged_minor + $3, refunded_minor = refunded_minor + $4, reversed_minor = reversed_minor + $5
         WHERE merchant_id = $1 AND payment_id = $2
         RETURNING charged_minor, refunded_minor, reversed_minor, refunding_minor",
        payment.merchant as MerchantId,
        payment.id as PaymentId,
        added.charged_minor,
        added.refunded_minor,
        added.reversed_minor,
    )
    .fetch_optional(work.sql())
    .await?;
    totals.ok_or(PaymentError::Unreadable)
}

pub(crate) async fn balances(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> Result<Vec<Balance>, PaymentError> {
    let rows = sqlx::query!(
        r#"SELECT account AS "account!", currency AS "currency!", sum(minor)::bigint AS "balance_minor!"
           FROM (SELECT debited AS account, currency, amount_minor AS minor FROM ledger_transfer WHERE merchant_id = $1
                 UNION ALL
                 SELECT credited, currency, -amount_minor FROM ledger_transfer WHERE merchant_id = $1) AS entry
           GROUP BY account, currency ORDER BY currency, account"#,
        merchant as MerchantId,
    )
    .fetch_all(sql)
    .await?;
    let balance = |account, currency: &str, balance_minor| {
        let currency = currency.parse().map_err(|_| PaymentError::Unreadable)?;
        Ok(Balance { account, currency, balance_minor })
    };
    rows.into_iter().map(|row| balance(row.account, &row.currency, row.balance_minor)).collect()
}

pub(crate) async fn transfers(
    sql: &mut PgConnection,
    merchant: MerchantId,
    payment: PaymentId,
) -> Result<Vec<Transfer>, PaymentError> {
    let rows = sqlx::query!(
        r#"SELECT kind, source, debited, credited, currency, amount_minor, stated_by,
                  recorded_at AS "recorded_at: Timestamp"
           FROM ledger_transfer WHERE merchant_id = $1 AND payment_id = $2
           ORDER BY recorded_at, kind, source"#,
        merchant as MerchantId,
        payment as PaymentId,
    )
    .fetch_all(sql)
    .await?;
    let unreadable = || PaymentError::Unreadable;
    let mut transfers = Vec::with_capacity(rows.len());
    for row in rows {
        let currency = row.currency.parse().map_err(|_| unreadable())?;
        transfers.push(Transfer {
            kind: TransferKind::parse(&row.kind).ok_or_else(unreadable)?,
            source: row.source,
            payment,
            debited: row.debited,
            credited: row.credited,
            amount: Money::new(row.amount_minor, currency),
            stated_by: StatedBy::parse(&row.stated_by).ok_or_else(unreadable)?,
            recorded_at: row.recorded_at,
        });
    }
    Ok(transfers)
}
