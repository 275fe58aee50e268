//! SQL of human confirmations.

use carts::Terms;
use database::Work;
use orders::ConfirmationLevel;
use primitives::{CartId, CheckoutId, ConfirmationId, KeyId, MerchantId, Timestamp};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::CheckoutError;
use crate::confirmation::{Confirmation, ConfirmationRow, ItemsHash};

/// Selects the columns of `ConfirmationRow`.
macro_rules! confirmations {
    ($where:literal, $($argument:expr),*) => {
        sqlx::query_as!(
            ConfirmationRow,
            r#"SELECT confirmation_id AS "confirmation_id: ConfirmationId", cart_id AS "cart_id: CartId",
                      agent_key_id AS "agent: KeyId", terms AS "terms: Json<Terms>", quote_hash, items_hash, status, level,
                      is_elicitable, agent_address, decided_address, decided_browser, form_token, used_by AS "used_by: CheckoutId", created_at AS "created_at: Timestamp",
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
              created_at, expires_at, is_elicitable, agent_address, level, used_by, decided_at, decided_address,
              decided_browser, items_hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
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
        new.is_elicitable,
        new.agent_address,
        new.level.map(ConfirmationLevel::as_str),
        new.used_by as Option<CheckoutId>,
        new.decided_at as Option<Timestamp>,
        new.decided_by.as_ref().map(|visitor| visitor.address.as_str()),
        new.decided_by.as_ref().map(|visitor| visitor.browser.as_str()),
        new.items.as_ref().map(|items| items.as_bytes().as_slice()),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Stores the decision of a confirmation. Returns `false` if a decision that it cannot replace was stored in the meantime,
/// or the confirmation was used or has expired.
pub(crate) async fn record_decision(
    work: &mut Work,
    merchant: MerchantId,
    decided: &Confirmation,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE confirmation SET status = $3, level = $4, decided_at = $5, decided_address = $6, decided_browser = $7
         WHERE merchant_id = $1 AND confirmation_id = $2 AND used_by IS NULL AND expires_at >= $5
           AND (status = 'pending' OR (status = 'confirmed' AND level = 'elicited' AND $6::text IS NOT NULL))",
        merchant as MerchantId,
        decided.id as ConfirmationId,
        decided.stored_status().as_str(),
        decided.level.map(ConfirmationLevel::as_str),
        now as Timestamp,
        decided.decided_by.as_ref().map(|visitor| visitor.address.as_str()),
        decided.decided_by.as_ref().map(|visitor| visitor.browser.as_str()),
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

/// Returns when a person declined these items of this agent.
pub(crate) async fn declined_at(
    sql: &mut PgConnection,
    merchant: MerchantId,
    agent: KeyId,
    items: ItemsHash,
) -> sqlx::Result<Option<Timestamp>> {
    sqlx::query_scalar!(
        r#"SELECT declined_at AS "declined_at: Timestamp" FROM declined_purchase
           WHERE merchant_id = $1 AND agent_key_id = $2 AND items_hash = $3"#,
        merchant as MerchantId,
        agent as KeyId,
        items.as_bytes().as_slice(),
    )
    .fetch_optional(sql)
    .await
}

pub(crate) async fn insert_declined(
    work: &mut Work,
    merchant: MerchantId,
    agent: KeyId,
    items: ItemsHash,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO declined_purchase (merchant_id, agent_key_id, items_hash, declined_at)
         VALUES ($1, $2, $3, $4)
         ON CONFLICT (merchant_id, agent_key_id, items_hash) DO UPDATE SET declined_at = excluded.declined_at",
        merchant as MerchantId,
        agent as KeyId,
        items.as_bytes().as_slice(),
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn delete_declined(
    work: &mut Work,
    merchant: MerchantId,
    agent: KeyId,
    items: ItemsHash,
) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM declined_purchase WHERE merchant_id = $1 AND agent_key_id = $2 AND items_hash = $3",
        merchant as MerchantId,
        agent as KeyId,
        items.as_bytes().as_slice(),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
