//! `get_product_variants`: the forms of a product, narrowed by what the buyer chose so far.

use std::collections::{BTreeMap, BTreeSet};

use catalog::{StockStatus, VariantRecord};
use primitives::{Failure, ProductId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetProductVariants;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The product.
    product_id: ProductId,
    /// What the buyer chose so far, by option: {"size": "L"}. Only variants that fit are returned.
    selected: Option<BTreeMap<String, String>>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// The product.
    product_id: ProductId,
    /// What can be chosen.
    options: Vec<ProductOption>,
    /// The variants that fit what was chosen.
    variants: Vec<VariantRecord>,
}

/// Something to choose.
#[derive(Serialize, JsonSchema)]
pub(super) struct ProductOption {
    /// Its name, such as `size`.
    name: String,
    /// The choices.
    values: Vec<OptionValue>,
}

/// A choice.
#[derive(Serialize, JsonSchema)]
pub(super) struct OptionValue {
    /// The choice, such as `L`.
    label: String,
    /// Whether it exists together with what was chosen of the other options.
    exists: bool,
    /// Whether it can be had at once together with them.
    available: bool,
}

impl Tool for GetProductVariants {
    const NAME: &'static str = "get_product_variants";
    const TITLE: &'static str = "Product variants";
    const PURPOSE: &'static str = "List the sizes, colours and other forms of a product, and which can still be had given what the buyer chose.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let reading = call.reading()?;
        let id = arguments.product_id;
        let product = catalog::product(&reading, call.store.merchant, id).await?;
        let variants = product.record(call.store, call.site_url).variants;
        let selected = arguments.selected.unwrap_or_default();
        let options = options(&variants, &selected);
        let fitting = variants.into_iter().filter(|variant| fits(variant, &selected, None));
        Ok(Output { product_id: id, options, variants: fitting.collect() })
    }
}

/// Whether a variant is what was chosen, leaving one option aside.
fn fits(variant: &VariantRecord, selected: &BTreeMap<String, String>, aside: Option<&str>) -> bool {
    selected
        .iter()
        .filter(|(name, _)| Some(name.as_str()) != aside)
        .all(|(name, label)| variant.options.get(name) == Some(label))
}

fn options(variants: &[VariantRecord], selected: &BTreeMap<String, String>) -> Vec<ProductOption> {
    let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, label) in variants.iter().flat_map(|variant| &variant.options) {
        labels.entry(name).or_default().insert(label);
    }
    let value = |name: &str, label: &str| {
        let same = |variant: &&VariantRecord| {
            variant.options.get(name).is_some_and(|own| own == label)
                && fits(variant, selected, Some(name))
        };
        let can_be_had = |variant: &VariantRecord| {
            matches!(variant.stock_status, StockStatus::InStock | StockStatus::LowStock)
        };
        OptionValue {
            label: label.to_owned(),
            exists: variants.iter().any(|variant| same(&variant)),
            available: variants.iter().filter(same).any(can_be_had),
        }
    };
    let option = |(name, labels): (&str, BTreeSet<&str>)| ProductOption {
        name: name.to_owned(),
        values: labels.into_iter().map(|label| value(name, label)).collect(),
    };
    labels.into_iter().map(option).collect()
}
