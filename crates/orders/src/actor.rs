//! Who acts on an order, and whose orders a caller sees.

use primitives::{KeyId, UserId};

use crate::{Order, OrderError};

primitives::text_enum! {
    /// The kind of whoever acted on an order.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum ActorKind {
        /// An agent, with its key.
        Agent,
        /// The buyer, on the page of the order.
        Buyer,
        /// A store key or a member of the store.
        Merchant,
        /// An administrator of the platform.
        Platform,
        /// A job or a payment.
        System,
    }
}

impl ActorKind {
    /// Returns whether it is the side of the buyer: the agent or the buyer.
    #[must_use]
    pub const fn is_buyer_side(self) -> bool {
        matches!(self, Self::Agent | Self::Buyer)
    }

    /// Returns an error unless it is the agent or the buyer.
    pub(crate) fn check_buyer_side(self) -> Result<(), OrderError> {
        if self.is_buyer_side() {
            return Ok(());
        }
        Err(OrderError::invalid("actor", "the agent or the buyer"))
    }

    /// Returns an error if it is the agent or the buyer. What merchants do, administrators and jobs may do too.
    pub(crate) fn check_merchant_side(self) -> Result<(), OrderError> {
        if self.is_buyer_side() {
            return Err(OrderError::invalid("actor", "the merchant"));
        }
        Ok(())
    }

    /// Returns an error unless it is an administrator.
    pub(crate) fn check_platform(self) -> Result<(), OrderError> {
        match self {
            Self::Platform => Ok(()),
            _ => Err(OrderError::invalid("actor", "an administrator")),
        }
    }
}

/// Whoever acts on an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub kind: ActorKind,
    /// The key or the person; `None` for the buyer and the system.
    pub id: Option<String>,
}

impl Actor {
    /// A job or a payment.
    pub const SYSTEM: Self = Self { kind: ActorKind::System, id: None };
    /// The buyer, on the page of the order.
    pub const BUYER: Self = Self { kind: ActorKind::Buyer, id: None };

    /// Returns an agent, by its key.
    #[must_use]
    pub fn agent(key: KeyId) -> Self {
        Self { kind: ActorKind::Agent, id: Some(key.to_string()) }
    }

    /// Returns a store key or a member of the store, by its id.
    #[must_use]
    pub const fn merchant(id: String) -> Self {
        Self { kind: ActorKind::Merchant, id: Some(id) }
    }

    /// Returns an administrator of the platform.
    #[must_use]
    pub fn platform(person: UserId) -> Self {
        Self { kind: ActorKind::Platform, id: Some(person.to_string()) }
    }
}

/// Whose orders a caller sees. An order that a caller does not see does not exist for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Viewer {
    /// The orders placed with these keys: the agent's own, or all of its account.
    Agent(Vec<KeyId>),
    /// The orders of the store, without those of sandboxes.
    Merchant,
    /// The orders of sandboxes: the job that acts as their merchant.
    Sandbox,
    /// All orders: administrators, jobs, and whoever has the link to the order's page.
    All,
}

impl Viewer {
    /// Returns whether an order exists for the caller.
    #[must_use]
    pub fn sees(&self, order: &Order) -> bool {
        match self {
            Self::Agent(keys) => keys.contains(&order.agent),
            Self::Merchant => !order.is_sandbox,
            Self::Sandbox => order.is_sandbox,
            Self::All => true,
        }
    }
}
