//! Whole-app tests, one file per subject, in process and with the wiring of production.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod access_matrix;
mod accounts;
mod administration;
mod app;
mod cart_lifecycle;
mod carts;
mod catalog_import;
mod checkout;
mod endpoints;
mod errors;
mod examples;
mod order_tools;
mod public_pages;
mod purchase_pages;
mod rate_limits;
mod records;
mod refusals;
mod repeated_writes;
mod search;
mod search_analytics;
mod slow_bodies;
mod tenant_isolation;
mod tool_schemas;
mod tools;
mod trust;
mod two_cells;
mod webhooks;
