//! `search_products`: searches the store's catalog by words and filters (docs/contract/search.md#search-endpoints).

use std::borrow::Cow;

use catalog::ProductCard;
use primitives::Failure;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use search::{SearchArguments, SearchError, SearchResponse};
use serde::Deserialize;
use serde_json::Value;

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct SearchProducts;

/// Search arguments without `merchants`: the store is the one of the endpoint.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Arguments(SearchArguments);

impl JsonSchema for Arguments {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("SearchProductsArguments")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = SearchArguments::json_schema(generator);
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.remove("merchants");
        }
        schema
    }
}

impl Tool for SearchProducts {
    const NAME: &'static str = "search_products";
    const TITLE: &'static str = "Search products";
    const PURPOSE: &'static str = "Search this store's products by words in any language, SKU or GTIN, with filters for category, brand, price and stock. The default way to find products. Returns product cards; misspelt words are corrected, and meta.matched tells whether all or some words matched. Page with page and limit, or with meta.next_cursor.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = SearchResponse<ProductCard>;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Self::Output, Failure> {
        let merchants = Some(vec![context.store.slug.to_string()]);
        let query = SearchArguments { merchants, ..arguments.0 }.query()?;
        let found = context.app.search.find(query, context.caller_kind()).await?;
        Ok(found.into_cards().map_err(SearchError::Unreadable)?)
    }
}
