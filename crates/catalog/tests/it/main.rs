//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod check;
mod export;
mod fallback_search;
mod feed_runs;
mod holds;
mod own_products;
mod put;
mod quality;
mod quotas;
mod reading;
mod restocking;
mod sales;
mod shop;
mod update_offers;
