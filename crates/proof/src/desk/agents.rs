//! Agents get through: one name for a thing at both doors, errors that say what to send, schemas that strict providers
//! accept, and keys without a dead end.

pub(crate) mod credentials;
pub(crate) mod hints;
pub(crate) mod input;
pub(crate) mod names;
pub(crate) mod schemas;
