#![doc = include_str!("../README.md")]

mod client_address;
mod error_code;
mod hint;
mod id;
mod money;
mod paging;
mod plan;
mod problem;
mod request_id;
mod scope;
mod slug;
mod text_enum;
mod timestamp;

pub use client_address::ClientAddress;
pub use error_code::ErrorCode;
pub use hint::{Action, Hint, HintPart};
pub use id::{
    AppealId, CartId, CategoryId, CheckoutId, ConfirmationId, DeliveryId, DisputeId, EventId,
    FeedRunId, Id, JobId, KeyId, LineId, MerchantId, OrderId, ParseIdError, PaymentId, ProductId,
    ReturnId, UserId, VariantId, WebhookId,
};
pub use money::{Currency, Money, MoneyError};
pub use paging::{PageMeta, PageRequest};
pub use plan::Plan;
pub use problem::{Details, Failure, Problem, Remedy};
pub use request_id::RequestId;
pub use scope::{Scope, UnknownScope};
pub use slug::{InvalidSlug, StoreSlug};
pub use timestamp::Timestamp;

/// What [`text_enum!`] expands to; not part of the interface.
#[doc(hidden)]
pub mod private {
    pub use serde;
    pub use sqlx;
    pub use strum;

    pub use crate::text_enum::deserialize_name;
}

// Lets `text_enum!` name this crate the same way inside it and elsewhere.
extern crate self as primitives;
