//! Disputes about an order. What the buyer and the agent wrote stays hidden: the link may be forwarded.

use orders::{
    ActorKind, BuyerOptions, Dispute, DisputeReason, DisputeStatus, Order, OrderDetails,
    Resolution, Statement,
};

use super::view::LinkView;
use crate::terms_view::{format_date, format_time};

/// Disputes of an order, formatted for a person.
pub(crate) struct DisputesView<'order> {
    pub(crate) disputes: Vec<DisputeView<'order>>,
    pub(crate) can_open: bool,
}

/// A dispute, formatted.
pub(crate) struct DisputeView<'order> {
    pub(crate) id: String,
    pub(crate) number: usize,
    pub(crate) opened_at: String,
    pub(crate) reason: &'static str,
    pub(crate) state: String,
    /// Whether the buyer can add a statement.
    pub(crate) can_answer: bool,
    pub(crate) can_withdraw: bool,
    /// The refund that the store proposes, while it can be accepted.
    pub(crate) proposal: Option<String>,
    pub(crate) statements: Vec<StatementView<'order>>,
}

/// A statement of the store or of an administrator.
pub(crate) struct StatementView<'order> {
    pub(crate) author: &'static str,
    pub(crate) date: String,
    /// Text of the party.
    pub(crate) text: &'order str,
    pub(crate) evidence: Vec<LinkView<'order>>,
}

impl<'order> DisputesView<'order> {
    pub(crate) fn of(details: &'order OrderDetails, options: &BuyerOptions) -> Self {
        let view = |(index, dispute): (usize, &'order Dispute)| {
            dispute_view(&details.order, index + 1, dispute, options)
        };
        Self {
            disputes: details.disputes.iter().enumerate().map(view).collect(),
            can_open: options.can_open_dispute,
        }
    }

    /// Names and labels of the reasons, for the form.
    #[expect(clippy::unused_self, reason = "the template calls a method")]
    pub(crate) fn reasons(&self) -> Vec<(&'static str, &'static str)> {
        DisputeReason::ALL.iter().map(|it| (it.as_str(), reason(*it))).collect()
    }
}

fn dispute_view<'order>(
    order: &Order,
    number: usize,
    dispute: &'order Dispute,
    options: &BuyerOptions,
) -> DisputeView<'order> {
    let can_accept = options.acceptable_disputes.contains(&dispute.id);
    let proposed = dispute.proposed_minor.filter(|_| can_accept);
    DisputeView {
        id: dispute.id.to_string(),
        number,
        opened_at: format_date(dispute.opened_at),
        reason: reason(dispute.reason),
        state: state(order, dispute),
        can_answer: options.answerable_disputes.contains(&dispute.id),
        can_withdraw: options.withdrawable_disputes.contains(&dispute.id),
        proposal: proposed.map(|minor| order.money(minor).to_string()),
        statements: dispute.statements.iter().filter_map(statement).collect(),
    }
}

fn state(order: &Order, dispute: &Dispute) -> String {
    let refund = dispute.refund_minor.map(|minor| order.money(minor));
    let refund = refund.map_or_else(String::new, |it| format!(" The store has to refund {it}."));
    match (dispute.status, dispute.resolution) {
        (DisputeStatus::Open, _) => {
            format!("The store can answer until {}.", format_time(dispute.respond_by))
        }
        (DisputeStatus::UnderReview, _) => match dispute.decide_by {
            Some(by) => format!("Souk decides by {}.", format_time(by)),
            None => String::from("Souk decides."),
        },
        (DisputeStatus::Withdrawn, _) => String::from("Withdrawn."),
        (DisputeStatus::Resolved, Some(Resolution::Buyer)) => {
            format!("Souk decided for you.{refund}")
        }
        (DisputeStatus::Resolved, Some(Resolution::Merchant)) => {
            String::from("Souk decided for the store.")
        }
        (DisputeStatus::Resolved, Some(Resolution::Agreement)) => {
            format!("The proposal of the store was accepted.{refund}")
        }
        (DisputeStatus::Resolved, None) => String::from("Resolved."),
    }
}

fn statement(statement: &Statement) -> Option<StatementView<'_>> {
    let author = match statement.actor {
        ActorKind::Merchant => "The store",
        ActorKind::Platform => "Souk",
        ActorKind::Agent | ActorKind::Buyer | ActorKind::System => return None,
    };
    Some(StatementView {
        author,
        date: format_date(statement.created_at),
        text: &statement.text,
        evidence: statement.evidence.iter().map(|url| LinkView::new(url)).collect(),
    })
}

const fn reason(reason: DisputeReason) -> &'static str {
    match reason {
        DisputeReason::NotReceived => "The order did not arrive",
        DisputeReason::NotAsDescribed => "An item is not as described",
        DisputeReason::Damaged => "An item is damaged",
        DisputeReason::WrongItem => "Another item arrived than was ordered",
        DisputeReason::UnauthorizedPurchase => "I did not approve this purchase",
        DisputeReason::RefundNotReceived => "A refund did not arrive",
        DisputeReason::ReturnRefused => "The store refuses a return",
        DisputeReason::Other => "Another problem",
    }
}
