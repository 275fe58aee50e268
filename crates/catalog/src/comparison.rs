//! Comparison of products.

use std::collections::{BTreeMap, BTreeSet};

use primitives::{Details, ErrorCode, Problem, ProductId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ProductRecord;

/// Most products in a comparison.
const COMPARED_MAX: usize = 10;

/// How products differ, and which is best by price, trust and rating.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Comparison {
    /// Facts that differ, by name: one value per product in the order of the products, null where a product has none.
    pub differences: BTreeMap<String, Vec<Option<String>>>,
    /// The cheapest product of each currency.
    pub cheapest: BTreeMap<String, ProductId>,
    /// The product of the store with the highest trust score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_trusted: Option<ProductId>,
    /// The product with the highest rating, as stated by the merchants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_rated: Option<ProductId>,
}

impl Comparison {
    /// Compares products.
    #[must_use]
    pub fn of(products: &[ProductRecord]) -> Self {
        let trust = |product: &ProductRecord| product.merchant.trust_score;
        let rating = |product: &ProductRecord| Some(product.rating.as_ref()?.average);
        Self {
            differences: differences(products),
            cheapest: cheapest(products),
            most_trusted: first_best(products, trust),
            best_rated: first_best(products, rating),
        }
    }
}

/// Checks that there are two to ten different products.
pub fn comparable(products: &[ProductId]) -> Result<(), NotComparable> {
    let distinct: BTreeSet<&ProductId> = products.iter().collect();
    let is_count_valid = (2..=COMPARED_MAX).contains(&products.len());
    if is_count_valid && distinct.len() == products.len() { Ok(()) } else { Err(NotComparable) }
}

/// The error of a comparison without two to ten different products.
#[derive(Debug, thiserror::Error)]
#[error("product_ids must hold two to ten different product ids")]
pub struct NotComparable;

impl Problem for NotComparable {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "product_ids");
        details.insert(
            "hint",
            "send each product id once; product ids come from responses of this service",
        );
    }
}

fn differences(products: &[ProductRecord]) -> BTreeMap<String, Vec<Option<String>>> {
    let facts: Vec<BTreeMap<String, String>> = products.iter().map(facts).collect();
    let names: BTreeSet<&String> = facts.iter().flat_map(BTreeMap::keys).collect();
    let row = |name: &String| facts.iter().map(|facts| facts.get(name).cloned()).collect();
    let rows = names.into_iter().map(|name| (name.clone(), row(name)));
    rows.filter(|(_, row): &(String, Vec<Option<String>>)| {
        row.windows(2).any(|pair| pair[0] != pair[1])
    })
    .collect()
}

/// Returns the attributes of a product and the fields that are compared.
fn facts(product: &ProductRecord) -> BTreeMap<String, String> {
    let mut facts = product.attributes.clone();
    let policies = &product.policies;
    let shown = [
        ("brand", Some(product.brand.clone())),
        ("condition", Some(product.condition.to_string())),
        ("price", Some(format!("{} {}", product.price, product.currency))),
        ("stock_status", Some(product.stock_status.to_string())),
        ("merchant", Some(product.merchant.slug.clone())),
        ("rating", product.rating.as_ref().map(|rating| rating.average.to_string())),
        ("return_window_days", policies.return_window_days.map(|days| days.to_string())),
        ("shipping_estimate_days", policies.shipping_estimate_days.clone()),
        ("warranty_months", policies.warranty_months.map(|months| months.to_string())),
    ];
    for (name, value) in shown {
        if let Some(value) = value {
            facts.insert(name.to_owned(), value);
        }
    }
    facts
}

fn cheapest(products: &[ProductRecord]) -> BTreeMap<String, ProductId> {
    let mut cheapest: BTreeMap<String, &ProductRecord> = BTreeMap::new();
    for product in products {
        let best = cheapest.entry(product.currency.clone()).or_insert(product);
        if product.price < best.price {
            *best = product;
        }
    }
    cheapest.into_iter().map(|(currency, product)| (currency, product.id)).collect()
}

/// Returns the product with the highest figure; of equal ones the first.
fn first_best(
    products: &[ProductRecord],
    figure: impl Fn(&ProductRecord) -> Option<f64>,
) -> Option<ProductId> {
    let mut best: Option<(ProductId, f64)> = None;
    for product in products {
        if let Some(figure) = figure(product)
            && best.is_none_or(|(_, highest)| figure > highest)
        {
            best = Some((product.id, figure));
        }
    }
    best.map(|(id, _)| id)
}
