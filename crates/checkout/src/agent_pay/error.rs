//! Errors of payments by agents.

use database::DatabaseError;
use merchants::{SettingsError, StoreError};
use payments::{PaymentError, PaymentMethod, X402Unavailable};
use primitives::{Action, Currency, Details, ErrorCode, Problem, Remedy, hint};
use x402::{FieldError, PaymentRequired, Rejection, SettlementResponse};

use super::AgentPayment;
use crate::{CheckoutError, ConfirmationRequest, ProofRejection};

/// The reason of an authorization that was used for something else.
pub(super) const USED: &str = "authorization_used";

/// Why a payment by an agent was not begun, or has failed.
#[derive(Debug, thiserror::Error)]
pub enum AgentPaymentError {
    /// What was sent is no payment.
    #[error("the payment cannot be read: {0}")]
    Malformed(#[from] FieldError),
    #[error("payment required: sign one of the accepted requirements and send the payment")]
    Unpaid(Box<PaymentRequired>),
    #[error("payment invalid: {message}")]
    Invalid {
        reason: &'static str,
        message: &'static str,
        /// How to pay; `None` if the session cannot be paid as it is.
        required: Option<Box<PaymentRequired>>,
        /// What became of the payment, if it was begun.
        response: Option<Box<SettlementResponse>>,
    },
    /// The total is above what may be paid without a person.
    #[error(
        "confirmation required: a person has to confirm exactly this purchase before it is paid"
    )]
    Unconfirmed(Box<ConfirmationRequest>),
    #[error("this store accepts no {} payments by agents", PaymentMethod::X402)]
    NotAccepted,
    #[error("totals in {currency} cannot be paid in tokens at this store")]
    UnsupportedCurrency { currency: Currency },
    /// No payment was begun.
    #[error("the x402 facilitator is unavailable: no payment was begun")]
    Unavailable(#[from] X402Unavailable),
    #[error(transparent)]
    Checkout(CheckoutError),
}

/// Codes of [`pay_by_agent`](crate::pay_by_agent), besides those that every call may return.
pub const AGENT_PAYMENT_ERRORS: &[ErrorCode] = &[
    ErrorCode::NotFound,
    ErrorCode::CheckoutNotReady,
    ErrorCode::InvalidStatusTransition,
    ErrorCode::ConfirmationRequired,
    ErrorCode::PaymentRequired,
    ErrorCode::PaymentInvalid,
    ErrorCode::PaymentAlreadyProcessed,
    ErrorCode::IdempotencyConflict,
    ErrorCode::UnsupportedPaymentMethod,
    ErrorCode::UnsupportedCurrency,
    ErrorCode::FacilitatorUnavailable,
];

impl AgentPaymentError {
    /// Returns the error of a payment that was not begun.
    pub(super) fn invalid(
        reason: &'static str,
        message: &'static str,
        required: Option<PaymentRequired>,
    ) -> Self {
        Self::Invalid { reason, message, required: required.map(Box::new), response: None }
    }

    pub(super) fn rejected(rejection: Rejection, required: PaymentRequired) -> Self {
        Self::invalid(rejection.as_str(), rejection.message(), Some(required))
    }

    /// Returns the error of an authorization that pays for another purchase.
    pub(super) fn used() -> Self {
        Self::invalid(USED, "the authorization was used for another payment", None)
    }

    /// Returns the error of a payment that has failed.
    pub(super) fn failed(
        payment: &AgentPayment,
        reason: &'static str,
        message: &'static str,
        required: Option<PaymentRequired>,
    ) -> Self {
        let response = Some(Box::new(payment.response()));
        Self::Invalid { reason, message, required: required.map(Box::new), response }
    }

    /// Returns how to pay, if the session can be paid.
    #[must_use]
    pub fn required(&self) -> Option<&PaymentRequired> {
        match self {
            Self::Unpaid(required) => Some(required),
            Self::Invalid { required, .. } => required.as_deref(),
            _ => None,
        }
    }

    /// Returns what became of the payment, if one was begun and has failed.
    #[must_use]
    pub fn response(&self) -> Option<&SettlementResponse> {
        match self {
            Self::Invalid { response, .. } => response.as_deref(),
            _ => None,
        }
    }
}

macro_rules! from_errors_of_checkout {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for AgentPaymentError {
            fn from(error: $error) -> Self {
                Self::Checkout(error.into())
            }
        })+
    };
}

from_errors_of_checkout!(
    CheckoutError,
    DatabaseError,
    PaymentError,
    SettingsError,
    StoreError,
    sqlx::Error,
);

impl Problem for AgentPaymentError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Malformed(_) => ErrorCode::InvalidRequest,
            Self::Unpaid(_) => ErrorCode::PaymentRequired,
            Self::Invalid { .. } => ErrorCode::PaymentInvalid,
            Self::Unconfirmed(_) => ErrorCode::ConfirmationRequired,
            Self::NotAccepted => ErrorCode::UnsupportedPaymentMethod,
            Self::UnsupportedCurrency { .. } => ErrorCode::UnsupportedCurrency,
            Self::Unavailable(_) => ErrorCode::FacilitatorUnavailable,
            Self::Checkout(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Malformed(error) => details.insert("field", error.field.as_str()),
            Self::Unpaid(_) => details.hint(hint!(
                "sign one of `accepts` of PAYMENT-REQUIRED as x402 version 2 describes, and repeat the request with the payment"
            )),
            Self::Invalid { reason, .. } => {
                details.insert("reason", *reason);
                let hint = "request the session without a payment, and sign what PAYMENT-REQUIRED accepts; this payment took no tokens for it";
                details.hint(hint);
            }
            Self::Unconfirmed(requested) => {
                details.insert("reason", ProofRejection::Insufficient.as_str());
                requested.add_details(details);
                details.hint("show confirm_url to the person; once they confirm, repeat the request");
            }
            Self::NotAccepted => {
                details.insert("reason", "no_agent_payment");
                details.hint(hint!(
                    "ask the person to pay at the checkout_url of the session: ",
                    Action::GetCheckout,
                    " returns it",
                ));
            }
            Self::UnsupportedCurrency { currency } => {
                details.insert("currency", currency.code());
                details.hint(hint!(
                    "ask the person to pay at the checkout_url of the session: ",
                    Action::GetCheckout,
                    " returns it",
                ));
            }
            Self::Unavailable(_) => details.hint("repeat the request with the same payment"),
            Self::Checkout(error) => error.details(details),
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Unconfirmed(requested) => Some(requested.remedy(false)),
            Self::Checkout(error) => error.remedy(),
            _ => None,
        }
    }

    fn is_transient(&self) -> bool {
        matches!(self, Self::Checkout(error) if error.is_transient())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_declared() {
        let declared = [AGENT_PAYMENT_ERRORS, &[ErrorCode::InvalidRequest]].concat();
        testkit::assert_codes_are_declared(include_str!("error.rs"), &declared);
    }
}
