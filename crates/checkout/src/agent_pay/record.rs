//! A payment by an agent, as every door returns it.

use payments::{Payment, PaymentStatus, X402Authorization};
use primitives::{CheckoutId, OrderId, PaymentId};
use schemars::JsonSchema;
use serde::Serialize;
use x402::{FailureReason, SETTLEMENT_PENDING, SettlementResponse};

use super::AGENT_PAYMENT_PATH;
use crate::Session;

primitives::text_enum! {
    /// Status of a payment by an agent.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum AgentPaymentStatus {
        /// The outcome is not known yet. It is known at the latest soon after `valid_before`.
        Pending,
        /// The tokens have moved, and the order is placed.
        Settled,
        /// No tokens have moved with this payment, and none will.
        Failed,
    }
}

/// A payment of a session by its agent.
#[derive(Debug, Clone)]
pub struct AgentPayment {
    pub session: Session,
    pub payment: Payment,
    pub authorization: X402Authorization,
}

/// A payment by an agent.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentPaymentRecord {
    /// Session that is paid.
    pub checkout_id: CheckoutId,
    /// Payment identifier.
    pub payment_id: PaymentId,
    /// Status of the payment.
    pub status: AgentPaymentStatus,
    /// Order of the session, once the payment is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_id: Option<OrderId>,
    /// Total of the session.
    pub total: f64,
    /// Currency of the total.
    pub currency: String,
    /// Network on which the tokens move, as in CAIP-2.
    pub network: String,
    /// Contract of the token.
    pub asset: String,
    /// Amount in the smallest unit of the token.
    pub amount: String,
    /// Account that pays.
    pub payer: String,
    /// Account of the merchant.
    pub pay_to: String,
    /// Unix time in seconds from which the authorization can no longer be used.
    #[schemars(with = "i64")]
    pub valid_before: u64,
    /// Transaction that moved the tokens, once the payment is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction: Option<String>,
    /// Why the payment failed: `expired`, `canceled` or `nonce_used_elsewhere`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<&'static str>,
    /// URL that returns the status of the payment.
    pub status_url: String,
}

impl AgentPayment {
    /// Returns the status.
    #[must_use]
    pub fn status(&self) -> AgentPaymentStatus {
        match self.payment.status {
            PaymentStatus::Begun | PaymentStatus::Open | PaymentStatus::Processing => {
                AgentPaymentStatus::Pending
            }
            PaymentStatus::Paid => AgentPaymentStatus::Settled,
            PaymentStatus::Declined | PaymentStatus::Expired => AgentPaymentStatus::Failed,
        }
    }

    /// Returns why the payment has failed, as a name and as a sentence.
    pub(super) fn failure(&self) -> Option<(&'static str, &'static str)> {
        if self.status() != AgentPaymentStatus::Failed {
            return None;
        }
        Some(match self.authorization.failure {
            Some(FailureReason::Expired) => {
                (FailureReason::Expired.as_str(), "the authorization expired before it was used")
            }
            Some(FailureReason::Canceled) => {
                (FailureReason::Canceled.as_str(), "the payer canceled the authorization")
            }
            Some(FailureReason::NonceUsedElsewhere) => (
                FailureReason::NonceUsedElsewhere.as_str(),
                "the payer used the nonce for another transfer",
            ),
            None => ("declined", "the payment was declined"),
        })
    }

    /// Returns what became of the payment, as the protocol says it.
    #[must_use]
    pub fn response(&self) -> SettlementResponse {
        let transfer = &self.authorization.transfer;
        let (network, payer) = (transfer.network, transfer.from);
        match (self.status(), self.authorization.transaction) {
            (AgentPaymentStatus::Settled, Some(transaction)) => {
                SettlementResponse::settled(network, payer, transfer.value, transaction)
            }
            (AgentPaymentStatus::Failed, _) => {
                let reason = self.failure().map_or("declined", |(reason, _)| reason);
                SettlementResponse::unsettled(network, Some(payer), reason, None)
            }
            _ => SettlementResponse::unsettled(network, Some(payer), SETTLEMENT_PENDING, None),
        }
    }

    /// Returns the payment for a door. `site_url` is the public URL of this service.
    #[must_use]
    pub fn record(&self, site_url: &str) -> AgentPaymentRecord {
        let (payment, transfer) = (&self.payment, &self.authorization.transfer);
        let status = self.status();
        let is_settled = status == AgentPaymentStatus::Settled;
        let transaction = self.authorization.transaction.filter(|_| is_settled);
        AgentPaymentRecord {
            checkout_id: payment.checkout,
            payment_id: payment.id,
            status,
            order_id: self.session.order.filter(|_| is_settled),
            total: payment.amount.to_decimal(),
            currency: payment.amount.currency().to_string(),
            network: transfer.network.to_string(),
            asset: transfer.asset.to_string(),
            amount: transfer.value.to_string(),
            payer: transfer.from.to_string(),
            pay_to: transfer.to.to_string(),
            valid_before: transfer.valid_before,
            transaction: transaction.map(|it| it.to_string()),
            failure: self.failure().map(|(reason, _)| reason),
            status_url: format!("{site_url}{AGENT_PAYMENT_PATH}/{}", payment.checkout),
        }
    }
}
