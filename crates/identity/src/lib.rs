#![doc = include_str!("../README.md")]

mod agent_key;
mod attempts;
mod audit;
mod credential;
mod credential_store;
mod dead_letter;
mod error;
mod import;
mod key_text;
mod login;
mod order_link;
mod password;
mod person;
mod purge;
mod resolve;
mod revoke;
mod sandbox;
mod secret;
mod store_key;
mod store_scope;
mod table;
mod tier;
mod token;

pub use agent_key::{
    Agent, AgentKey, NewAgentKey, agent_keys, issue_agent_key, keys_of_account, revoke_agent_key,
    rotate_agent_key,
};
pub use audit::{Actor, AuditAction, AuditEntry, Reason, audit_entries, record_audit};
pub use credential::{Credential, challenge};
pub use credential_store::CredentialStore;
pub use dead_letter::{discard_job, revive_job};
pub use error::IdentityError;
pub use import::{PastAgent, import_agents};
pub use login::{Logins, purge_login_attempts};
pub use order_link::OrderLinks;
pub use person::{
    Email, NewPerson, Person, Role, add_member, create_person, disable_person, enable_person,
    person_by_email, remove_member, set_password, set_plan,
};
pub use purge::PurgeLoginAttempts;
pub use resolve::{AgentKeys, CACHE_AGE_MAX, People, StoreKeys};
pub use revoke::{RevokedKey, revoke_key};
pub use sandbox::{SANDBOX_KEYS_MAX, issue_sandbox_key, purge_sandbox_keys};
pub use secret::{Secret, SecretTooShort};
pub use store_key::{
    IssuedKey, NewStoreKey, StoreKey, StoreProgram, issue_store_key, revoke_store_key, store_keys,
};
pub use store_scope::StoreScope;
pub use tier::{require_plan, store_plan};
pub use token::{TOKEN_LIFETIME, Tokens, rotate_signing_key};
