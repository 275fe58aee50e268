//! Errors of carts, each with one stable code.

use catalog::CatalogError;
use database::DatabaseError;
use jobs::IdempotencyError;
use merchants::{SettingsError, StoreError};
use primitives::{
    Action, Argument, Currency, Details, ErrorCode, Hint, Problem, Timestamp, country, hint,
};

use crate::{CART_LIFETIME, CODES_MAX, CartStatus, LINES_MAX, Quantity};

/// Why a cart could not be read, priced or changed.
#[derive(Debug, thiserror::Error)]
pub enum CartError {
    /// No cart has this id, or another agent owns it; callers cannot tell which.
    #[error("cart not found")]
    NotFound,
    #[error("cart expired: it is older than {} minutes", CART_LIFETIME.as_secs() / 60)]
    Expired {
        /// When it expired.
        at: Timestamp,
    },
    /// The status does not allow the change.
    #[error("cart closed: its status is {status}")]
    Closed { status: CartStatus },
    /// The cart has another version than the one the change is based on.
    #[error("version conflict: the cart was changed by another request")]
    VersionConflict { current: i64 },
    #[error("invalid quantity: must be 1 to {}", Quantity::MAX)]
    InvalidQuantity,
    #[error("too many lines: a cart has at most {LINES_MAX}")]
    TooManyLines,
    #[error("too many discount codes: a cart has at most {CODES_MAX}")]
    TooManyCodes,
    #[error("at least one item is required")]
    NoItems,
    #[error("product not found: the store has no such product or variant")]
    ProductNotFound {
        /// Index of the item in the request.
        index: usize,
    },
    #[error("a variant is required: the product has variants")]
    VariantRequired {
        /// Index of the item in the request.
        index: usize,
    },
    #[error("out of stock: no units are available")]
    OutOfStock {
        /// Index of the item in the request.
        index: usize,
    },
    #[error("unsupported currency: the store sells in {supported} only")]
    UnsupportedCurrency {
        /// Index of the first item in another currency.
        index: usize,
        supported: Currency,
    },
    #[error("line not found in the cart")]
    LineNotFound,
    #[error("shipping option not found: it is not offered for the cart")]
    ShippingOptionNotFound {
        /// Ids of the options that are offered.
        allowed: Vec<String>,
    },
    #[error("invalid quote hash: must be 64 hexadecimal digits")]
    InvalidQuoteHash,
    #[error("invalid country: must be a two-letter ISO 3166-1 code")]
    InvalidCountry {
        /// The code that is probably meant.
        nearest: Option<&'static str>,
    },
    #[error("invalid email address")]
    InvalidEmail,
    #[error("invalid {field}: must be plain text of 1 to {characters_max} characters")]
    InvalidText { field: &'static str, characters_max: usize },
    #[error("a destination is required")]
    DestinationRequired,
    #[error("at least one change is required")]
    NoEdits,
    /// A sum of amounts exceeds 64 bits.
    #[error("amount overflow: the total is too large")]
    AmountOverflow,
    #[error("a stored cart could not be decoded")]
    Unreadable,
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Idempotency(#[from] IdempotencyError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Codes of [`create`](crate::create()), besides those that every call may return.
pub const CREATE_ERRORS: &[ErrorCode] =
    &[ErrorCode::ProductNotFound, ErrorCode::OutOfStock, ErrorCode::UnsupportedCurrency];
/// Codes of [`cart`](crate::cart()).
pub const READ_ERRORS: &[ErrorCode] = &[ErrorCode::CartNotFound];
/// Codes of [`change`](crate::change()) with other items.
pub const REPLACE_ERRORS: &[ErrorCode] = &[
    ErrorCode::CartNotFound,
    ErrorCode::CartExpired,
    ErrorCode::CartClosed,
    ErrorCode::InvalidStatusTransition,
    ErrorCode::ProductNotFound,
    ErrorCode::OutOfStock,
    ErrorCode::UnsupportedCurrency,
];
/// Codes of [`change`](crate::change()) with a [`CartUpdate`](crate::CartUpdate).
pub const UPDATE_ERRORS: &[ErrorCode] = &[
    ErrorCode::CartNotFound,
    ErrorCode::CartExpired,
    ErrorCode::CartClosed,
    ErrorCode::InvalidStatusTransition,
];
/// Codes of [`change`](crate::change()) with [`Edit::Cancel`](crate::Edit::Cancel).
pub const CANCEL_ERRORS: &[ErrorCode] = &[
    ErrorCode::CartNotFound,
    ErrorCode::CartExpired,
    ErrorCode::CartClosed,
    ErrorCode::InvalidStatusTransition,
];
/// Codes of [`estimate`](crate::estimate()).
pub const ESTIMATE_ERRORS: &[ErrorCode] =
    &[ErrorCode::ProductNotFound, ErrorCode::OutOfStock, ErrorCode::UnsupportedCurrency];

impl From<sqlx::Error> for CartError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl CartError {
    /// Returns the error of the crate that failed, if it was another one.
    fn source_problem(&self) -> Option<&dyn Problem> {
        match self {
            Self::Catalog(error) => Some(error),
            Self::Settings(error) => Some(error),
            Self::Store(error) => Some(error),
            Self::Idempotency(error) => Some(error),
            Self::Database(error) => Some(error),
            _ => None,
        }
    }
}

impl CartError {
    /// Returns what the caller can do next.
    fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::NotFound => {
                hint!("use the id of a cart that the same key created at this store, or create one")
            }
            Self::ShippingOptionNotFound { allowed } if allowed.is_empty() => hint!(
                "the options depend on the destination: set one that the store ships to with ",
                Action::SetCartDestination
            ),
            Self::Expired { .. } => hint!("create a new cart with the same items"),
            Self::Closed { status: CartStatus::CheckoutStarted } => hint!(
                "the checkout has started: change it with ",
                Action::UpdateCheckout,
                ", finish it with ",
                Action::CompleteCheckout,
            ),
            Self::Closed { .. } => hint!("create a new cart"),
            Self::VersionConflict { .. } => hint!("read the cart again and send its version"),
            Self::ProductNotFound { .. } => {
                hint!("use ids returned by ", Action::SearchProducts, " of this store")
            }
            Self::VariantRequired { .. } => {
                hint!(Action::GetProductVariants, " lists the variants")
            }
            Self::OutOfStock { .. } => {
                hint!("remove the item, or call ", Action::FindSimilarProducts)
            }
            Self::UnsupportedCurrency { .. } => {
                hint!("remove the item: it is priced in another currency than the store's")
            }
            Self::LineNotFound => hint!(Action::GetCart, " lists the lines"),
            Self::InvalidQuoteHash => {
                hint!("use the quote_hash of ", [Action::PreviewCheckout, Action::GetCart])
            }
            Self::DestinationRequired => hint!("a country is enough: {\"country\": \"PT\"}"),
            Self::NoEdits => hint!("GET /api/docs lists what can be changed"),
            _ => return None,
        })
    }
}

impl Problem for CartError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound => ErrorCode::CartNotFound,
            Self::Expired { .. } => ErrorCode::CartExpired,
            Self::Closed { .. } => ErrorCode::CartClosed,
            Self::VersionConflict { .. } => ErrorCode::InvalidStatusTransition,
            Self::ProductNotFound { .. } => ErrorCode::ProductNotFound,
            Self::OutOfStock { .. } => ErrorCode::OutOfStock,
            Self::UnsupportedCurrency { .. } => ErrorCode::UnsupportedCurrency,
            Self::InvalidQuantity
            | Self::TooManyLines
            | Self::TooManyCodes
            | Self::NoItems
            | Self::VariantRequired { .. }
            | Self::LineNotFound
            | Self::ShippingOptionNotFound { .. }
            | Self::InvalidQuoteHash
            | Self::InvalidCountry { .. }
            | Self::InvalidEmail
            | Self::InvalidText { .. }
            | Self::DestinationRequired
            | Self::NoEdits
            | Self::AmountOverflow => ErrorCode::InvalidRequest,
            Self::Unreadable => ErrorCode::InternalError,
            Self::Catalog(error) => error.code(),
            Self::Settings(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Idempotency(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::NotFound => details.insert("field", "cart_id"),
            Self::Expired { at } => details.insert("expired_at", at.to_string()),
            Self::Closed { status } => details.insert("status", status.as_str()),
            Self::VersionConflict { current } => {
                details.insert("field", "if_version");
                details.insert("current_version", *current);
            }
            Self::VariantRequired { index } => {
                details.insert("field", format!("items[{index}].variant_id"));
            }
            Self::ProductNotFound { index } | Self::OutOfStock { index } => {
                details.insert("field", format!("items[{index}]"));
            }
            Self::UnsupportedCurrency { index, supported } => {
                details.insert("field", format!("items[{index}]"));
                details.insert("allowed", vec![supported.code()]);
            }
            Self::InvalidQuantity => details.insert("field", "quantity"),
            Self::LineNotFound => details.insert("field", "line_ids"),
            Self::ShippingOptionNotFound { allowed } => {
                details.field(Argument::ShippingOption);
                details.insert("allowed", allowed.clone());
            }
            Self::InvalidQuoteHash => details.field(Argument::QuoteHash),
            Self::InvalidCountry { nearest } => {
                details.insert("field", "destination.country");
                details.insert("allowed", country::ALLOWED);
                if let Some(nearest) = nearest {
                    details.insert("did_you_mean", *nearest);
                }
            }
            Self::InvalidEmail => details.insert("field", "buyer.email"),
            Self::InvalidText { field, .. } => details.insert("field", *field),
            Self::DestinationRequired => details.field(Argument::Destination),
            Self::NoItems | Self::TooManyLines => details.insert("field", "items"),
            Self::TooManyCodes => details.insert("field", "code"),
            Self::NoEdits | Self::AmountOverflow | Self::Unreadable => {}
            Self::Catalog(_)
            | Self::Settings(_)
            | Self::Store(_)
            | Self::Idempotency(_)
            | Self::Database(_) => {
                if let Some(source) = self.source_problem() {
                    source.details(details);
                }
            }
        }
        if let Some(hint) = self.hint() {
            details.hint(hint);
        }
    }

    fn is_transient(&self) -> bool {
        self.source_problem().is_some_and(Problem::is_transient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_belongs_to_an_operation() {
        let declared = [
            CREATE_ERRORS,
            READ_ERRORS,
            REPLACE_ERRORS,
            UPDATE_ERRORS,
            CANCEL_ERRORS,
            ESTIMATE_ERRORS,
            // Doors declare these with every body.
            &[ErrorCode::InvalidRequest, ErrorCode::InternalError],
        ]
        .concat();
        testkit::assert_codes_are_declared(include_str!("error.rs"), &declared);
    }
}
