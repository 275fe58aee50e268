//! Why somebody is not who they would have to be.

use std::sync::Arc;
use std::time::Duration;

use database::DatabaseError;
use primitives::{Details, ErrorCode, KeyId, Plan, Problem, Scope, Timestamp};

use crate::Credential;

/// Which credential goes where.
const CREDENTIALS: &str = "agents send X-Agent-Api-Key: agnt_… (POST /api/v1/agent-keys makes one, POST /api/v1/sandbox/key one for the demo store), a store's programs Authorization: Bearer mrch_…, \
    people Authorization: Bearer with the token of POST /api/v1/auth/login";

/// What can go wrong with credentials.
#[derive(Debug, Clone, thiserror::Error)]
pub enum IdentityError {
    /// No credential was sent.
    #[error("this call needs a credential")]
    Missing,
    /// The credential is not one of ours, or no longer. Which of the two is not said: whoever tries
    /// keys learns nothing.
    #[error("the key is not valid: it is unknown, expired or revoked")]
    Refused,
    /// The store has no key with this id.
    #[error("the store has no key with this id")]
    KeyNotFound,
    /// A token that has run out.
    #[error("the token has expired")]
    TokenExpired,
    /// The email or the password is wrong; which of the two is not said.
    #[error("the email or the password is wrong")]
    WrongLogin,
    /// Too many wrong logins.
    #[error("too many logins were tried")]
    TooManyLogins {
        /// How many may be wrong.
        limit: u32,
        /// When one may be tried again.
        reset_at: Timestamp,
        /// How long that is.
        wait: Duration,
    },
    /// As many sandbox keys as an address may have.
    #[error("an address gets three sandbox keys a day")]
    TooManySandboxKeys {
        /// How many there may be.
        limit: u32,
        /// When one more may be made.
        reset_at: Timestamp,
        /// How long that is.
        wait: Duration,
    },
    /// Too many wrong keys from one address.
    #[error("too many keys from this address were wrong")]
    TooManyWrongKeys {
        /// How many may be wrong.
        limit: u32,
        /// When one may be tried again.
        reset_at: Timestamp,
        /// How long that is.
        wait: Duration,
    },
    /// A credential of another kind where agents call.
    #[error("agents call with an agent key")]
    NoAgentKey,
    /// Looking a key up failed.
    #[error("a key could not be looked up")]
    Unlooked,
    /// Nobody said where the call came from: a mistake of ours.
    #[error("the address of the caller is not known")]
    NoAddress,
    /// A key that may not do this.
    #[error("the key lacks the scope for this")]
    ScopeMissing(Scope),
    /// A key that is not for this store.
    #[error("the key is not for this store")]
    OtherStore,
    /// More logins at once than passwords can be compared.
    #[error("too many people log in at once")]
    TooBusy,
    /// Somebody who may not do this: no member of the store, or not its owner.
    #[error("this is not yours to do: {0}")]
    NotAllowed(&'static str),
    /// A member of several stores who named none of them.
    #[error("you act for several stores: name one")]
    StoreUnnamed,
    /// There is no such account.
    #[error("there is no such account")]
    PersonNotFound,
    /// Somebody has this email.
    #[error("there is an account with this email")]
    EmailTaken,
    /// No address.
    #[error("the email is not an address")]
    InvalidEmail,
    /// A password that could be guessed, or would take long to read.
    #[error("a password has 12 to 200 characters")]
    InvalidPassword,
    /// Not a role.
    #[error("a role is owner or staff")]
    InvalidRole,
    /// A key that could do nothing.
    #[error("a key needs at least one scope")]
    NoScopes,
    /// A scope nobody knows.
    #[error("a scope is not known")]
    InvalidScope,
    /// No stores, too many, or one that there is not.
    #[error("the stores of a key are 1 to 100 slugs of existing stores")]
    InvalidStores,
    /// A life that is none.
    #[error("a key lives for 1 to 3650 days")]
    InvalidLife,
    /// A feature of a higher plan.
    #[error("{feature} needs the plan {} or a higher one", needed.name())]
    TierRequired {
        /// The cheapest plan that has it.
        needed: Plan,
        /// What it is.
        feature: &'static str,
    },
    /// As many keys as one may have.
    #[error("an account has at most 100 keys that work")]
    TooManyKeys,
    /// A key that was replaced before.
    #[error("the key was replaced before")]
    AlreadyReplaced {
        /// The key in its place.
        by: KeyId,
    },
    /// There is nothing to sign with.
    #[error("there is no key to sign tokens with")]
    NoSigningKey,
    /// Signing failed.
    #[error("a token could not be signed")]
    Unsigned,
    /// Hashing failed.
    #[error("a password could not be hashed")]
    Unhashable,
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

impl IdentityError {
    /// Of a caller whose credential is not of the kind that is wanted: it sent none, or another.
    #[must_use]
    pub fn of_stranger(headers: &http::HeaderMap) -> Self {
        match Credential::of(headers) {
            Credential::Missing => Self::Missing,
            _ => Self::Refused,
        }
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
            Self::Missing | Self::Refused | Self::NoAgentKey | Self::WrongLogin => {
                ErrorCode::Unauthorized
            }
            Self::TokenExpired => ErrorCode::TokenExpired,
            Self::TierRequired { .. } => ErrorCode::TierRequired,
            Self::NotAllowed(_) | Self::ScopeMissing(_) | Self::OtherStore => ErrorCode::Forbidden,
            Self::KeyNotFound | Self::PersonNotFound => ErrorCode::NotFound,
            Self::TooManyLogins { .. }
            | Self::TooManySandboxKeys { .. }
            | Self::TooManyWrongKeys { .. } => ErrorCode::RateLimitExceeded,
            Self::TooBusy => ErrorCode::ServiceUnavailable,
            Self::AlreadyReplaced { .. } => ErrorCode::InvalidStatusTransition,
            Self::InvalidName
            | Self::StoreUnnamed
            | Self::ExpiresTooSoon
            | Self::EmailTaken
            | Self::InvalidEmail
            | Self::InvalidPassword
            | Self::InvalidRole
            | Self::NoScopes
            | Self::InvalidScope
            | Self::InvalidStores
            | Self::InvalidLife
            | Self::TooManyKeys => ErrorCode::InvalidRequest,
            Self::NoSigningKey
            | Self::NoAddress
            | Self::Unlooked
            | Self::Unsigned
            | Self::Unhashable => ErrorCode::InternalError,
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::NoAgentKey => {
                let hint = "send X-Agent-Api-Key: agnt_…; POST /api/v1/agent-keys makes one";
                details.insert("hint", hint);
            }
            Self::Missing | Self::Refused => details.insert("hint", CREDENTIALS),
            Self::TokenExpired => {
                details.insert("hint", "POST /api/v1/auth/login gives a new token");
            }
            Self::TooManyLogins { limit, reset_at, wait }
            | Self::TooManySandboxKeys { limit, reset_at, wait }
            | Self::TooManyWrongKeys { limit, reset_at, wait } => {
                details.insert("bucket", "credential");
                let whole = reset_at.plus(Duration::from_micros(999_999)).unix_seconds();
                details.insert("limit", *limit);
                details.insert("reset", whole);
                details.insert("retry_after_seconds", wait.as_secs().saturating_add(1));
                details.insert("hint", "wait until reset, a Unix time in seconds; then go on");
            }
            Self::TierRequired { needed, .. } => {
                details.insert("required_plan", needed.name());
                details.insert("hint", "an operator changes the plan of an account");
            }
            Self::ScopeMissing(scope) => {
                details.insert("required_scope", scope.name());
                details.insert("hint", "make a key that has it: POST /api/v1/agent-keys");
            }
            Self::OtherStore => {
                details.insert("hint", "its owner named the stores it may call; make another key");
            }
            Self::StoreUnnamed => details.insert("hint", "send the header X-Store: <slug>"),
            Self::KeyNotFound => details.insert("field", "key_id"),
            Self::InvalidName => details.insert("field", "name"),
            Self::ExpiresTooSoon => details.insert("field", "expires_at"),
            Self::EmailTaken | Self::InvalidEmail => details.insert("field", "email"),
            Self::InvalidPassword => details.insert("field", "password"),
            Self::InvalidRole => details.insert("field", "role"),
            Self::NoScopes | Self::InvalidScope => {
                details.insert("field", "scopes");
                details.insert("allowed", Scope::ALL.map(Scope::name).to_vec());
            }
            Self::InvalidStores => details.insert("field", "stores"),
            Self::InvalidLife => details.insert("field", "expires_in_days"),
            Self::AlreadyReplaced { by } => {
                details.insert("replaced_by", by.to_string());
                details.insert("hint", "if its text was lost, revoke that key and make another");
            }
            Self::WrongLogin => {
                details.insert("hint", "check both; an operator can set another password");
            }
            Self::TooManyKeys => details.insert("hint", "revoke keys that are no longer used"),
            Self::NotAllowed(_) => {
                let hint = "X-Store: <slug> names another store; its owner or an operator changes who is what";
                details.insert("hint", hint);
            }
            Self::TooBusy
            | Self::PersonNotFound
            | Self::NoSigningKey
            | Self::NoAddress
            | Self::Unlooked
            | Self::Unsigned
            | Self::Unhashable => {}
            Self::Database(error) => error.details(details),
        }
    }
}
