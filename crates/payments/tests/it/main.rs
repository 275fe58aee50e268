//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod attempts;
mod names;
mod outcomes;
mod pending;
mod provider;
mod shop;
