//! Errors of this crate.

use database::DatabaseError;
use primitives::{ErrorCode, Problem};

/// A failure to read or store a trust score.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
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

    fn is_transient(&self) -> bool {
        match self {
            Self::Database(error) => error.is_transient(),
        }
    }
}
