//! What can go wrong with trust.

use database::DatabaseError;
use primitives::{ErrorCode, Problem};

/// Why trust could not answer.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The database was in the way.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for TrustError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Problem for TrustError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Database(error) => error.code(),
        }
    }
}
