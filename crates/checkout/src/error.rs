//! Errors of checkout, each with one stable code and a hint.

mod hint;

use carts::{CartError, Message, QuoteHash};
use catalog::CatalogError;
use database::DatabaseError;
use jobs::{IdempotencyError, JobError, QueueError};
use merchants::{HoldLimits, SettingsError, StoreError};
use orders::OrderError;
use payments::{PaymentError, PaymentMethod};
use primitives::{Argument, CartId, CheckoutId, Details, ErrorCode, Money, Problem, Remedy};
use serde_json::json;
use webhooks::WebhookError;

use crate::{ConfirmationRequest, Metadata, ProofRejection, ReasonCode, ReturnUrl, Status};

/// A unit price that differs from the one when the item was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceChange {
    /// Index of the line in the cart.
    pub index: usize,
    /// The unit price when the item was added.
    pub listed: Money,
    /// The current unit price.
    pub live: Money,
}

/// Why a checkout could not continue.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    /// No session has this id, or another agent owns it; callers cannot tell which.
    #[error("checkout not found")]
    NotFound,
    /// No confirmation has this id, or another agent requested it.
    #[error("confirmation not found")]
    ConfirmationNotFound,
    #[error(
        "agent checkout not allowed: the trust score of the store is below {:.2}",
        merchants::AGENT_THRESHOLD
    )]
    BelowThreshold,
    #[error("the cart is not ready for checkout")]
    NotReady {
        /// Missing data, as paths into the cart.
        missing: Vec<&'static str>,
        /// Blocking messages.
        messages: Vec<Message>,
    },
    #[error("out of stock: an item is not available in the requested quantity")]
    OutOfStock {
        /// Index of the line in the cart.
        index: usize,
    },
    /// Another checkout held the units after this one revalidated them.
    #[error("out of stock: an item was reserved by another checkout")]
    ReservedElsewhere {
        /// Index of the line in the cart.
        index: usize,
    },
    #[error("price changed since the item was added to the cart")]
    PriceChanged {
        changes: Vec<PriceChange>,
        /// The hash of the current terms.
        current: QuoteHash,
    },
    #[error("quote changed: the approved quote_hash is not the current one")]
    QuoteChanged {
        /// The hash of the current terms.
        current: QuoteHash,
    },
    /// The human confirmation is missing, invalid or insufficient.
    #[error("{}", reason.message())]
    ConfirmationRequired {
        reason: ProofRejection,
        /// The open confirmation request, if a new confirmation may help.
        requested: Option<Box<ConfirmationRequest>>,
    },
    #[error("invalid status transition: the checkout is {from}")]
    InvalidTransition { from: Status },
    #[error("unknown payment method")]
    UnknownPaymentMethod,
    #[error("payment method not accepted: it does not work at this store")]
    MethodNotAccepted {
        /// Those that work there.
        accepted: Vec<PaymentMethod>,
    },
    #[error("invalid reason_code: must match {}", ReasonCode::PATTERN)]
    InvalidReasonCode,
    #[error(
        "invalid return_url: must be an https URL of at most {} characters",
        ReturnUrl::LENGTH_MAX
    )]
    InvalidReturnUrl,
    #[error("invalid metadata: must be an object of at most {} bytes of JSON", Metadata::BYTES_MAX)]
    InvalidMetadata,
    /// The payment gateway does not accept payments for the session.
    #[error("payment not accepted: this store takes no payments on the hosted page")]
    PaymentNotAccepted,
    /// Nobody could pay: the store has no payment page, and the hosted page does not accept payments for it.
    #[error("the store has no page where a person could pay")]
    NoPaymentPage,
    #[error("{}", hold_limit_message(*limits, *index))]
    HoldLimitReached {
        limits: HoldLimits,
        /// Index of the line of which too many units would be held.
        index: Option<usize>,
    },
    #[error("amount mismatch: {field} is not the amount of the checkout")]
    AmountMismatch {
        /// The field of the report.
        field: &'static str,
        expected: Money,
    },
    /// A payment was reported after the session ended, and the units are no longer available.
    #[error("the checkout has ended and the items are no longer available: refund the payment")]
    RefundDue { checkout: CheckoutId },
    /// The session was paid by another payment.
    #[error("already paid: the checkout was paid with another reference")]
    AlreadyPaid { checkout: CheckoutId },
    /// CSRF protection: the form was not submitted from the hosted page, or its token is not the current one.
    #[error("form rejected: it was not submitted from the page it belongs to")]
    CsrfRejected,
    #[error("a stored checkout could not be decoded")]
    Unreadable,
    /// A checkout was rejected whose cart the same call created. The cart remains.
    #[error("{error}")]
    OfNewCart { cart: CartId, error: Box<CheckoutError> },
    #[error(transparent)]
    Cart(#[from] CartError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Order(#[from] OrderError),
    #[error(transparent)]
    Payment(#[from] PaymentError),
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Idempotency(#[from] IdempotencyError),
    /// The job that ran the transaction failed, for instance because it lost its lease.
    #[error(transparent)]
    Job(#[from] JobError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Codes of [`complete`](crate::complete()), besides those that every call may return. A completion may also create and
/// change a cart: [`carts::CREATE_ERRORS`] and [`carts::UPDATE_ERRORS`].
pub const COMPLETE_ERRORS: &[ErrorCode] = &[
    ErrorCode::CheckoutNotReady,
    ErrorCode::OutOfStock,
    ErrorCode::PriceChanged,
    ErrorCode::ConfirmationRequired,
    ErrorCode::HoldLimitReached,
    ErrorCode::UnsupportedPaymentMethod,
    ErrorCode::InvalidStatusTransition,
];
/// Codes of [`session`](crate::session()).
pub const READ_ERRORS: &[ErrorCode] = &[ErrorCode::NotFound];
/// Codes of [`update`](crate::update()).
pub const UPDATE_ERRORS: &[ErrorCode] =
    &[ErrorCode::NotFound, ErrorCode::UnsupportedPaymentMethod, ErrorCode::InvalidStatusTransition];
/// Codes of [`cancel`](crate::cancel()).
pub const CANCEL_ERRORS: &[ErrorCode] = &[ErrorCode::NotFound, ErrorCode::InvalidStatusTransition];
/// Codes of [`report_paid`](crate::report_paid).
pub const REPORT_ERRORS: &[ErrorCode] = &[
    ErrorCode::NotFound,
    ErrorCode::InvalidStatusTransition,
    ErrorCode::OutOfStock,
    ErrorCode::PaymentAlreadyProcessed,
];
/// Codes of [`release`](crate::release()).
pub const RELEASE_ERRORS: &[ErrorCode] = &[ErrorCode::NotFound, ErrorCode::InvalidStatusTransition];

impl From<sqlx::Error> for CheckoutError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<CheckoutError> for JobError {
    fn from(error: CheckoutError) -> Self {
        match error {
            CheckoutError::Job(error) => error,
            CheckoutError::Database(error) => Self::Database(error),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl CheckoutError {
    /// Returns the error of the crate that failed, if it was another one.
    fn source_problem(&self) -> Option<&dyn Problem> {
        Some(match self {
            Self::OfNewCart { error, .. } => error.as_ref(),
            Self::Cart(error) => error,
            Self::Store(error) => error,
            Self::Settings(error) => error,
            Self::Catalog(error) => error,
            Self::Order(error) => error,
            Self::Payment(error) => error,
            Self::Webhook(error) => error,
            Self::Queue(error) => error,
            Self::Idempotency(error) => error,
            Self::Database(error) => error,
            _ => return None,
        })
    }
}

impl Problem for CheckoutError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound | Self::ConfirmationNotFound => ErrorCode::NotFound,
            Self::BelowThreshold | Self::CsrfRejected => ErrorCode::Forbidden,
            Self::NotReady { .. } | Self::NoPaymentPage => ErrorCode::CheckoutNotReady,
            Self::OutOfStock { .. } | Self::ReservedElsewhere { .. } | Self::RefundDue { .. } => {
                ErrorCode::OutOfStock
            }
            Self::HoldLimitReached { .. } => ErrorCode::HoldLimitReached,
            Self::PriceChanged { .. } | Self::QuoteChanged { .. } => ErrorCode::PriceChanged,
            Self::ConfirmationRequired { .. } => ErrorCode::ConfirmationRequired,
            Self::InvalidTransition { .. } => ErrorCode::InvalidStatusTransition,
            Self::UnknownPaymentMethod
            | Self::MethodNotAccepted { .. }
            | Self::PaymentNotAccepted => ErrorCode::UnsupportedPaymentMethod,
            Self::InvalidReasonCode
            | Self::InvalidReturnUrl
            | Self::InvalidMetadata
            | Self::AmountMismatch { .. } => ErrorCode::InvalidRequest,
            Self::AlreadyPaid { .. } => ErrorCode::PaymentAlreadyProcessed,
            Self::Unreadable => ErrorCode::InternalError,
            Self::Job(_) => ErrorCode::ServiceUnavailable,
            other => other.source_problem().map_or(ErrorCode::InternalError, Problem::code),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::NotFound => details.insert("field", "checkout_id"),
            Self::ConfirmationNotFound => details.insert("field", "confirmation_id"),
            Self::BelowThreshold => details.insert("reason", "below_agent_threshold"),
            Self::NotReady { missing, messages } => not_ready(details, missing, messages),
            Self::OutOfStock { index } | Self::ReservedElsewhere { index } => {
                details.insert("field", format!("items[{index}]"));
            }
            Self::PriceChanged { changes, current } => price_changed(details, changes, *current),
            Self::QuoteChanged { current } => {
                details.field(Argument::QuoteHash);
                details.insert("current_quote_hash", current.to_string());
            }
            Self::ConfirmationRequired { reason, requested } => {
                details.insert("reason", reason.as_str());
                if let Some(requested) = requested {
                    requested.add_details(details);
                }
            }
            Self::InvalidTransition { from } => {
                let allowed: Vec<&str> =
                    from.successors().into_iter().map(Status::as_str).collect();
                details.insert("from", from.as_str());
                details.insert("allowed", allowed);
            }
            Self::UnknownPaymentMethod => {
                let allowed: Vec<&str> =
                    PaymentMethod::ALL.iter().map(|method| method.as_str()).collect();
                details.insert("field", "payment_method");
                details.insert("allowed", allowed);
            }
            Self::MethodNotAccepted { accepted } => {
                let allowed: Vec<&str> = accepted.iter().map(|method| method.as_str()).collect();
                details.insert("field", "payment_method");
                details.insert("allowed", allowed);
            }
            Self::InvalidReasonCode => details.insert("field", "reason_code"),
            Self::InvalidReturnUrl => details.insert("field", "return_url"),
            Self::InvalidMetadata => details.insert("field", "metadata"),
            Self::AmountMismatch { field, expected } => {
                details.insert("field", *field);
                details.insert("allowed", json!([expected.to_decimal()]));
            }
            Self::NoPaymentPage => details.insert("reason", "no_payment_page"),
            Self::HoldLimitReached { limits, index } => hold_limit(details, *limits, *index),
            Self::RefundDue { checkout } => {
                details.insert("reason", "refund_due");
                details.insert("checkout_id", checkout.to_string());
            }
            Self::AlreadyPaid { checkout } => details.insert("checkout_id", checkout.to_string()),
            Self::OfNewCart { cart, error } => {
                error.details(details);
                details.insert("cart_id", cart.to_string());
            }
            Self::PaymentNotAccepted | Self::CsrfRejected | Self::Unreadable | Self::Job(_) => {}
            other => {
                if let Some(source) = other.source_problem() {
                    source.details(details);
                }
            }
        }
        if let Some(hint) = self.hint() {
            details.hint(hint);
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        if let Self::OfNewCart { error, .. } = self {
            return error.remedy();
        }
        let Self::ConfirmationRequired { reason, requested: Some(requested) } = self else {
            return None;
        };
        Some(Remedy::HumanConfirmation {
            confirmation_id: requested.confirmation.id,
            confirm_url: requested.confirm_url.clone(),
            question: requested.question(),
            form_allowed: *reason == ProofRejection::NotAsked,
        })
    }

    fn is_transient(&self) -> bool {
        matches!(self, Self::ReservedElsewhere { .. })
            || self.source_problem().is_some_and(Problem::is_transient)
    }
}

fn not_ready(details: &mut Details, missing: &[&'static str], messages: &[Message]) {
    details.insert("missing", missing.to_vec());
    let messages = messages.iter().map(
        |message| json!({ "code": message.code, "path": message.path, "content": message.content }),
    );
    details.insert("messages", messages.collect::<Vec<_>>());
}

fn hold_limit_message(limits: HoldLimits, index: Option<usize>) -> String {
    let HoldLimits { holds, units } = limits;
    match index {
        None => format!(
            "hold limit reached: a key can hold {holds} checkouts and {units} units at this store"
        ),
        Some(_) => String::from(
            "hold limit reached: an account can hold at most half of the stock of a product",
        ),
    }
}

fn hold_limit(details: &mut Details, limits: HoldLimits, index: Option<usize>) {
    details.insert("holds_max", limits.holds);
    details.insert("units_max", limits.units);
    if let Some(index) = index {
        details.insert("field", format!("items[{index}]"));
    }
}

fn price_changed(details: &mut Details, changes: &[PriceChange], current: QuoteHash) {
    let changes = changes.iter().map(|change| {
        json!({
            "path": format!("items[{}].unit_price", change.index),
            "was": change.listed.to_decimal(),
            "is": change.live.to_decimal(),
        })
    });
    details.insert("changes", changes.collect::<Vec<_>>());
    details.insert("current_quote_hash", current.to_string());
}

#[cfg(test)]
mod tests {
    use primitives::{Failure, Id};

    use super::*;

    #[test]
    fn every_code_belongs_to_an_operation() {
        let declared = [
            COMPLETE_ERRORS,
            READ_ERRORS,
            UPDATE_ERRORS,
            CANCEL_ERRORS,
            REPORT_ERRORS,
            RELEASE_ERRORS,
            // Doors declare these with every body and access rule.
            &[ErrorCode::InvalidRequest, ErrorCode::Forbidden],
            &[ErrorCode::InternalError, ErrorCode::ServiceUnavailable],
        ]
        .concat();
        testkit::assert_codes_are_declared(include_str!("error.rs"), &declared);
    }

    #[test]
    fn every_error_an_agent_can_cause_has_a_hint() {
        let every_status =
            Status::ALL.iter().map(|from| CheckoutError::InvalidTransition { from: *from });
        let every_reason = ProofRejection::ALL
            .iter()
            .map(|reason| CheckoutError::ConfirmationRequired { reason: *reason, requested: None });
        let checkout = CheckoutId::from_random(1);
        let current = QuoteHash::from_bytes(&[0; 32]).unwrap();
        let limits = HoldLimits { holds: 1, units: 1 };
        let others = [
            CheckoutError::NotFound,
            CheckoutError::ConfirmationNotFound,
            CheckoutError::BelowThreshold,
            CheckoutError::NotReady { missing: vec!["destination"], messages: Vec::new() },
            CheckoutError::OutOfStock { index: 0 },
            CheckoutError::ReservedElsewhere { index: 0 },
            CheckoutError::PriceChanged { changes: Vec::new(), current },
            CheckoutError::QuoteChanged { current },
            CheckoutError::AlreadyPaid { checkout },
            CheckoutError::NoPaymentPage,
            CheckoutError::HoldLimitReached { limits, index: None },
            CheckoutError::HoldLimitReached { limits, index: Some(0) },
            CheckoutError::RefundDue { checkout },
        ];
        for error in every_status.chain(every_reason).chain(others) {
            let envelope = Failure::from(error).envelope("req_1");
            assert!(envelope["details"]["hint"].is_string(), "{envelope}");
        }
    }
}
