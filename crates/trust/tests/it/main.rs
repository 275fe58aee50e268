//! Scores and their evidence, against PostgreSQL.

mod effects;
mod history;
mod market;
mod purchases;
mod rollups;
mod schedule;
