//! Policies of a store or product, in sentences.

use merchants::PolicyRecord;
use primitives::{Currency, Money};

use crate::public_page::ExternalLink;

/// Policies, formatted. What the merchant has not stated is `None`.
pub(crate) struct PolicyView {
    record: PolicyRecord,
    pub(crate) returns: Option<String>,
    pub(crate) delivery: Option<String>,
    pub(crate) free_shipping: Option<String>,
    pub(crate) warranty: Option<String>,
}

impl PolicyView {
    pub(crate) fn of(record: PolicyRecord, currency: Currency) -> Self {
        let free_from = record.free_shipping_threshold;
        let free_from = free_from.and_then(|amount| Money::from_decimal(amount, currency).ok());
        Self {
            returns: record.return_window_days.map(|days| match days {
                0 => String::from("Purchases cannot be returned."),
                1 => String::from("Return within 1 day."),
                days => format!("Return within {days} days."),
            }),
            delivery: record.shipping_estimate_days.as_deref().map(delivery),
            free_shipping: free_from.map(|amount| format!("Free shipping above {amount}.")),
            warranty: record.warranty_months.map(|months| format!("Warranty: {months} months.")),
            record,
        }
    }

    /// Whether the merchant has stated none.
    pub(crate) fn is_empty(&self) -> bool {
        let stated = [&self.returns, &self.delivery, &self.free_shipping, &self.warranty];
        stated.iter().all(|policy| policy.is_none())
            && self.return_summary().is_none()
            && self.shipping_summary().is_none()
            && self.links().is_empty()
    }

    /// Merchant text.
    pub(crate) fn return_summary(&self) -> Option<&str> {
        self.record.return_summary.as_deref()
    }

    /// Merchant text.
    pub(crate) fn shipping_summary(&self) -> Option<&str> {
        self.record.shipping_summary.as_deref()
    }

    /// Pages of the merchant with their labels.
    pub(crate) fn links(&self) -> Vec<(&'static str, ExternalLink)> {
        let record = &self.record;
        let pages = [("Privacy policy", &record.privacy_url), ("Terms of sale", &record.terms_url)];
        pages
            .into_iter()
            .filter_map(|(label, url)| Some((label, ExternalLink::new(url.as_deref()?)?)))
            .collect()
    }
}

fn delivery(days: &str) -> String {
    match days.split_once('-') {
        Some((min, max)) if min == max => format!("Delivery in {min} days."),
        Some((min, max)) => format!("Delivery in {min} to {max} days."),
        None => format!("Delivery in {days} days."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_sentences() {
        let record = PolicyRecord {
            return_window_days: Some(30),
            free_shipping_threshold: Some(49.9),
            shipping_estimate_days: Some(String::from("2-4")),
            privacy_url: Some(String::from("javascript:alert(1)")),
            ..PolicyRecord::default()
        };
        let view = PolicyView::of(record, Currency::EUR);
        assert_eq!(view.returns.as_deref(), Some("Return within 30 days."));
        assert_eq!(view.free_shipping.as_deref(), Some("Free shipping above 49.90 EUR."));
        assert_eq!(view.delivery.as_deref(), Some("Delivery in 2 to 4 days."));
        assert!(view.links().is_empty() && !view.is_empty());
        assert!(PolicyView::of(PolicyRecord::default(), Currency::EUR).is_empty());
    }
}
