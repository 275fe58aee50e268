//! Scores and their evidence, against PostgreSQL.

mod backfill;
mod corrections;
mod effects;
mod facts;
mod history;
mod market;
mod purchases;
mod rollups;
mod schedule;
