//! Errors of PostgreSQL, grouped by what the caller can do about them.

use primitives::{Details, ErrorCode, Problem};

/// An error of the database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// PostgreSQL is unreachable, restarting, read-only after a failover, or out of connections, memory or disk space. The
    /// call can be retried later.
    #[error("the database is unavailable")]
    Unavailable(#[source] sqlx::Error),
    /// A deadlock, a lock timeout or a statement timeout. The call can be retried.
    #[error("the database timed out on a lock or statement")]
    Contended(#[source] sqlx::Error),
    /// Too many transactions of this store are open or waiting. The call can be retried.
    #[error("too many concurrent requests for this store")]
    StoreOverloaded,
    /// A `Work` exceeded its maximum lifetime and was rolled back.
    #[error("the transaction took longer than {} seconds", crate::work::LIFETIME_MAX.as_secs())]
    TransactionTimeout,
    /// Another cell owns the merchant; the directory of the sender is stale.
    #[error("the merchant is not served by this cell")]
    WrongCell {
        /// Epoch of the directory, which lets the sender detect that its own is older.
        epoch: i64,
    },
    /// A bug: invalid SQL, a schema mismatch or a value that cannot be decoded.
    #[error("the database rejected a statement")]
    Internal(#[source] sqlx::Error),
}

impl DatabaseError {
    /// Returns the name of the violated constraint, which a domain crate maps to its own error.
    #[must_use]
    pub fn constraint(&self) -> Option<&str> {
        match self {
            Self::Internal(sqlx::Error::Database(error)) => error.constraint(),
            _ => None,
        }
    }

    /// Returns whether a stored value could not be decoded: an error of its row, not of the others.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        matches!(self, Self::Internal(sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. }))
    }

    /// Returns whether the connection failed rather than the statement.
    pub(crate) fn is_connection_lost(&self) -> bool {
        matches!(self, Self::Unavailable(error) if !matches!(error, sqlx::Error::PoolTimedOut))
    }
}

impl From<sqlx::Error> for DatabaseError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        match &error {
            E::Io(_)
            | E::Tls(_)
            | E::PoolTimedOut
            | E::PoolClosed
            | E::WorkerCrashed
            | E::BeginFailed
            | E::Protocol(_) => Self::Unavailable(error),
            E::Database(error_response) => match error_response.code().as_deref() {
                Some(code) if is_unavailable(code) => Self::Unavailable(error),
                // deadlock, lock timeout, statement timeout
                Some("40P01" | "55P03" | "57014") => Self::Contended(error),
                _ => Self::Internal(error),
            },
            _ => Self::Internal(error),
        }
    }
}

/// Whether an error means that PostgreSQL as a whole cannot serve the call now, by its SQLSTATE: connection exceptions,
/// insufficient resources (disk, memory, connections), shutdown, startup and idle timeouts, I/O errors, and a server that
/// is read-only because it is not, or no longer, the primary.
fn is_unavailable(code: &str) -> bool {
    code.starts_with("08")
        || code.starts_with("53")
        || code.starts_with("57P")
        || matches!(code, "25006" | "25P03" | "58030")
}

/// Whether `BEGIN` failed because the server is not the primary. A standby rejects a transaction that may write as a
/// feature that is not supported.
pub(crate) fn is_begin_on_standby(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(response) = error else { return false };
    matches!(response.code().as_deref(), Some("0A000" | "25006"))
}

impl Problem for DatabaseError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unavailable(_)
            | Self::Contended(_)
            | Self::StoreOverloaded
            | Self::TransactionTimeout
            | Self::WrongCell { .. } => ErrorCode::ServiceUnavailable,
            Self::Internal(_) => ErrorCode::InternalError,
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::WrongCell { epoch } => {
                details.insert("reason", "wrong_cell");
                details.insert("directory_epoch", *epoch);
            }
            Self::StoreOverloaded => details.insert("reason", "store_overloaded"),
            _ => {}
        }
    }

    fn is_transient(&self) -> bool {
        matches!(self, Self::Contended(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_the_engine_are_unavailability() {
        for code in ["08006", "53100", "53200", "53300", "57P01", "57P03", "25006", "58030"] {
            assert!(is_unavailable(code), "{code}");
        }
        for code in ["23505", "42P01", "57014", "40P01", "0A000", "XX001"] {
            assert!(!is_unavailable(code), "{code}");
        }
    }
}
