#![doc = include_str!("../README.md")]

mod card;
#[cfg(debug_assertions)]
mod conformance;
mod document;
mod elicitation;
mod endpoint;
mod error;
mod error_response;
mod gateway;
mod listing;
mod message;
mod onx;
mod origin_policy;
mod prompts;
mod request_context;
mod resources;
mod rmcp_adapter;
mod rmcp_server;
mod tool;
mod tool_schema;
mod tools;

pub use card::registry_entry;
pub use document::{tool_list, tools_document, unknown_tools};
pub use endpoint::{Mcp, router};
pub use error_response::{ErrorFormat, error_response};
