//! Why a checkout cannot go on, each with one stable code and what to do next.

use carts::{CartError, Message, QuoteHash};
use catalog::CatalogError;
use database::DatabaseError;
use jobs::{IdempotencyError, JobError};
use merchants::{SettingsError, StoreError};
use orders::OrderError;
use payments::{PaymentError, PaymentMethod};
use primitives::{CheckoutId, Details, ErrorCode, Money, Problem};
use serde_json::json;
use webhooks::WebhookError;

use crate::{ProofFault, Requested, STEPS, Status};

/// What can go wrong with a checkout.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    /// There is no such session, or it is somebody else's: which of the two is not said.
    #[error("there is no such checkout")]
    NotFound,
    /// There is no such question to a person.
    #[error("there is no such confirmation")]
    ConfirmationNotFound,
    /// The store may not be bought from by agents.
    #[error("agents may not check out at this store: its trust score is below 0.70")]
    BelowThreshold,
    /// Something is missing.
    #[error("the cart is not ready for checkout")]
    NotReady {
        /// What, as paths into the cart.
        missing: Vec<&'static str>,
        /// What else is in the way.
        messages: Vec<Message>,
    },
    /// There is too little of something.
    #[error("there is not enough of an item")]
    OutOfStock {
        /// Which of the items.
        place: usize,
    },
    /// Somebody else took it in the moment between looking and taking.
    #[error("somebody was quicker: there is not enough of an item")]
    Taken {
        /// Which of the items.
        place: usize,
    },
    /// A price is not what the agent saw.
    #[error("a price changed since it was put into the cart")]
    PriceChanged {
        /// Which, what it was and what it is.
        changes: Vec<(usize, Money, Money)>,
        /// The hash of what it is now.
        current: QuoteHash,
    },
    /// What was agreed to is not what there is.
    #[error("what was agreed to is not what the cart is now")]
    QuoteMoved {
        /// The hash of what it is now.
        current: QuoteHash,
    },
    /// A person has to agree first.
    #[error("{}", fault.sentence())]
    ConfirmationRequired {
        /// Why what was sent is not enough.
        fault: ProofFault,
        /// The question that was put, if one can be.
        requested: Option<Box<Requested>>,
    },
    /// The session does not take this step.
    #[error("a checkout that is {} cannot do this", from.name())]
    WrongStep {
        /// Where it stands.
        from: Status,
    },
    /// Not a way to pay.
    #[error("there is no such payment method")]
    UnknownMethod,
    /// Nobody here takes this payment.
    #[error("this store takes no payment here")]
    NoProvider,
    /// The merchant names another amount than was agreed to.
    #[error("the amount is not what the checkout costs")]
    OtherAmount {
        /// What it costs.
        expected: Money,
    },
    /// It was paid before, by another payment.
    #[error("this checkout was paid before, with another reference")]
    PaidBefore {
        /// The session.
        checkout: CheckoutId,
    },
    /// A form was not sent from our own page, or too late.
    #[error("this form was not sent from the page it belongs to")]
    ForeignForm,
    /// Something kept that cannot be read.
    #[error("a checkout could not be read")]
    Unreadable,
    /// The cart was in the way.
    #[error(transparent)]
    Cart(#[from] CartError),
    /// The store was in the way.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store's settings were in the way.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The catalog was in the way.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The order was in the way.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The payment was in the way.
    #[error(transparent)]
    Payment(#[from] PaymentError),
    /// The merchant could not be told.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// An idempotency key stood for something else.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyError),
    /// The job that did it has lost its lease, or something like it.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The database was in the way.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for CheckoutError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl CheckoutError {
    /// Whether another transaction was in the way, and trying again at once may help.
    pub(crate) fn is_contended(&self) -> bool {
        if let Self::Taken { .. } = self {
            return true;
        }
        let (Self::Database(error)
        | Self::Cart(CartError::Database(error))
        | Self::Catalog(CatalogError::Database(error))
        | Self::Order(OrderError::Database(error))
        | Self::Payment(PaymentError::Database(error))
        | Self::Webhook(WebhookError::Database(error))) = self
        else {
            return false;
        };
        matches!(error, DatabaseError::Contended(_))
    }

    fn inner(&self) -> Option<&dyn Problem> {
        Some(match self {
            Self::Cart(error) => error,
            Self::Store(error) => error,
            Self::Settings(error) => error,
            Self::Catalog(error) => error,
            Self::Order(error) => error,
            Self::Payment(error) => error,
            Self::Webhook(error) => error,
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
            Self::BelowThreshold | Self::ForeignForm => ErrorCode::Forbidden,
            Self::NotReady { .. } => ErrorCode::CheckoutNotReady,
            Self::OutOfStock { .. } | Self::Taken { .. } => ErrorCode::OutOfStock,
            Self::PriceChanged { .. } | Self::QuoteMoved { .. } => ErrorCode::PriceChanged,
            Self::ConfirmationRequired { .. } => ErrorCode::ConfirmationRequired,
            Self::WrongStep { .. } => ErrorCode::InvalidStatusTransition,
            Self::UnknownMethod | Self::NoProvider => ErrorCode::UnsupportedPaymentMethod,
            Self::OtherAmount { .. } => ErrorCode::InvalidRequest,
            Self::PaidBefore { .. } => ErrorCode::PaymentAlreadyProcessed,
            Self::Unreadable => ErrorCode::InternalError,
            Self::Job(_) => ErrorCode::ServiceUnavailable,
            other => other.inner().map_or(ErrorCode::InternalError, Problem::code),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::NotFound => details.insert("field", "checkout_id"),
            Self::ConfirmationNotFound => details.insert("field", "confirmation_id"),
            Self::BelowThreshold => details.insert("reason", "below_agent_threshold"),
            Self::NotReady { missing, messages } => not_ready(details, missing, messages),
            Self::OutOfStock { place } | Self::Taken { place } => {
                details.insert("field", format!("items/{place}"));
            }
            Self::PriceChanged { changes, current } => price_changed(details, changes, *current),
            Self::QuoteMoved { current } => {
                details.insert("field", "quote_hash");
                details.insert("current_quote_hash", current.to_string());
            }
            Self::ConfirmationRequired { fault, requested } => {
                details.insert("reason", fault.name());
                if let Some(requested) = requested {
                    requested.tell(details);
                }
            }
            Self::WrongStep { from } => {
                let allowed: Vec<&str> = STEPS
                    .iter()
                    .filter(|(state, ..)| state == from)
                    .map(|(.., to)| to.name())
                    .collect();
                details.insert("from", from.name());
                details.insert("allowed", allowed);
            }
            Self::UnknownMethod => {
                details.insert("field", "payment_method");
                details.insert("allowed", PaymentMethod::ALL.map(|(_, name)| name).to_vec());
            }
            Self::OtherAmount { expected } => {
                details.insert("field", "total_amount");
                details.insert("allowed", json!([expected.to_decimal()]));
            }
            Self::PaidBefore { checkout } => details.insert("checkout_id", checkout.to_string()),
            Self::NoProvider | Self::ForeignForm | Self::Unreadable | Self::Job(_) => {}
            other => {
                if let Some(inner) = other.inner() {
                    inner.details(details);
                }
            }
        }
        if let Some(hint) = self.hint() {
            details.insert("hint", hint);
        }
    }
}

impl CheckoutError {
    /// What to do next.
    fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotFound => {
                "ids come from complete_checkout and create_checkout, made with the same key"
            }
            Self::ConfirmationNotFound => {
                "ids come from request_human_confirmation, made with the same key"
            }
            Self::BelowThreshold => "look for the same article elsewhere: find_offers_network",
            Self::NotReady { missing, .. } => match missing.first() {
                Some(&"$.items") => "the cart is empty: make a new one",
                Some(&"$.destination") => "set_cart_destination, then select_shipping_option",
                Some(_) => "select_shipping_option takes one of the cart's shipping_options",
                None => "see messages",
            },
            Self::OutOfStock { .. } | Self::Taken { .. } => {
                "preview_checkout says how many there are; make a new cart with fewer"
            }
            Self::PriceChanged { .. } => {
                "tell the person; if they still agree, complete_checkout with quote_hash = current_quote_hash"
            }
            Self::QuoteMoved { .. } => {
                "preview_checkout, ask the person again, then complete_checkout with its quote_hash"
            }
            Self::ConfirmationRequired { fault, .. } => fault.hint(),
            Self::WrongStep { from } => match from {
                Status::Completed => "it is an order already: get_checkout names it",
                Status::Canceled | Status::Expired => "it is over: make a new cart",
                Status::CompleteInProgress => {
                    "a payment is under way: get_checkout tells what came of it"
                }
                _ => "complete_checkout comes first: get_checkout shows where it stands",
            },
            Self::PaidBefore { .. } => {
                "nothing was changed; if the buyer paid twice, refund the second payment"
            }
            _ => return None,
        })
    }
}

fn not_ready(details: &mut Details, missing: &[&'static str], messages: &[Message]) {
    details.insert("missing", missing.to_vec());
    let told = messages.iter().map(|message| {
        json!({ "code": message.code.name(), "path": message.path, "content": message.content })
    });
    details.insert("messages", told.collect::<Vec<_>>());
}

fn price_changed(details: &mut Details, changes: &[(usize, Money, Money)], current: QuoteHash) {
    let told = changes.iter().map(|(place, was, is)| {
        json!({ "path": format!("$.items[{place}].unit_price"), "was": was.to_decimal(), "is": is.to_decimal() })
    });
    details.insert("changes", told.collect::<Vec<_>>());
    details.insert("current_quote_hash", current.to_string());
}

#[cfg(test)]
mod tests {
    use primitives::{Failure, Id};

    use super::*;

    #[test]
    fn whatever_an_agent_can_run_into_says_what_to_do_next() {
        let every_status = Status::ALL.map(|(from, _)| CheckoutError::WrongStep { from });
        let proofs = [
            ProofFault::TooWeak,
            ProofFault::NotAsked,
            ProofFault::MandateNotYet,
            ProofFault::Rejected,
        ];
        let proofs =
            proofs.map(|fault| CheckoutError::ConfirmationRequired { fault, requested: None });
        let checkout = CheckoutId::from_random(1);
        let current = QuoteHash::from_bytes(&[0; 32]).unwrap();
        let others = [
            CheckoutError::NotFound,
            CheckoutError::ConfirmationNotFound,
            CheckoutError::BelowThreshold,
            CheckoutError::NotReady { missing: vec!["$.destination"], messages: Vec::new() },
            CheckoutError::OutOfStock { place: 0 },
            CheckoutError::Taken { place: 0 },
            CheckoutError::PriceChanged { changes: Vec::new(), current },
            CheckoutError::QuoteMoved { current },
            CheckoutError::PaidBefore { checkout },
        ];
        for error in every_status.into_iter().chain(proofs).chain(others) {
            let envelope = Failure::from(error).envelope("req_1");
            assert!(envelope["details"]["hint"].is_string(), "{envelope}");
        }
    }
}
