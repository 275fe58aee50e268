//! Errors of authentication, authorization and credential management.

use std::sync::Arc;
use std::time::Duration;

use database::DatabaseError;
use jobs::IdempotencyError;
use primitives::{Details, ErrorCode, Plan, Problem, Scope, Timestamp};

use crate::StoreScope;

/// Hint that lists the accepted credentials.
const CREDENTIALS: &str = "agents send X-Agent-Api-Key: agnt_… (create one with POST /api/v1/agent-keys, or with POST /api/v1/sandbox/key for the demo store); \
    a merchant's programs send Authorization: Bearer mrch_…; people send Authorization: Bearer with the token from POST /api/v1/auth/login";

/// Error of authentication, authorization or credential management.
#[derive(Debug, Clone, thiserror::Error)]
pub enum IdentityError {
    #[error("a credential is required")]
    MissingCredential,
    /// The message does not tell unknown, expired and revoked keys apart, so that guessing reveals nothing.
    #[error("the key is not valid: it is unknown, expired or revoked")]
    InvalidCredential,
    #[error("no key with this id exists")]
    KeyNotFound,
    #[error("the token has expired")]
    TokenExpired,
    /// The message does not tell an unknown email and a wrong password apart.
    #[error("the email or the password is wrong")]
    InvalidLogin,
    #[error("too many failed logins: {limit} allowed")]
    TooManyLogins {
        limit: u32,
        reset_at: Timestamp,
        /// Time until `reset_at`.
        wait: Duration,
    },
    #[error("too many invalid keys from this address: {limit} per minute allowed")]
    TooManyInvalidKeys {
        limit: u32,
        reset_at: Timestamp,
        /// Time until `reset_at`.
        wait: Duration,
    },
    /// The credential is valid, but another kind of credential is needed here.
    #[error("the credential is valid, but not of the kind that is needed here")]
    WrongKind {
        /// How to send one that is.
        needed: &'static str,
    },
    /// A store key or a token was sent to an interface for agents.
    #[error("an agent key is required")]
    AgentKeyRequired,
    #[error("the key lookup failed")]
    LookupFailed,
    /// Too many requests wait for the lookup of their key, because PostgreSQL is slow or unavailable.
    #[error("too many keys are being looked up")]
    LookupsBusy,
    /// The request has no `ClientAddress` extension: a bug.
    #[error("the client address is unknown")]
    UnknownClientAddress,
    #[error("the key lacks the scope {0}")]
    ScopeMissing(Scope),
    #[error("the store key lacks the scope {0}")]
    StoreScopeMissing(StoreScope),
    #[error("the key is not valid for this store")]
    StoreNotAllowed,
    /// More concurrent logins than passwords can be verified.
    #[error("too many concurrent logins")]
    Overloaded,
    /// The person is not a member of the store, or not its owner.
    #[error("forbidden: {0}")]
    Forbidden(&'static str),
    #[error("only an administrator of the platform may do this")]
    AdminRequired,
    /// The person is a member of several stores and selected none.
    #[error("you are a member of several stores: select one")]
    StoreRequired,
    #[error("the account does not exist")]
    PersonNotFound,
    #[error("an account with this email exists")]
    EmailTaken,
    #[error("the email address is invalid")]
    InvalidEmail,
    #[error("a password must have 12 to 200 characters")]
    InvalidPassword,
    #[error("a key requires at least one scope")]
    NoScopes,
    #[error("unknown scope")]
    InvalidScope,
    #[error("a store key requires at least one scope, and known ones")]
    InvalidStoreScopes,
    #[error("a reason must be 1 to 500 characters of plain text")]
    InvalidReason,
    #[error("the stores of a key must be 1 to 100 slugs of existing stores")]
    InvalidStores,
    #[error("the lifetime of a key must be 1 to 3650 days")]
    InvalidLifetime,
    #[error("{feature} requires the plan {needed} or higher")]
    TierRequired {
        /// The cheapest plan with the feature.
        needed: Plan,
        feature: &'static str,
    },
    #[error("an account may have at most 100 active keys")]
    TooManyKeys,
    #[error("no key to sign tokens with exists")]
    NoSigningKey,
    #[error("the token could not be signed")]
    SigningFailed,
    #[error("the password could not be hashed or verified")]
    HashingFailed,
    #[error("the name of a key must be 1 to 100 characters of plain text")]
    InvalidName,
    #[error("the expiry of a key must be in the future")]
    ExpiryInPast,
    #[error(transparent)]
    Idempotency(Arc<IdempotencyError>),
    /// Shared, because one lookup may serve many concurrent requests.
    #[error(transparent)]
    Database(Arc<DatabaseError>),
}

impl From<IdempotencyError> for IdentityError {
    fn from(error: IdempotencyError) -> Self {
        Self::Idempotency(error.into())
    }
}

impl IdentityError {
    /// Returns what the caller can do.
    const fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::AgentKeyRequired => {
                "send an agent key, which the person creates, as X-Agent-Api-Key: agnt_…; store keys and tokens are not accepted here"
            }
            Self::MissingCredential | Self::InvalidCredential => CREDENTIALS,
            Self::TokenExpired => "log in again: POST /api/v1/auth/login",
            Self::WrongKind { needed } => needed,
            Self::TooManyLogins { .. } | Self::TooManyInvalidKeys { .. } => {
                "retry after reset (Unix time in seconds)"
            }
            Self::TierRequired { .. } => "ask an operator to change the plan of the account",
            Self::ScopeMissing(_) => "create a key with this scope: POST /api/v1/agent-keys",
            Self::StoreScopeMissing(_) => {
                "an owner of the store creates a key with this scope: POST /api/v1/merchant/keys"
            }
            Self::StoreNotAllowed => "the key is limited to other stores; create one for this one",
            Self::StoreRequired => "send the header X-Store: <slug>",
            Self::InvalidLogin => {
                "check the email and the password; an operator can reset the password"
            }
            Self::TooManyKeys => "revoke unused keys",
            Self::Forbidden(_) => {
                "select another store with X-Store: <slug>, or ask the owner of the store for access"
            }
            _ => return None,
        })
    }

    /// Returns the field that is wrong.
    const fn field(&self) -> Option<&'static str> {
        Some(match self {
            Self::KeyNotFound => "key_id",
            Self::InvalidName => "name",
            Self::ExpiryInPast => "expires_at",
            Self::EmailTaken | Self::InvalidEmail => "email",
            Self::InvalidPassword => "password",
            Self::NoScopes | Self::InvalidScope | Self::InvalidStoreScopes => "scopes",
            Self::InvalidReason => "reason",
            Self::InvalidStores => "stores",
            Self::InvalidLifetime => "expires_in_days",
            _ => return None,
        })
    }
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
            Self::MissingCredential
            | Self::InvalidCredential
            | Self::AgentKeyRequired
            | Self::InvalidLogin => ErrorCode::Unauthorized,
            Self::TokenExpired => ErrorCode::TokenExpired,
            Self::TierRequired { .. } => ErrorCode::TierRequired,
            Self::Forbidden(_)
            | Self::WrongKind { .. }
            | Self::AdminRequired
            | Self::ScopeMissing(_)
            | Self::StoreScopeMissing(_)
            | Self::StoreNotAllowed => ErrorCode::Forbidden,
            Self::KeyNotFound | Self::PersonNotFound => ErrorCode::NotFound,
            Self::TooManyLogins { .. } | Self::TooManyInvalidKeys { .. } => {
                ErrorCode::RateLimitExceeded
            }
            Self::Overloaded | Self::LookupsBusy => ErrorCode::ServiceUnavailable,
            Self::InvalidName
            | Self::StoreRequired
            | Self::ExpiryInPast
            | Self::EmailTaken
            | Self::InvalidEmail
            | Self::InvalidPassword
            | Self::NoScopes
            | Self::InvalidScope
            | Self::InvalidStoreScopes
            | Self::InvalidReason
            | Self::InvalidStores
            | Self::InvalidLifetime
            | Self::TooManyKeys => ErrorCode::InvalidRequest,
            Self::NoSigningKey
            | Self::UnknownClientAddress
            | Self::LookupFailed
            | Self::SigningFailed
            | Self::HashingFailed => ErrorCode::InternalError,
            Self::Idempotency(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        if let Some(hint) = self.hint() {
            details.insert("hint", hint);
        }
        if let Some(field) = self.field() {
            details.insert("field", field);
        }
        match self {
            Self::TooManyLogins { limit, reset_at, wait }
            | Self::TooManyInvalidKeys { limit, reset_at, wait } => {
                details.insert("bucket", "credential");
                let reset = reset_at.plus(Duration::from_micros(999_999)).unix_seconds();
                details.insert("limit", *limit);
                details.insert("reset", reset);
                details.insert("retry_after_seconds", wait.as_secs().saturating_add(1));
            }
            Self::TierRequired { needed, .. } => details.insert("required_plan", needed.as_str()),
            Self::ScopeMissing(scope) => details.insert("required_scope", scope.as_str()),
            Self::StoreScopeMissing(scope) => details.insert("required_scope", scope.as_str()),
            Self::WrongKind { .. } => details.insert("reason", "wrong_kind_of_credential"),
            Self::AdminRequired => details.insert("reason", "not_an_administrator"),
            Self::NoScopes | Self::InvalidScope => {
                let names: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
                details.insert("allowed", names);
            }
            Self::InvalidStoreScopes => {
                let names: Vec<&str> = StoreScope::ALL.iter().map(|scope| scope.as_str()).collect();
                details.insert("allowed", names);
            }
            Self::Idempotency(error) => error.details(details),
            Self::Database(error) => error.details(details),
            _ => {}
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::Idempotency(error) => error.is_transient(),
            Self::Database(error) => error.is_transient(),
            _ => false,
        }
    }
}
