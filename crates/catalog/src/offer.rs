//! What can be bought of a product: it as a whole, or one of its forms; and what there is to choose.

use std::collections::{BTreeMap, BTreeSet};

use primitives::{Money, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Product, StockStatus, VariantRecord};

/// What one of it costs, and whether it can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// What one costs.
    pub price: Money,
    /// Whether it can be had.
    pub stock_status: StockStatus,
    /// How many there are, if the merchant says.
    pub stock_quantity: Option<i32>,
}

impl Offer {
    /// Whether so many can be had at once, as far as the merchant says.
    #[must_use]
    pub fn covers(&self, quantity: i64) -> bool {
        let is_enough = self.stock_quantity.is_none_or(|there| i64::from(there) >= quantity);
        self.stock_status.is_at_hand() && is_enough
    }
}

impl Product {
    /// The offer of one of its forms, or of it as a whole; none if it has no such form.
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

/// Choices by the name of the option: `size` is `L`.
pub type Choice = BTreeMap<String, String>;

/// Something to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProductOption {
    /// Its name, such as `size`.
    pub name: String,
    /// The choices.
    pub values: Vec<OptionValue>,
}

/// A choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OptionValue {
    /// The choice, such as `L`.
    pub label: String,
    /// Whether it exists together with what was chosen of the other options.
    pub exists: bool,
    /// Whether it can be had at once together with them.
    pub available: bool,
}

impl VariantRecord {
    /// Whether it is what was chosen.
    #[must_use]
    pub fn fits(&self, chosen: &Choice) -> bool {
        chosen.iter().all(|(name, label)| self.options.get(name) == Some(label))
    }
}

/// What there is to choose between these variants, given what was chosen so far.
#[must_use]
pub fn options(variants: &[VariantRecord], chosen: &Choice) -> Vec<ProductOption> {
    let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, label) in variants.iter().flat_map(|variant| &variant.options) {
        labels.entry(name).or_default().insert(label);
    }
    let value = |name: &str, label: &str| {
        // What was chosen of this option is about to be chosen anew.
        let mut chosen = chosen.clone();
        chosen.insert(name.to_owned(), label.to_owned());
        let mut fitting = variants.iter().filter(|variant| variant.fits(&chosen)).peekable();
        OptionValue {
            label: label.to_owned(),
            exists: fitting.peek().is_some(),
            available: fitting.any(|variant| variant.stock_status.is_at_hand()),
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
    fn a_choice_narrows_the_others_and_not_itself() {
        let variants = [
            variant("S", "red", StockStatus::InStock),
            variant("L", "red", StockStatus::OutOfStock),
            variant("L", "blue", StockStatus::LowStock),
        ];
        let chosen = Choice::from([(String::from("colour"), String::from("red"))]);
        let shown: Vec<(String, String, bool, bool)> = options(&variants, &chosen)
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
    fn an_offer_covers_what_is_at_hand() {
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
