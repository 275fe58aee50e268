#![doc = include_str!("../README.md")]

mod cart;
mod change;
mod checkout;
mod create;
mod destination;
mod discount;
mod error;
mod estimate;
mod items;
mod offers;
mod once;
mod owner;
mod permalink;
mod quote;
mod read;
mod record;
mod share;
mod table;
mod tax;
mod terms;
mod text;

pub use cart::{CODES_MAX, Cart, CartStatus, Item, LIFETIME, LINES_MAX, Line, Quantity};
pub use change::{Edit, change};
pub use checkout::{change_started, forget_sandbox, lock, set_status};
pub use create::{NewCart, create};
pub use destination::Destination;
pub use discount::{CodeRefusal, Discount, RefusedCode};
pub use error::CartError;
pub use estimate::{estimate, estimate_cart};
pub use offers::{NetworkOffer, offers};
pub use owner::{Buyer, Owner};
pub use permalink::{Opens, Permalink, permalink, shop_link};
pub use quote::{Message, MessageCode, Quote, QuotedLine, ShippingOption};
pub use read::{Priced, cart, owner, preview, price};
pub use record::{
    CartLineRecord, CartRecord, DiscountRecord, DiscountsRecord, MessageRecord, PreviewRecord,
    RejectedCodeRecord, ShippingOptionRecord, TotalsRecord,
};
pub use terms::{QuoteHash, Terms, TermsLine, TermsReturns, TermsShipping, TermsStore};
