//! `get_product_variants`: the variants of a product, filtered by the options selected so far.

use catalog::{Choice, ProductOption, VariantRecord};
use primitives::{Failure, ProductId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetProductVariants;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Product id.
    product_id: ProductId,
    /// Options selected so far, such as [{"name": "size", "value": "L"}].
    #[schemars(length(max = 20))]
    selected: Option<Vec<SelectedOption>>,
}

/// A selected value of an option.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SelectedOption {
    /// Option name.
    #[schemars(length(max = 200))]
    name: String,
    /// Selected value.
    #[schemars(length(max = 200))]
    value: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Product identifier.
    product_id: ProductId,
    /// Options with their values.
    options: Vec<ProductOption>,
    /// Variants that match the selected options.
    variants: Vec<VariantRecord>,
}

impl Tool for GetProductVariants {
    const NAME: &'static str = "get_product_variants";
    const TITLE: &'static str = "Product variants";
    const PURPOSE: &'static str = "List the variants (sizes, colours and so on) of a product with price and stock. With the options selected so far, returns the matching variants and which values of the other options are still available. To check a quantity, use check_availability.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let reading = context.reading()?;
        let id = arguments.product_id;
        let product = catalog::product(&reading, context.store.merchant, id).await?;
        let variants = product.record(&context.store, &context.app.site_url).variants;
        let selected = arguments.selected.unwrap_or_default();
        let selected: Choice = selected.into_iter().map(|it| (it.name, it.value)).collect();
        let options = catalog::options(&variants, &selected);
        let fitting = variants.into_iter().filter(|variant| variant.matches(&selected));
        Ok(Output { product_id: id, options, variants: fitting.collect() })
    }
}
