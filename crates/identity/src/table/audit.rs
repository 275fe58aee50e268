//! The audit log.

use database::Work;
use primitives::Timestamp;

use crate::AuditEntry;
use crate::table::parse_name;

pub(crate) async fn insert(work: &mut Work, entry: &AuditEntry) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO platform.audit_entry (at, actor, act, subject, details)
         VALUES ($1, $2, $3, $4, $5)",
        entry.at as Timestamp,
        entry.actor,
        entry.action.as_str(),
        entry.subject,
        entry.details,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns the newest entries whose subject or actor is `whom`.
pub(crate) async fn entries(
    sql: &mut sqlx::PgConnection,
    whom: &str,
    limit: i64,
) -> sqlx::Result<Vec<AuditEntry>> {
    let rows = sqlx::query!(
        r#"SELECT at AS "at: Timestamp", actor, act, subject, details
           FROM platform.audit_entry WHERE subject = $1 OR actor = $1
           ORDER BY entry_id DESC LIMIT $2"#,
        whom,
        limit,
    )
    .fetch_all(sql)
    .await?;
    let mut entries = Vec::with_capacity(rows.len());
    for row in rows {
        let action = parse_name(&row.act)?;
        let (at, actor, subject, details) = (row.at, row.actor, row.subject, row.details);
        entries.push(AuditEntry { at, actor, action, subject, details });
    }
    Ok(entries)
}
