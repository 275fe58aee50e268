//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod deliveries;
mod dispatch;
mod dispatch_faults;
mod dispatch_isolation;
mod dispatch_locks;
mod dispatch_ownership;
mod dispatch_reads;
mod dispatching;
mod endpoints;
mod listening;
mod probing;
mod publishing;
mod purging;
mod receiver;
mod recovering;
mod secrets;
mod settings;
mod shop;
