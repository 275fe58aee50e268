#![doc = include_str!("../README.md")]

mod admission;
mod call;
mod card;
#[cfg(debug_assertions)]
mod conformance;
mod document;
mod elicitation;
mod endpoint;
mod error_response;
mod fast_path;
mod gateway;
mod message;
mod origin_policy;
mod prompts;
mod resources;
mod rmcp_adapter;
mod schema;
mod tool;
mod tools;

pub use card::registry_entry;
pub use document::tools_document;
pub use endpoint::{Mcp, router};
pub use error_response::{ErrorFormat, error_response};
