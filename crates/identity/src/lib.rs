#![doc = include_str!("../README.md")]

mod error;
mod key_text;
mod resolve;
mod secret;
mod store_key;
mod table;

pub use error::IdentityError;
pub use resolve::StoreKeys;
pub use secret::{Secret, SecretTooShort};
pub use store_key::{IssuedKey, StoreKey, issue_store_key, revoke_store_key, store_keys};
