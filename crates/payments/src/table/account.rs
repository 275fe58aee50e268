//! Accounts at payment processors.

use database::Work;
use primitives::{MerchantId, PaymentAccountId, Timestamp};
use sqlx::PgConnection;

use crate::{PaymentAccount, ProviderName};

struct Row {
    id: PaymentAccountId,
    provider: ProviderName,
    is_live: bool,
    label: String,
    created_at: Timestamp,
    disabled_at: Option<Timestamp>,
}

impl From<Row> for PaymentAccount {
    fn from(row: Row) -> Self {
        let Row { id, provider, is_live, label, created_at, disabled_at } = row;
        Self { id, provider, is_live, label, created_at, disabled_at }
    }
}

pub(crate) async fn insert(
    work: &mut Work,
    merchant: MerchantId,
    account: &PaymentAccount,
    sealed: &[u8],
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO payment_account (merchant_id, account_id, provider, is_live, label, credentials, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        merchant as MerchantId,
        account.id as PaymentAccountId,
        account.provider.as_str(),
        account.is_live,
        account.label,
        sealed,
        account.created_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Disables the account of a provider, and returns it.
pub(crate) async fn disable(
    work: &mut Work,
    merchant: MerchantId,
    provider: ProviderName,
) -> sqlx::Result<Option<PaymentAccount>> {
    let now = work.now();
    let row = sqlx::query_as!(
        Row,
        r#"UPDATE payment_account SET disabled_at = $3
           WHERE merchant_id = $1 AND provider = $2 AND disabled_at IS NULL
           RETURNING account_id AS "id: PaymentAccountId", provider AS "provider: ProviderName", is_live, label,
                     created_at AS "created_at: Timestamp", disabled_at AS "disabled_at: Timestamp""#,
        merchant as MerchantId,
        provider.as_str(),
        now as Timestamp,
    )
    .fetch_optional(work.sql())
    .await?;
    Ok(row.map(PaymentAccount::from))
}

/// Deletes the accounts of a provider that were disabled before a timestamp and to which no payment refers.
pub(crate) async fn delete_unused(
    work: &mut Work,
    merchant: MerchantId,
    provider: ProviderName,
    before: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM payment_account
         WHERE merchant_id = $1 AND provider = $2 AND disabled_at < $3
           AND NOT EXISTS (SELECT FROM payment WHERE payment.merchant_id = $1
                                                 AND payment.account_id = payment_account.account_id)",
        merchant as MerchantId,
        provider.as_str(),
        before as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns the accounts with which payments start. One of a provider that this release does not know is left out.
pub(crate) async fn find_enabled(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<Vec<PaymentAccount>> {
    let names: Vec<String> =
        ProviderName::ALL.iter().map(|name| name.as_str().to_owned()).collect();
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT account_id AS "id: PaymentAccountId", provider AS "provider: ProviderName", is_live, label,
                  created_at AS "created_at: Timestamp", disabled_at AS "disabled_at: Timestamp"
           FROM payment_account
           WHERE merchant_id = $1 AND disabled_at IS NULL AND provider = ANY($2)
           ORDER BY provider"#,
        merchant as MerchantId,
        &names,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(PaymentAccount::from).collect())
}

/// Returns the encrypted credentials of an account.
pub(crate) async fn find_sealed(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: PaymentAccountId,
) -> sqlx::Result<Option<Vec<u8>>> {
    sqlx::query_scalar!(
        "SELECT credentials FROM payment_account WHERE merchant_id = $1 AND account_id = $2",
        merchant as MerchantId,
        id as PaymentAccountId,
    )
    .fetch_optional(sql)
    .await
}

/// Returns the encrypted credentials of the accounts of a provider: those that are enabled, then the newest.
pub(crate) async fn find_all_sealed(
    sql: &mut PgConnection,
    merchant: MerchantId,
    provider: ProviderName,
    limit: i64,
) -> sqlx::Result<Vec<(PaymentAccountId, Vec<u8>)>> {
    let rows = sqlx::query!(
        r#"SELECT account_id AS "id: PaymentAccountId", credentials
           FROM payment_account WHERE merchant_id = $1 AND provider = $2
           ORDER BY disabled_at DESC NULLS FIRST, account_id LIMIT $3"#,
        merchant as MerchantId,
        provider.as_str(),
        limit,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.credentials)).collect())
}
