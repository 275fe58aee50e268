//! The noun: a cart of one agent at one store.

use std::time::Duration;

use primitives::{CartId, Currency, KeyId, LineId, ProductId, Timestamp, VariantId};

use crate::{Buyer, CartError, CartOwner, Destination};

/// Time from the creation of a cart until it expires (docs/contract/carts.md#cart-lifetime).
pub const CART_LIFETIME: Duration = Duration::from_mins(30);
/// Most lines of a cart.
pub const LINES_MAX: usize = 50;
/// Most discount codes of a cart.
pub const CODES_MAX: usize = 5;

/// A quantity of a line: 1 to [`Quantity::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity(u32);

impl Quantity {
    /// The largest quantity of a line.
    pub const MAX: u32 = 999;
    /// A quantity of one.
    pub const ONE: Self = Self(1);

    /// Returns a quantity, or `InvalidQuantity` if the number is out of range.
    pub fn new(number: i64) -> Result<Self, CartError> {
        match u32::try_from(number) {
            Ok(number @ 1..=Self::MAX) => Ok(Self(number)),
            _ => Err(CartError::InvalidQuantity),
        }
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// An item as the caller requests it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    pub product: ProductId,
    /// Required if the product has variants, `None` otherwise.
    pub variant: Option<VariantId>,
    pub quantity: Quantity,
}

/// A line of a cart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Derived from cart, product and variant.
    pub id: LineId,
    pub item: Item,
    /// The unit price when the item was added, in minor units. A different current price is reported as a message.
    pub unit_minor: i64,
}

primitives::text_enum! {
    /// Status of a cart.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum CartStatus {
        /// The cart can be changed.
        Active,
        /// A checkout was started with the cart; change it with the checkout.
        CheckoutStarted,
        /// The cart became an order.
        Converted,
        /// The cart is past `expires_at`.
        Expired,
        /// The agent canceled the cart.
        Canceled,
    }
}

/// Identifies a cart as its agent addresses it: to another agent it does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CartRef {
    pub agent: KeyId,
    pub id: CartId,
}

/// A cart of one agent at one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cart {
    /// Not guessable: any caller that has the id can preview the cart (docs/contract/carts.md#cart-id).
    pub id: CartId,
    pub owner: CartOwner,
    /// The status in the database, which does not account for expiry; see [`Cart::status`].
    pub stored_status: CartStatus,
    /// Starts at 1 and increases with every change.
    pub version: i64,
    /// The currency of all amounts.
    pub currency: Currency,
    /// In the order they were added.
    pub lines: Vec<Line>,
    pub destination: Option<Destination>,
    pub buyer: Option<Buyer>,
    /// The id of the selected shipping option; it may no longer be offered.
    pub shipping_option: Option<String>,
    /// Discount codes as the caller typed them.
    pub codes: Vec<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Cart {
    /// Returns the product of each line.
    #[must_use]
    pub fn products(&self) -> Vec<ProductId> {
        self.lines.iter().map(|line| line.item.product).collect()
    }

    /// Returns when the cart expires.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        self.created_at.plus(CART_LIFETIME)
    }

    /// Returns the status at `now`, the time of the database.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> CartStatus {
        match self.stored_status {
            CartStatus::Active if now > self.expires_at() => CartStatus::Expired,
            stored => stored,
        }
    }

    /// Returns an error unless the cart can still be bought: it is active, or its checkout has started.
    pub fn ensure_usable(&self, now: Timestamp) -> Result<(), CartError> {
        match self.status(now) {
            CartStatus::Active | CartStatus::CheckoutStarted => Ok(()),
            CartStatus::Expired => Err(CartError::Expired { at: self.expires_at() }),
            status => Err(CartError::Closed { status }),
        }
    }

    /// Returns an error unless the cart is active and, if `version` is given, has that version.
    pub fn ensure_open(&self, now: Timestamp, version: Option<i64>) -> Result<(), CartError> {
        match self.status(now) {
            CartStatus::Active => {}
            CartStatus::Expired => return Err(CartError::Expired { at: self.expires_at() }),
            status => return Err(CartError::Closed { status }),
        }
        match version {
            Some(expected) if expected != self.version => {
                Err(CartError::VersionConflict { current: self.version })
            }
            _ => Ok(()),
        }
    }
}
