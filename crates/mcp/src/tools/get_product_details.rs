//! `get_product_details`: full product data with policies (docs/contract/mcp.md#shown-tools).

use catalog::{CatalogError, Gtin, Lookup, ProductRecord};
use primitives::{Details, ErrorCode, Failure, Problem, ProductId};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetProductDetails;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Product id, `prod_` and 32 hexadecimal digits.
    product_id: Option<ProductId>,
    /// Merchant's SKU of the product or a variant.
    sku: Option<String>,
    /// Bar code number, 8, 12, 13 or 14 digits.
    gtin: Option<String>,
    /// Product page in the merchant's shop.
    url: Option<String>,
}

impl Arguments {
    /// Returns the lookup key. Exactly one of the four arguments must be given.
    fn lookup(self) -> Result<Lookup, InvalidIdentifier> {
        match (self.product_id, self.sku, self.gtin, self.url) {
            (Some(id), None, None, None) => Ok(Lookup::Id(id)),
            (None, Some(sku), None, None) => Ok(Lookup::Sku(sku.trim().to_owned())),
            (None, None, Some(gtin), None) => {
                let gtin: Gtin = gtin.parse().map_err(|_| InvalidIdentifier::Gtin)?;
                Ok(Lookup::Gtin(gtin.to_14()))
            }
            (None, None, None, Some(url)) => {
                catalog::web_url(&url).map(Lookup::Url).map_err(|_| InvalidIdentifier::Url)
            }
            _ => Err(InvalidIdentifier::NotExactlyOne),
        }
    }
}

/// The arguments do not identify a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum InvalidIdentifier {
    #[error("exactly one of product_id, sku, gtin and url is required")]
    NotExactlyOne,
    #[error("gtin must be 8, 12, 13 or 14 digits with a valid check digit")]
    Gtin,
    #[error("url must be an http or https address")]
    Url,
}

impl Problem for InvalidIdentifier {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        let field = match self {
            Self::NotExactlyOne => "product_id",
            Self::Gtin => "gtin",
            Self::Url => "url",
        };
        details.insert("field", field);
        details.insert("hint", "search_products and lookup_products return product ids");
    }
}

impl Tool for GetProductDetails {
    const NAME: &'static str = "get_product_details";
    const TITLE: &'static str = "Product details";
    const PURPOSE: &'static str = "Get all data of one product: full description, price, stock, variants, attributes, images, rating and the store's policies. Pass exactly one of product_id, sku, gtin and url. For several products at once, use lookup_products.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = ProductRecord;

    async fn call(
        context: &RequestContext,
        arguments: Arguments,
    ) -> Result<ProductRecord, Failure> {
        let lookup = arguments.lookup()?;
        let reading = context.reading()?;
        // Several products may share a number or an address: the first by identifier is returned.
        let found = catalog::find(&reading, context.store.merchant, &lookup).await?;
        let product = found.into_iter().next().ok_or(CatalogError::ProductNotFound)?;
        Ok(product.record(&context.store, &context.app.site_url))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(arguments: &str) -> Result<Lookup, InvalidIdentifier> {
        serde_json::from_str::<Arguments>(arguments).unwrap().lookup()
    }

    #[test]
    fn exactly_one_identifier_is_required() {
        let id = r#""product_id": "prod_076c313f7c63513c9eb9f8f3fff08813""#;
        assert!(matches!(lookup(&format!("{{{id}}}")), Ok(Lookup::Id(_))));
        assert!(matches!(lookup(r#"{"sku": " A-1 "}"#), Ok(Lookup::Sku(sku)) if sku == "A-1"));
        let gtin = lookup(r#"{"gtin": "9520000000004"}"#);
        assert!(matches!(gtin, Ok(Lookup::Gtin(gtin)) if gtin == "09520000000004"));
        let url = lookup(r#"{"url": "https://shop.example/mug"}"#);
        assert!(matches!(url, Ok(Lookup::Url(_))));
        for arguments in ["{}", r#"{"product_id": null}"#, &format!(r#"{{{id}, "sku": "A-1"}}"#)] {
            assert_eq!(
                lookup(arguments).err(),
                Some(InvalidIdentifier::NotExactlyOne),
                "{arguments}"
            );
        }
        assert_eq!(lookup(r#"{"gtin": "9520000000005"}"#).err(), Some(InvalidIdentifier::Gtin));
        assert_eq!(lookup(r#"{"url": "ftp://shop.example"}"#).err(), Some(InvalidIdentifier::Url));
    }
}
