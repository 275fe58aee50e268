#![doc = include_str!("../README.md")]

mod admin;
mod after_restore;
mod app;
mod banner;
mod check_config;
mod checkouts;
mod cli;
mod commands;
mod config;
mod doctor;
mod file_limit;
mod generate;
mod import;
mod keys;
mod layers;
mod listen;
mod metric_list;
mod monitor;
mod operator;
mod people;
mod queue;
mod search_index;
mod settings;
mod shutdown;
mod stores;
mod telemetry;
mod trust;
mod webhooks;
mod worker;

pub use app::{App, AppSettings};
pub use cli::Cli;
pub use commands::run;
pub use config::Config;
pub use monitor::Monitor;
pub use operator::router as operator_router;
pub use worker::runner;
