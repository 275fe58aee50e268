//! The terms of a purchase, formatted for a person. The view contains only the terms, so the quote hash covers
//! everything that is shown.

use carts::{Buyer, Destination, OpenPart, Terms};
use merchants::Band;
use primitives::{Money, Timestamp};

/// The terms with formatted amounts and texts.
pub(crate) struct TermsView<'terms> {
    pub(crate) terms: &'terms Terms,
    pub(crate) lines: Vec<LineView<'terms>>,
    pub(crate) subtotal: String,
    pub(crate) discounts: Vec<(&'terms str, String)>,
    pub(crate) shipping: Option<(&'terms str, String, String)>,
    pub(crate) tax: Option<String>,
    pub(crate) tax_included: Option<String>,
    pub(crate) total: String,
    pub(crate) band: &'static str,
    pub(crate) band_class: &'static str,
    pub(crate) band_meaning: &'static str,
    pub(crate) address: Option<String>,
    pub(crate) buyer: Option<String>,
    /// What is not decided yet, in words; `None` if nothing is.
    pub(crate) open: Option<String>,
    /// The amounts that the total does not include; `None` if it is final.
    pub(crate) open_amounts: Option<&'static str>,
    pub(crate) is_shipping_open: bool,
    pub(crate) valid_until: Option<String>,
}

/// A formatted line.
pub(crate) struct LineView<'terms> {
    pub(crate) name: &'terms str,
    pub(crate) sku: &'terms str,
    pub(crate) quantity: u32,
    pub(crate) unit: String,
    pub(crate) total: String,
}

impl<'terms> TermsView<'terms> {
    pub(crate) fn of(terms: &'terms Terms) -> Self {
        let money = |minor: i64| Money::new(minor, terms.currency).to_string();
        let line = |line: &'terms carts::TermsLine| LineView {
            name: &line.name,
            sku: &line.sku,
            quantity: line.quantity,
            unit: money(line.unit_minor),
            total: money(line.total_minor),
        };
        let less = |(title, minor): &'terms (String, i64)| (title.as_str(), money(*minor));
        let shipping = terms.shipping.as_ref();
        let shipping = shipping.map(|it| {
            let days = match (it.days_min, it.days_max) {
                (min, max) if min == max => format!("{min} days"),
                (min, max) => format!("{min} to {max} days"),
            };
            (it.title.as_str(), money(it.price_minor), days)
        });
        let (band, band_class, band_meaning) = band_view(terms.store.band);
        Self {
            terms,
            lines: terms.lines.iter().map(line).collect(),
            subtotal: money(terms.subtotal_minor),
            discounts: terms.discounts.iter().map(less).collect(),
            shipping,
            tax: terms.tax_minor.map(money),
            tax_included: (terms.tax_included_minor > 0).then(|| money(terms.tax_included_minor)),
            total: money(terms.total_minor),
            band,
            band_class,
            band_meaning,
            address: terms.destination.as_ref().map(address),
            buyer: terms.buyer.as_ref().map(buyer),
            open: (!terms.open.is_empty()).then(|| open_parts(&terms.open)),
            open_amounts: terms.open_amounts(),
            is_shipping_open: terms.open.contains(&OpenPart::Shipping),
            valid_until: Some(format_time(terms.expires_at)),
        }
    }
}

impl TermsView<'_> {
    /// Leaves out the buyer, and the address but for its country.
    pub(crate) fn hide_buyer(&mut self) {
        self.address = self.terms.destination.as_ref().map(|to| to.country.clone());
        self.buyer = None;
    }
}

/// Returns the label of a trust band, its CSS class, and its meaning for a person.
pub(crate) fn band_view(band: Option<Band>) -> (&'static str, &'static str, &'static str) {
    match band {
        Some(Band::Elite) => ("ELITE", "good", "One of the most trusted stores."),
        Some(Band::Verified) => ("VERIFIED", "good", "A trusted store with a good record."),
        Some(Band::Standard) => {
            ("STANDARD", "plain", "A store with an average record. Review the purchase carefully.")
        }
        Some(Band::Caution) => ("CAUTION", "bad", "A store with a weak record. Be careful."),
        Some(Band::Restricted) => {
            ("RESTRICTED", "bad", "A store with a poor record. Buying here is not recommended.")
        }
        None => ("NOT RATED", "bad", "This store has no trust score yet."),
    }
}

/// Returns the open parts as a list: `address, shipping and tax`.
fn open_parts(open: &[OpenPart]) -> String {
    let labels: Vec<&str> = open.iter().map(|part| part.label()).collect();
    match labels.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => labels.concat(),
    }
}

fn address(to: &Destination) -> String {
    let parts = [&to.name, &to.street, &to.postal_code, &to.city, &to.region];
    let mut parts: Vec<&str> = parts.into_iter().filter_map(|part| part.as_deref()).collect();
    parts.push(&to.country);
    parts.join(", ")
}

fn buyer(buyer: &Buyer) -> String {
    let parts = [&buyer.first_name, &buyer.last_name, &buyer.email, &buyer.phone_number];
    let parts: Vec<&str> = parts.into_iter().filter_map(|part| part.as_deref()).collect();
    parts.join(", ")
}

/// Formats a time for a person, without a locale: `2026-11-15, 08:00 UTC`.
pub(crate) fn format_time(time: Timestamp) -> String {
    let text = time.to_string();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    format!("{date}, {} UTC", time.get(..5).unwrap_or(time))
}

/// Formats the day of a time: `2026-11-15`.
pub(crate) fn format_date(time: Timestamp) -> String {
    let text = time.to_string();
    text.split('T').next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_parts_are_named_as_a_list() {
        assert_eq!(open_parts(&[OpenPart::Shipping]), "shipping");
        assert_eq!(open_parts(&[OpenPart::Shipping, OpenPart::Tax]), "shipping and tax");
        assert_eq!(open_parts(OpenPart::ALL), "address, shipping, tax and contact data");
    }
}
