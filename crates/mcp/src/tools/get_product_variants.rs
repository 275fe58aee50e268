//! `get_product_variants`: the forms of a product, narrowed by what the buyer chose so far.

use catalog::{Choice, ProductOption, VariantRecord};
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
    selected: Option<Choice>,
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
        let options = catalog::options(&variants, &selected);
        let fitting = variants.into_iter().filter(|variant| variant.fits(&selected));
        Ok(Output { product_id: id, options, variants: fitting.collect() })
    }
}
