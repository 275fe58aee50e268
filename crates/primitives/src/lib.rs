#![doc = include_str!("../README.md")]

mod client_address;
mod error_code;
mod id;
mod money;
mod paging;
mod plan;
mod problem;
mod request_id;
mod scope;
mod slug;
mod timestamp;

pub use client_address::ClientAddress;
pub use error_code::ErrorCode;
pub use id::{
    AppealId, CartId, CategoryId, CheckoutId, ConfirmationId, DeliveryId, DisputeId, EventId,
    FeedId, Id, JobId, KeyId, LineId, MerchantId, OrderId, ParseIdError, PaymentId, ProductId,
    ReturnId, UserId, VariantId, WebhookId,
};
pub use money::{Currency, Money, MoneyError};
pub use paging::{PageMeta, PageRequest};
pub use plan::Plan;
pub use problem::{Details, Failure, Problem};
pub use request_id::RequestId;
pub use scope::{Scope, UnknownScope};
pub use slug::{InvalidSlug, StoreSlug};
pub use timestamp::Timestamp;
