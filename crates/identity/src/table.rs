//! All SQL of this crate.

use std::error::Error;
use std::str::FromStr;

pub(crate) mod agent_key;
pub(crate) mod audit;
pub(crate) mod import;
pub(crate) mod login;
pub(crate) mod person;
pub(crate) mod sandbox;
pub(crate) mod signing;
pub(crate) mod store_key;

/// Parses a name read from PostgreSQL. An unknown name is a decode error.
fn parse_name<T>(name: &str) -> sqlx::Result<T>
where
    T: FromStr,
    T::Err: Error + Send + Sync + 'static,
{
    name.parse().map_err(|error: T::Err| sqlx::Error::Decode(Box::new(error)))
}
