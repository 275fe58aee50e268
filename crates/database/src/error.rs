//! Errors of PostgreSQL, grouped by what the caller can do about them.

use primitives::{Details, ErrorCode, Problem};

/// An error of the database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// PostgreSQL is unreachable, restarting or out of connections. The call can be retried.
    #[error("the database is unavailable")]
    Unavailable(#[source] sqlx::Error),
    /// A deadlock, a lock timeout or a statement timeout. The call can be retried.
    #[error("the database timed out on a lock or statement")]
    Contended(#[source] sqlx::Error),
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

/// SQLSTATE of connection exceptions, too many connections, shutdown, startup and idle timeouts.
fn is_unavailable(code: &str) -> bool {
    code.starts_with("08")
        || matches!(code, "53300" | "57P01" | "57P02" | "57P03" | "57P05" | "25P03")
}

impl Problem for DatabaseError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unavailable(_)
            | Self::Contended(_)
            | Self::TransactionTimeout
            | Self::WrongCell { .. } => ErrorCode::ServiceUnavailable,
            Self::Internal(_) => ErrorCode::InternalError,
        }
    }

    fn details(&self, details: &mut Details) {
        if let Self::WrongCell { epoch } = self {
            details.insert("reason", "wrong_cell");
            details.insert("directory_epoch", *epoch);
        }
    }

    fn is_transient(&self) -> bool {
        matches!(self, Self::Contended(_))
    }
}
