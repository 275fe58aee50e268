#![doc = include_str!("../README.md")]

mod cart;
mod change;
mod checkout;
mod create;
mod destination;
mod discount;
mod error;
mod estimate;
mod idempotency;
mod items;
mod offers;
mod owner;
mod permalink;
mod quote;
mod read;
mod record;
mod rounding;
mod table;
mod tax;
mod terms;
mod text;

pub use cart::{
    CART_LIFETIME, CODES_MAX, Cart, CartRef, CartStatus, Item, LINES_MAX, Line, Quantity,
};
pub use change::{CartUpdate, Edit, change};
pub use checkout::{
    CartAges, Delivery, change_during_checkout, erase_buyer, find_old, lock, purge, set_delivery,
    set_status,
};
pub use create::{NewCart, create};
pub use destination::Destination;
pub use discount::{CODE_LENGTH_MAX, CodeRejection, Discount, Goods, RejectedCode};
pub use error::{
    CANCEL_ERRORS, CREATE_ERRORS, CartError, ESTIMATE_ERRORS, READ_ERRORS, REPLACE_ERRORS,
    UPDATE_ERRORS,
};
pub use estimate::{ShippingEstimator, estimate, estimate_cart, shipping_estimator};
pub use items::ItemRequest;
pub use offers::{NetworkOffer, offers};
pub use owner::{Buyer, CartOwner};
pub use permalink::{Permalink, PermalinkTarget, permalink, storefront_link};
pub use quote::{Message, MessageCode, OpenPart, Quote, QuotedLine, ShippingOption};
pub use read::{PricedCart, cart, merchant_of, preview, price};
pub use record::{
    CartLineRecord, CartRecord, DiscountRecord, DiscountsRecord, MessageRecord, PreviewRecord,
    RejectedCodeRecord, ShippingOptionRecord, TotalsRecord,
};
pub use terms::{
    ApprovalScope, QuoteHash, Terms, TermsLine, TermsReturns, TermsShipping, TermsStore,
};
