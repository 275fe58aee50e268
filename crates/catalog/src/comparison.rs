//! Products side by side.

use std::collections::{BTreeMap, BTreeSet};

use primitives::{Details, ErrorCode, Problem, ProductId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ProductRecord;

/// Products one comparison may hold.
const COMPARED_MAX: usize = 10;

/// Where products differ, and which of them is ahead in what.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Comparison {
    /// Facts that differ or that only some have, by name: one value per product, null where it has none.
    pub differences: BTreeMap<String, Vec<Option<String>>>,
    /// The cheapest of each currency.
    pub cheapest: BTreeMap<String, ProductId>,
    /// The one of the best trusted store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_trusted: Option<ProductId>,
    /// The one that is rated best, as the merchants say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_rated: Option<ProductId>,
}

impl Comparison {
    /// Compares products. The values of a difference are in their order.
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

/// Whether these can be compared: two to ten, each named once.
pub fn comparable(products: &[ProductId]) -> Result<(), NotComparable> {
    let distinct: BTreeSet<&ProductId> = products.iter().collect();
    let is_number_right = (2..=COMPARED_MAX).contains(&products.len());
    if is_number_right && distinct.len() == products.len() { Ok(()) } else { Err(NotComparable) }
}

/// Not two to ten different products.
#[derive(Debug, thiserror::Error)]
#[error("product_ids must be two to ten different products")]
pub struct NotComparable;

impl Problem for NotComparable {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "product_ids");
        details.insert(
            "hint",
            "name each product once; product ids come from this service's own answers",
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

/// What can be told apart at a glance: the attributes, and the fields every product has.
fn facts(product: &ProductRecord) -> BTreeMap<String, String> {
    let mut facts = product.attributes.clone();
    let policies = &product.policies;
    let shown = [
        ("brand", Some(product.brand.clone())),
        ("condition", Some(product.condition.name().to_owned())),
        ("price", Some(format!("{} {}", product.price, product.currency))),
        ("stock_status", Some(product.stock_status.name().to_owned())),
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

/// The first of those that are ahead, so that the order of the question decides between equals.
fn first_best(
    products: &[ProductRecord],
    figure: impl Fn(&ProductRecord) -> Option<f64>,
) -> Option<ProductId> {
    let mut best: Option<(ProductId, f64)> = None;
    for product in products {
        if let Some(figure) = figure(product)
            && best.is_none_or(|(_, so_far)| figure > so_far)
        {
            best = Some((product.id, figure));
        }
    }
    best.map(|(id, _)| id)
}
