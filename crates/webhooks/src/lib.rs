#![doc = include_str!("../README.md")]

mod error;
mod event;
mod publish;
mod table;

pub use error::WebhookError;
pub use event::{
    AbandonedItem, CheckoutAbandoned, HumanConfirmation, OrderCreated, OrderedItem, WebhookEvent,
};
pub use publish::publish;
