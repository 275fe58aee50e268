#![doc = include_str!("../README.md")]

mod cart;
mod change;
mod checkout;
mod create;
mod destination;
mod discount;
mod error;
mod items;
mod once;
mod owner;
mod quote;
mod read;
mod share;
mod table;
mod tax;
mod terms;

pub use cart::{CODES_MAX, Cart, CartStatus, Item, LIFETIME, LINES_MAX, Line, Quantity};
pub use change::{Edit, change};
pub use checkout::{change_started, forget_sandbox, lock, set_status};
pub use create::{NewCart, create};
pub use destination::Destination;
pub use discount::{CodeRefusal, Discount, RefusedCode};
pub use error::CartError;
pub use owner::{Buyer, Owner};
pub use quote::{Message, MessageCode, Quote, QuotedLine, ShippingOption};
pub use read::{Priced, cart, price};
pub use terms::{QuoteHash, Terms, TermsLine, TermsReturns, TermsShipping, TermsStore};
