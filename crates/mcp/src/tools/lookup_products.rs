//! `lookup_products`: many products by whatever names them.

use catalog::{Gtin, Lookup, ProductCard};
use primitives::{Failure, ProductId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct LookupProducts;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// 1 to 50 names: product ids, SKUs, bar code numbers (GTIN) or product page addresses, in any mix.
    #[schemars(length(min = 1, max = 50), inner(length(min = 1, max = 2048)))]
    ids: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// What was found, in the order of the names.
    products: Vec<FoundProduct>,
    /// Names that lead to nothing here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_found: Vec<String>,
}

/// A product, and what led to it.
#[derive(Serialize, JsonSchema)]
pub(super) struct FoundProduct {
    /// The name as it was asked for.
    input: String,
    /// What kind of name it is.
    matched_by: MatchedBy,
    /// The product.
    #[serde(flatten)]
    product: ProductCard,
}

/// A kind of name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MatchedBy {
    ProductId,
    Sku,
    Gtin,
    Url,
}

/// What a name may mean, the likeliest first: a row of digits is a bar code or else a SKU.
fn meanings(name: &str) -> Vec<(MatchedBy, Lookup)> {
    let name = name.trim();
    if let Ok(id) = name.parse::<ProductId>() {
        return vec![(MatchedBy::ProductId, Lookup::Id(id))];
    }
    if let Ok(url) = catalog::web_address(name) {
        return vec![(MatchedBy::Url, Lookup::Url(url))];
    }
    let gtin = name.parse::<Gtin>().ok().map(|gtin| (MatchedBy::Gtin, Lookup::Gtin(gtin.to_14())));
    gtin.into_iter().chain([(MatchedBy::Sku, Lookup::Sku(name.to_owned()))]).collect()
}

impl Tool for LookupProducts {
    const NAME: &'static str = "lookup_products";
    const TITLE: &'static str = "Look up products";
    const PURPOSE: &'static str =
        "Find products of this store by id, SKU, bar code number or address, up to 50 at once.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let reading = call.reading()?;
        let mut output = Output { products: Vec::new(), not_found: Vec::new() };
        'names: for input in arguments.ids {
            for (matched_by, lookup) in meanings(&input) {
                let found = catalog::find(&reading, call.store.merchant, &lookup).await?;
                if let Some(product) = found.into_iter().next() {
                    let product = product.record(call.store, call.site_url).into();
                    output.products.push(FoundProduct { input, matched_by, product });
                    continue 'names;
                }
            }
            output.not_found.push(input);
        }
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_what_it_looks_like() {
        let kinds = |name: &str| -> Vec<MatchedBy> {
            meanings(name).into_iter().map(|(kind, _)| kind).collect()
        };
        assert_eq!(kinds("prod_076c313f7c63513c9eb9f8f3fff08813"), [MatchedBy::ProductId]);
        assert_eq!(kinds("https://shop.example/mug"), [MatchedBy::Url]);
        assert_eq!(kinds(" 9520000000004 "), [MatchedBy::Gtin, MatchedBy::Sku]);
        assert_eq!(kinds("9520000000005"), [MatchedBy::Sku]);
        assert_eq!(kinds("POUR-101"), [MatchedBy::Sku]);
    }
}
