//! The record of acts.

use database::Work;
use primitives::Timestamp;

use crate::AuditEntry;

pub(crate) async fn insert(work: &mut Work, entry: &AuditEntry) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO platform.audit_entry (at, actor, act, subject, details)
         VALUES ($1, $2, $3, $4, $5)",
        entry.at as Timestamp,
        entry.actor,
        entry.act,
        entry.subject,
        entry.details,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// The newest lines about a subject or by an actor.
pub(crate) async fn of(
    sql: &mut sqlx::PgConnection,
    whom: &str,
    limit: i64,
) -> sqlx::Result<Vec<AuditEntry>> {
    sqlx::query_as!(
        AuditEntry,
        r#"SELECT at AS "at: Timestamp", actor, act, subject, details
           FROM platform.audit_entry WHERE subject = $1 OR actor = $1
           ORDER BY entry_id DESC LIMIT $2"#,
        whom,
        limit,
    )
    .fetch_all(sql)
    .await
}
