//! The record of every security-relevant act: who did what to what, in the transaction that did it.

use std::fmt;

use database::{Database, Reading, Work};
use primitives::{KeyId, Timestamp, UserId};
use serde_json::Value;

use crate::{IdentityError, table};

/// Who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// A person who is logged in.
    Person(UserId),
    /// A program with a key.
    Key(KeyId),
    /// Whoever may run the binary.
    Operator,
    /// Somebody without a credential.
    Anybody,
}

impl fmt::Display for Actor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(id) => id.fmt(formatter),
            Self::Key(id) => id.fmt(formatter),
            Self::Operator => formatter.write_str("operator"),
            Self::Anybody => formatter.write_str("anybody"),
        }
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A person got an account.
    PersonCreated,
    /// A person got another password, which ended all sessions.
    PasswordSet,
    /// A person's plan changed.
    PlanSet,
    /// A person became a member of a store, or got another role in it.
    MemberAdded,
    /// A person is no longer a member of a store.
    MemberRemoved,
    /// A person logged in.
    LoggedIn,
    /// A key for an agent was made.
    AgentKeyIssued,
    /// A key for an agent was ended.
    AgentKeyRevoked,
    /// A key for an agent was replaced.
    AgentKeyRotated,
    /// A key for a store was made.
    StoreKeyIssued,
    /// A key for a store was ended.
    StoreKeyRevoked,
    /// Tokens are signed by another key.
    SigningKeyRotated,
}

impl Act {
    /// Its name, frozen: searches and alarms rest on it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PersonCreated => "person.created",
            Self::PasswordSet => "person.password_set",
            Self::PlanSet => "person.plan_set",
            Self::MemberAdded => "member.added",
            Self::MemberRemoved => "member.removed",
            Self::LoggedIn => "person.logged_in",
            Self::AgentKeyIssued => "agent_key.issued",
            Self::AgentKeyRevoked => "agent_key.revoked",
            Self::AgentKeyRotated => "agent_key.rotated",
            Self::StoreKeyIssued => "store_key.issued",
            Self::StoreKeyRevoked => "store_key.revoked",
            Self::SigningKeyRotated => "signing_key.rotated",
        }
    }
}

/// A line of the record.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// What.
    pub act: String,
    /// To what.
    pub subject: String,
    /// What else is worth knowing. Never a secret.
    pub details: Value,
}

/// Writes a line.
pub(crate) async fn record(
    work: &mut Work,
    actor: Actor,
    act: Act,
    subject: &impl fmt::Display,
    details: Value,
) -> Result<(), IdentityError> {
    let at = work.now();
    let entry = AuditEntry {
        at,
        actor: actor.to_string(),
        act: act.name().to_owned(),
        subject: subject.to_string(),
        details,
    };
    Ok(table::audit::insert(work, &entry).await?)
}

/// The newest lines about somebody or something, or by it.
pub async fn audit_of(
    database: &Database,
    whom: &str,
    limit: i64,
) -> Result<Vec<AuditEntry>, IdentityError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let entries = table::audit::of(&mut snapshot, whom, limit).await?;
    snapshot.close().await?;
    Ok(entries)
}
