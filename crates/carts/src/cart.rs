//! The noun: what an agent has put together at one store.

use std::time::Duration;

use primitives::{CartId, Currency, LineId, ProductId, Timestamp, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Buyer, CartError, Destination, Owner};

/// How long a cart can be used, from its creation (spec §3.2).
pub const LIFETIME: Duration = Duration::from_mins(30);
/// Lines of one cart.
pub const LINES_MAX: usize = 50;
/// Codes of one cart.
pub const CODES_MAX: usize = 5;

/// How many of something: 1 to 999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity(u32);

impl Quantity {
    /// The most of one line.
    pub const MAX: u32 = 999;
    /// One.
    pub const ONE: Self = Self(1);

    /// A number that makes sense.
    pub fn new(number: i64) -> Result<Self, CartError> {
        match u32::try_from(number) {
            Ok(number @ 1..=Self::MAX) => Ok(Self(number)),
            _ => Err(CartError::InvalidQuantity),
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// Something to buy, as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// Which product.
    pub product: ProductId,
    /// Which of its forms; none: it as a whole.
    pub variant: Option<VariantId>,
    /// How many.
    pub quantity: Quantity,
}

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Its id.
    pub id: LineId,
    /// What, and how many.
    pub item: Item,
    /// What one cost when it was put in, in minor units: a price that moved since is said.
    pub unit_minor: i64,
}

/// What became of a cart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CartStatus {
    /// It can be changed.
    Active,
    /// A checkout was begun with it.
    CheckoutStarted,
    /// It became an order.
    Converted,
    /// It is older than thirty minutes.
    Expired,
    /// Its agent threw it away.
    Canceled,
}

impl CartStatus {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Active, "active"),
        (Self::CheckoutStarted, "checkout_started"),
        (Self::Converted, "converted"),
        (Self::Expired, "expired"),
        (Self::Canceled, "canceled"),
    ];

    /// The name, as on the wire and in PostgreSQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(status, _)| *status == self).map_or("active", |(_, name)| name)
    }

    /// Reads a name.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(status, _)| *status)
    }
}

/// A cart of one agent at one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cart {
    /// Its id: unguessable, because whoever knows it may look at it (spec §4.3).
    pub id: CartId,
    /// Whose it is.
    pub owner: Owner,
    /// What became of it, without looking at the clock.
    pub kept_status: CartStatus,
    /// How often it was changed, from 1.
    pub version: i64,
    /// The currency of all its amounts.
    pub currency: Currency,
    /// What is in it, in the order it was put in.
    pub lines: Vec<Line>,
    /// Where it goes.
    pub destination: Option<Destination>,
    /// Who buys.
    pub buyer: Option<Buyer>,
    /// How it goes there.
    pub shipping_option: Option<String>,
    /// Codes that were typed.
    pub codes: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

impl Cart {
    /// What is in it.
    #[must_use]
    pub fn products(&self) -> Vec<ProductId> {
        self.lines.iter().map(|line| line.item.product).collect()
    }

    /// Until when it can be used.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        self.created_at.plus(LIFETIME)
    }

    /// What became of it, at a moment of the database.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> CartStatus {
        match self.kept_status {
            CartStatus::Active if now > self.expires_at() => CartStatus::Expired,
            kept => kept,
        }
    }

    /// Whether it can still be bought, as far as its age and what became of it go.
    pub fn usable(&self, now: Timestamp) -> Result<(), CartError> {
        match self.status(now) {
            CartStatus::Active | CartStatus::CheckoutStarted => Ok(()),
            CartStatus::Expired => Err(CartError::Expired { at: self.expires_at() }),
            status => Err(CartError::Closed { status }),
        }
    }

    /// Whether it can be changed at this moment, and in this version if one is named.
    pub fn open(&self, now: Timestamp, version: Option<i64>) -> Result<(), CartError> {
        match self.status(now) {
            CartStatus::Active => {}
            CartStatus::Expired => return Err(CartError::Expired { at: self.expires_at() }),
            status => return Err(CartError::Closed { status }),
        }
        match version {
            Some(expected) if expected != self.version => {
                Err(CartError::VersionMoved { current: self.version })
            }
            _ => Ok(()),
        }
    }
}
