//! Errors of webhooks.

use database::DatabaseError;
use jobs::{IdempotencyError, JobError, QueueError};
use merchants::StoreError;
use outbound::{DestinationError, RequestError};
use primitives::{Details, ErrorCode, Problem, hint};

use crate::{DisabledReason, Endpoint, EventKind, SecretError};

/// Why an event could not be published.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The body cannot be serialized to JSON: a defect in its type.
    #[error("the body of a webhook event cannot be serialized")]
    Serialize(#[source] serde_json::Error),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for WebhookError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Problem for WebhookError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Serialize(_) => ErrorCode::InternalError,
            Self::Queue(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Serialize(_) => {}
            Self::Queue(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::Serialize(_) => false,
            Self::Queue(error) => error.is_transient(),
            Self::Database(error) => error.is_transient(),
        }
    }
}

/// Why an endpoint or a delivery could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The store has no such endpoint.
    #[error("webhook endpoint not found")]
    NotFound,
    /// The endpoint has no delivery of the event.
    #[error("delivery not found")]
    DeliveryNotFound,
    /// The store has no such event, or it is too old to be sent again.
    #[error("webhook event not found")]
    EventNotFound,
    #[error("the store already has {} webhook endpoints", Endpoint::COUNT_MAX)]
    TooMany,
    #[error("{field} is invalid: {error}")]
    InvalidUrl { field: &'static str, error: DestinationError },
    /// The URL is well-formed, but nothing can be sent to it.
    #[error("{field} is invalid: {}", .error.message())]
    RefusedUrl { field: &'static str, error: RequestError },
    #[error(
        "description is invalid: at most {} characters, without control characters",
        Endpoint::DESCRIPTION_CHARACTERS_MAX
    )]
    InvalidDescription,
    #[error("events must name at least one selectable kind")]
    InvalidKinds,
    /// Of a range that ends now, `since` is the field to correct.
    #[error("since must be in the past, and earlier than until")]
    InvalidRange { field: &'static str },
    /// The endpoint has another version than the one the change is based on.
    #[error("version conflict: the endpoint was changed by another request")]
    VersionConflict { current: i32 },
    #[error("the webhook endpoint is disabled: nothing is sent to it")]
    Disabled { reason: Option<DisabledReason> },
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Publish(#[from] WebhookError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Idempotency(#[from] IdempotencyError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for EndpointError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<EndpointError> for JobError {
    fn from(error: EndpointError) -> Self {
        match error {
            EndpointError::Database(error) => Self::Database(error),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl EndpointError {
    /// Adds what is wrong with a request, except the state that it does not fit.
    fn describe_request(&self, details: &mut Details) {
        match self {
            Self::NotFound => details.insert("field", "endpoint_id"),
            Self::DeliveryNotFound => details.insert("field", "event_id"),
            Self::EventNotFound => {
                details.insert("field", "event_id");
                details.hint(hint!("events can be sent again for 30 days"));
            }
            Self::InvalidUrl { field, error } => {
                details.insert("field", *field);
                if *error == DestinationError::Address {
                    details.insert("reason", RequestError::AddressRefused.as_str());
                }
                let allowed =
                    "an https URL on the public internet, without user name, password and fragment";
                details.insert("allowed", allowed);
            }
            Self::RefusedUrl { field, error } => {
                details.insert("field", *field);
                details.insert("reason", error.as_str());
            }
            Self::InvalidDescription => details.insert("field", "description"),
            Self::InvalidKinds => {
                details.insert("field", "events");
                let kinds: Vec<&str> = EventKind::selectable().map(EventKind::as_str).collect();
                details.insert("allowed", kinds);
            }
            Self::InvalidRange { field } => details.insert("field", *field),
            _ => {}
        }
    }

    /// Adds the facts of a state that does not permit the request.
    fn describe_conflict(&self, details: &mut Details) {
        match self {
            Self::TooMany => {
                details.insert("reason", "endpoint_limit_reached");
                details.insert("maximum", Endpoint::COUNT_MAX);
                details.hint(hint!("delete an endpoint, or select more events at one"));
            }
            Self::VersionConflict { current } => {
                details.insert("field", "version");
                details.insert("current_version", *current);
                details.hint(hint!("read the endpoint again and send its version"));
            }
            Self::Disabled { reason } => {
                details.insert("reason", "endpoint_disabled");
                details.insert("disabled_reason", reason.map(DisabledReason::as_str));
                details.hint(hint!("enable the endpoint first: set its status to enabled"));
            }
            _ => {}
        }
    }
}

impl Problem for EndpointError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound | Self::DeliveryNotFound | Self::EventNotFound => ErrorCode::NotFound,
            Self::TooMany | Self::VersionConflict { .. } | Self::Disabled { .. } => {
                ErrorCode::InvalidStatusTransition
            }
            Self::InvalidUrl { .. }
            | Self::RefusedUrl { .. }
            | Self::InvalidDescription
            | Self::InvalidKinds
            | Self::InvalidRange { .. } => ErrorCode::InvalidRequest,
            Self::Secret(_) => ErrorCode::InternalError,
            Self::Publish(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Queue(error) => error.code(),
            Self::Idempotency(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Publish(error) => error.details(details),
            Self::Store(error) => error.details(details),
            Self::Queue(error) => error.details(details),
            Self::Idempotency(error) => error.details(details),
            Self::Database(error) => error.details(details),
            _ => {
                self.describe_request(details);
                self.describe_conflict(details);
            }
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::Publish(error) => error.is_transient(),
            Self::Store(error) => error.is_transient(),
            Self::Queue(error) => error.is_transient(),
            Self::Idempotency(error) => error.is_transient(),
            Self::Database(error) => error.is_transient(),
            _ => false,
        }
    }
}
