//! Signing keys of access tokens.

use database::Work;
use primitives::Timestamp;
use sqlx::PgConnection;

use crate::token::SigningKey;

/// Returns the keys that are still accepted.
pub(crate) async fn keys(sql: &mut PgConnection, now: Timestamp) -> sqlx::Result<Vec<SigningKey>> {
    sqlx::query_as!(
        SigningKey,
        r#"SELECT key_name AS name, public_key AS public, signs_from AS "signs_from: Timestamp",
                  ends_at AS "ends_at: Timestamp"
           FROM platform.signing_key WHERE ends_at IS NULL OR ends_at > $1"#,
        now as Timestamp,
    )
    .fetch_all(sql)
    .await
}

pub(crate) async fn insert(work: &mut Work, key: &SigningKey) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO platform.signing_key (key_name, public_key, created_at, signs_from, ends_at)
         VALUES ($1, $2, $3, $4, $5)",
        key.name,
        key.public,
        now as Timestamp,
        key.signs_from as Timestamp,
        key.ends_at as Option<Timestamp>,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Lets all keys expire at `end` or earlier.
pub(crate) async fn end_all(work: &mut Work, end: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE platform.signing_key SET ends_at = $1 WHERE ends_at IS NULL OR ends_at > $1",
        end as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
