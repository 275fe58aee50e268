#![doc = include_str!("../README.md")]

mod admin;
mod app;
mod banner;
mod cli;
mod commands;
mod config;
mod dead_jobs;
mod generate;
mod import;
mod keys;
mod layers;
mod listen;
mod monitor;
mod search_index;
mod shutdown;
mod telemetry;
mod worker;

pub use app::{App, AppSettings};
pub use cli::Cli;
pub use commands::run;
pub use config::Config;
pub use monitor::Monitor;
pub use worker::runner;
