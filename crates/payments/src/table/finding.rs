//! SQL of findings.

use database::Work;
use primitives::{MerchantId, PaymentId, Timestamp};
use sqlx::PgConnection;

use crate::{Finding, FindingKind, NewFinding};

/// Opens a finding. Returns `false` if one of the kind is open for the payment.
pub(crate) async fn open(
    work: &mut Work,
    merchant: MerchantId,
    finding: &NewFinding,
    expected: &str,
    found: &str,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "INSERT INTO payment_finding (merchant_id, payment_id, kind, opened_at, expected, found)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT DO NOTHING",
        merchant as MerchantId,
        finding.payment as PaymentId,
        finding.kind.as_str(),
        now as Timestamp,
        expected,
        found,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

pub(crate) async fn close(
    work: &mut Work,
    merchant: MerchantId,
    payment: PaymentId,
    kinds: &[FindingKind],
) -> sqlx::Result<u64> {
    let now = work.now();
    let names: Vec<String> = kinds.iter().map(|kind| kind.as_str().to_owned()).collect();
    let done = sqlx::query!(
        "UPDATE payment_finding SET closed_at = greatest($3, opened_at)
         WHERE merchant_id = $1 AND payment_id = $2 AND closed_at IS NULL AND kind = ANY($4)",
        merchant as MerchantId,
        payment as PaymentId,
        now as Timestamp,
        &names,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected())
}

/// Returns the open findings of a store, or of all stores, the oldest first.
pub(crate) async fn find_open(
    sql: &mut PgConnection,
    merchant: Option<MerchantId>,
    limit: i64,
) -> sqlx::Result<Vec<Finding>> {
    sqlx::query_as!(
        Finding,
        r#"SELECT merchant_id AS "merchant: MerchantId", payment_id AS "payment: PaymentId", kind, expected, found,
                  opened_at AS "opened_at: Timestamp"
           FROM payment_finding WHERE closed_at IS NULL AND ($1::uuid IS NULL OR merchant_id = $1)
           ORDER BY opened_at, payment_id, kind LIMIT $2"#,
        merchant as Option<MerchantId>,
        limit,
    )
    .fetch_all(sql)
    .await
}
