//! The price and stock of a product or variant, and the options between which a buyer chooses.

use std::collections::{BTreeMap, BTreeSet};

use primitives::{Money, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Product, StockStatus, VariantRecord};

/// Unit price and stock of a product or variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    pub price: Money,
    pub stock_status: StockStatus,
    /// `None` if the merchant states no quantity.
    pub stock_quantity: Option<i32>,
}

impl Offer {
    /// Whether this many units are available, as far as the merchant states a quantity.
    #[must_use]
    pub fn covers(&self, quantity: i64) -> bool {
        let is_enough =
            self.stock_quantity.is_none_or(|available| i64::from(available) >= quantity);
        self.stock_status.is_available() && is_enough
    }
}

impl Product {
    /// Returns the offer of a variant, or of the product as a whole; `None` if the product has no such variant.
    #[must_use]
    pub fn offer(&self, variant: Option<VariantId>) -> Option<Offer> {
        let Some(id) = variant else {
            let facts = &self.facts;
            let (stock_status, stock_quantity) = (facts.stock_status, facts.stock_quantity);
            return Some(Offer { price: facts.price, stock_status, stock_quantity });
        };
        let facts = &self.variants.iter().find(|variant| variant.id == id)?.facts;
        let (stock_status, stock_quantity) = (facts.stock_status, facts.stock_quantity);
        Some(Offer { price: facts.price, stock_status, stock_quantity })
    }
}

/// Selected values by option name: `size` → `L`.
pub type Choice = BTreeMap<String, String>;

/// An option of a product.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProductOption {
    /// Option name, such as `size`.
    pub name: String,
    /// Values of the option.
    pub values: Vec<OptionValue>,
}

/// A value of an option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OptionValue {
    /// Value, such as `L`.
    pub label: String,
    /// Whether a variant has this value and the values selected for the other options.
    pub exists: bool,
    /// Whether such a variant is in stock.
    pub available: bool,
}

impl VariantRecord {
    /// Whether the variant has all selected values.
    #[must_use]
    pub fn matches(&self, selected: &Choice) -> bool {
        selected.iter().all(|(name, label)| self.options.get(name) == Some(label))
    }
}

/// Returns the options of these variants, given the values selected so far.
#[must_use]
pub fn options(variants: &[VariantRecord], selected: &Choice) -> Vec<ProductOption> {
    let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, label) in variants.iter().flat_map(|variant| &variant.options) {
        labels.entry(name).or_default().insert(label);
    }
    let value = |name: &str, label: &str| {
        // The selected value of this option itself is replaced.
        let mut selected = selected.clone();
        selected.insert(name.to_owned(), label.to_owned());
        let mut matching = variants.iter().filter(|variant| variant.matches(&selected)).peekable();
        OptionValue {
            label: label.to_owned(),
            exists: matching.peek().is_some(),
            available: matching.any(|variant| variant.stock_status.is_available()),
        }
    };
    let option = |(name, labels): (&str, BTreeSet<&str>)| ProductOption {
        name: name.to_owned(),
        values: labels.into_iter().map(|label| value(name, label)).collect(),
    };
    labels.into_iter().map(option).collect()
}

#[cfg(test)]
mod tests {
    use primitives::{Currency, Id};

    use super::*;

    fn variant(size: &str, colour: &str, stock_status: StockStatus) -> VariantRecord {
        let options = [("size", size), ("colour", colour)];
        VariantRecord {
            id: VariantId::from_random(1),
            sku: String::new(),
            name: String::new(),
            options: options.map(|(name, label)| (name.to_owned(), label.to_owned())).into(),
            price: 1.0,
            list_price: None,
            stock_status,
            available_quantity: None,
            image: None,
            gtin: None,
        }
    }

    #[test]
    fn a_selected_value_restricts_the_other_options_only() {
        let variants = [
            variant("S", "red", StockStatus::InStock),
            variant("L", "red", StockStatus::OutOfStock),
            variant("L", "blue", StockStatus::LowStock),
        ];
        let selected = Choice::from([(String::from("colour"), String::from("red"))]);
        let shown: Vec<(String, String, bool, bool)> = options(&variants, &selected)
            .into_iter()
            .flat_map(|option| {
                let name = option.name;
                option
                    .values
                    .into_iter()
                    .map(move |it| (name.clone(), it.label, it.exists, it.available))
            })
            .collect();
        let row = |name: &str, label: &str, exists, available| {
            (name.to_owned(), label.to_owned(), exists, available)
        };
        assert_eq!(
            shown,
            [
                row("colour", "blue", true, true),
                row("colour", "red", true, true),
                row("size", "L", true, false),
                row("size", "S", true, true),
            ]
        );
    }

    #[test]
    fn an_offer_covers_the_available_quantity() {
        let offer = |stock_status, stock_quantity| Offer {
            price: Money::new(1, Currency::EUR),
            stock_status,
            stock_quantity,
        };
        assert!(offer(StockStatus::InStock, None).covers(1_000));
        assert!(offer(StockStatus::LowStock, Some(3)).covers(3));
        assert!(!offer(StockStatus::LowStock, Some(3)).covers(4));
        assert!(!offer(StockStatus::Backorder, Some(9)).covers(1));
    }
}
