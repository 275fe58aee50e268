//! Why a cart cannot be had or changed.

use catalog::CatalogError;
use database::DatabaseError;
use jobs::IdempotencyError;
use merchants::{SettingsError, StoreError};
use primitives::{Details, ErrorCode, Problem, Timestamp};

use crate::{CartStatus, LINES_MAX, Quantity};

/// What can go wrong with carts.
#[derive(Debug, thiserror::Error)]
pub enum CartError {
    /// There is none with this id, or it is somebody else's: which of the two is not said.
    #[error("there is no such cart")]
    NotFound,
    /// It is too old.
    #[error("the cart is older than thirty minutes")]
    Expired {
        /// Since when.
        at: Timestamp,
    },
    /// It is done.
    #[error("the cart is {}", status.name())]
    Closed {
        /// What became of it.
        status: CartStatus,
    },
    /// Somebody changed it meanwhile.
    #[error("the cart was changed meanwhile")]
    VersionMoved {
        /// What it is now.
        current: i64,
    },
    /// No number of things.
    #[error("a quantity is 1 to {}", Quantity::MAX)]
    InvalidQuantity,
    /// More lines than a cart has.
    #[error("a cart has at most {LINES_MAX} lines")]
    TooManyLines,
    /// More codes than a cart has.
    #[error("a cart has at most five codes")]
    TooManyCodes,
    /// Nothing was asked for.
    #[error("name at least one item")]
    NoItems,
    /// There is no such product or variant here.
    #[error("there is no such product or variant in this store")]
    ProductNotFound {
        /// Which of the items.
        place: usize,
    },
    /// A product with variants, and none of them was named.
    #[error("the product has variants: name one")]
    VariantUnnamed {
        /// Which of the items.
        place: usize,
    },
    /// There is none of it.
    #[error("nothing of this can be had now")]
    OutOfStock {
        /// Which of the items.
        place: usize,
    },
    /// Two currencies in one cart.
    #[error("all items of a cart are priced in one currency")]
    MixedCurrencies {
        /// Which of the items.
        place: usize,
    },
    /// No such line.
    #[error("the cart has no such line")]
    LineNotFound,
    /// No such way to ship.
    #[error("the cart has no such shipping option")]
    ShippingOptionNotFound {
        /// Those it has.
        allowed: Vec<String>,
    },
    /// No hash of a quote.
    #[error("a quote hash is 64 hexadecimal digits")]
    InvalidQuoteHash,
    /// No country.
    #[error("the country is not a code of two letters")]
    InvalidCountry,
    /// No email.
    #[error("the email is not an address")]
    InvalidEmail,
    /// No plain text, or too much of it.
    #[error("{field} is plain text of 1 to {characters_max} characters")]
    InvalidText {
        /// Which field.
        field: &'static str,
        /// How much of it there may be.
        characters_max: usize,
    },
    /// Nobody said where it goes.
    #[error("say where it goes")]
    NoDestination,
    /// An edit that changes nothing.
    #[error("name what to change")]
    NoEdits,
    /// Amounts beyond what can be added up.
    #[error("the amounts are too large")]
    TooLarge,
    /// Something kept that cannot be read.
    #[error("a cart could not be read")]
    Unreadable,
    /// Products could not be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Settings could not be read.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A store could not be had.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An idempotency key stood for something else.
    #[error(transparent)]
    Idempotency(#[from] IdempotencyError),
    /// The database was in the way.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for CartError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Problem for CartError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound => ErrorCode::CartNotFound,
            Self::Expired { .. } => ErrorCode::CartExpired,
            Self::Closed { .. } => ErrorCode::CartClosed,
            Self::VersionMoved { .. } => ErrorCode::InvalidStatusTransition,
            Self::ProductNotFound { .. } => ErrorCode::ProductNotFound,
            Self::OutOfStock { .. } => ErrorCode::OutOfStock,
            Self::InvalidQuantity
            | Self::TooManyLines
            | Self::TooManyCodes
            | Self::NoItems
            | Self::VariantUnnamed { .. }
            | Self::MixedCurrencies { .. }
            | Self::LineNotFound
            | Self::ShippingOptionNotFound { .. }
            | Self::InvalidQuoteHash
            | Self::InvalidCountry
            | Self::InvalidEmail
            | Self::InvalidText { .. }
            | Self::NoDestination
            | Self::NoEdits
            | Self::TooLarge => ErrorCode::InvalidRequest,
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
            Self::Expired { at } => {
                details.insert("expired_at", at.to_string());
                details.insert("hint", "make a new cart with the same items");
            }
            Self::Closed { status } => {
                details.insert("status", status.name());
                details.insert("hint", match status {
                    CartStatus::CheckoutStarted => "its checkout was begun: update_checkout changes that, complete_checkout goes on",
                    _ => "make a new cart",
                });
            }
            Self::VersionMoved { current } => {
                details.insert("field", "if_version");
                details.insert("current_version", *current);
                details.insert("hint", "read the cart again and decide anew");
            }
            Self::ProductNotFound { place } => {
                details.insert("field", format!("items/{place}"));
                details.insert("hint", "ids come from this store's search_products");
            }
            Self::VariantUnnamed { place } => {
                details.insert("field", format!("items/{place}/variant_id"));
                details.insert("hint", "get_product_variants lists them");
            }
            Self::OutOfStock { place } => {
                details.insert("field", format!("items/{place}"));
                details.insert("hint", "leave it out, or look for another: find_similar_products");
            }
            Self::MixedCurrencies { place } => details.insert("field", format!("items/{place}")),
            Self::InvalidQuantity => details.insert("field", "quantity"),
            Self::LineNotFound => {
                details.insert("field", "line_ids");
                details.insert("hint", "get_cart shows the lines");
            }
            Self::ShippingOptionNotFound { allowed } => {
                details.insert("field", "option_id");
                details.insert("allowed", allowed.clone());
            }
            Self::InvalidQuoteHash => {
                details.insert("field", "quote_hash");
                details.insert("hint", "preview_checkout and get_cart show it");
            }
            Self::InvalidCountry => details.insert("field", "country"),
            Self::InvalidEmail => details.insert("field", "email"),
            Self::InvalidText { field, .. } => details.insert("field", *field),
            Self::NoDestination => {
                details.insert("field", "ship_to");
                details.insert("hint", "a country is enough: {\"country\": \"PT\"}");
            }
            Self::NoEdits => {
                details.insert("hint", "GET /api/docs shows what can be changed");
            }
            Self::NoItems | Self::TooManyLines => details.insert("field", "items"),
            Self::TooManyCodes => details.insert("field", "code"),
            Self::TooLarge | Self::Unreadable => {}
            Self::Catalog(error) => error.details(details),
            Self::Settings(error) => error.details(details),
            Self::Store(error) => error.details(details),
            Self::Idempotency(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }
}
