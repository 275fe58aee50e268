//! The confirmation that an agent claims, the one that a session is completed with, and why one is rejected.

use carts::QuoteHash;
use orders::ConfirmationLevel;
use primitives::{Action, ConfirmationId, Hint, hint};

use crate::CheckoutError;

/// The human confirmation a session was completed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfirmationProof {
    pub level: ConfirmationLevel,
    /// `None` if the agent attests the confirmation.
    pub confirmation: Option<ConfirmationId>,
}

impl ConfirmationProof {
    /// The attestation of the agent, without a confirmation.
    pub const ATTESTED: Self = Self { level: ConfirmationLevel::Attested, confirmation: None };
}

primitives::text_enum! {
    /// Why a human confirmation is missing, invalid or insufficient.
    pub enum ProofRejection {
        /// The store requires a confirmation on the hosted page, and there is none.
        #[strum(serialize = "proof_missing")]
        Insufficient,
        /// The agent's client supports elicitation, and the person has not been asked.
        #[strum(serialize = "person_not_asked")]
        NotAsked,
        /// The store requires a mandate; mandates are not supported yet.
        #[strum(serialize = "mandate_not_accepted_yet")]
        MandateNotSupported,
        /// No confirmation has this id, or another agent requested it.
        #[strum(serialize = "proof_unknown")]
        Unknown,
        /// The person has not decided.
        #[strum(serialize = "proof_pending")]
        Pending,
        /// The person rejected the purchase.
        #[strum(serialize = "declined")]
        Rejected,
        #[strum(serialize = "proof_expired")]
        Expired,
        /// The cart's terms differ from the ones the person approved.
        #[strum(serialize = "proof_stale")]
        Stale,
        /// It was used for another checkout.
        #[strum(serialize = "proof_used")]
        Used,
    }
}

impl ProofRejection {
    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::Insufficient => "a person has to confirm this purchase on the confirmation page",
            Self::NotAsked => "the person has to be asked for confirmation first",
            Self::MandateNotSupported => "a purchase cannot be confirmed by a signed mandate yet",
            Self::Unknown => "confirmation not found for this agent",
            Self::Pending => "the person has not answered yet",
            Self::Rejected => "the person declined this purchase",
            Self::Expired => "the confirmation has expired",
            Self::Stale => "the cart has changed since the person confirmed it",
            Self::Used => "the confirmation was already used for a checkout",
        }
    }

    pub(crate) fn hint(self) -> Hint {
        match self {
            Self::MandateNotSupported => hint!("inform the person, or buy at another store"),
            Self::Rejected => {
                hint!(
                    "respect the decision: do not ask again; buy other items or another quantity only if the person wishes"
                )
            }
            Self::Pending => hint!(
                "show confirm_url to the person; ",
                Action::GetConfirmationStatus,
                " returns the decision",
            ),
            _ => hint!(
                "show confirm_url to the person; once they confirm, call again for the same cart (with cart_id, not with items) with confirmation: {\"confirmation_id\": …}, the confirmation_id of this error"
            ),
        }
    }

    /// Returns whether a new confirmation request may lead to a valid confirmation.
    pub(crate) const fn allows_new_request(self) -> bool {
        !matches!(self, Self::MandateNotSupported | Self::Rejected)
    }
}

/// What an agent claims about the human confirmation of a checkout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProofClaim {
    level: Option<ConfirmationLevel>,
    confirmation: Option<ConfirmationId>,
    quote_hash: Option<QuoteHash>,
}

impl ProofClaim {
    /// Returns the claim, or `ConfirmationRequired` if the level is not supported. The hash is that of the terms the person
    /// approved.
    pub fn new(
        level: Option<ConfirmationLevel>,
        confirmation: Option<ConfirmationId>,
        quote_hash: Option<QuoteHash>,
    ) -> Result<Self, CheckoutError> {
        if level == Some(ConfirmationLevel::Mandate) {
            let reason = ProofRejection::MandateNotSupported;
            return Err(CheckoutError::ConfirmationRequired { reason, requested: None });
        }
        Ok(Self { level, confirmation, quote_hash })
    }

    /// Returns the level that the confirmation needs at least, beyond what the store requires: an agent that states a level
    /// and no confirmation wants the person to be asked.
    pub(crate) const fn level_wanted(self) -> Option<ConfirmationLevel> {
        if self.confirmation.is_some() { None } else { self.level }
    }

    /// Returns the claimed confirmation. Without one, the strongest valid confirmation of the cart applies.
    pub(crate) const fn confirmation(self) -> Option<ConfirmationId> {
        self.confirmation
    }

    /// Returns the hash of the terms the person approved, if the agent states it.
    pub(crate) const fn quote_hash(self) -> Option<QuoteHash> {
        self.quote_hash
    }
}
