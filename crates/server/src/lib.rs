#![doc = include_str!("../README.md")]

mod app;
mod banner;
mod cli;
mod commands;
mod config;
mod generate;
mod import;
mod indexing;
mod keys;
mod layers;
mod listen;
mod monitor;
mod people;
mod stop;
mod telemetry;
mod worker;

pub use app::{App, AppSettings};
pub use cli::Cli;
pub use commands::run;
pub use config::Config;
pub use monitor::Monitor;
pub use worker::runner;
