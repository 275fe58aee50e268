#![doc = include_str!("../README.md")]

mod error;
mod event;
mod publish;
mod table;

pub use error::WebhookError;
pub use event::{
    AbandonedItem, CheckoutAbandoned, DisputePayload, FulfillmentPayload, HumanConfirmation,
    OrderChange, OrderChanged, OrderCreated, OrderedItem, RefundPayload, ReturnPayload,
    UnitsPayload, WebhookEvent,
};
pub use publish::publish;
