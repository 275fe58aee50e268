#![doc = include_str!("../README.md")]

mod finding;
mod house;
mod layers;
mod manifest;
mod migration;
mod report;
mod rules;
mod rust_file;
mod source_path;
mod sql;

pub use finding::Finding;
pub use house::House;
pub use report::report;
pub use rules::check;
