#![doc = include_str!("../README.md")]

mod agent_key;
mod attempts;
mod audit;
mod callers;
mod credential;
mod error;
mod key_text;
mod login;
mod password;
mod person;
mod resolve;
mod sandbox;
mod secret;
mod store_key;
mod sweep;
mod table;
mod tier;
mod token;

pub use agent_key::{
    Agent, AgentKey, NewAgentKey, agent_keys, issue_agent_key, revoke_agent_key, rotate_agent_key,
};
pub use audit::{Act, Actor, AuditEntry, audit_of};
pub use callers::Callers;
pub use credential::{Credential, challenge};
pub use error::IdentityError;
pub use login::{Logins, forget_attempts};
pub use person::{
    Email, NewPerson, Person, Role, add_member, create_person, person_with, remove_member,
    set_password, set_plan,
};
pub use resolve::{AGE_MAX, AgentKeys, People, StoreKeys};
pub use sandbox::{forget_sandbox_keys, issue_sandbox_key};
pub use secret::{Secret, SecretTooShort};
pub use store_key::{IssuedKey, StoreKey, issue_store_key, revoke_store_key, store_keys};
pub use sweep::SweepAttempts;
pub use tier::{require_plan, store_plan};
pub use token::{TOKEN_LIFE, Tokens, rotate_signing_key};
