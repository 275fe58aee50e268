//! Whole-app tests, one file per section of the specification. In process, over production's wiring.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod app;
mod s1_pages;
mod s2_carts;
mod s2_catalog;
mod s2_records;
mod s2_trust;
mod s3_carts;
mod s3_search;
mod s4_addresses;
mod s4_checkout;
mod s4_every_tool;
mod s4_tools;
mod s5_accounts;
mod s5_isolation;
mod s5_matrix;
mod s7_errors;
mod s8_limits;
mod search_insight;
mod two_cells;
