#![doc = include_str!("../README.md")]

mod finding;
mod generated;
mod layers;
mod manifest;
mod migration;
mod report;
mod rules;
mod rust_file;
mod source_path;
mod sql;
mod words;
mod workspace;

pub use finding::Finding;
pub use generated::Section;
pub use report::report;
pub use rules::{check, summary};
pub use workspace::Workspace;
