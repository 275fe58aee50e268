//! Errors of orders.

use catalog::CatalogError;
use database::DatabaseError;
use jobs::{IdempotencyError, JobError};
use merchants::StoreError;
use primitives::{Details, ErrorCode, Problem, hint};
use webhooks::WebhookError;

use crate::{IneligibleReason, OrderStatus, ReturnStatus};

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
    #[error("the order is {from}: this is not possible any more, or not yet")]
    InvalidTransition { from: OrderStatus },
    #[error("the return is {from}: this is not possible any more, or not yet")]
    InvalidReturnTransition { from: ReturnStatus },
    /// `status` is the dispute's.
    #[error("the dispute is {status}: this is not possible any more")]
    InvalidDisputeTransition { status: &'static str },
    #[error("the order already has an open dispute")]
    DisputeAlreadyOpen,
    /// `field` names a line that the order does not have.
    #[error("{field} is not a line of the order")]
    UnknownLine { field: String },
    #[error("{field}: {requested} requested, {available} available")]
    QuantityExceeded { field: String, requested: u32, available: u32 },
    #[error("{field} is invalid: {allowed}")]
    InvalidField { field: String, allowed: &'static str },
    #[error("the refund exceeds what is left of the payment")]
    RefundExceeded { available: f64, currency: &'static str },
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
}

impl Problem for OrderError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound => ErrorCode::OrderNotFound,
            Self::ReturnNotFound | Self::DisputeNotFound => ErrorCode::NotFound,
            Self::VersionConflict { .. }
            | Self::InvalidTransition { .. }
            | Self::InvalidReturnTransition { .. }
            | Self::InvalidDisputeTransition { .. }
            | Self::DisputeAlreadyOpen => ErrorCode::InvalidStatusTransition,
            Self::UnknownLine { .. }
            | Self::QuantityExceeded { .. }
            | Self::InvalidField { .. }
            | Self::RefundExceeded { .. } => ErrorCode::InvalidRequest,
            Self::NotEligible { .. } => ErrorCode::ReturnNotEligible,
            Self::Unreadable => ErrorCode::InternalError,
            Self::Store(error) => error.code(),
            Self::Catalog(error) => error.code(),
            Self::Idempotency(error) => error.code(),
            Self::Webhook(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::NotFound => details.insert("field", "order_id"),
            Self::ReturnNotFound => details.insert("field", "return_id"),
            Self::DisputeNotFound => details.insert("field", "dispute_id"),
            Self::VersionConflict { current } => {
                details.insert("field", "version");
                details.insert("current_version", *current);
                details.hint(hint!("read the order again and send its version"));
            }
            Self::InvalidTransition { from } => {
                details.insert("from", from.as_str());
                details.insert("allowed", names(from.successors(), OrderStatus::as_str));
            }
            Self::InvalidReturnTransition { from } => {
                details.insert("from", from.as_str());
                details.insert("allowed", names(from.successors(), ReturnStatus::as_str));
            }
            Self::InvalidDisputeTransition { status } => details.insert("from", *status),
            Self::DisputeAlreadyOpen => {
                details.hint(hint!("read the order: its disputes name the open one"));
            }
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
            Self::RefundExceeded { available, currency } => {
                details.insert("field", "amount");
                details.insert("available", *available);
                details.insert("currency", *currency);
            }
            Self::NotEligible { reason } => details.insert("reason", reason.as_str()),
            Self::Unreadable => {}
            Self::Store(error) => error.details(details),
            Self::Catalog(error) => error.details(details),
            Self::Idempotency(error) => error.details(details),
            Self::Webhook(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::Store(error) => error.is_transient(),
            Self::Catalog(error) => error.is_transient(),
            Self::Idempotency(error) => error.is_transient(),
            Self::Webhook(error) => error.is_transient(),
            Self::Database(error) => error.is_transient(),
            _ => false,
        }
    }
}

fn names<S: Copy>(statuses: Vec<S>, name: fn(S) -> &'static str) -> Vec<&'static str> {
    statuses.into_iter().map(name).collect()
}
