//! Scores and their evidence, against PostgreSQL.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod backfill;
mod corrections;
mod effects;
mod facts;
mod history;
mod market;
mod merchant_view;
mod plans;
mod purchases;
mod rollups;
mod schedule;
mod waiting;
