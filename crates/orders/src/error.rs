//! Errors of orders.

use catalog::CatalogError;
use database::DatabaseError;
use jobs::{IdempotencyError, JobError, QueueError};
use merchants::StoreError;
use primitives::{Details, DisputeId, ErrorCode, Problem, hint};
use webhooks::WebhookError;

use crate::{DisputeStatus, IneligibleReason, LockedDestination, OrderStatus, ReturnStatus};

/// Why an order could not be read, placed or changed.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// No order has this id, or another caller owns it; callers cannot tell which.
    #[error("order not found")]
    NotFound,
    /// The order has no such return, or the order is not visible.
    #[error("return not found")]
    ReturnNotFound,
    #[error("dispute not found")]
    DisputeNotFound,
    /// The order has another version than the one the change is based on.
    #[error("version conflict: the order was changed by another request")]
    VersionConflict { current: i32 },
    #[error("invalid transition: the order is {from}")]
    InvalidTransition { from: OrderStatus },
    /// Only the merchant can still cancel.
    #[error("the order is {from}: the agent and the buyer cannot cancel any more")]
    CancelTooLate { from: OrderStatus },
    #[error("invalid transition: the return is {from}")]
    InvalidReturnTransition { from: ReturnStatus },
    #[error("invalid transition: the dispute is {from}")]
    InvalidDisputeTransition { from: DisputeStatus },
    /// `id` and `from` are those of the open dispute.
    #[error("the order already has an open dispute")]
    DisputeAlreadyOpen { id: DisputeId, from: DisputeStatus },
    /// `order_page` is the link to the page on which the buyer can end it; the door adds it.
    #[error("the buyer opened the dispute: only the buyer can end it")]
    DisputeOfBuyer { from: DisputeStatus, order_page: Option<String> },
    /// `field` names a line that the order does not have.
    #[error("{field} is not a line of the order")]
    UnknownLine { field: String },
    #[error("{field}: {requested} requested, {available} available")]
    QuantityExceeded { field: String, requested: u32, available: u32 },
    #[error("{field} is invalid: {allowed}")]
    InvalidField { field: String, allowed: &'static str },
    /// `field` is the name of the refund in the request.
    #[error("the refund exceeds what is left of the payment")]
    RefundExceeded { field: &'static str, available: f64, currency: &'static str },
    /// `order_page` is the link to the page on which the buyer can change it; the door adds it.
    #[error("only the buyer can change the destination of this order")]
    DestinationLocked { reason: LockedDestination, order_page: Option<String> },
    #[error("the items cannot be returned: {reason}")]
    NotEligible { reason: IneligibleReason },
    #[error("a stored order could not be decoded")]
    Unreadable,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Idempotency(#[from] IdempotencyError),
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for OrderError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<OrderError> for JobError {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::Database(error) => Self::Database(error),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl OrderError {
    /// Creates the error of a field that has no allowed value.
    pub(crate) fn invalid(field: impl Into<String>, allowed: &'static str) -> Self {
        Self::InvalidField { field: field.into(), allowed }
    }

    /// Returns whether a stored value could not be decoded: an error of its row, not of the others.
    pub(crate) fn is_unreadable(&self) -> bool {
        match self {
            Self::Unreadable => true,
            Self::Database(error) => error.is_unreadable(),
            _ => false,
        }
    }

    /// Adds the link to the page of the order, if the error sends the buyer there.
    #[must_use]
    pub fn with_order_page(self, link: impl FnOnce() -> String) -> Self {
        match self {
            Self::DestinationLocked { reason, .. } => {
                Self::DestinationLocked { reason, order_page: Some(link()) }
            }
            Self::DisputeOfBuyer { from, .. } => {
                Self::DisputeOfBuyer { from, order_page: Some(link()) }
            }
            other => other,
        }
    }

    /// Adds the facts of a change that the current state excludes.
    fn describe_conflict(&self, details: &mut Details) {
        match self {
            Self::VersionConflict { current } => {
                details.insert("field", "version");
                details.insert("current_version", *current);
                details.hint(hint!("read the order again and send its version"));
            }
            Self::InvalidTransition { from } => {
                details.insert("from", from.as_str());
                details.insert("allowed", names(from.successors(), OrderStatus::as_str));
            }
            Self::CancelTooLate { from } => {
                let allowed =
                    from.successors().into_iter().filter(|it| *it != OrderStatus::Canceled);
                details.insert("from", from.as_str());
                details.insert("allowed", names(allowed.collect(), OrderStatus::as_str));
                details
                    .hint(hint!("ask the merchant to cancel, or return the items after delivery"));
            }
            Self::InvalidReturnTransition { from } => {
                details.insert("from", from.as_str());
                details.insert("allowed", names(from.successors(), ReturnStatus::as_str));
            }
            Self::InvalidDisputeTransition { from } => {
                details.insert("from", from.as_str());
                details.insert("allowed", names(from.successors().to_vec(), DisputeStatus::as_str));
            }
            Self::DisputeAlreadyOpen { id, from } => {
                details.insert("dispute_id", id.to_string());
                details.insert("from", from.as_str());
                details.hint(hint!(
                    "read the open dispute by its dispute_id, which the adjustments of the order list too"
                ));
            }
            Self::DisputeOfBuyer { from, order_page } => {
                details.insert("from", from.as_str());
                if let Some(link) = order_page {
                    details.insert("order_page", link.as_str());
                }
                details.hint(hint!("give order_page to the buyer, who can end the dispute there"));
            }
            _ => {}
        }
    }
}

impl Problem for OrderError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound => ErrorCode::OrderNotFound,
            Self::ReturnNotFound | Self::DisputeNotFound => ErrorCode::NotFound,
            Self::VersionConflict { .. }
            | Self::InvalidTransition { .. }
            | Self::CancelTooLate { .. }
            | Self::InvalidReturnTransition { .. }
            | Self::InvalidDisputeTransition { .. }
            | Self::DisputeAlreadyOpen { .. }
            | Self::DisputeOfBuyer { .. } => ErrorCode::InvalidStatusTransition,
            Self::UnknownLine { .. }
            | Self::QuantityExceeded { .. }
            | Self::InvalidField { .. }
            | Self::RefundExceeded { .. } => ErrorCode::InvalidRequest,
            Self::DestinationLocked { .. } => ErrorCode::ConfirmationRequired,
            Self::NotEligible { .. } => ErrorCode::ReturnNotEligible,
            Self::Unreadable => ErrorCode::InternalError,
            Self::Store(error) => error.code(),
            Self::Catalog(error) => error.code(),
            Self::Idempotency(error) => error.code(),
            Self::Webhook(error) => error.code(),
            Self::Queue(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::NotFound => details.insert("field", "order_id"),
            Self::ReturnNotFound => details.insert("field", "return_id"),
            Self::DisputeNotFound => details.insert("field", "dispute_id"),
            Self::VersionConflict { .. }
            | Self::InvalidTransition { .. }
            | Self::CancelTooLate { .. }
            | Self::InvalidReturnTransition { .. }
            | Self::InvalidDisputeTransition { .. }
            | Self::DisputeAlreadyOpen { .. }
            | Self::DisputeOfBuyer { .. } => self.describe_conflict(details),
            Self::UnknownLine { field } => {
                details.insert("field", field.as_str());
                details.hint(hint!("use the line_id of an item of the order"));
            }
            Self::QuantityExceeded { field, available, .. } => {
                details.insert("field", field.as_str());
                details.insert("available", *available);
            }
            Self::InvalidField { field, allowed } => {
                details.insert("field", field.as_str());
                details.insert("allowed", *allowed);
            }
            Self::RefundExceeded { field, available, currency } => {
                details.insert("field", *field);
                details.insert("available", *available);
                details.insert("currency", *currency);
            }
            Self::DestinationLocked { reason, order_page } => {
                details.insert("reason", reason.as_str());
                if let Some(link) = order_page {
                    details.insert("order_page", link.as_str());
                }
                details.hint(hint!(
                    "give order_page to the buyer, who can change the address there until the merchant processes the order"
                ));
            }
            Self::NotEligible { reason } => details.insert("reason", reason.as_str()),
            Self::Unreadable => {}
            Self::Store(error) => error.details(details),
            Self::Catalog(error) => error.details(details),
            Self::Idempotency(error) => error.details(details),
            Self::Webhook(error) => error.details(details),
            Self::Queue(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_transient(),
            Self::Catalog(error) => error.is_transient(),
            Self::Idempotency(error) => error.is_transient(),
            Self::Webhook(error) => error.is_transient(),
            Self::Queue(error) => error.is_transient(),
            Self::Database(error) => error.is_transient(),
            _ => false,
        }
    }
}

fn names<S: Copy>(statuses: Vec<S>, name: fn(S) -> &'static str) -> Vec<&'static str> {
    statuses.into_iter().map(name).collect()
}
