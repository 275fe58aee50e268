#![doc = include_str!("../README.md")]

mod amount;
mod client_address;
mod const_text;
pub mod country;
mod error_code;
mod hint;
mod id;
mod money;
mod paging;
mod plan;
mod problem;
mod request_id;
mod request_record;
mod scope;
mod slug;
mod text_enum;
mod timestamp;

pub use amount::Amount;
pub use client_address::ClientAddress;
pub use error_code::{CodeMark, ErrorCode, PublishedCodeChanged};
pub use hint::{Action, Argument, Hint, HintNames, HintPart, Step};
pub use id::{
    AppealId, CartId, CategoryId, CheckoutId, ConfirmationId, DisputeId, EndpointId, EventId,
    FeedRunId, FulfillmentId, Id, JobId, KeyId, LineId, MerchantId, NoticeId, OrderId,
    ParseIdError, PaymentId, ProductId, RefundId, ReturnId, UserId, VariantId,
};
pub use money::{Currency, Money, MoneyError};
pub use paging::{PageMeta, PageRequest};
pub use plan::Plan;
pub use problem::{Details, Failure, NotExactlyOne, Problem, Remedy};
pub use request_id::RequestId;
pub use request_record::{RecordedRequest, RequestRecord};
pub use scope::{Scope, UnknownScope};
pub use slug::{InvalidSlug, StoreSlug};
pub use timestamp::{InvalidTimestamp, Timestamp};

/// What [`text_enum!`] and [`const_text!`] expand to; not part of the interface.
#[doc(hidden)]
pub mod private {
    pub use serde;
    pub use sqlx;
    pub use strum;

    pub use crate::const_text::{TextPart, text_bytes, text_length};
    pub use crate::text_enum::deserialize_name;
}

// Lets `text_enum!` name this crate the same way inside it and elsewhere.
extern crate self as primitives;
