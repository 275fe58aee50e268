//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod placing;
mod purging;
mod reading;
mod shop;
mod statuses;
