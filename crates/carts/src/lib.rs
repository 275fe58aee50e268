#![doc = include_str!("../README.md")]

mod cart;
mod change;
mod create;
mod destination;
mod discount;
mod error;
mod items;
mod quote;
mod read;
mod share;
mod table;
mod tax;

pub use cart::{CODES_MAX, Cart, CartStatus, Item, LIFETIME, LINES_MAX, Line, Quantity};
pub use change::{Edit, change};
pub use create::{NewCart, create};
pub use destination::Destination;
pub use discount::{CodeRefusal, Discount, RefusedCode};
pub use error::CartError;
pub use quote::{Message, MessageCode, Quote, QuotedLine, ShippingOption};
pub use read::{Priced, cart, quote};
