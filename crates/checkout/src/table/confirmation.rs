//! SQL of human confirmations.

use carts::Terms;
use database::Work;
use orders::ConfirmationLevel;
use primitives::{CartId, CheckoutId, ConfirmationId, KeyId, MerchantId, Timestamp};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::CheckoutError;
use crate::confirmation::{Confirmation, ConfirmationRow};

/// Selects the columns of `ConfirmationRow`.
macro_rules! confirmations {
    ($where:literal, $($argument:expr),*) => {
        sqlx::query_as!(
            ConfirmationRow,
            r#"SELECT confirmation_id AS "confirmation_id: ConfirmationId", cart_id AS "cart_id: CartId",
                      agent_key_id AS "agent: KeyId", terms AS "terms: Json<Terms>", quote_hash, status, level,
                      form_token, used_by AS "used_by: CheckoutId", created_at AS "created_at: Timestamp",
                      expires_at AS "expires_at: Timestamp", decided_at AS "decided_at: Timestamp"
               FROM confirmation WHERE merchant_id = $1 AND "# + $where,
            $($argument),*
        )
    };
}

pub(crate) async fn confirmation(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: ConfirmationId,
) -> Result<Option<Confirmation>, CheckoutError> {
    let query =
        confirmations!("confirmation_id = $2", merchant as MerchantId, id as ConfirmationId);
    query.fetch_optional(sql).await?.map(Confirmation::try_from).transpose()
}

/// Returns the confirmations of a cart, the newest first.
pub(crate) async fn confirmations_of(
    sql: &mut PgConnection,
    merchant: MerchantId,
    cart: CartId,
) -> Result<Vec<Confirmation>, CheckoutError> {
    let query = confirmations!(
        "cart_id = $2 ORDER BY created_at DESC LIMIT 20",
        merchant as MerchantId,
        cart as CartId
    );
    query.fetch_all(sql).await?.into_iter().map(Confirmation::try_from).collect()
}

pub(crate) async fn insert_confirmation(
    work: &mut Work,
    merchant: MerchantId,
    new: &Confirmation,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO confirmation
             (merchant_id, confirmation_id, cart_id, agent_key_id, terms, quote_hash, status, form_token,
              created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        merchant as MerchantId,
        new.id as ConfirmationId,
        new.cart as CartId,
        new.agent as KeyId,
        Json(&new.terms) as _,
        new.quote_hash.as_bytes().as_slice(),
        new.stored_status().as_str(),
        new.form_token.as_slice(),
        new.created_at as Timestamp,
        new.expires_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Stores the decision of a confirmation. Returns `false` if one was stored before or the confirmation has expired.
pub(crate) async fn record_decision(
    work: &mut Work,
    merchant: MerchantId,
    decided: &Confirmation,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE confirmation SET status = $3, level = $4, decided_at = $5
         WHERE merchant_id = $1 AND confirmation_id = $2 AND status = 'pending' AND expires_at >= $5",
        merchant as MerchantId,
        decided.id as ConfirmationId,
        decided.stored_status().as_str(),
        decided.level.map(ConfirmationLevel::as_str),
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Marks a confirmation as used by a session. Returns `false` if it was used before.
pub(crate) async fn mark_confirmation_used(
    work: &mut Work,
    merchant: MerchantId,
    id: ConfirmationId,
    session: CheckoutId,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "UPDATE confirmation SET used_by = $3
         WHERE merchant_id = $1 AND confirmation_id = $2 AND status = 'confirmed' AND used_by IS NULL",
        merchant as MerchantId,
        id as ConfirmationId,
        session as CheckoutId,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}
