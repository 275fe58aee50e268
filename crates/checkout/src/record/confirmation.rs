//! Confirmations as every door returns them.

use carts::{ApprovalScope, OpenPart};
use primitives::{CartId, CheckoutId, ConfirmationId, Money, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::{OrderSummary, item_count, summary};
use crate::ConfirmationRequest;

/// A request for human confirmation.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ConfirmationRecord {
    /// Confirmation identifier. Pass it to `complete_checkout` once the person has confirmed.
    pub confirmation_id: ConfirmationId,
    /// Cart identifier.
    pub cart_id: CartId,
    /// Status: `pending`, `confirmed`, `rejected` or `expired`.
    pub status: String,
    /// Level of confirmation: `hosted` or `elicited`; absent until confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// URL where the person decides. Show it to the person.
    pub confirm_url: String,
    /// What the person approves: `items` while parts of the total are open, otherwise `total`.
    pub scope: ApprovalScope,
    /// What is not decided yet: `destination`, `shipping`, `tax`, `buyer`. Empty if the total is final.
    pub open: Vec<OpenPart>,
    /// Summary of the purchase.
    pub summary: OrderSummary,
    /// Hash of everything the person sees.
    pub quote_hash: String,
    /// Checkout that used the confirmation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_by: Option<CheckoutId>,
    /// Time until which it can be decided and used.
    pub expires_at: Timestamp,
    /// Time of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Timestamp>,
}

impl ConfirmationRequest {
    /// Returns the record for the agent.
    #[must_use]
    pub fn record(&self) -> ConfirmationRecord {
        let it = &self.confirmation;
        ConfirmationRecord {
            confirmation_id: it.id,
            cart_id: it.cart,
            status: it.status(self.now).to_string(),
            level: it.level.map(|level| level.to_string()),
            confirm_url: self.confirm_url.clone(),
            scope: it.terms.scope(),
            open: it.terms.open.clone(),
            summary: summary(&it.terms),
            quote_hash: it.quote_hash.to_string(),
            used_by: it.used_by,
            expires_at: it.expires_at,
            decided_at: it.decided_at,
        }
    }

    /// Returns the question for the person in one line, without merchant text.
    #[must_use]
    pub fn question(&self) -> String {
        let terms = &self.confirmation.terms;
        let total = Money::new(terms.total_minor, terms.currency);
        let (count, slug) = (item_count(terms), &terms.store.slug);
        let open = terms.open_amounts().map(|amounts| format!(" plus {amounts}"));
        let open = open.unwrap_or_default();
        format!("Buy {count} item(s) for {total}{open} from {slug}? Details: {}", self.confirm_url)
    }
}
