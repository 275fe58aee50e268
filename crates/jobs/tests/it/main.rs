//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod idempotency;
mod kinds;
mod outbox;
mod queue;
mod schedule;
mod slots;
mod sweep;
