//! How far the facts of before the first epoch are counted.

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

/// How far it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backfill {
    pub(crate) is_complete: bool,
    /// All stores with an id up to this one are counted; `None`: none is.
    pub(crate) position: Option<Uuid>,
}

pub(crate) async fn backfill(sql: &mut PgConnection) -> sqlx::Result<Backfill> {
    sqlx::query_as!(
        Backfill,
        r#"SELECT completed_at IS NOT NULL AS "is_complete!", position FROM trust_backfill"#,
    )
    .fetch_one(sql)
    .await
}

/// A store, and whether it has facts that may not be counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) merchant: MerchantId,
    pub(crate) has_facts: bool,
}

/// Returns stores with an id after `after`, in the order of their ids. Reports of payments of before have no account.
pub(crate) async fn candidates(
    sql: &mut PgConnection,
    after: Option<Uuid>,
    limit: i64,
) -> sqlx::Result<Vec<Candidate>> {
    sqlx::query_as!(
        Candidate,
        r#"SELECT page.merchant_id AS "merchant!: MerchantId",
                  EXISTS (SELECT FROM placed_order AS placed WHERE placed.merchant_id = page.merchant_id)
                  OR EXISTS (SELECT FROM agent_event AS event WHERE event.merchant_id = page.merchant_id) AS "has_facts!"
           FROM (SELECT merchant_id FROM store WHERE merchant_id > $1 ORDER BY merchant_id LIMIT $2) AS page
           ORDER BY page.merchant_id"#,
        after.unwrap_or(Uuid::nil()),
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Records that all stores up to an id are counted.
pub(crate) async fn advance(work: &mut Work, position: Uuid) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE trust_backfill SET position = $1 WHERE position IS NULL OR position < $1",
        position,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Records that all stores are counted.
pub(crate) async fn complete(work: &mut Work) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE trust_backfill SET completed_at = $1 WHERE completed_at IS NULL",
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
