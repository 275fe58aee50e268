//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod crashes;
mod damage;
mod demo_world;
mod fixture;
mod generations;
mod lanes;
mod leases;
mod publishing;
mod queries;
mod unreadable_rows;
