//! The REST door through its router.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod admin_orders;
mod agent_carts;
mod agent_orders;
mod agent_products;
mod bodies;
mod door;
mod errors;
mod health;
mod market;
mod merchant;
mod merchant_catalog;
mod merchant_orders;
mod merchant_own;
mod merchant_trust;
mod merchant_webhooks;
mod openapi;
mod sale;
mod stores;
