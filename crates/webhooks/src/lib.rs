#![doc = include_str!("../README.md")]

mod announce;
mod announcement;
mod error;
mod table;

pub use announce::announce;
pub use announcement::{
    AbandonedItem, Announcement, CheckoutAbandoned, HumanConfirmation, OrderCreated, OrderedItem,
};
pub use error::WebhookError;
