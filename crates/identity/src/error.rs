//! Why somebody is not who they would have to be.

use std::sync::Arc;

use database::DatabaseError;
use primitives::{Details, ErrorCode, Problem};

/// What can go wrong with credentials.
#[derive(Debug, Clone, thiserror::Error)]
pub enum IdentityError {
    /// No credential was sent.
    #[error("this call needs the store's key")]
    Missing,
    /// The credential is not one of ours, or no longer. Which of the two is not said: whoever tries
    /// keys learns nothing.
    #[error("the key is not valid: it is unknown, expired or revoked")]
    Refused,
    /// The store has no key with this id.
    #[error("the store has no key with this id")]
    KeyNotFound,
    /// A name that cannot be one.
    #[error("the name of a key is plain text of 1 to 100 characters")]
    InvalidName,
    /// A key that would never have worked.
    #[error("a key expires in the future")]
    ExpiresTooSoon,
    /// The database was in the way. Shared, because one look-up may serve many callers.
    #[error(transparent)]
    Database(Arc<DatabaseError>),
}

impl From<DatabaseError> for IdentityError {
    fn from(error: DatabaseError) -> Self {
        Self::Database(error.into())
    }
}

impl From<sqlx::Error> for IdentityError {
    fn from(error: sqlx::Error) -> Self {
        DatabaseError::from(error).into()
    }
}

impl Problem for IdentityError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Missing | Self::Refused => ErrorCode::Unauthorized,
            Self::KeyNotFound => ErrorCode::NotFound,
            Self::InvalidName | Self::ExpiresTooSoon => ErrorCode::InvalidRequest,
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Missing => details.insert("hint", "send Authorization: Bearer mrch_…"),
            Self::Refused => details.insert(
                "hint",
                "send Authorization: Bearer mrch_… with a key of the store that is still in use",
            ),
            Self::KeyNotFound => details.insert("field", "key_id"),
            Self::InvalidName => details.insert("field", "name"),
            Self::ExpiresTooSoon => details.insert("field", "expires_at"),
            Self::Database(error) => error.details(details),
        }
    }
}
