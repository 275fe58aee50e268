//! The audit log: every security-relevant action, recorded in the transaction that performs it.

use std::fmt;
use std::str::FromStr;

use database::{Database, DatabaseError, Reading, Work};
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
        /// All sessions of the person ended, and their agent keys stopped working.
        #[strum(serialize = "person.disabled")]
        PersonDisabled,
        #[strum(serialize = "person.enabled")]
        PersonEnabled,
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
        #[strum(serialize = "store.created")]
        StoreCreated,
        #[strum(serialize = "store.suspended")]
        StoreSuspended,
        #[strum(serialize = "store.paused")]
        StorePaused,
        #[strum(serialize = "store.closed")]
        StoreClosed,
        #[strum(serialize = "store.reinstated")]
        StoreReinstated,
        /// An owner changed the name, the website or the support of the store.
        #[strum(serialize = "store.profile_set")]
        StoreProfileSet,
        /// The result of the merchant's identity verification was set.
        #[strum(serialize = "store.identity_set")]
        StoreIdentitySet,
        /// A store may direct buyers to another host.
        #[strum(serialize = "store.host_allowed")]
        StoreHostAllowed,
        /// A store may no longer direct buyers to a host.
        #[strum(serialize = "store.host_disallowed")]
        StoreHostDisallowed,
        /// A quota of the catalog of a store was set.
        #[strum(serialize = "store.quota_set")]
        StoreQuotaSet,
        /// The page on which buyers pay a store was changed.
        #[strum(serialize = "store.checkout_url_set")]
        CheckoutUrlSet,
        /// The stock held by a checkout session was released.
        #[strum(serialize = "checkout.released")]
        CheckoutReleased,
        /// An administrator set the status of the payment of an order.
        #[strum(serialize = "order.payment_set")]
        PaymentStatusSet,
        #[strum(serialize = "dispute.decided")]
        DisputeDecided,
        #[strum(serialize = "webhook_endpoint.created")]
        WebhookEndpointCreated,
        /// Its address, events, description or status was changed.
        #[strum(serialize = "webhook_endpoint.updated")]
        WebhookEndpointUpdated,
        #[strum(serialize = "webhook_endpoint.deleted")]
        WebhookEndpointDeleted,
        #[strum(serialize = "webhook_endpoint.secret_rotated")]
        WebhookSecretRotated,
        /// The first pending delivery to endpoints that fail is attempted at once.
        #[strum(serialize = "webhook_endpoint.probed")]
        WebhookEndpointsProbed,
        /// The personal data of a buyer was erased.
        #[strum(serialize = "buyer.erased")]
        BuyerErased,
        #[strum(serialize = "job.revived")]
        JobRevived,
        #[strum(serialize = "job.discarded")]
        JobDiscarded,
    }
}

/// Why an administrator acts: 1 to 500 characters of plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    /// Maximum length.
    pub const CHARACTERS_MAX: usize = 500;

    /// Returns the reason as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Reason {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let text = text.trim();
        let length = text.chars().count();
        if !(1..=Self::CHARACTERS_MAX).contains(&length) || text.contains(char::is_control) {
            return Err(IdentityError::InvalidReason);
        }
        Ok(Self(text.to_owned()))
    }
}

/// An entry of the audit log.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    pub at: Timestamp,
    /// Id of a person or key, `operator` or `anybody`.
    pub actor: String,
    pub action: AuditAction,
    /// Id of the affected person, key or merchant, or `all stores`.
    pub subject: String,
    /// Never contains a secret.
    pub details: Value,
}

/// Adds an entry, in a platform transaction: the one that performs the action.
pub async fn record_audit(
    work: &mut Work,
    actor: Actor,
    action: AuditAction,
    subject: &impl fmt::Display,
    details: Value,
) -> Result<(), DatabaseError> {
    let at = work.now();
    let (actor, subject) = (actor.to_string(), subject.to_string());
    let entry = AuditEntry { at, actor, action, subject, details };
    Ok(table::audit::insert(work, &entry).await?)
}

/// Adds an entry.
pub(crate) async fn record(
    work: &mut Work,
    actor: Actor,
    action: AuditAction,
    subject: &impl fmt::Display,
    details: Value,
) -> Result<(), IdentityError> {
    Ok(record_audit(work, actor, action, subject, details).await?)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_short_plain_text() {
        assert_eq!(" chargebacks ".parse::<Reason>().unwrap().as_str(), "chargebacks");
        let (longest, long) = ("x".repeat(500), "x".repeat(501));
        assert!(longest.parse::<Reason>().is_ok());
        for wrong in ["", "  ", "a\u{0}b", "a\nb", &long] {
            assert!(
                matches!(wrong.parse::<Reason>(), Err(IdentityError::InvalidReason)),
                "{wrong}"
            );
        }
    }
}
