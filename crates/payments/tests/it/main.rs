//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod attempts;
mod double;
mod findings;
mod ledger;
mod names;
mod outcomes;
mod pending;
mod processor_pages;
mod provider;
mod refunds;
mod shop;
