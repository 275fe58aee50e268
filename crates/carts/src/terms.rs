//! The terms a person approves: everything the confirmation page shows, and nothing else. The page is rendered from them and
//! the hash is computed over them, so that one cannot change without the other.

use std::fmt;
use std::str::FromStr;

use merchants::{Band, Policies, Store};
use primitives::{Currency, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Buyer, Cart, CartError, Destination, OpenPart, Quote};

/// The terms a person approves. Amounts are minor units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    pub store: TermsStore,
    /// The name of the agent's key. Untrusted text.
    pub agent: String,
    /// Whether a sandbox buys; nothing is sold then.
    pub is_sandbox: bool,
    pub lines: Vec<TermsLine>,
    /// The currency of all amounts.
    pub currency: Currency,
    /// All lines, before discounts.
    pub subtotal_minor: i64,
    /// Title (merchant text) and amount of each discount.
    pub discounts: Vec<(String, i64)>,
    /// What the person has not seen yet, and approves later on the payment page. Estimates are not part of the terms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<OpenPart>,
    /// `None` while shipping is open.
    pub shipping: Option<TermsShipping>,
    /// Added to the total; `None` while the tax is open.
    pub tax_minor: Option<i64>,
    /// Included in the prices, not added to the total; 0 while the tax is open.
    pub tax_included_minor: i64,
    /// Without the open parts.
    pub total_minor: i64,
    pub destination: Option<Destination>,
    /// Who receives the receipt; `None` if nobody was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buyer: Option<Buyer>,
    pub returns: TermsReturns,
    /// When the cart expires.
    pub expires_at: Timestamp,
}

/// The store, as the terms show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsStore {
    pub slug: String,
    /// Merchant text.
    pub name: String,
    /// Merchant text.
    pub legal_name: String,
    /// The trust band; `None` without a score.
    pub band: Option<Band>,
    /// Whether the score is based on little history.
    pub is_provisional: bool,
}

/// A line, as the terms show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsLine {
    /// Merchant text.
    pub name: String,
    /// Merchant text.
    pub sku: String,
    pub quantity: u32,
    pub unit_minor: i64,
    /// After discounts.
    pub total_minor: i64,
}

/// The selected shipping option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsShipping {
    /// Merchant text.
    pub title: String,
    pub price_minor: i64,
    /// Fastest delivery, in days.
    pub days_min: i32,
    /// Slowest delivery, in days.
    pub days_max: i32,
}

/// The return policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsReturns {
    /// Length of the return window; `None` if the store states none.
    pub window_days: Option<i32>,
    /// Merchant text.
    pub summary: Option<String>,
}

impl Terms {
    /// Returns the terms of a priced cart.
    #[must_use]
    pub fn new(store: &Store, policies: &Policies, cart: &Cart, quote: &Quote) -> Self {
        let option = |id: &String| quote.options.iter().find(|option| option.id == *id);
        let shipping =
            quote.selected_option.as_ref().and_then(option).map(|option| TermsShipping {
                title: option.title.clone(),
                price_minor: option.price_minor,
                days_min: option.days_min,
                days_max: option.days_max,
            });
        let line = |line: &crate::QuotedLine| TermsLine {
            name: line.name.clone(),
            sku: line.sku.clone(),
            quantity: line.quantity,
            unit_minor: line.unit_minor,
            total_minor: line.total_minor,
        };
        let discounts = quote.discounts.iter().map(|it| (it.title.clone(), it.minor));
        let is_tax_open = quote.open.contains(&OpenPart::Tax);
        let tax_minor = quote.tax_minor.filter(|_| !is_tax_open);
        // Not above the quote's total, which was added up without overflow.
        let total_minor = quote.subtotal_minor - quote.discount_minor
            + shipping.as_ref().map_or(0, |option| option.price_minor)
            + tax_minor.unwrap_or(0);
        Self {
            store: TermsStore {
                slug: store.slug.as_str().to_owned(),
                name: store.name.clone(),
                legal_name: store.legal_name.clone(),
                band: store.standing.band(),
                is_provisional: store.standing.provisional,
            },
            agent: cart.owner.name.clone(),
            is_sandbox: cart.owner.is_sandbox,
            lines: quote.lines.iter().map(line).collect(),
            currency: quote.currency,
            subtotal_minor: quote.subtotal_minor,
            discounts: discounts.collect(),
            open: quote.open.clone(),
            shipping,
            tax_minor,
            tax_included_minor: if is_tax_open { 0 } else { quote.tax_included_minor },
            total_minor,
            destination: cart.destination.clone(),
            buyer: cart.buyer.clone(),
            returns: TermsReturns {
                window_days: policies.return_window_days,
                summary: policies.return_summary.clone(),
            },
            expires_at: cart.expires_at(),
        }
    }

    /// Returns what an approval of the terms covers.
    #[must_use]
    pub fn scope(&self) -> ApprovalScope {
        if self.open.is_empty() { ApprovalScope::Total } else { ApprovalScope::Items }
    }

    /// Returns the open parts that are amounts, in words, such as `shipping and tax`; `None` if the total is final.
    #[must_use]
    pub fn open_amounts(&self) -> Option<&'static str> {
        let is_open = |part| self.open.contains(&part);
        match (is_open(OpenPart::Shipping), is_open(OpenPart::Tax)) {
            (true, true) => Some("shipping and tax"),
            (true, false) => Some(OpenPart::Shipping.label()),
            (false, true) => Some(OpenPart::Tax.label()),
            (false, false) => None,
        }
    }

    /// Returns whether the person still has to enter the shipping address.
    #[must_use]
    pub fn needs_destination(&self) -> bool {
        self.open.contains(&OpenPart::Destination)
    }

    /// Returns whether the destination is an address that goods can be delivered to, not only a country.
    #[must_use]
    pub fn has_address(&self) -> bool {
        let is_set = |text: &Option<String>| text.is_some();
        self.destination.as_ref().is_some_and(|it| is_set(&it.street) && is_set(&it.city))
    }

    /// Returns the SHA-256 of the terms as canonical JSON (RFC 8785; they contain no fractions).
    pub fn hash(&self) -> Result<QuoteHash, CartError> {
        let text = serde_json_canonicalizer::to_vec(self).map_err(|_| CartError::Unreadable)?;
        Ok(QuoteHash(Sha256::digest(&text).into()))
    }
}

primitives::text_enum! {
    /// What an approval covers.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum ApprovalScope {
        /// The items and their prices; parts of the total are open.
        Items,
        /// The total: everything that is charged.
        Total,
    }
}

/// The hash of the terms a person approves. A confirmation is bound to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QuoteHash([u8; 32]);

impl QuoteHash {
    /// The pattern of a hash as text. Doors advertise it.
    pub const PATTERN: &str = "^[0-9a-f]{64}$";

    /// Returns the bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the hash with these bytes, or `None` if there are not 32.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for QuoteHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl FromStr for QuoteHash {
    type Err = CartError;
    fn from_str(text: &str) -> Result<Self, CartError> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| CartError::InvalidQuoteHash)?;
        Ok(Self(bytes))
    }
}

impl serde::Serialize for QuoteHash {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![Just(String::new()), "[ab]{1,2}", "\\PC{0,4}"]
    }

    fn band() -> impl Strategy<Value = Option<Band>> {
        prop_oneof![Just(None), Just(Some(Band::Standard)), Just(Some(Band::Elite))]
    }

    prop_compose! {
        fn line()(
            name in text(), sku in text(), quantity in 1_u32..3, unit_minor in 0_i64..3, total_minor in 0_i64..3,
        ) -> TermsLine {
            TermsLine { name, sku, quantity, unit_minor, total_minor }
        }
    }

    prop_compose! {
        fn shipping()(title in text(), price_minor in 0_i64..3, days_min in 1..3, days_max in 3..5) -> TermsShipping {
            TermsShipping { title, price_minor, days_min, days_max }
        }
    }

    prop_compose! {
        fn destination()(country in "DE|FR", city in proptest::option::of(text())) -> Destination {
            Destination { country, region: None, postal_code: None, city, street: None, name: None }
        }
    }

    prop_compose! {
        fn buyer()(email in "a@b|c@d", first_name in proptest::option::of(text())) -> Buyer {
            Buyer { email: Some(email), first_name, last_name: None, phone_number: None }
        }
    }

    fn open() -> impl Strategy<Value = Vec<OpenPart>> {
        prop_oneof![Just(Vec::new()), Just(vec![OpenPart::Shipping]), Just(OpenPart::ALL.to_vec())]
    }

    prop_compose! {
        fn terms()(
            (name, legal_name, agent) in (text(), text(), text()),
            (band, is_provisional, is_sandbox) in (band(), any::<bool>(), any::<bool>()),
            lines in proptest::collection::vec(line(), 0..3),
            discounts in proptest::collection::vec((text(), 0_i64..3), 0..2),
            (shipping, destination) in (proptest::option::of(shipping()), proptest::option::of(destination())),
            (open, buyer) in (open(), proptest::option::of(buyer())),
            (subtotal_minor, tax_minor, tax_included_minor, total_minor)
                in (0_i64..3, proptest::option::of(0_i64..2), 0_i64..2, 0_i64..3),
            (window_days, summary, expires) in (proptest::option::of(1..3), proptest::option::of(text()), 0_i64..2),
        ) -> Terms {
            Terms {
                store: TermsStore { slug: String::from("attic"), name, legal_name, band, is_provisional },
                agent,
                is_sandbox,
                lines,
                currency: Currency::EUR,
                subtotal_minor,
                discounts,
                open,
                shipping,
                tax_minor,
                tax_included_minor,
                total_minor,
                destination,
                buyer,
                returns: TermsReturns { window_days, summary },
                expires_at: Timestamp::from_unix_micros(expires * 1_000_000),
            }
        }
    }

    proptest! {
        /// Small domains, so that equal terms occur as well.
        #[test]
        fn the_hash_changes_if_and_only_if_something_shown_changes(one in terms(), two in terms()) {
            let stored: Terms = serde_json::from_value(serde_json::to_value(&one).unwrap()).unwrap();
            prop_assert_eq!(&stored, &one);
            prop_assert_eq!(stored.hash().unwrap(), one.hash().unwrap());
            prop_assert_eq!(one == two, one.hash().unwrap() == two.hash().unwrap());
        }

        #[test]
        fn the_hash_covers_each_part(one in terms(), other in terms(), part in 0..13) {
            let mut two = one.clone();
            match part {
                0 => two.store = other.store,
                1 => two.agent = other.agent,
                2 => two.lines = other.lines,
                3 => two.discounts = other.discounts,
                4 => two.shipping = other.shipping,
                5 => two.tax_minor = other.tax_minor,
                6 => two.total_minor = other.total_minor,
                7 => two.destination = other.destination,
                8 => two.returns = other.returns,
                9 => two.expires_at = other.expires_at,
                10 => two.open = other.open,
                11 => two.buyer = other.buyer,
                _ => two.is_sandbox = other.is_sandbox,
            }
            prop_assert_eq!(one == two, one.hash().unwrap() == two.hash().unwrap());
        }
    }

    #[test]
    fn a_hash_is_formatted_and_parsed() {
        let hash = QuoteHash::from_bytes(&[0xA7; 32]).unwrap();
        assert_eq!(hash.to_string(), "a7".repeat(32));
        assert_eq!(hash.to_string().parse::<QuoteHash>().unwrap(), hash);
        for wrong in ["", "a7", &"g7".repeat(32), &"é".repeat(32)] {
            assert!(wrong.parse::<QuoteHash>().is_err(), "{wrong}");
        }
    }
}
