//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod check;
mod put;
mod quality;
mod reading;
mod revise;
mod runs;
mod scan;
mod shop;
