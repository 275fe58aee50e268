//! Whether an answer is a proof: pure.

use carts::Priced;
use orders::ConfirmationLevel;
use primitives::Timestamp;

use super::{Confirmation, ConfirmationStatus};

/// Why what was sent is no proof, or none that is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProofFault {
    /// The store wants a person to press Confirm, and nobody did.
    TooWeak,
    /// The agent's client can ask its person, and has not.
    NotAsked,
    /// The store wants a mandate, and those are not accepted yet.
    MandateNotYet,
    /// There is no such question, or another agent put it.
    Unknown,
    /// Nobody has answered yet.
    Pending,
    /// The person said no.
    Rejected,
    /// It was answered, or should have been, too long ago.
    Expired,
    /// It is about something else than what the cart is now.
    Stale,
    /// It was used for a checkout before.
    Used,
}

impl ProofFault {
    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooWeak => "proof_missing",
            Self::NotAsked => "person_not_asked",
            Self::MandateNotYet => "mandate_not_accepted_yet",
            Self::Unknown => "proof_unknown",
            Self::Pending => "proof_pending",
            Self::Rejected => "rejected_by_person",
            Self::Expired => "proof_expired",
            Self::Stale => "proof_stale",
            Self::Used => "proof_used",
        }
    }

    pub(crate) const fn sentence(self) -> &'static str {
        match self {
            Self::TooWeak => "a person has to confirm this purchase on our page first",
            Self::NotAsked => "the person has to be asked first",
            Self::MandateNotYet => "this store wants a signed mandate, which is not accepted yet",
            Self::Unknown => "there is no such confirmation of this agent",
            Self::Pending => "the person has not answered yet",
            Self::Rejected => "the person said no",
            Self::Expired => "the confirmation is too old",
            Self::Stale => "what the person confirmed is not what the cart is now",
            Self::Used => "the confirmation was used for a checkout before",
        }
    }

    pub(crate) const fn hint(self) -> &'static str {
        match self {
            Self::MandateNotYet => "buy elsewhere, or tell the person",
            Self::Rejected => "respect it: change the cart as the person wishes, or stop",
            Self::Pending => {
                "show confirm_url to the person; get_confirmation_status says what they answered"
            }
            _ => {
                "show confirm_url to the person; when they confirmed, call again with confirmation_id"
            }
        }
    }

    /// Whether a new question would help.
    pub(crate) const fn can_be_asked(self) -> bool {
        !matches!(self, Self::MandateNotYet | Self::Rejected)
    }
}

/// How strong an answer is as a proof for this cart as it is now.
pub(super) fn judge(
    found: Option<&Confirmation>,
    priced: &Priced,
    now: Timestamp,
) -> Result<ConfirmationLevel, ProofFault> {
    let cart = &priced.cart;
    let found = found.filter(|it| it.agent == cart.owner.key && it.cart == cart.id);
    let found = found.ok_or(ProofFault::Unknown)?;
    if found.used_by.is_some() {
        return Err(ProofFault::Used);
    }
    match found.status(now) {
        ConfirmationStatus::Pending => Err(ProofFault::Pending),
        ConfirmationStatus::Rejected => Err(ProofFault::Rejected),
        ConfirmationStatus::Expired => Err(ProofFault::Expired),
        ConfirmationStatus::Confirmed if found.quote_hash != priced.quote_hash => {
            Err(ProofFault::Stale)
        }
        ConfirmationStatus::Confirmed => found.level.ok_or(ProofFault::Pending),
    }
}
