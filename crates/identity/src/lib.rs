#![doc = include_str!("../README.md")]

mod agent_key;
mod attempts;
mod audit;
mod credential;
mod credential_store;
mod error;
mod key_text;
mod login;
mod password;
mod person;
mod purge;
mod resolve;
mod sandbox;
mod secret;
mod store_key;
mod table;
mod tier;
mod token;

pub use agent_key::{
    Agent, AgentKey, NewAgentKey, agent_keys, issue_agent_key, revoke_agent_key, rotate_agent_key,
};
pub use audit::{Actor, AuditAction, AuditEntry, audit_entries};
pub use credential::{Credential, challenge};
pub use credential_store::CredentialStore;
pub use error::IdentityError;
pub use login::{Logins, purge_login_attempts};
pub use person::{
    Email, NewPerson, Person, Role, add_member, create_person, person_by_email, remove_member,
    set_password, set_plan,
};
pub use purge::PurgeLoginAttempts;
pub use resolve::{AgentKeys, CACHE_AGE_MAX, People, StoreKeys};
pub use sandbox::{issue_sandbox_key, purge_sandbox_keys};
pub use secret::{Secret, SecretTooShort};
pub use store_key::{IssuedKey, StoreKey, issue_store_key, revoke_store_key, store_keys};
pub use tier::{require_plan, store_plan};
pub use token::{TOKEN_LIFETIME, Tokens, rotate_signing_key};
