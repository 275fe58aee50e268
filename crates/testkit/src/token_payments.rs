//! Payments in tokens without a network: a wallet, a chain and a facilitator that do what a test says.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up has failed")]

mod chain;
mod facilitator;
mod server;
mod wallet;

pub use chain::{Chain, Node, transaction};
pub use facilitator::{Script, ScriptedFacilitator};
pub use wallet::{START_SECONDS, Wallet};
