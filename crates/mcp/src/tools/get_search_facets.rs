//! `get_search_facets`: how results would spread, without the results.

use primitives::Failure;
use schemars::JsonSchema;
use search::{FacetValue, Facets, SearchArguments};
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetSearchFacets;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Words to search for. Left out: all products.
    #[schemars(length(max = 500))]
    query: Option<String>,
    /// Only this category.
    #[schemars(length(max = 300))]
    category: Option<String>,
    /// Only this brand.
    #[schemars(length(max = 200))]
    brand: Option<String>,
    /// The least price.
    min_price: Option<f64>,
    /// The highest price.
    max_price: Option<f64>,
    /// Only what can be had at once.
    in_stock_only: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// How many products match in all.
    total: i64,
    /// True if the total and the counts are estimates.
    total_is_estimate: bool,
    /// How they spread, by the name of the filter.
    facets: Vec<Facet>,
}

/// How results spread over the values of one field.
#[derive(Serialize, JsonSchema)]
pub(super) struct Facet {
    /// The field, such as `brand`.
    field: &'static str,
    /// Its values, the most frequent first.
    values: Vec<FacetValue>,
}

impl Tool for GetSearchFacets {
    const NAME: &'static str = "get_search_facets";
    const TITLE: &'static str = "Search facets";
    const PURPOSE: &'static str = "Count this store's matching products by brand, category, price, stock and condition, to choose filters.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let Arguments { query, category, brand, min_price, max_price, in_stock_only } = arguments;
        let arguments = SearchArguments {
            query,
            category,
            brand,
            min_price,
            max_price,
            in_stock_only,
            merchants: Some(vec![call.store.slug.to_string()]),
            limit: Some(1),
            facets: Some(true),
            ..SearchArguments::default()
        };
        let found = call.search.find(arguments.query()?, call.kind()).await?;
        Ok(Output {
            total: found.page.total,
            total_is_estimate: found.page.total_is_estimate == Some(true),
            facets: facets(found.facets.unwrap_or_default()),
        })
    }
}

/// Those that tell something within one store.
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
