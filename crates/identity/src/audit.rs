//! The audit log: every security-relevant action, recorded in the transaction that performs it.

use std::fmt;

use database::{Database, Reading, Work};
use primitives::{KeyId, Timestamp, UserId};
use serde_json::Value;

use crate::{IdentityError, table};

/// The actor of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// A person who is logged in.
    Person(UserId),
    /// A program with a key.
    Key(KeyId),
    /// An operator, on the command line.
    Operator,
    /// A client without credentials.
    Anonymous,
}

impl fmt::Display for Actor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(id) => id.fmt(formatter),
            Self::Key(id) => id.fmt(formatter),
            Self::Operator => formatter.write_str("operator"),
            Self::Anonymous => formatter.write_str("anybody"),
        }
    }
}

primitives::text_enum! {
    /// An action in the audit log. The names are frozen: searches and alerts depend on them.
    pub enum AuditAction {
        #[strum(serialize = "person.created")]
        PersonCreated,
        /// All sessions of the person ended.
        #[strum(serialize = "person.password_set")]
        PasswordSet,
        #[strum(serialize = "person.plan_set")]
        PlanSet,
        /// A person became a member of a store, or got another role in it.
        #[strum(serialize = "member.added")]
        MemberAdded,
        #[strum(serialize = "member.removed")]
        MemberRemoved,
        #[strum(serialize = "person.logged_in")]
        LoggedIn,
        #[strum(serialize = "agent_key.issued")]
        AgentKeyIssued,
        #[strum(serialize = "agent_key.revoked")]
        AgentKeyRevoked,
        #[strum(serialize = "agent_key.rotated")]
        AgentKeyRotated,
        #[strum(serialize = "store_key.issued")]
        StoreKeyIssued,
        #[strum(serialize = "store_key.revoked")]
        StoreKeyRevoked,
        #[strum(serialize = "signing_key.rotated")]
        SigningKeyRotated,
    }
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    pub at: Timestamp,
    /// Id of a person or key, `operator` or `anybody`.
    pub actor: String,
    pub action: AuditAction,
    /// Id of the affected person, key or merchant.
    pub subject: String,
    /// Never contains a secret.
    pub details: Value,
}

/// Adds an entry.
pub(crate) async fn record(
    work: &mut Work,
    actor: Actor,
    action: AuditAction,
    subject: &impl fmt::Display,
    details: Value,
) -> Result<(), IdentityError> {
    let at = work.now();
    let (actor, subject) = (actor.to_string(), subject.to_string());
    let entry = AuditEntry { at, actor, action, subject, details };
    Ok(table::audit::insert(work, &entry).await?)
}

/// Returns the newest entries whose subject or actor is `whom`.
pub async fn audit_entries(
    database: &Database,
    whom: &str,
    limit: i64,
) -> Result<Vec<AuditEntry>, IdentityError> {
    let reading = Reading::for_platform(database);
    reading.run(async |sql| Ok(table::audit::entries(sql, whom, limit).await?)).await
}
