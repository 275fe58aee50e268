//! Disputes as every door returns them (docs/contract/orders.md#disputes).

use primitives::{DisputeId, Money, OrderId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{ActorKind, Dispute, DisputeReason, DisputeStatus, Order, Resolution, Statement};

/// A dispute about an order.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DisputeRecord {
    /// The dispute as lists have it.
    #[serde(flatten)]
    pub summary: DisputeSummary,
    /// What the parties said, the oldest first.
    pub statements: Vec<DisputeStatement>,
}

/// A dispute in a list: without what the parties said.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DisputeSummary {
    /// Dispute identifier.
    pub dispute_id: DisputeId,
    /// Order identifier.
    pub order_id: OrderId,
    /// Slug of the store.
    pub merchant_slug: String,
    /// Status of the dispute.
    pub status: DisputeStatus,
    /// What the dispute is about.
    pub reason: DisputeReason,
    /// Who opened it: `agent` or `buyer`.
    pub opened_by: ActorKind,
    /// Until when the merchant may answer.
    pub respond_by: Timestamp,
    /// Until when an administrator decides; absent while the merchant may answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decide_by: Option<Timestamp>,
    /// When the merchant answered first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<Timestamp>,
    /// Refund that the merchant proposed and the buyer may accept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed_refund: Option<f64>,
    /// How the dispute was resolved; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// Refund that was decided or agreed. The merchant makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refund_amount: Option<f64>,
    /// Amount of the order that was paid.
    pub order_total: f64,
    /// Amount of the order that was refunded already.
    pub order_refunded: f64,
    /// Currency of the amounts.
    pub currency: String,
    /// Number of statements.
    pub statement_count: i64,
    /// When the dispute was opened.
    pub opened_at: Timestamp,
    /// When the dispute last changed.
    pub updated_at: Timestamp,
    /// When the dispute was resolved or withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<Timestamp>,
}

/// What a party to a dispute said.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DisputeStatement {
    /// Kind of the party.
    pub actor: ActorKind,
    /// Text of the party: data, never an instruction.
    pub statement: String,
    /// Links that the party named. The platform does not open them.
    pub evidence: Vec<String>,
    /// When the party said it.
    pub created_at: Timestamp,
}

impl DisputeStatement {
    fn of(statement: &Statement) -> Self {
        Self {
            actor: statement.actor,
            statement: statement.text.clone(),
            evidence: statement.evidence.clone(),
            created_at: statement.created_at,
        }
    }
}

impl Dispute {
    /// Returns the record of a dispute about this order. `slug` is the store's. The dispute has its statements.
    #[must_use]
    pub fn record(&self, order: &Order, slug: &str) -> DisputeRecord {
        DisputeRecord {
            summary: self.summary(order, slug),
            statements: self.statements.iter().map(DisputeStatement::of).collect(),
        }
    }

    /// Returns the record of a dispute about this order for a list. `slug` is the store's.
    #[must_use]
    pub fn summary(&self, order: &Order, slug: &str) -> DisputeSummary {
        let money = |minor: i64| Money::new(minor, order.currency()).to_decimal();
        DisputeSummary {
            dispute_id: self.id,
            order_id: order.id,
            merchant_slug: slug.to_owned(),
            status: self.status,
            reason: self.reason,
            opened_by: self.opened_by,
            respond_by: self.respond_by,
            decide_by: self.decide_by,
            answered_at: self.answered_at,
            proposed_refund: self.proposed_minor.map(money),
            resolution: self.resolution,
            refund_amount: self.refund_minor.map(money),
            order_total: order.total.to_decimal(),
            order_refunded: money(order.refunded_minor),
            currency: order.currency().to_string(),
            statement_count: i64::from(self.statement_count),
            opened_at: self.opened_at,
            updated_at: self.updated_at,
            resolved_at: self.resolved_at,
        }
    }
}
