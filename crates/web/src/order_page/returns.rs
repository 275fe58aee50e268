//! Returns: the policy that the buyer approved, what can be returned until when, and what became of returns.

use orders::{
    BuyerOptions, DeclineReason, IneligibleReason, Order, OrderDetails, OrderReturn, OrderStatus,
    ReturnEligibility, ReturnReason, ReturnStatus,
};

use super::form::QUANTITY;
use super::view::named;
use crate::terms_view::{format_date, format_time};

/// Returns of an order, formatted for a person.
pub(crate) struct ReturnsView<'order> {
    pub(crate) policy: String,
    /// The policy in the words of the store at the time of the purchase. Merchant text.
    pub(crate) summary: Option<&'order str>,
    /// Until when, or why nothing can be returned.
    pub(crate) until: String,
    /// The lines of the form; empty if nothing can be returned now.
    pub(crate) returnable: Vec<ReturnableView<'order>>,
    pub(crate) returns: Vec<ReturnView<'order>>,
}

/// A line of the form.
pub(crate) struct ReturnableView<'order> {
    pub(crate) field: String,
    /// Merchant text.
    pub(crate) name: &'order str,
    pub(crate) units: u32,
    /// The refund of all these units.
    pub(crate) refund: String,
}

/// A return, formatted.
pub(crate) struct ReturnView<'order> {
    pub(crate) id: String,
    pub(crate) number: usize,
    pub(crate) requested_at: String,
    pub(crate) items: Vec<String>,
    pub(crate) state: String,
    /// Merchant text; `None` once the items need not be sent back any more.
    pub(crate) instructions: Option<&'order str>,
    /// Amounts of a settled return.
    pub(crate) settlement: Option<String>,
    pub(crate) can_cancel: bool,
}

impl<'order> ReturnsView<'order> {
    pub(crate) fn of(details: &'order OrderDetails, options: &BuyerOptions) -> Self {
        let (order, eligibility) = (&details.order, &options.eligibility);
        let is_returnable =
            |line: &&orders::LineEligibility| eligibility.has_room && line.returnable > 0;
        let lines = eligibility.lines.iter().filter(is_returnable);
        let line = |line: &orders::LineEligibility| {
            Some(ReturnableView {
                field: format!("{QUANTITY}{}", line.line),
                name: &order.line(line.line)?.name,
                units: line.returnable,
                refund: order.money(line.refund_minor).to_string(),
            })
        };
        let view = |(index, it): (usize, &'order OrderReturn)| {
            let can_cancel = options.cancelable_returns.contains(&it.id);
            return_view(order, index + 1, it, can_cancel)
        };
        Self {
            policy: policy(order),
            summary: order.terms["returns"]["summary"].as_str(),
            until: until(order, eligibility),
            returnable: lines.filter_map(line).collect(),
            returns: details.returns.iter().enumerate().map(view).collect(),
        }
    }

    /// Names and labels of the reasons, for the form.
    #[expect(clippy::unused_self, reason = "the template calls a method")]
    pub(crate) fn reasons(&self) -> Vec<(&'static str, &'static str)> {
        ReturnReason::ALL.iter().map(|it| (it.as_str(), reason(*it))).collect()
    }
}

fn policy(order: &Order) -> String {
    let days = order.return_window_days();
    let is_stated = order.terms["returns"]["window_days"].is_number();
    match days {
        0 => String::from("The terms you approved exclude returns."),
        1 => String::from("The terms you approved: return within 1 day of delivery."),
        days if is_stated => {
            format!("The terms you approved: return within {days} days of delivery.")
        }
        days => format!(
            "The store stated no return period. You can return items within {days} days of delivery."
        ),
    }
}

/// Returns until when items can be returned, or why none can.
fn until(order: &Order, eligibility: &ReturnEligibility) -> String {
    let reasons: Vec<_> = eligibility.lines.iter().map(|line| line.reason).collect();
    let has = |reason| reasons.contains(&Some(reason));
    if has(IneligibleReason::FinalSale) {
        return String::new();
    }
    if reasons.contains(&None) {
        return match eligibility.until {
            _ if !eligibility.has_room => {
                String::from("No further return can be requested on this page.")
            }
            Some(until) => format!("You can return items until {}.", format_time(until)),
            None => String::from(
                "You can return what has arrived. The period begins once everything has.",
            ),
        };
    }
    match eligibility.until {
        _ if matches!(order.status, OrderStatus::Canceled | OrderStatus::Failed) => String::new(),
        Some(until) if has(IneligibleReason::WindowClosed) => {
            format!("The time for returns ended on {}.", format_time(until))
        }
        _ if has(IneligibleReason::AlreadyReturned) => {
            String::from("Everything that has arrived is part of a return.")
        }
        _ => String::from("You can request a return here once a shipment has arrived."),
    }
}

fn return_view<'order>(
    order: &Order,
    number: usize,
    it: &'order OrderReturn,
    can_cancel: bool,
) -> ReturnView<'order> {
    let is_sent_back = matches!(it.status, ReturnStatus::Approved | ReturnStatus::InTransit);
    ReturnView {
        id: it.id.to_string(),
        number,
        requested_at: format_date(it.requested_at),
        items: it.items.iter().map(|item| named(order, item.line, item.quantity)).collect(),
        state: state(it),
        instructions: it.instructions.as_deref().filter(|_| is_sent_back),
        settlement: settlement(order, it),
        can_cancel,
    }
}

fn state(it: &OrderReturn) -> String {
    let state = match it.status {
        ReturnStatus::Requested => "The store has not decided yet.",
        ReturnStatus::Approved => "The store takes the items back. Send them back.",
        ReturnStatus::Declined => "The store does not take the items back.",
        ReturnStatus::InTransit => "The items are on their way to the store.",
        ReturnStatus::Received => "The store has received the items.",
        ReturnStatus::Inspected => "The store has inspected the items.",
        ReturnStatus::Refunded => "The store has refunded the items.",
        ReturnStatus::Exchanged => "The store has exchanged the items.",
        ReturnStatus::Rejected => "The store did not accept the items.",
        ReturnStatus::Closed => "This return is closed.",
        ReturnStatus::Canceled => "This return was withdrawn.",
    };
    let reason = it.decline_reason.and_then(declined);
    reason.map_or_else(|| state.to_owned(), |reason| format!("{state} Reason: {reason}."))
}

const fn declined(reason: DeclineReason) -> Option<&'static str> {
    match reason {
        DeclineReason::WindowClosed => Some("the time for returns is over"),
        DeclineReason::FinalSale => Some("the terms exclude returns"),
        DeclineReason::NotReturnable => Some("the items cannot be returned"),
        DeclineReason::WrongItem => Some("other items were sent back"),
        DeclineReason::Used => Some("the items were used"),
        DeclineReason::Damaged => Some("the items are damaged"),
        DeclineReason::Incomplete => Some("something is missing"),
        DeclineReason::Other => None,
    }
}

/// Returns refund and fee of a settled return; `None` if there is neither.
fn settlement(order: &Order, it: &OrderReturn) -> Option<String> {
    let above_0 = |minor: Option<i64>| minor.filter(|minor| *minor > 0);
    let refund = above_0(it.refund_minor).map(|minor| format!("Refunded: {}.", order.money(minor)));
    let fee = above_0(it.restocking_fee_minor);
    let fee = fee.map(|minor| format!("The store kept a fee of {}.", order.money(minor)));
    let parts: Vec<String> = refund.into_iter().chain(fee).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

const fn reason(reason: ReturnReason) -> &'static str {
    match reason {
        ReturnReason::Defective => "It does not work",
        ReturnReason::WrongItem => "It is another item than ordered",
        ReturnReason::NoLongerNeeded => "I do not need it any more",
        ReturnReason::SizeIssue => "It does not fit",
        ReturnReason::QualityIssue => "The quality is poor",
        ReturnReason::DamagedInTransit => "It arrived damaged",
        ReturnReason::NotAsDescribed => "It is not as described",
        ReturnReason::Other => "Another reason",
    }
}
