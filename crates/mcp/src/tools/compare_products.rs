//! `compare_products`: a side-by-side comparison (docs/contract/products.md#comparison).

use catalog::{Comparison, ProductCard};
use primitives::{Failure, ProductId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CompareProducts;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Ids of 2 to 10 products.
    #[schemars(length(min = 2, max = 10))]
    #[schemars(extend("x-former-names" = ["ids"]))]
    product_ids: Vec<ProductId>,
    /// Compare only these attributes, such as `price` or `color`.
    #[schemars(length(max = 30))]
    attributes: Option<Vec<String>>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Products, in the requested order.
    products: Vec<ProductCard>,
    /// Differences between the products.
    #[serde(flatten)]
    comparison: Comparison,
}

impl Tool for CompareProducts {
    const NAME: &'static str = "compare_products";
    const TITLE: &'static str = "Compare products";
    const PURPOSE: &'static str = "Compare 2 to 10 products of this store. Returns the attributes in which they differ, the cheapest and the best rated.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        catalog::comparable(&arguments.product_ids)?;
        let reading = context.reading()?;
        let mut records = Vec::with_capacity(arguments.product_ids.len());
        for id in arguments.product_ids {
            let product = catalog::product(&reading, context.store.merchant, id).await?;
            records.push(product.record(&context.store, &context.app.site_url));
        }
        let mut comparison = Comparison::of(&records);
        if let Some(wanted) = arguments.attributes {
            comparison.differences.retain(|name, _| wanted.contains(name));
        }
        let products = records.into_iter().map(ProductCard::from).collect();
        Ok(Output { products, comparison })
    }
}
