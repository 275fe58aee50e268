#![doc = include_str!("../README.md")]

mod call;
mod endpoint;
mod gateway;
mod prompts;
mod refusal;
mod resources;
mod schema;
mod tool;
mod tools;
mod wire;

pub use endpoint::{Mcp, router};
pub use refusal::refusal;
