//! Errors of accounts.

use database::DatabaseError;
use identity::SealingError;
use primitives::{Details, ErrorCode, Problem};

/// Why an account cannot be connected or read.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("the store has no account at this payment processor")]
    NotFound,
    #[error("{field} is not valid")]
    InvalidField { field: &'static str },
    /// The processor does not accept the credentials, or they lack a permission.
    #[error("the payment processor refused the credentials")]
    CredentialsRefused,
    /// The processor could not be asked whether the credentials are valid.
    #[error("the payment processor could not be reached; nothing was stored")]
    NotChecked,
    #[error("the credentials of a payment account are unreadable")]
    Unreadable,
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<SealingError> for AccountError {
    fn from(_: SealingError) -> Self {
        Self::Unreadable
    }
}

impl From<sqlx::Error> for AccountError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Problem for AccountError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound => ErrorCode::NotFound,
            Self::InvalidField { .. } | Self::CredentialsRefused => ErrorCode::InvalidRequest,
            Self::NotChecked => ErrorCode::ServiceUnavailable,
            Self::Unreadable => ErrorCode::InternalError,
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::InvalidField { field } => details.insert("field", *field),
            Self::CredentialsRefused => {
                details.insert("reason", "credentials_refused");
                let hint = "copy the credentials again, and check that they have the permissions that the documentation names";
                details.insert("hint", hint);
            }
            Self::NotFound | Self::NotChecked | Self::Unreadable => {}
            Self::Database(error) => error.details(details),
        }
    }

    fn is_transient(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_transient())
    }
}
