//! People: accounts, plans and memberships in stores.

use std::fmt;
use std::str::FromStr;

use database::Work;
use primitives::{MerchantId, Plan, Timestamp, UserId};
use serde_json::json;

use crate::audit::{self, Actor, AuditAction, Reason};
use crate::{IdentityError, password, table};

/// An email address in normalized form: trimmed and lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Email(String);

impl Email {
    /// Returns the address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Email {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for Email {
    type Err = IdentityError;

    /// Accepts a local part, an @ and a host without whitespace or control characters; only a delivered message proves
    /// more.
    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let text = text.trim().to_lowercase();
        let is_valid = text.len() <= 254
            && !text.contains(|c: char| c.is_whitespace() || c.is_control())
            && text.split_once('@').is_some_and(|(name, host)| {
                !name.is_empty() && !host.is_empty() && !host.contains('@')
            });
        if is_valid { Ok(Self(text)) } else { Err(IdentityError::InvalidEmail) }
    }
}

primitives::text_enum! {
    /// The role of a person in a store, from the least to the most privileged.
    #[strum(serialize_all = "snake_case")]
    pub enum Role {
        /// Day-to-day operations.
        Staff,
        /// Everything, including keys and members.
        Owner,
    }
}

/// The person authenticated by an access token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub user: UserId,
    pub plan: Plan,
    /// Whether the person administers the platform.
    pub is_admin: bool,
    pub memberships: Vec<(MerchantId, Role)>,
    /// Tokens issued before are rejected.
    pub(crate) sessions_from: Timestamp,
}

impl Person {
    /// Returns `AdminRequired` unless the person administers the platform.
    pub const fn require_admin(&self) -> Result<(), IdentityError> {
        if self.is_admin { Ok(()) } else { Err(IdentityError::AdminRequired) }
    }

    /// Returns the role in a store, or `None` if the person is not a member.
    #[must_use]
    pub fn role_in(&self, merchant: MerchantId) -> Option<Role> {
        self.memberships.iter().find(|(of, _)| *of == merchant).map(|(_, role)| *role)
    }
}

/// A new account.
#[derive(Debug, Clone)]
pub struct NewPerson {
    pub email: Email,
    pub plan: Plan,
    /// Whether the person administers the platform.
    pub is_admin: bool,
}

/// Creates an account, in a platform transaction.
pub async fn create_person(
    work: &mut Work,
    actor: Actor,
    new: &NewPerson,
    password: &str,
) -> Result<UserId, IdentityError> {
    let hash = password::hash_new(password, work.random())?;
    let user = work.new_id();
    if !table::person::insert(work, user, new, &hash).await? {
        return Err(IdentityError::EmailTaken);
    }
    let details = json!({ "plan": new.plan.as_str(), "admin": new.is_admin });
    audit::record(work, actor, AuditAction::PersonCreated, &user, details).await?;
    Ok(user)
}

/// Sets the password of an account, in a platform transaction, and ends all its sessions.
pub async fn set_password(
    work: &mut Work,
    actor: Actor,
    user: UserId,
    password: &str,
) -> Result<(), IdentityError> {
    let hash = password::hash_new(password, work.random())?;
    if !table::person::set_password(work, user, &hash).await? {
        return Err(IdentityError::PersonNotFound);
    }
    audit::record(work, actor, AuditAction::PasswordSet, &user, json!({})).await
}

/// Sets the plan of an account, in a platform transaction.
pub async fn set_plan(
    work: &mut Work,
    actor: Actor,
    user: UserId,
    plan: Plan,
) -> Result<(), IdentityError> {
    if !table::person::set_plan(work, user, plan).await? {
        return Err(IdentityError::PersonNotFound);
    }
    audit::record(work, actor, AuditAction::PlanSet, &user, json!({ "plan": plan.as_str() })).await
}

/// Disables an account, in a platform transaction: its sessions end, its agent keys stop working, and it cannot log in.
/// Returns whether it was enabled.
pub async fn disable_person(
    work: &mut Work,
    actor: Actor,
    user: UserId,
    reason: &Reason,
) -> Result<bool, IdentityError> {
    let changed = table::person::disable(work, user).await?;
    let changed = changed.ok_or(IdentityError::PersonNotFound)?;
    if changed {
        let details = json!({ "reason": reason.as_str() });
        audit::record(work, actor, AuditAction::PersonDisabled, &user, details).await?;
    }
    Ok(changed)
}

/// Enables a disabled account, in a platform transaction. Its agent keys work again; its former sessions do not. Returns
/// whether it was disabled.
pub async fn enable_person(
    work: &mut Work,
    actor: Actor,
    user: UserId,
    reason: &Reason,
) -> Result<bool, IdentityError> {
    let changed = table::person::enable(work, user).await?;
    let changed = changed.ok_or(IdentityError::PersonNotFound)?;
    if changed {
        let details = json!({ "reason": reason.as_str() });
        audit::record(work, actor, AuditAction::PersonEnabled, &user, details).await?;
    }
    Ok(changed)
}

/// Adds a person to a store, or changes the role, in a platform transaction.
pub async fn add_member(
    work: &mut Work,
    actor: Actor,
    user: UserId,
    merchant: MerchantId,
    role: Role,
) -> Result<(), IdentityError> {
    table::person::put_membership(work, user, merchant, role).await?;
    let details = json!({ "user": user, "role": role.as_str() });
    audit::record(work, actor, AuditAction::MemberAdded, &merchant, details).await
}

/// Removes a person from a store, in a platform transaction.
pub async fn remove_member(
    work: &mut Work,
    actor: Actor,
    user: UserId,
    merchant: MerchantId,
) -> Result<(), IdentityError> {
    if !table::person::remove_membership(work, user, merchant).await? {
        return Err(IdentityError::PersonNotFound);
    }
    audit::record(work, actor, AuditAction::MemberRemoved, &merchant, json!({ "user": user })).await
}

/// Returns the account with an email, in a platform transaction.
pub async fn person_by_email(work: &mut Work, email: &Email) -> Result<UserId, IdentityError> {
    let found = table::person::with_email(work.sql(), email).await?;
    found.map(|account| account.user).ok_or(IdentityError::PersonNotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_is_normalized() {
        assert_eq!(" Ada@Example.COM ".parse::<Email>().unwrap().as_str(), "ada@example.com");
        for wrong in ["", "ada", "@host", "ada@", "a@b@c", "a b@c", "a\u{0}@c"] {
            assert!(wrong.parse::<Email>().is_err(), "{wrong}");
        }
    }
}
