//! `get_product_details`: full product data with policies (spec §4.3).

use catalog::ProductRecord;
use primitives::{Failure, ProductId};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool};

pub(super) struct GetProductDetails;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The product's id, as this store's other tools return it: `prod_` and 32 hexadecimal digits.
    product_id: ProductId,
}

impl Tool for GetProductDetails {
    const NAME: &'static str = "get_product_details";
    const TITLE: &'static str = "Product details";
    const PURPOSE: &'static str = "Get everything this store says about one product: description, \
        price, stock, variants, attributes, images, rating, and the store's return and shipping policies.";
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = ProductRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<ProductRecord, Failure> {
        let reading = call.reading()?;
        let product = catalog::product(&reading, call.store.merchant, arguments.product_id).await?;
        Ok(product.record(call.store, call.site_url))
    }
}
