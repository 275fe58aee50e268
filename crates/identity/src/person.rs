//! People: their accounts, what they pay for, and the stores they act for.

use std::fmt;
use std::str::FromStr;

use database::Work;
use primitives::{MerchantId, Plan, Timestamp, UserId};
use serde_json::json;

use crate::audit::{self, Act, Actor};
use crate::{IdentityError, password, table};

/// An email address in the one spelling that is compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Email(String);

impl Email {
    /// The address.
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

    /// Whether mail arrives there is not for a pattern to say: a name, an @, a host, nothing invisible.
    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let text = text.trim().to_lowercase();
        let is_good = text.len() <= 254
            && !text.contains(|c: char| c.is_whitespace() || c.is_control())
            && text.split_once('@').is_some_and(|(name, host)| {
                !name.is_empty() && !host.is_empty() && !host.contains('@')
            });
        if is_good { Ok(Self(text)) } else { Err(IdentityError::InvalidEmail) }
    }
}

/// What a person may do for a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Day-to-day work.
    Staff,
    /// Everything, also keys and members.
    Owner,
}

impl Role {
    /// The name, as on the wire and in PostgreSQL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Staff => "staff",
            Self::Owner => "owner",
        }
    }
}

impl FromStr for Role {
    type Err = IdentityError;
    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let found = [Self::Staff, Self::Owner].into_iter().find(|role| role.name() == text);
        found.ok_or(IdentityError::InvalidRole)
    }
}

/// A person, as known on every call with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Its id.
    pub user: UserId,
    /// What the account pays for.
    pub plan: Plan,
    /// Whether it runs the platform.
    pub is_admin: bool,
    /// The stores it acts for.
    pub memberships: Vec<(MerchantId, Role)>,
    /// Tokens from before are refused.
    pub(crate) sessions_from: Timestamp,
}

impl Person {
    /// What it may do for a store.
    #[must_use]
    pub fn role_in(&self, merchant: MerchantId) -> Option<Role> {
        self.memberships.iter().find(|(of, _)| *of == merchant).map(|(_, role)| *role)
    }
}

/// A new account.
#[derive(Debug, Clone)]
pub struct NewPerson {
    /// Where the person is reached, and its name at login.
    pub email: Email,
    /// What the account pays for.
    pub plan: Plan,
    /// Whether it runs the platform.
    pub is_admin: bool,
}

/// Makes an account, in a work for the platform.
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
    let details = json!({ "plan": new.plan.name(), "admin": new.is_admin });
    audit::record(work, actor, Act::PersonCreated, &user, details).await?;
    Ok(user)
}

/// Gives an account another password, in a work for the platform. Every session ends.
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
    audit::record(work, actor, Act::PasswordSet, &user, json!({})).await
}

/// Changes what an account pays for, in a work for the platform.
pub async fn set_plan(
    work: &mut Work,
    actor: Actor,
    user: UserId,
    plan: Plan,
) -> Result<(), IdentityError> {
    if !table::person::set_plan(work, user, plan).await? {
        return Err(IdentityError::PersonNotFound);
    }
    audit::record(work, actor, Act::PlanSet, &user, json!({ "plan": plan.name() })).await
}

/// Makes a person a member of a store, or changes its role, in a work for the platform.
pub async fn add_member(
    work: &mut Work,
    actor: Actor,
    user: UserId,
    merchant: MerchantId,
    role: Role,
) -> Result<(), IdentityError> {
    table::person::put_membership(work, user, merchant, role).await?;
    let details = json!({ "user": user, "role": role.name() });
    audit::record(work, actor, Act::MemberAdded, &merchant, details).await
}

/// Ends a membership, in a work for the platform.
pub async fn remove_member(
    work: &mut Work,
    actor: Actor,
    user: UserId,
    merchant: MerchantId,
) -> Result<(), IdentityError> {
    if !table::person::remove_membership(work, user, merchant).await? {
        return Err(IdentityError::PersonNotFound);
    }
    audit::record(work, actor, Act::MemberRemoved, &merchant, json!({ "user": user })).await
}

/// The account with an email, in a work for the platform.
pub async fn person_with(work: &mut Work, email: &Email) -> Result<UserId, IdentityError> {
    let found = table::person::with_email(work.sql(), email).await?;
    found.map(|account| account.user).ok_or(IdentityError::PersonNotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_has_one_spelling() {
        assert_eq!(" Ada@Example.COM ".parse::<Email>().unwrap().as_str(), "ada@example.com");
        for wrong in ["", "ada", "@host", "ada@", "a@b@c", "a b@c", "a\u{0}@c"] {
            assert!(wrong.parse::<Email>().is_err(), "{wrong}");
        }
    }
}
