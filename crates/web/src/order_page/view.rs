//! What was bought, what it cost, and where it is. Of the buyer, the view has the city and the country alone: the link may be
//! forwarded.

use carts::Terms;
use merchants::Store;
use orders::{Fulfillment, LineUnits, Order, OrderDetails, OrderLine, OrderStatus, RefundReason};
use primitives::LineId;

use crate::public_page::ExternalLink;
use crate::terms_view::{format_date, format_time};

/// An order, formatted for a person.
pub(crate) struct OrderView<'order> {
    pub(crate) heading: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) number: String,
    pub(crate) id: String,
    pub(crate) placed_at: String,
    pub(crate) is_sandbox: bool,
    /// Merchant text.
    pub(crate) store_name: &'order str,
    /// Merchant text.
    pub(crate) legal_name: &'order str,
    /// Where to ask; empty if the store does not state it. Merchant text.
    pub(crate) support_email: &'order str,
    pub(crate) lines: Vec<LineView<'order>>,
    /// Label and amount, as approved or paid.
    pub(crate) amounts: Vec<(String, String)>,
    pub(crate) total: String,
    pub(crate) refunds: Vec<RefundView<'order>>,
    /// What the refunds leave; `None` without refunds.
    pub(crate) kept: Option<String>,
    pub(crate) shipments: Vec<ShipmentView<'order>>,
    /// Why nothing was shipped, or when it should arrive; `None` if something was shipped.
    pub(crate) waiting: Option<String>,
    pub(crate) destination: Option<String>,
}

/// A line, formatted.
pub(crate) struct LineView<'order> {
    /// Merchant text.
    pub(crate) name: &'order str,
    /// Merchant text.
    pub(crate) sku: &'order str,
    pub(crate) quantity: u32,
    pub(crate) unit: String,
    pub(crate) total: String,
    /// `1 shipped, 1 canceled`; `None` if nothing happened to the line.
    pub(crate) progress: Option<String>,
}

/// A refund, formatted.
pub(crate) struct RefundView<'order> {
    pub(crate) amount: String,
    pub(crate) reason: &'static str,
    pub(crate) date: String,
    /// Merchant text.
    pub(crate) note: Option<&'order str>,
}

/// A shipment, formatted.
pub(crate) struct ShipmentView<'order> {
    pub(crate) number: usize,
    pub(crate) state: String,
    pub(crate) items: Vec<String>,
    /// Merchant text.
    pub(crate) carrier: Option<&'order str>,
    /// Merchant text.
    pub(crate) tracking_number: Option<&'order str>,
    pub(crate) tracking: Option<LinkView<'order>>,
}

/// An address on the web that a merchant stated. It is shown as text, and linked if it is an https URL.
pub(crate) struct LinkView<'order> {
    pub(crate) text: &'order str,
    pub(crate) url: Option<String>,
}

impl<'order> LinkView<'order> {
    pub(crate) fn new(text: &'order str) -> Self {
        let link = ExternalLink::new(text).filter(|link| link.url.starts_with("https://"));
        Self { text, url: link.map(|link| link.url) }
    }
}

impl<'order> OrderView<'order> {
    pub(crate) fn of(store: &'order Store, details: &'order OrderDetails) -> Self {
        let order = &details.order;
        let (heading, meaning) = status(order.status);
        let money = |minor: i64| order.money(minor).to_string();
        let refund = |refund: &'order orders::Refund| RefundView {
            amount: money(refund.amount_minor),
            reason: refund_reason(refund.reason),
            date: format_date(refund.created_at),
            note: refund.note.as_deref(),
        };
        let kept = order.total.minor() - order.refunded_minor;
        let shipments = details.fulfillments.iter().enumerate();
        Self {
            heading,
            meaning,
            number: order.number(),
            id: order.id.to_string(),
            placed_at: format_time(order.created_at),
            is_sandbox: order.is_sandbox,
            store_name: &store.name,
            legal_name: &store.legal_name,
            support_email: &store.support_email,
            lines: order.lines.iter().map(|line| line_view(order, line)).collect(),
            amounts: amounts(order),
            total: order.total.to_string(),
            refunds: details.refunds.iter().map(refund).collect(),
            kept: (order.refunded_minor > 0).then(|| money(kept)),
            shipments: shipments.map(|(index, it)| shipment(order, index + 1, it)).collect(),
            waiting: details.fulfillments.is_empty().then(|| waiting(order)),
            destination: destination(order),
        }
    }
}

/// Returns the heading of the page and what the status means for the buyer.
const fn status(status: OrderStatus) -> (&'static str, &'static str) {
    match status {
        OrderStatus::Pending => {
            ("Your order is placed.", "It is paid. The store has not confirmed it yet.")
        }
        OrderStatus::Confirmed => {
            ("Your order is confirmed.", "The store has accepted it and processes it next.")
        }
        OrderStatus::Processing => ("Your order is being prepared.", "The store packs it."),
        OrderStatus::PartiallyShipped => {
            ("A part of your order is on its way.", "The store sends the rest later.")
        }
        OrderStatus::Shipped => ("Your order is on its way.", "Everything was shipped."),
        OrderStatus::Delivered => ("Your order was delivered.", "Everything has arrived."),
        OrderStatus::Completed => (
            "Your order is complete.",
            "Everything was delivered, and the time for returns is over.",
        ),
        OrderStatus::ManualReview => (
            "The store reviews your order.",
            "A person at the store decides whether it can be shipped.",
        ),
        OrderStatus::Canceled => ("This order was canceled.", "Nothing will be shipped."),
        OrderStatus::Failed => ("The payment of this order failed.", "Nothing will be shipped."),
    }
}

fn line_view<'order>(order: &Order, line: &'order OrderLine) -> LineView<'order> {
    let parts =
        [(line.shipped, "shipped"), (line.canceled, "canceled"), (line.returned, "in a return")];
    let parts = parts.iter().filter(|(units, _)| *units > 0);
    let parts: Vec<String> = parts.map(|(units, what)| format!("{units} {what}")).collect();
    LineView {
        name: &line.name,
        sku: &line.sku,
        quantity: line.quantity,
        unit: order.money(line.unit_minor).to_string(),
        total: order.money(line.total_minor).to_string(),
        progress: (!parts.is_empty()).then(|| parts.join(", ")),
    }
}

/// Returns what the total consists of besides the lines. The terms name the discounts, which the lines contain already.
fn amounts(order: &Order) -> Vec<(String, String)> {
    let money = |minor: i64| order.money(minor).to_string();
    let terms: Option<Terms> = serde_json::from_value(order.terms.clone()).ok();
    let mut amounts = Vec::new();
    if let Some(terms) = terms.as_ref().filter(|terms| !terms.discounts.is_empty()) {
        amounts.push((String::from("Subtotal"), money(terms.subtotal_minor)));
        for (title, minor) in &terms.discounts {
            amounts.push((format!("Discount: {title}"), format!("− {}", money(*minor))));
        }
    }
    if let Some(minor) = order.shipping_minor {
        let option = terms.as_ref().and_then(|terms| terms.shipping.as_ref());
        let title =
            option.map_or_else(|| String::from("Shipping"), |it| format!("Shipping: {}", it.title));
        amounts.push((title, money(minor)));
    }
    if let Some(minor) = order.tax_minor {
        amounts.push((String::from("Tax"), money(minor)));
    }
    amounts
}

const fn refund_reason(reason: RefundReason) -> &'static str {
    match reason {
        RefundReason::Canceled => "for canceled items",
        RefundReason::OutOfStock => "for items that are out of stock",
        RefundReason::Returned => "for returned items",
        RefundReason::Damaged => "for damaged items",
        RefundReason::NotReceived => "for items that did not arrive",
        RefundReason::LateDelivery => "for a late delivery",
        RefundReason::PriceAdjustment => "for a price adjustment",
        RefundReason::Dispute => "for a dispute",
        RefundReason::Goodwill => "as goodwill",
        RefundReason::Other => "for another reason",
    }
}

fn shipment<'order>(
    order: &Order,
    number: usize,
    fulfillment: &'order Fulfillment,
) -> ShipmentView<'order> {
    let state = match (fulfillment.delivered_at, fulfillment.expected_by) {
        (Some(at), _) => format!("Delivered on {}.", format_date(at)),
        (None, Some(by)) => {
            let shipped = format_date(fulfillment.shipped_at);
            format!("Shipped on {shipped}, expected by {}.", format_date(by))
        }
        (None, None) => format!("Shipped on {}.", format_date(fulfillment.shipped_at)),
    };
    ShipmentView {
        number,
        state,
        items: units(order, &fulfillment.items),
        carrier: fulfillment.carrier.as_deref(),
        tracking_number: fulfillment.tracking_number.as_deref(),
        tracking: fulfillment.tracking_url.as_deref().map(LinkView::new),
    }
}

/// Returns `2 × Mug` for each line. Names are merchant text.
fn units(order: &Order, items: &[LineUnits]) -> Vec<String> {
    items.iter().map(|item| named(order, item.line, item.quantity)).collect()
}

/// Returns `2 × Mug`. The name is merchant text.
pub(crate) fn named(order: &Order, line: LineId, quantity: u32) -> String {
    let name = order.line(line).map_or("item", |line| line.name.as_str());
    format!("{quantity} × {name}")
}

fn waiting(order: &Order) -> String {
    match order.promised_by {
        _ if matches!(order.status, OrderStatus::Canceled | OrderStatus::Failed) => {
            String::from("Nothing was shipped.")
        }
        Some(by) => {
            format!("Nothing was shipped yet. Delivery was promised by {}.", format_date(by))
        }
        None => String::from("Nothing was shipped yet."),
    }
}

/// Returns the city and the country alone.
fn destination(order: &Order) -> Option<String> {
    let to = order.destination()?;
    let parts = [&to["city"], &to["country"]].into_iter().filter_map(|part| part.as_str());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_is_linked() {
        let url = |text| LinkView::new(text).url;
        assert_eq!(url("https://carrier.example/1").as_deref(), Some("https://carrier.example/1"));
        for text in [
            "http://carrier.example/1",
            "javascript:alert(1)",
            "https://bank.example@evil.example/",
            "1",
        ] {
            assert_eq!(url(text), None, "{text}");
        }
    }
}
