#![doc = include_str!("../README.md")]

mod admission;
mod call;
mod card;
#[cfg(debug_assertions)]
mod conformance;
mod direct;
mod document;
mod elicitation;
mod endpoint;
mod gateway;
mod message;
mod prompts;
mod refusal;
mod resources;
mod schema;
mod tool;
mod tools;
mod welcome;
mod wire;

pub use card::registry_entry;
pub use document::tools_document;
pub use endpoint::{Mcp, router};
pub use refusal::{Speech, refusal};
