//! What a person is shown of a purchase, in words. It is made of the terms alone: their hash is of everything shown here.

use carts::{Destination, Terms};
use merchants::Band;
use primitives::{Money, Timestamp};

/// The terms, ready to be written.
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
    pub(crate) until: Option<String>,
}

/// A line.
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
        let (band, band_class, band_meaning) = band(terms.store.band);
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
            until: Some(until(terms.expires_at)),
        }
    }
}

/// A label, its colour, and what it says to a person.
fn band(band: Option<Band>) -> (&'static str, &'static str, &'static str) {
    match band {
        Some(Band::Elite) => ("ELITE", "good", "Among the most trusted stores here."),
        Some(Band::Verified) => ("VERIFIED", "good", "A trusted store with a good record."),
        Some(Band::Standard) => ("STANDARD", "plain", "An ordinary record. Look at what you buy."),
        Some(Band::Caution) => ("CAUTION", "bad", "A weak record. Be careful."),
        Some(Band::Restricted) => ("RESTRICTED", "bad", "A bad record. Better not."),
        None => ("NOT RATED", "bad", "Nothing is known of this store yet."),
    }
}

fn address(to: &Destination) -> String {
    let parts = [&to.name, &to.street, &to.postal_code, &to.city, &to.region];
    let mut parts: Vec<&str> = parts.into_iter().filter_map(|part| part.as_deref()).collect();
    parts.push(&to.country);
    parts.join(", ")
}

/// A moment as people read it: `15 November 2026` would need a locale; this is the same everywhere.
pub(crate) fn until(moment: Timestamp) -> String {
    let text = moment.to_string();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    format!("{date}, {} UTC", time.get(..5).unwrap_or(time))
}
