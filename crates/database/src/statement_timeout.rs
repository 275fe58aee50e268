//! How long the statements of a transaction may take.

use std::time::Duration;

use sqlx::PgConnection;

use crate::DatabaseError;

/// Sets how long each statement of the open transaction may take from now on, instead of the limit of the connection.
pub async fn set_statement_timeout(
    sql: &mut PgConnection,
    timeout: Duration,
) -> Result<(), DatabaseError> {
    let setting = sqlx::query!(
        "SELECT set_config('statement_timeout', $1, true)",
        timeout.as_millis().to_string(),
    );
    setting.fetch_one(sql).await?;
    Ok(())
}
