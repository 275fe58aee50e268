//! `find_similar_products`: products like a given one.

use catalog::ProductCard;
use primitives::{Failure, NotExactlyOne, ProductId};
use schemars::JsonSchema;
use search::{SearchArguments, SearchError};
use serde::Deserialize;

use super::product_page::ProductPage;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct FindSimilarProducts;

const LIMIT_DEFAULT: i64 = 10;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Find products similar to this one.
    product_id: Option<ProductId>,
    /// Or similar to this description.
    #[schemars(length(min = 1, max = 500))]
    text: Option<String>,
    /// Maximum results, 1 to 100; default 10.
    limit: Option<i64>,
    /// Maximum price.
    max_price: Option<f64>,
}

impl Tool for FindSimilarProducts {
    const NAME: &'static str = "find_similar_products";
    const TITLE: &'static str = "Similar products";
    const PURPOSE: &'static str = "Find products of this store that resemble a given product, or a description, most similar first. Pass exactly one of product_id and text. Matches words, not meaning.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = ProductPage<ProductCard>;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Self::Output, Failure> {
        let Arguments { product_id, text, limit, max_price } = arguments;
        let query = |words| {
            let arguments = SearchArguments {
                query: words,
                merchants: Some(vec![context.store.slug.to_string()]),
                max_price,
                limit: Some(limit.unwrap_or(LIMIT_DEFAULT)),
                ..SearchArguments::default()
            };
            arguments.query()
        };
        let search = &context.app.search;
        let found = match (product_id, text) {
            (Some(id), None) => {
                // The similarity search covers all stores, so the product must be checked to belong to this one.
                catalog::product(&context.reading()?, context.store.merchant, id).await?;
                search.similar(id, query(None)?).await?
            }
            (None, Some(text)) => search.find(query(Some(text))?, context.caller_kind()).await?,
            _ => return Err(NotExactlyOne(&["product_id", "text"]).into()),
        };
        let found = found.into_cards().map_err(SearchError::Unreadable)?;
        Ok(ProductPage::new(found.data, found.meta.page))
    }
}
