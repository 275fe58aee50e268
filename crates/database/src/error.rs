//! What can go wrong on the way to PostgreSQL, sorted by what the caller can do about it.

use primitives::{Details, ErrorCode, Problem};

/// A failure of the database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The engine is away, restarting or out of connections: the call can be tried again.
    #[error("the database is unavailable")]
    Unavailable(#[source] sqlx::Error),
    /// Another transaction was in the way for too long: the call can be tried again.
    #[error("the database is too busy")]
    Contended(#[source] sqlx::Error),
    /// A `Work` was open for longer than it may be, and was rolled back.
    #[error("the transaction took longer than {} seconds", crate::work::LIFETIME_MAX.as_secs())]
    TooLong,
    /// The merchant lives in another cell; the sender's directory is out of date.
    #[error("the merchant is not served by this cell")]
    WrongCell {
        /// The directory's epoch, so that the sender can tell whether it is behind.
        epoch: i64,
    },
    /// A mistake of ours: SQL, schema or types.
    #[error("the database refused a statement")]
    Broken(#[source] sqlx::Error),
}

impl DatabaseError {
    /// The violated constraint, if that is what happened. A domain turns it into its own error.
    #[must_use]
    pub fn constraint(&self) -> Option<&str> {
        match self {
            Self::Broken(sqlx::Error::Database(error)) => error.constraint(),
            _ => None,
        }
    }

    /// Whether the connection, and not the statement, was the trouble.
    pub(crate) fn lost_connection(&self) -> bool {
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
            E::Database(refusal) => match refusal.code().as_deref() {
                Some(code) if is_unavailable(code) => Self::Unavailable(error),
                // deadlock, lock timeout, statement timeout
                Some("40P01" | "55P03" | "57014") => Self::Contended(error),
                _ => Self::Broken(error),
            },
            _ => Self::Broken(error),
        }
    }
}

/// Connection exceptions, too many connections, shutting down, starting up, idle too long.
fn is_unavailable(code: &str) -> bool {
    code.starts_with("08")
        || matches!(code, "53300" | "57P01" | "57P02" | "57P03" | "57P05" | "25P03")
}

impl Problem for DatabaseError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unavailable(_) | Self::Contended(_) | Self::TooLong | Self::WrongCell { .. } => {
                ErrorCode::ServiceUnavailable
            }
            Self::Broken(_) => ErrorCode::InternalError,
        }
    }

    fn details(&self, details: &mut Details) {
        if let Self::WrongCell { epoch } = self {
            details.insert("reason", "wrong_cell");
            details.insert("directory_epoch", *epoch);
        }
    }
}
