//! All SQL of this crate.

pub(crate) mod agent_key;
pub(crate) mod audit;
pub(crate) mod login;
pub(crate) mod person;
pub(crate) mod signing;
pub(crate) mod store_key;
