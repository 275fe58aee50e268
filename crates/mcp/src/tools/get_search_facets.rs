//! `get_search_facets`: counts of search results by attribute, without the results.

use primitives::Failure;
use schemars::JsonSchema;
use search::{FacetValue, Facets, SearchArguments};
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetSearchFacets;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Search words; default: all products.
    #[schemars(length(max = 500))]
    query: Option<String>,
    /// Category path or name.
    #[schemars(length(max = 300))]
    category: Option<String>,
    /// Brand name.
    #[schemars(length(max = 200))]
    brand: Option<String>,
    /// Minimum price.
    min_price: Option<f64>,
    /// Maximum price.
    max_price: Option<f64>,
    /// Only products in stock.
    in_stock_only: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Number of matching products.
    total: i64,
    /// Whether the total and the counts are estimates.
    total_is_estimate: bool,
    /// Counts by attribute.
    facets: Vec<Facet>,
}

/// Counts of the values of one attribute.
#[derive(Serialize, JsonSchema)]
pub(super) struct Facet {
    /// Attribute, such as `brand`.
    field: &'static str,
    /// Values, most frequent first.
    values: Vec<FacetValue>,
}

impl Tool for GetSearchFacets {
    const NAME: &'static str = "get_search_facets";
    const TITLE: &'static str = "Search facets";
    const PURPOSE: &'static str = "Count this store's products that match a search by category, brand, price, stock and condition, without listing them. Use it to choose filters for search_products.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let Arguments { query, category, brand, min_price, max_price, in_stock_only } = arguments;
        let arguments = SearchArguments {
            query,
            category,
            brand,
            min_price,
            max_price,
            in_stock_only,
            merchants: Some(vec![context.store.slug.to_string()]),
            limit: Some(1),
            facets: Some(true),
            ..SearchArguments::default()
        };
        let found = context.app.search.find(arguments.query()?, context.caller_kind()).await?;
        Ok(Output {
            total: found.page.total,
            total_is_estimate: found.page.total_is_estimate == Some(true),
            facets: facets(found.facets.unwrap_or_default()),
        })
    }
}

/// Returns the facets that are meaningful within one store.
fn facets(facets: Facets) -> Vec<Facet> {
    let Facets { brand, category, stock_status, condition, currency, price, .. } = facets;
    [
        ("category", category),
        ("brand", brand),
        ("price", price),
        ("currency", currency),
        ("stock_status", stock_status),
        ("condition", condition),
    ]
    .into_iter()
    .filter(|(_, values)| !values.is_empty())
    .map(|(field, values)| Facet { field, values })
    .collect()
}
