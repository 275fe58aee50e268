//! What operators need to know about the PostgreSQL server.

use primitives::Timestamp;
use time::OffsetDateTime;

use crate::{Database, DatabaseError};

/// The state of the PostgreSQL server.
#[derive(Debug, Clone)]
pub struct ServerInfo {
    /// Such as `17.5`.
    pub version: String,
    /// Such as 170005.
    pub version_number: i32,
    /// Whether the server is a standby, which accepts no writes.
    pub is_standby: bool,
    /// Whether committed transactions survive a crash.
    pub is_durable: bool,
    /// Maximum number of connections of all clients.
    pub connections_max: i32,
    /// Free connections of these.
    pub connections_free: i64,
    /// Names of indexes that PostgreSQL maintains and does not use, left by an interrupted creation.
    pub invalid_indexes: Vec<String>,
    pub now: Timestamp,
}

impl Database {
    /// Returns the state of the PostgreSQL server, also before the first migration.
    pub async fn server_info(&self) -> Result<ServerInfo, DatabaseError> {
        let row = sqlx::query!(
                    r#"SELECT current_setting('server_version') AS "version!",
                              current_setting('server_version_num')::integer AS "version_number!",
                              pg_is_in_recovery() AS "is_standby!",
                              current_setting('fsync')::boolean
                                  AND current_setting('synchronous_commit') <> 'off' AS "is_durable!",
                              current_setting('max_connections')::integer AS "connections_max!",
                              current_setting('max_connections')::bigint
                                  - (SELECT count(*) FROM pg_stat_activity
                                     WHERE backend_type = 'client backend') AS "connections_free!",
                              ARRAY(SELECT indexrelid::regclass::text FROM pg_index
                                    WHERE NOT indisvalid) AS "invalid_indexes!",
                              clock_timestamp() AS "now!: OffsetDateTime""#
                )
                .fetch_one(self.pool())
                .await?;
        Ok(ServerInfo {
            version: row.version,
            version_number: row.version_number,
            is_standby: row.is_standby,
            is_durable: row.is_durable,
            connections_max: row.connections_max,
            connections_free: row.connections_free,
            invalid_indexes: row.invalid_indexes,
            now: row.now.into(),
        })
    }
}
