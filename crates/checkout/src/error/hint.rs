//! Hints: what a caller can do about an error of checkout.

use primitives::{Action, Argument, Hint, Step, hint};

use super::CheckoutError;
use crate::Status;

impl CheckoutError {
    /// Returns what the caller can do next.
    pub(super) fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::NotFound => hint!(
                "use an id returned by ",
                [Action::CompleteCheckout, Action::CreateCheckout],
                " for the same key",
            ),
            Self::ConfirmationNotFound => hint!(
                "use an id returned by ",
                Action::RequestHumanConfirmation,
                " for the same key",
            ),
            Self::MethodNotAccepted { .. } => {
                hint!("omit payment_method: the person chooses a method at checkout_url")
            }
            Self::BelowThreshold => {
                hint!(
                    Action::FindOffersNetwork,
                    " lists offers of the same product at other stores"
                )
            }
            Self::NotReady { missing, .. } => missing_hint(missing.first().copied()),
            Self::OutOfStock { .. } | Self::ReservedElsewhere { .. } => hint!(
                Action::PreviewCheckout,
                " returns the available quantities; create a new cart with fewer units",
            ),
            Self::PriceChanged { .. } => hint!(
                "inform the person; if they still approve, call ",
                Action::CompleteCheckout,
                " with ",
                Argument::QuoteHash,
                " = current_quote_hash",
            ),
            Self::QuoteChanged { .. } => hint!(
                "call ",
                Action::PreviewCheckout,
                ", ask the person again, then call ",
                Action::CompleteCheckout,
                " with ",
                Argument::QuoteHash,
                " = its quote_hash",
            ),
            Self::ConfirmationRequired { reason, .. } => reason.hint(),
            Self::InvalidTransition { from } => transition_hint(*from),
            Self::NoPaymentPage => hint!(
                Action::FindOffersNetwork,
                " lists offers of the same product at other stores"
            ),
            Self::HoldLimitReached { index, .. } => hold_limit_hint(*index),
            Self::RefundDue { .. } => {
                hint!("refund the payment to the buyer; the report was recorded")
            }
            Self::InvalidReasonCode => {
                hint!("use a short code such as price, shipping_cost or changed_mind")
            }
            Self::InvalidReturnUrl => hint!("use a URL that starts with https://, or omit it"),
            Self::InvalidMetadata => hint!("send an object with fewer or shorter values"),
            Self::AlreadyPaid { .. } => {
                hint!("if the buyer paid twice, refund the second payment; the report was recorded")
            }
            _ => return None,
        })
    }
}

/// Returns what to do if a key holds too much: in all, or of one line.
fn hold_limit_hint(index: Option<usize>) -> Hint {
    match index {
        None => hint!(
            "cancel checkouts that the person no longer wants, or wait until one is paid or expires"
        ),
        Some(_) => hint!("buy fewer units of the item"),
    }
}

/// Returns what to do about the first missing value, a path into the cart.
fn missing_hint(missing: Option<&str>) -> Hint {
    match missing {
        Some("items") => hint!("the cart is empty: create a new cart"),
        Some("destination") => hint!(
            "call ",
            [
                Step { action: Action::SetCartDestination, argument: Argument::Destination },
                Step { action: Action::SelectShippingOption, argument: Argument::ShippingOption },
            ],
        ),
        Some(_) => {
            hint!("call ", Action::SelectShippingOption, " with one of the cart's shipping_options")
        }
        None => hint!("messages lists what to fix"),
    }
}

/// Returns what to do with a session whose status does not allow the change.
fn transition_hint(from: Status) -> Hint {
    match from {
        Status::Completed => {
            hint!("the checkout is already an order: ", Action::GetCheckout, " returns it")
        }
        Status::Canceled | Status::Expired => hint!("the checkout has ended: create a new cart"),
        Status::CompleteInProgress => {
            hint!("a payment is pending: ", Action::GetCheckout, " returns the outcome")
        }
        Status::Incomplete | Status::ReadyForComplete | Status::RequiresEscalation => hint!(
            "call ",
            Action::CompleteCheckout,
            " first; ",
            Action::GetCheckout,
            " returns the status",
        ),
    }
}
