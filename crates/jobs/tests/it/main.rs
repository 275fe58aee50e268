//! Tests against a real database.

mod idempotency;
mod kinds;
mod outbox;
mod queue;
mod schedule;
