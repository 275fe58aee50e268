#![doc = include_str!("../README.md")]

mod error;
mod order;
mod place;
mod read;
mod table;

pub use error::OrderError;
pub use order::{ConfirmationLevel, Order, OrderLine, OrderStatus};
pub use place::place;
pub use read::order;
pub use table::{erase_buyer, purge_sandbox};
