//! `lookup_products`: many products by identifier.

use catalog::{Gtin, Lookup, ProductCard};
use primitives::{Failure, PageRequest, ProductId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::product_page::ProductPage;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct LookupProducts;

/// Identifiers in one call.
const IDENTIFIERS_MAX: i64 = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// 1 to 50 product ids, SKUs, GTINs or page URLs, mixed.
    #[schemars(length(min = 1, max = 50), inner(length(min = 1, max = 2048)))]
    #[schemars(extend("x-former-names" = ["ids"]))]
    product_ids: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Products found, in the order of the identifiers.
    #[serde(flatten)]
    found: ProductPage<FoundProduct>,
    /// Identifiers without a product in this store.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_found: Vec<String>,
}

/// A product and the identifier it was found by.
#[derive(Serialize, JsonSchema)]
pub(super) struct FoundProduct {
    /// The identifier as given.
    input: String,
    /// Kind of identifier that matched.
    matched_by: MatchedBy,
    /// The product card.
    #[serde(flatten)]
    product: ProductCard,
}

/// Kind of identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MatchedBy {
    ProductId,
    Sku,
    Gtin,
    Url,
}

/// Returns the possible interpretations of an identifier, most likely first: digits are a GTIN or else a SKU.
fn interpretations(identifier: &str) -> Vec<(MatchedBy, Lookup)> {
    let identifier = identifier.trim();
    if let Ok(id) = identifier.parse::<ProductId>() {
        return vec![(MatchedBy::ProductId, Lookup::Id(id))];
    }
    if let Ok(url) = catalog::web_url(identifier) {
        return vec![(MatchedBy::Url, Lookup::Url(url))];
    }
    let gtin =
        identifier.parse::<Gtin>().ok().map(|gtin| (MatchedBy::Gtin, Lookup::Gtin(gtin.to_14())));
    gtin.into_iter().chain([(MatchedBy::Sku, Lookup::Sku(identifier.to_owned()))]).collect()
}

impl Tool for LookupProducts {
    const NAME: &'static str = "lookup_products";
    const TITLE: &'static str = "Look up products";
    const PURPOSE: &'static str = "Look up to 50 products of this store in one call by id, SKU, GTIN (bar code) or page URL. Returns a short product card for each, and the identifiers not found. For one product in full, use get_product_details.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let reading = context.reading()?;
        let (mut products, mut not_found) = (Vec::new(), Vec::new());
        'identifiers: for input in arguments.product_ids {
            for (matched_by, lookup) in interpretations(&input) {
                let found = catalog::find(&reading, context.store.merchant, &lookup).await?;
                if let Some(product) = found.into_iter().next() {
                    let product = product.record(&context.store, &context.app.site_url).into();
                    products.push(FoundProduct { input, matched_by, product });
                    continue 'identifiers;
                }
            }
            not_found.push(input);
        }
        let count = i64::try_from(products.len()).unwrap_or(0);
        let meta = PageRequest::new(None, Some(IDENTIFIERS_MAX)).meta(count);
        Ok(Output { found: ProductPage::new(products, meta), not_found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_classified_by_its_form() {
        let kinds = |name: &str| -> Vec<MatchedBy> {
            interpretations(name).into_iter().map(|(kind, _)| kind).collect()
        };
        assert_eq!(kinds("prod_076c313f7c63513c9eb9f8f3fff08813"), [MatchedBy::ProductId]);
        assert_eq!(kinds("https://shop.example/mug"), [MatchedBy::Url]);
        assert_eq!(kinds(" 9520000000004 "), [MatchedBy::Gtin, MatchedBy::Sku]);
        assert_eq!(kinds("9520000000005"), [MatchedBy::Sku]);
        assert_eq!(kinds("POUR-101"), [MatchedBy::Sku]);
    }
}
